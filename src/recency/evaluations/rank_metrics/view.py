"""Mean log rank, top-1 accuracy and perplexity after the first words of sentences.

Mean log rank and top-1 against perplexity, with the published models' values.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslmm.stats import bootstrap
from crosslmm.stats.correlations import correlation
from recency.errors import InputError
from recency.figures import comparison, labels, style, tables
from recency.figures.comparison import LM, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "figure_rank_metrics": {
        "makes": {"out": ("figure_rank_metrics", "Ranks by perplexity")},
        "reads": ["metrics=table_rank_metrics"],
        "settings": ["lms"],
        "published": "rank_metrics",
    },
    "table_rank_metrics": {
        "makes": {"out": ("table_rank_metrics", "Ranks of the observed words")},
        "reads": ["ranks"],
        "settings": ["lms", "title", "seed"],
        "published": "rank_metrics",
        "summary": ("table_rank_metrics.csv", "{title}: ranks of the observed words"),
    },
}


COLUMNS = ["lm", "label", "texts", "words", "tokens"]
COLUMNS += ["perplexity", "perplexity_low", "perplexity_high"]
COLUMNS += ["mean_log_rank", "log_rank_low", "log_rank_high", "top_1", "top_1_low", "top_1_high"]
COLUMNS += ["word_perplexity", "word_top_1"]
PUBLISHED = ["model", "perplexity", "mean_log_rank", "top_1", "score"]
REPLICATES = 2000
NOTES = [
    "over the words after each sentence's first words; beneath: 95 % interval over sentences",
    "perplexity, mean log rank (natural; 0 for the most likely token) and top-1 (percent) are per token, comparable for the same tokenizer",
    "perplexity per word is comparable for all tokenizers; whole words: percent of words with all tokens predicted as most likely",
]


def measured(rows: pd.DataFrame, seed: int = 0) -> dict[str, float]:
    """Return the metrics (COLUMNS without lm and label) of one LM's tokens."""
    values = rows[["nats", "log_rank", "top_1"]].astype(float)
    if not np.isfinite(values.to_numpy()).all():
        raise InputError(
            f"{(~np.isfinite(values)).any(axis=1).sum()} tokens have no rank or surprisal; train the LM again"
        )
    sums = values.assign(n=1.0).groupby(rows["text"]).sum().to_numpy()
    total = sums.sum(0)
    drawn = bootstrap.draws(sums, REPLICATES, seed)
    drawn = drawn[:, :3] / drawn[:, 3:]
    words = rows.groupby(["text", "place"]).agg(nats=("nats", "sum"), first=("top_1", "all"))
    row = {"texts": len(sums), "words": len(words), "tokens": int(total[3])}
    for column, (name, low_high, scale) in enumerate(
        (("perplexity", "perplexity", np.exp), ("mean_log_rank", "log_rank", float), ("top_1", "top_1", _percent))
    ):  # fmt: skip
        row[name] = scale(total[column] / total[3])
        low, high = bootstrap.percentiles(drawn[:, column])
        row[f"{low_high}_low"], row[f"{low_high}_high"] = scale(low), scale(high)
    return row | {
        "word_perplexity": math.exp(words.nats.mean()),
        "word_top_1": 100 * words["first"].mean(),
    }


def _percent(share: float) -> float:
    return 100 * share


