"""ΔAIC of each LM against the baseline, published beside reproduced (de Varda & Marelli 2024)."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from recency.errors import InputError
from recency.evaluations.item_means import delta_aic
from recency.figures import comparison, papers, style, tables
from recency.figures.comparison import LM, Response
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {
        "out": ("table_delta_aic", "Table of ΔAIC"),
    },
    "reads": ["delta_aic", "not_run"],
    "settings": ["lms", "responses", "baseline"],
    "published": "delta_aic",
    "summary": ("table_delta_aic.csv", "{title}"),
}


def reading(delta: float) -> str:
    """Read a ΔAIC by Burnham & Anderson (2004), as de Varda & Marelli did (Section 3.3).

    Their rules are of 0 to 2, 4 to 7 and 10 or more; what lies between them is written as such.
    """
    size = abs(delta)
    if math.isnan(size):
        return ""
    if size <= 2:
        return "both have substantial support"
    if size < 4:
        return "somewhat less support for the worse"
    if size <= 7:
        return "considerably less support for the worse"
    return "little support for the worse" if size < 10 else "essentially none for the worse"


def read(
    path: str | Path,
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    not_run: str | Path | None,
    published: str | Path | None = None,
) -> tuple[pd.DataFrame, list[LM], list[Response], list[str]]:
    """Read delta_aic.csv with `label`, `response`, `published` and `n_published` added.

    Rows are in the order of the responses and, within each, of the LMs. Also returns the LMs, the
    responses that were run, and sentences on those that were not. `published` is a CSV as
    recency.figures.papers reads it, with corpus_measure (labels), n_words and delta_aic.
    """
    models, measured = comparison.records(lms, responses)
    rows = comparison.table(path, delta_aic.COLUMNS)
    label = {(r.dataset, r.measure): r.label for r in measured}
    rows["response"] = [label.get(key) for key in zip(rows.dataset, rows.measure)]
    rows["label"] = rows.lm.map({model.lm: model.label for model in models})
    rows = rows[rows.response.notna() & rows.label.notna()]
    twice = rows[rows.duplicated(["lm", "response"])]
    if len(twice):
        raise InputError(
            f"{path}: two rows of {twice.lm.iloc[0]} on {twice.response.iloc[0]}; "
            "give each design an experiment of its own"
        )
    done = [r for r in measured if (rows.response == r.label).any()]
    rank = {name: place for place, name in enumerate(label.values())}
    within = {model.label: place for place, model in enumerate(models)}
    places = [(rank[r], within[m]) for r, m in zip(rows.response, rows.label)]
    rows = rows.iloc[sorted(range(len(rows)), key=places.__getitem__)].reset_index(drop=True)
    rows["published"], rows["n_published"] = math.nan, pd.NA
    if published is not None:
        there = papers.rows(published, models, ["corpus_measure", "n_words", "delta_aic"])
        values = there.set_index(["lm", "corpus_measure"]).delta_aic
        there = comparison.table(published, ["corpus_measure", "n_words"])
        sizes = there.drop_duplicates("corpus_measure").set_index("corpus_measure").n_words
        rows["published"] = [values.get(key, math.nan) for key in zip(rows.lm, rows.response)]
        rows["n_published"] = [sizes.get(name, pd.NA) for name in rows.response]
    absent = [r for r in measured if r not in done]
    lost = comparison.absent_responses(absent, comparison.reasons(not_run))
    return rows, models, done, lost + comparison.failed_fits(rows, "aic")


def layout(rows: pd.DataFrame, baseline: str, notes: list[str], title: str, source: str) -> Table:
    """Set the rows out: a block a response, the LMs beneath one another."""
    beside = bool(rows.published.notna().any())
    whole = "loglik" in rows
    names = [
        "Observations" if whole else "Words",
        "LM",
        *(["logLik", "BIC"] * whole),
        "AIC",
        "ΔAIC",
    ]
    names += [*(["published"] * beside), "Relative likelihood"]
    header = [
        Cell("Response", left=True),
        *(Cell(name, left=name == "LM") for name in names),
        Cell("Reading", left=True),
    ]
    grid, rules = [], []
    for response, block in rows.groupby("response", sort=False):
        rules += [len(grid)] if grid else []
        best = block.aic.min()
        for place, (_, row) in enumerate(block.iterrows()):
            own = row.lm == baseline
            known = pd.notna(row.n_published)
            size = f"published {row.n_published:,}" if known and not place else ""
            cells = [
                Cell("" if place else response, left=True),
                Cell("" if place else f"{row.n:,}", (size,) if size else ()),
                Cell(row.label, left=True),
                *(Cell(style.number(row[name], 2)) for name in ("loglik", "bic") if whole),
                Cell(style.number(row.aic, 2), bold=row.aic == best),
                Cell("" if own else style.signed(row.delta_aic, 2)),
            ]
            if beside:
                cells.append(Cell("" if own else style.signed(row.published, 2)))
            likelihood = "" if own or pd.isna(row.aic) else f"{row.relative_likelihood:.3g}"
            cells += [Cell(likelihood), Cell("" if own else reading(row.delta_aic), left=True)]
            grid.append(cells)
    what = "observations" if whole else "words"
    compared = f"ΔAIC: AIC minus that of {baseline_label(rows, baseline)} on the same {what}; "
    judged = "relative likelihood: of the worse of the two models, e^(-|ΔAIC| / 2); its reading is "
    judged += "Burnham & Anderson's (2004): to 2, 4 to 7, from 10 on; they say nothing of the rest"
    first = [compared + "below 0 the LM fits better; the lowest AIC of a response in bold", judged]
    if beside:
        first.append(f"published: {source}")
    return Table(title, [header], grid, [*first, *lengths(rows, baseline), *notes], tuple(rules))


def baseline_label(rows: pd.DataFrame, baseline: str) -> str:
    """Return the baseline's label."""
    return next(iter(rows.label[rows.lm == baseline]), baseline)


