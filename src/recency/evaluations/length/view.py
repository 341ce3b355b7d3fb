"""Perplexity by length of the context: paired differences from the training length, figure and table."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from crosslmm.stats import bootstrap
from recency.errors import InputError
from recency.figures import comparison, ends, style, tables
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

REPLICATES = 10_000
KEY = ["document", "place"]


def read(lengths: Files, variants: Iterable[Mapping], trained: int) -> pd.DataFrame:
    """Return one row per LM and length from rule length_perplexity's files, in the order of LMs.

    Columns: lm, label, networks, length, ppl, difference (of mean nats from the length `trained`,
    on the same tokens; NaN for a length without a value), low and high (95 % over documents),
    documents, tokens. Networks of one LM are first averaged token by token.
    """
    files: dict[str, list] = {}
    labels = {}
    for path, variant in zip(lengths, variants, strict=True):
        files.setdefault(variant["lm"], []).append(
            pd.read_parquet(path, columns=[*KEY, "length", "nats"])
        )
        labels[variant["lm"]] = variant["label"]
    rows = []
    for lm, seeds in files.items():
        wide = [table.pivot(index=KEY, columns="length", values="nats") for table in seeds]
        if any(not table.index.equals(wide[0].index) for table in wide):
            raise InputError(
                f"{lm}: its networks have other masked tokens; use one tokenizer for all"
            )
        nats = sum(wide) / len(wide)
        rows += _of(nats, trained, {"lm": lm, "label": labels[lm], "networks": len(wide)})
    return pd.DataFrame(rows)


def _of(nats: pd.DataFrame, trained: int, about: Mapping) -> list[dict]:
    """Return an LM's rows from the nats (tokens × lengths) of its masked tokens."""
    documents = nats.index.get_level_values("document").to_numpy()
    change = nats.sub(nats[trained], axis=0)
    sums = [bootstrap.cluster_sums(change[length].to_numpy(), documents) for length in change]
    counts = bootstrap.cluster_sums(np.ones(len(nats)), documents)
    drawn = bootstrap.draws(np.column_stack([*sums, counts]), REPLICATES, 0)
    rows = []
    for number, length in enumerate(nats):
        low, high = bootstrap.percentiles(drawn[:, number] / drawn[:, -1])
        rows.append(
            {
                **about, "length": int(length), "ppl": float(np.exp(nats[length].mean(skipna=False))),
                "difference": float(change[length].mean(skipna=False)), "low": low, "high": high,
                "documents": len(counts), "tokens": len(nats),
            }
        )  # fmt: skip
    return rows


PRODUCTS = {
    "figure_length": {
        "makes": {"out": ("figure_length", "Perplexity by length")},
        "reads": ["lengths"],
        "settings": ["variants", "length_settings"],
    },
    "table_length": {
        "makes": {"out": ("table_length", "Table of perplexity by length")},
        "reads": ["lengths"],
        "settings": ["variants", "length_settings", "title"],
        "summary": ("table_length.csv", "{title}: perplexity by length"),
    },
}


LINES = ("-", (0, (4, 1.5)), (0, (1.5, 1)), (0, (6, 1, 1.5, 1)))


