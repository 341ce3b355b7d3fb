"""Families of LMs: figures and tables of ΔLogLik by perplexity, gaps, and variance explained.

In chapter 9 of the thesis, larger GPTs, of lower perplexity, predict reading times worse within a
family, and the gap between its best and its worst LM grows if nouns and verbs have separate slopes
of surprisal.

Variance is explained by readers, other word properties and, last, the LM's terms, as in Figures 9.6
and 9.7: a type I analysis of variance with the fixed terms of a mixed model on its data. Readers come
first, so that all terms explain variance within readers.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslmm.stats.correlations import correlation
from crosslmm.stats.shares import sequential
from recency.errors import InputError
from recency.evaluations.contrasts import paired as contrast_tests
from recency.evaluations.reading_times.perplexity import compared
from recency.figures import comparison, encoding, style, tables
from recency.figures.comparison import Described, Response, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table
from recency.regression import predictor_names as names

WITHOUT, WITH = "without", "with"
OF_LOGLIK = ["lm", "label", "dataset", "measure", "delta_loglik", "n"]
POINTS = ["design", "family", "lm", "label", "dataset", "measure", "response", "delta_loglik", "n"]
POINTS += ["perplexity", "unit"]
GAPS = ["design", "family", "dataset", "measure", "response", "lms", "gap", "best", "worst", "rho"]


def points(
    view: View,
    delta_loglik: File,
    perplexity: File,
    groups: Mapping[str, Iterable[str]],
    others: Files = (),
    one_for_seeds: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return a row (POINTS) per LM of a family, response and design.

    The design of `delta_loglik` is `with`, and that of `others` is `without`. Perplexity is over
    the words of the corpora, per token, or per word where tokenizers differ (`unit`); over seeds it
    is the geometric mean.
    """
    names = view.response_labels
    ppl, unit, _ = compared(perplexity)
    ppl["lm"] = ppl.lm.map(lambda lm: (one_for_seeds or {}).get(lm, lm))
    ppl = np.exp(np.log(ppl.perplexity).groupby([ppl.lm, ppl.dataset]).mean())
    rows = []
    for design, path in (*((WITHOUT, other) for other in others), (WITH, delta_loglik)):
        logliks = comparison.table(path, OF_LOGLIK)
        for family, lms in groups.items():
            for row in logliks[logliks.lm.isin(list(lms))].itertuples():
                key = (row.dataset, row.measure)
                if key in names and not math.isnan(row.delta_loglik):
                    rows.append(
                        (design, family, row.lm, row.label, *key, names[key], row.delta_loglik)
                        + (row.n, ppl.get((row.lm, row.dataset), math.nan), unit)
                    )
    return pd.DataFrame(rows, columns=POINTS)