def table_rank_metrics(view: View, ranks: Files, out: Files, seed: int = 0) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex); `ranks` are files …/{lm}/….parquet."""
    paths = {Path(path).parent.name: path for path in ranks}
    lost = [lm.label for lm in view.lms if lm.lm not in paths]
    rows = [
        {"lm": lm.lm, "label": lm.label} | measured(pd.read_parquet(paths[lm.lm]), seed)
        for lm in view.lms
        if lm.lm in paths
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    tables.write(out, layout(table, view.published_rows(PUBLISHED), lost, view.title), table)


def layout(
    rows: pd.DataFrame, published: pd.DataFrame | None, lost: list[str], title: str
) -> Table:
    """Return a row per LM, the lowest perplexity per word first, then the published models."""
    header = ["", "Perplexity", "Log rank", "Top-1 (%)", "Perplexity of a word", "Whole words (%)"]
    if published is not None:
        header.append("Human score")
    grid = []
    for row in rows.sort_values("word_perplexity").itertuples():
        cells = [row.label]
        for name, decimals, limits in (
            ("perplexity", 1, "perplexity"),
            ("mean_log_rank", 2, "log_rank"),
            ("top_1", 1, "top_1"),
        ):
            low, high = (getattr(row, f"{limits}_{end}") for end in ("low", "high"))
            within = style.interval(low, high, decimals=decimals)
            cells.append(Cell(style.number(getattr(row, name), decimals), (within,)))
        cells += [style.number(row.word_perplexity), style.number(row.word_top_1)]
        grid.append(cells + [""] * (published is not None))
    rules = ()
    if published is not None:
        rules = (len(grid),)
        for row in published.itertuples():
            cells = [f"published: {row.model}", "", style.number(row.mean_log_rank, 2)]  # fmt: skip
            cells += [style.number(row.top_1), style.number(row.perplexity), ""]
            grid.append([*cells, style.number(row.score, 2)])
    notes = [*NOTES, *agreement(rows)]
    if published is not None:
        notes.append(
            "published: the thesis's Table 7.2, words of the 1-billion-word corpus; its tokens are words"
        )
    if lost:
        notes.append(
            f"not run: {', '.join(lost)} (neither a network nor an ARPA file, so that its words have no ranks)"
        )
    return Table(title, header, grid, notes, rules=rules)


def agreement(rows: pd.DataFrame) -> list[str]:
    """Return notes on the correlations of the metrics over LMs."""
    rank = correlation(rows.perplexity, rows.mean_log_rank)
    top = correlation(rows.perplexity, rows.top_1)
    if math.isnan(rank.value) or math.isnan(top.value):
        return []
    values = f"log rank {style.number(rank.value, 2)}, top-1 {style.number(top.value, 2)}"
    return [f"Spearman's ρ with perplexity over {rank.n} LMs: {values}"]


def summary(path: File) -> Table:
    """Return this table's CSV in short, for the summary."""
    rows = comparison.table(path, COLUMNS).sort_values("word_perplexity")
    grid = [
        [
            row.label,
            style.number(row.perplexity),
            style.number(row.mean_log_rank, 2),
            style.number(row.top_1),
        ]
        for row in rows.itertuples()
    ]
    return Table("", ["", "Perplexity", "Log rank", "Top-1 (%)"], grid, agreement(rows))


PANELS = (
    ("mean_log_rank", "log_rank", "Mean log rank of a token"),
    ("top_1", "top_1", "Top-1 accuracy (%)"),
)


def draw(rows: pd.DataFrame, lms: list[LM], published: pd.DataFrame | None) -> Figure:
    """Draw both panels over perplexity per token, published models as small grey marks."""
    looks, rows = style.looks(lms), rows.set_index("lm")
    figure = style.figure(3.3)
    drawn = [lm for lm in lms if lm.lm in rows.index]
    both = figure.subplots(1, 2)
    for axes, (name, limits, title) in zip(both, PANELS, strict=True):
        axes.set_xscale("log")
        if published is not None:
            axes.plot(published.perplexity, published[name], "x", color="#a0a0a0", ms=3.5, mew=0.9)
        ends = rows[f"{limits}_low"], rows[f"{limits}_high"]
        labels.draw_lms(axes, drawn, looks, rows.perplexity, rows[name], ends)
        axes.margins(0.16)
        style.log_ticks(axes, 100)
        axes.set_xlabel("Perplexity of a token (log scale)")
        axes.set_ylabel(title)
        axes.grid(which="major")
    if published is not None:
        mark = style.handle(marker="x", color="#a0a0a0", ms=4, ls="", label="published, for words of another text")  # fmt: skip
        figure.legend(handles=[mark], loc="outside upper left")
    for axes, (name, *_) in zip(both, PANELS, strict=True):
        labels.name_lms(axes, drawn, looks, rows.perplexity, rows[name])
    return figure


def figure_rank_metrics(view: View, metrics: File, out: Files) -> None:
    """Draw table_rank_metrics.csv to `out` (.pdf, .svg, .png; .csv for the values)."""
    rows = comparison.table(metrics, COLUMNS)
    style.write(out, rows, draw, rows, view.lms, view.published_rows(PUBLISHED), empty=[])