def lengths(rows: pd.DataFrame, baseline: str) -> list[str]:
    """Say how ΔAIC goes with the length of the texts (their Appendix A), from three responses on."""
    parts = []
    for label, mine in rows[rows.lm != baseline].groupby("label", sort=False):
        known = mine[mine.delta_aic.notna()]
        r = delta_aic.correlation(known.words_per_text.to_numpy(), known.delta_aic.to_numpy())
        if len(known) > 2 and not math.isnan(r):
            parts.append(f"{label} {style.signed(r, 2)}")
    names = ", ".join(parts)
    return [f"Pearson's r of ΔAIC and words a text, over the responses: {names}"] if parts else []


def summary(path: Path) -> Table:
    """Give ΔAIC by LM and response, from this table's CSV, with the number of words, for the summary."""
    rows = comparison.table(path, ["label", "response", "n", "delta_aic"])
    names = list(dict.fromkeys(rows.response))
    what = "observations" if "loglik" in rows else "words"
    grid = [
        [
            Cell(what, left=True),
            *(Cell(f"{n:,}") for n in rows.groupby("response").n.first()[names]),
        ]
    ]
    for label, mine in rows.groupby("label", sort=False):
        delta = mine.set_index("response").delta_aic.reindex(names)
        if (delta != 0).any():  # the baseline's own are 0
            grid.append([Cell(label, left=True), *(Cell(style.signed(each, 2)) for each in delta)])
    notes = [
        f"ΔAIC against the baseline on all {what}: below 0 the LM fits better. All are fitted: there "
        + "is no held-out partition, so nothing is tested on one"
    ]
    header = [Cell("LM", left=True), *(Cell(name) for name in names)]
    return Table("", [header], grid, notes)


def main(
    *,
    delta_aic: str | Path,
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    baseline: str,
    published: str | Path | None = None,
    not_run: str | Path | None = None,
    source: str = "de Varda & Marelli (2024), Section 4 and Figure 2 D",
    title: str = "AIC by corpus and language model",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows, _, _, missing = read(delta_aic, lms, responses, not_run, published)
    own = rows.lm == baseline
    data = rows.assign(
        difference=rows.delta_aic - rows.published,
        reading=rows.delta_aic.map(reading).mask(own, ""),
    )
    tables.write(out, layout(rows, baseline, missing, title, source), data)