def family_gaps(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row (GAPS) per family, response and design.

    `rho` is Spearman's of ΔLogLik and perplexity: above 0, better LMs predict reading times worse.
    """
    table = []
    for (design, family, dataset, measure, response), mine in rows.groupby(POINTS[:2] + POINTS[4:7], sort=False):  # fmt: skip
        if len(mine) < 2:
            continue
        best, worst = mine.delta_loglik.idxmax(), mine.delta_loglik.idxmin()
        rho = correlation(mine.perplexity, mine.delta_loglik).value
        gap = mine.delta_loglik[best] - mine.delta_loglik[worst]
        keys = (design, family, dataset, measure, response, len(mine), gap)
        table.append((*keys, mine.label[best], mine.label[worst], rho))
    return pd.DataFrame(table, columns=GAPS)


def published_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Return gaps of a published table (lm_family, <corpus>_no_pos, <corpus>_pos), as in `family_gaps`."""
    rows = [
        (design, row["lm_family"], name.removesuffix("_no_pos"), row[name.replace("_no_pos", end)])
        for row in table.to_dict("records")
        for name in table
        if name.endswith("_no_pos")
        for design, end in ((WITHOUT, "_no_pos"), (WITH, "_pos"))
    ]
    return pd.DataFrame(rows, columns=["design", "family", "response", "gap"])


def paired(a: pd.Series, b: pd.Series) -> tuple[float, float, int]:
    """Return t of the paired differences a − b, its two-sided p, and the number of pairs by index."""
    difference = (a - b).dropna().to_numpy()
    return (*contrast_tests.paired(difference), len(difference))


def widened(gaps: pd.DataFrame) -> tuple[float, float, int]:
    """Return paired t of gaps with minus without part of speech, over families and responses."""
    wide = gaps.pivot_table(index=["family", "response"], columns="design", values="gap")
    if set(wide.columns) != {WITHOUT, WITH}:
        return math.nan, math.nan, 0
    return paired(wide[WITH], wide[WITHOUT])


READERS, LM, LENGTH, FREQUENCY, OTHERS = "readers", "surprisal", "length", "frequency", "others"
COLUMNS = ["lm", "label", "response", READERS, LENGTH, FREQUENCY, OTHERS, LM]


def explained_shares(rows: pd.DataFrame, response: str, terms: Sequence[str]) -> dict[str, float]:
    """Return the percentage of the variance of `response` explained by readers and by each term.

    A term is a column of `rows` or a product of columns, `a:b`. Terms of the LM come last, all
    others in the order of the model.
    """
    values = rows[response].to_numpy(float)
    reader = rows["subject"].astype("category").cat.codes.to_numpy()
    sizes = np.maximum(np.bincount(reader), 1)

    def within(column: np.ndarray) -> np.ndarray:
        return column - (np.bincount(reader, column) / sizes)[reader]

    left = within(values)
    inside = (left @ left) / np.sum((values - values.mean()) ** 2)
    ordered = sorted(terms, key=is_of_lm)  # stable
    columns = {term: within(rows[term.split(":")].to_numpy(float).prod(axis=1)) for term in ordered}
    fractions = sequential(left, columns)
    return {READERS: 100 * (1 - inside)} | {t: 100 * inside * fractions[t] for t in ordered}


def is_of_lm(term: str) -> bool:
    """Return whether a term has a factor from the LM."""
    return any(names.split(factor).of_lm for factor in term.split(":"))


def grouped(shares: Mapping[str, float]) -> dict[str, float]:
    """Sum the shares of terms by readers, length, frequency, others and the LM."""
    sums = dict.fromkeys((READERS, LENGTH, FREQUENCY, OTHERS, LM), 0.0)
    for term, share in shares.items():
        kind = {"length": LENGTH, "unigram": FREQUENCY, READERS: READERS}.get(term, OTHERS)
        sums[LM if is_of_lm(term) else kind] += share
    return sums


def read(view: View, fitted: Files, fits: Files, cells: Described) -> pd.DataFrame:
    """Return a row (COLUMNS, percent) per cell; files are in the order of `cells`."""
    labels, rows = view.response_labels, []
    for data, fit, cell in zip(fitted, fits, cells, strict=True):
        record, frame = json.loads(Path(fit).read_text(encoding="utf-8")), pd.read_parquet(data)
        response = record["formula"].partition("~")[0].strip()
        response = response if response in frame else f"log_{response}"
        if "subject" not in frame:
            raise InputError(f"{data}: no column subject, so that readers cannot be distinguished")
        terms = [effect["term"].replace("`", "") for effect in record["fixed"]][1:]
        row = {"lm": cell["lm"], "label": cell["label"]}
        row["response"] = labels[cell["dataset"], cell["measure"]]
        rows.append(row | grouped(explained_shares(frame, response, terms)))
    return pd.DataFrame(rows, columns=COLUMNS)


PRODUCTS = {
    "figure_families": {
        "makes": {"out": ("figure_families", "ΔLogLik by perplexity within families")},
        "reads": ["delta_loglik", "perplexity", "others"],
        "settings": ["groups", "responses", "one_for_seeds"],
    },
    "table_explained": {
        "makes": {
            "out": ("table_explained", "Variance that surprisal explains"),
            "figure": ("figure_explained", "Variance that surprisal explains"),
        },
        "reads": ["fitted", "fits"],
        "settings": ["cells", "responses", "title"],
        "published": "explained",
        "when": "mixed",
    },
    "table_families": {
        "makes": {"out": ("table_families", "Gaps within families, by part of speech")},
        "reads": ["delta_loglik", "perplexity", "others"],
        "settings": ["groups", "responses", "one_for_seeds", "title"],
        "published": "families",
    },
}


NOTE = (
    "percent of the variance of the fitted responses, by a type I analysis of variance: readers first, then other properties of the "
    "words, the LM's terms last"
)
SHARED = ", over LMs; LMs share their words, so that p is too small"
COLOURS = {
    READERS: "#bdbdbd",
    LENGTH: "#80b1d3",
    FREQUENCY: "#4393c3",
    OTHERS: "#b8e186",
    LM: "#8c510a",
}


def table_explained(
    view: View, fitted: Files, fits: Files, out: Files, figure: Files, cells: Described
) -> None:
    """Write the table (.csv tidy, .html, .tex) and the figure (.pdf, .svg, .png, .csv)."""
    rows = read(view, fitted, fits, cells)
    tables.write(out, layout(view, rows), rows)
    style.write(figure, rows, explained_draw, rows)


def layout(view: View, rows: pd.DataFrame) -> Table:
    """Return a row per LM, a column per response (largest share first), and paired tests."""
    wide = rows.pivot(index="label", columns="response", values=LM)
    wide = wide.reindex(list(dict.fromkeys(rows.label)))
    order = list(wide.mean().sort_values(ascending=False).index)
    grid = [
        [label, *(style.number(wide[name][label], 2) for name in order)] for label in wide.index
    ]
    notes = [NOTE, *tests(wide, order, view.published_rows([]), view.responses)]
    return Table(f"{view.title}: variance that surprisal explains", ["", *order], grid, notes)


def tests(
    wide: pd.DataFrame,
    order: list[str],
    published: pd.DataFrame | None,
    responses: list[Response],
) -> list[str]:
    """Return notes on paired tests between consecutive columns, or the published pairs of responses."""
    compared = [(more, less, "") for more, less in pairwise(order)]
    if published is not None:
        compared = [
            (more, less, f"; published t({row.df}) = {style.number(row.t, 1)}")
            for row in published.itertuples()
            for more, less in _of_measures(responses, row.more, row.less)
            if {more, less} <= set(order)
        ]
    sentences = []
    for more, less, note in compared:
        t, p, n = paired(wide[more], wide[less])
        if not math.isnan(t):
            sentence = f"{more} over {less}: paired t({n - 1}) = {style.number(t, 2)} (p {style.p_value(p)})"
            sentences.append(sentence + SHARED + note)
    return sentences


def _of_measures(measured: Iterable, more: str, less: str) -> list[tuple[str, str]]:
    """Return responses of two measures within a dataset, or across datasets if none has both."""
    pairs = [(a, b) for a in measured for b in measured if (a.measure, b.measure) == (more, less)]
    same_dataset = [(a, b) for a, b in pairs if a.dataset == b.dataset]
    return [(a.label, b.label) for a, b in same_dataset or pairs]


def explained_draw(rows: pd.DataFrame) -> Figure:
    """Draw a panel per response and a bar per LM, its shares stacked."""
    responses, lms = list(dict.fromkeys(rows.response)), list(dict.fromkeys(rows.label))
    figure = style.figure(0.8 + (0.5 + 0.19 * len(lms)) * len(responses))
    panels = figure.subplots(len(responses), 1, squeeze=False)[:, 0]
    for axes, response in zip(panels, responses, strict=True):
        mine = rows[rows.response == response].set_index("label").reindex(lms[::-1])
        begin = pd.Series(0.0, mine.index)
        for kind in COLUMNS[3:]:
            axes.barh(
                mine.index, mine[kind], left=begin, height=0.7, color=COLOURS[kind], label=kind
            )
            begin += mine[kind]
        axes.tick_params("y", length=0)
        axes.grid(axis="x")
        axes.set_title(response)
    panels[-1].set_xlabel("Variance explained (%)")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=len(names))
    return figure