def draw(rows: pd.DataFrame, lms: list[LM], trained: int) -> Figure:
    """Draw perplexity over length on log axes; bands are intervals of the paired differences."""
    looks, seen = style.looks(lms), {}
    figure = style.figure(max(3.0, 0.17 * len(lms) + 1.6))
    axes = figure.add_subplot()
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    last, texts, silent = [], [], []
    for lm in lms:
        every = rows[rows.lm == lm.lm].sort_values("length")
        finite, look = every[every.ppl.notna()], looks[lm.lm]
        if len(finite) < len(every):
            silent.append(f"{lm.label} has no positions beyond {finite.length.max():,.0f} tokens")
        line = LINES[seen.setdefault(look.colour, 0) % len(LINES)]  # LMs of one kind of bias
        seen[look.colour] += 1
        base = finite.ppl / np.exp(finite.difference)
        axes.fill_between(finite.length, base * np.exp(finite.low), base * np.exp(finite.high),
                          color=look.colour, alpha=0.15, lw=0)  # fmt: skip
        axes.plot(finite.length, finite.ppl, color=look.colour, ls=line, marker=look.marker, ms=3.5,
                  mfc=look.face, mew=0.7, lw=1.1)  # fmt: skip
        last.append((finite.length.iloc[-1], finite.ppl.iloc[-1]))
        texts.append(f"{lm.label}  {finite.ppl.iloc[-1]:,.1f}")
    axes.axvline(trained, color=style.GREY, lw=0.9, ls=(0, (3, 2)), zorder=1)
    axes.annotate("trained", (trained, 0.99), xycoords=("data", "axes fraction"), xytext=(3, 0),
                  textcoords="offset points", va="top", size=style.SMALL, color=style.GREY)  # fmt: skip
    axes.xaxis.set_major_locator(FixedLocator(sorted(rows.length.unique())))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axes.yaxis.set_major_formatter(style.tick)
    axes.yaxis.set_minor_formatter(style.tick)
    axes.set_xlabel("Length (tokens)")
    axes.set_ylabel("Perplexity of masked tokens")
    axes.grid()
    style.notes(figure, silent)
    ends.name(axes, texts, last, [looks[lm.lm].colour for lm in lms])
    return figure


def figure_length(
    *, lengths: Files, out: Files, variants: list[Mapping], length_settings: Mapping
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values)."""
    models, _ = comparison.records({variant["lm"]: variant for variant in variants}.values(), [])
    rows = read(lengths, variants, length_settings["trained"])
    style.write(out, rows, draw, rows, models, length_settings["trained"])


COLUMNS = ["label", "length", "ppl"]


def layout(title: str, rows: pd.DataFrame, trained: int) -> Table:
    """Return a row per LM and a column per length, the change from the training length beneath."""
    lengths = sorted(map(int, rows.length.unique()))
    header = ["LM", *(f"{length:,}" + " (trained)" * (length == trained) for length in lengths)]
    grid = []
    for label, lm_rows in rows.groupby("label", sort=False):
        by = lm_rows.set_index("length")
        grid.append([label, *(_cell(by.loc[n], n == trained) for n in lengths)])
    first = rows.iloc[0]
    size = f"{first.tokens:,} masked tokens of {first.documents} documents"
    notes = [
        f"perplexity of {size}, read in segments of these lengths; the same tokens are masked at each length",
        "beneath: the change from the training length, with its 95 % interval over documents",
    ]
    if rows.networks.max() > 1:
        notes.append("over several networks, nats are averaged token by token")
    if rows.ppl.isna().any():
        notes.append("no positions: the network has no learned positions at this length")
    return Table(f"{title}: perplexity by length", header, grid, notes)


def _cell(row: pd.Series, trained: bool) -> Cell | str:
    if np.isnan(row.ppl):
        return "no positions"
    if trained or np.isnan(row.difference):
        return f"{row.ppl:,.1f}"
    below = [style.percent(np.expm1(row.difference))]
    if not np.isnan(row.low):
        below.append(style.percents(*np.expm1([row.low, row.high])))
    return Cell(f"{row.ppl:,.1f}", tuple(below))


def summary(path: File) -> Table:
    """Return the perplexities for the summary."""
    rows = comparison.table(path, COLUMNS)
    lengths = sorted(rows.length.unique())
    grid = []
    for label, lm_rows in rows.groupby("label", sort=False):
        by = lm_rows.set_index("length").ppl
        values = ["–" if np.isnan(by[length]) else f"{by[length]:,.1f}" for length in lengths]
        grid.append([label, *values])
    return Table("", ["LM", *(f"{length:,} tokens" for length in lengths)], grid, [])


def table_length(
    *, lengths: Files, out: Files, variants: Described, length_settings: Mapping, title: str
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex); `lengths` are score's files, by LM."""
    trained = length_settings["trained"]
    rows = read(lengths, variants, trained)
    tables.write(out, layout(title, rows, trained), rows)