TABLE_TITLES = {WITHOUT: "no POS", WITH: "POS"}
NOTES = [
    "ΔLogLik of the family's best LM minus that of its worst (nats, exploratory partition), with their names beneath",
    "Spearman's ρ is of ΔLogLik and perplexity in the family; above 0, better LMs predict reading times worse",
]


def table_families(
    view: View,
    delta_loglik: File,
    perplexity: File,
    out: Files,
    groups: Mapping[str, Iterable[str]],
    others: Files = (),
    one_for_seeds: Mapping[str, str] | None = None,
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    gaps = family_gaps(points(view, delta_loglik, perplexity, groups, others, one_for_seeds))
    published, data = view.published_rows([]), gaps[GAPS]
    if published is not None:  # as rows of their own: their corpora are named otherwise
        printed = published_gaps(published).rename(columns={"gap": "published_gap"})
        data = pd.concat([data, printed], ignore_index=True)
    tables.write(out, table_layout(gaps, published, view.title), data)


def table_layout(gaps: pd.DataFrame, published: pd.DataFrame | None, title: str) -> Table:
    """Return a row per family and response, then the published gaps."""
    designs = [name for name in (WITHOUT, WITH) if name in set(gaps.design)]
    several = len(designs) > 1
    header = ["", "", *(TABLE_TITLES[name] if several else "gap" for name in designs)]
    header += [f"ρ, {TABLE_TITLES[name]}" if several else "ρ" for name in designs]
    grid = []
    for (family, response), mine in gaps.groupby(["family", "response"], sort=False):
        by_design = mine.set_index("design")
        cells = [family, response]
        for name in designs:
            there = name in by_design.index
            which = f"{by_design.best[name]} over {by_design.worst[name]}" if there else ""
            cells.append(Cell(style.number(by_design.gap[name]) if there else "", (which,)))
        cells += [style.number(by_design.rho.get(name, math.nan), 2) for name in designs]
        grid.append(cells)
    rules = []
    if published is not None and len(designs) == 2:
        rules.append(len(grid))
        paper = published_gaps(published).set_index("design")
        for family, corpus in dict.fromkeys(zip(paper.family, paper.response, strict=True)):
            mine = paper.gap[(paper.family == family) & (paper.response == corpus)]
            cells = [f"published: {family}", corpus]
            cells += [style.number(mine[name], 0) for name in (WITHOUT, WITH)]
            grid.append([*cells, "", ""])
    return Table(title, header, grid, [*NOTES, *gap_notes(gaps, published)], tuple(rules), left=2)


def gap_notes(gaps: pd.DataFrame, published: pd.DataFrame | None) -> list[str]:
    """Return a note on whether gaps are wider with part of speech."""
    t, p, n = widened(gaps)
    if n == 0:
        return []
    reported = "" if published is None else _published_test(published_gaps(published))
    if math.isnan(t):
        return [
            f"gaps with part of speech and without: {n} pairs are too few, or all equal{reported}"
        ]
    if p < 0.05:
        claim = f"gaps are {'wider' if t > 0 else 'narrower'} with part of speech"
    else:
        claim = "gaps with part of speech do not differ reliably from those without"
    return [f"{claim}: paired t({n - 1}) = {style.number(t, 2)} (p {style.p_value(p)}){reported}"]


def _published_test(gaps: pd.DataFrame) -> str:
    """Return the same test on published gaps, or an empty string if there are too few."""
    t, p, n = widened(gaps)
    if math.isnan(t):
        return ""
    which = "wider" if t > 0 else "narrower"
    return f"; published t({n - 1}) = {style.number(t, 1)} (p {style.p_value(p)}), {which} with it"


TITLES = {WITHOUT: "without part of speech", WITH: "with part of speech"}
BROKEN = {design: title.replace(" part", "\npart") for design, title in TITLES.items()}
ONE_BELOW_ANOTHER = 4
"""Number of responses above which panels are arranged in pairs."""


def draw(rows: pd.DataFrame, sentences: list[str]) -> Figure:
    """Draw a panel per response and design, the designs of a response next to each other."""
    designs = [name for name in (WITHOUT, WITH) if name in set(rows.design)]
    responses, families = list(dict.fromkeys(rows.response)), list(dict.fromkeys(rows.family))
    looks = [look for name, look in encoding.STYLES.items() if name != "none"] + list(
        encoding.OTHERS
    )
    across = 1 if len(responses) <= ONE_BELOW_ANOTHER else 2
    down = math.ceil(len(responses) / across)
    figure = style.figure(0.9 + 2.1 * down)
    grid = figure.subplots(down, across * len(designs), squeeze=False, sharex=True)
    for index, response in enumerate(responses):
        line, first = index // across, index % across * len(designs)
        for column, design in enumerate(designs, first):
            axes = grid[line][column]
            if column > first:
                axes.sharey(grid[line][first])
                axes.tick_params(labelleft=False)
            axes.set_xscale("log")
            here = rows[(rows.response == response) & (rows.design == design)]
            for number, family in enumerate(families):
                colour, marker = looks[number % len(looks)]
                mine = here[here.family == family].sort_values("perplexity")
                axes.plot(mine.perplexity, mine.delta_loglik, marker, color=colour, ls="-", lw=1, ms=5, gid=f"{family} {design}")  # fmt: skip
            style.log_ticks(axes, 100)
            axes.grid(which="major")
            if column == first:
                axes.set_ylabel(f"ΔLogLik (nats),\n{response}")
            if line == 0 and len(designs) > 1:
                axes.set_title(TITLES[design] if across == 1 else BROKEN[design])
            if index + across >= len(responses):  # none is below
                axes.tick_params(labelbottom=True)
                label = f"Perplexity per {rows.unit.iloc[0]} (log scale)"
                axes.set_xlabel(label if across == 1 else label.replace(" (", "\n("))
    for axes in grid[-1]:
        axes.set_visible(bool(axes.lines))
    handles = []
    for number, family in enumerate(families):
        colour, marker = looks[number % len(looks)]
        handles.append(style.handle(color=colour, marker=marker, ms=5, lw=1, label=family))
    figure.legend(handles=handles, loc="outside upper left", ncols=min(4, len(handles)))
    style.notes(figure, sentences)
    return figure


def figure_families(
    view: View,
    delta_loglik: File,
    perplexity: File,
    out: Files,
    groups: Mapping[str, Iterable[str]],
    others: Files = (),
    one_for_seeds: Mapping[str, str] | None = None,
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the points)."""
    rows = points(view, delta_loglik, perplexity, groups, others, one_for_seeds)
    sentences = gap_notes(family_gaps(rows), None) if len(rows) else []
    style.write(out, rows, draw, rows, sentences, empty=sentences)
