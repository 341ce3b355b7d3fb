"""ΔAIC of each LM against the baseline, reproduced and published (de Varda & Marelli 2024).

Surprisal and fit of each LM on each corpus, in four panels (de Varda & Marelli 2024, Fig. 2).
"""

import math
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from recency.evaluations.item_means import delta_aic
from recency.figures import comparison, papers, style, tables
from recency.figures.comparison import LM, Response, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "figure_delta_aic": {
        "makes": {"out": ("figure_delta_aic", "Surprisal, and ΔAIC of each LM")},
        "reads": ["delta_aic", "not_run"],
        "settings": ["lms", "responses", "baseline"],
        "published": "delta_aic",
    },
    "table_delta_aic": {
        "makes": {"out": ("table_delta_aic", "Table of ΔAIC")},
        "reads": ["delta_aic", "not_run"],
        "settings": ["lms", "responses", "baseline"],
        "published": "delta_aic",
        "summary": ("table_delta_aic.csv", "{title}"),
    },
}


def reading(delta: float) -> str:
    """Interpret a ΔAIC by Burnham & Anderson (2004), as de Varda & Marelli did (Section 3.3).

    Their rules cover 0 to 2, 4 to 7 and 10 or more; intermediate values are described as such.
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


def read(view: View, path: File) -> tuple[pd.DataFrame, list[Response], list[str]]:
    """Read delta_aic.csv with `label`, `response`, and published values added.

    These are `published` (ΔAIC), `n_published` (words) and `published_r_length` (Appendix A, for the whole).

    Rows are in the order of the responses, then of the LMs. Also return the responses that were run,
    and notes on the others. Published values are a CSV as read by recency.figures.papers, with
    corpus_measure (labels), n_words and delta_aic.
    """
    rows, done, lost = view.rows(path, delta_aic.COLUMNS)
    models, published = view.lms, view.published
    comparison.refuse_twice(path, rows)
    rows["label"] = rows.lm.map(view.labels)
    by_response = {response.label: rank for rank, response in enumerate(done)}
    by_lm = {model.lm: rank for rank, model in enumerate(models)}
    order = rows.assign(a=rows.response.map(by_response), b=rows.lm.map(by_lm))
    rows = rows.loc[order.sort_values(["a", "b"]).index].reset_index(drop=True)
    rows["published"], rows["n_published"], rows["published_r_length"] = math.nan, pd.NA, math.nan
    if published is not None:
        wanted = ["corpus_measure", "n_words", "delta_aic", "r_length"]
        there = papers.rows(published, models, wanted)
        of_lm = there.drop_duplicates("lm").set_index("lm").r_length
        rows["published_r_length"] = rows.lm.map(of_lm)
        values = there.set_index(["lm", "corpus_measure"]).delta_aic
        there = comparison.table(published, ["corpus_measure", "n_words"])
        sizes = there.drop_duplicates("corpus_measure").set_index("corpus_measure").n_words
        rows["published"] = [values.get(key, math.nan) for key in zip(rows.lm, rows.response)]
        rows["n_published"] = [sizes.get(name, pd.NA) for name in rows.response]
    return rows, done, lost + comparison.failed_fits(rows, "aic")


def layout(rows: pd.DataFrame, baseline: str, notes: list[str]) -> Table:
    """Return the table: a block per response, a row per LM."""
    has_published = bool(rows.published.notna().any())
    whole = "loglik" in rows
    names = [
        "Observations" if whole else "Words",
        "LM",
        *(["logLik", "BIC"] * whole),
        "AIC",
        "ΔAIC",
    ]
    names += [*(["published"] * has_published), "Relative likelihood"]
    header = ["Response", *names, "Reading"]
    grid, rules = [], []
    for response, block in rows.groupby("response", sort=False):
        rules += [len(grid)] if grid else []
        best = block.aic.min()
        for index, (_, row) in enumerate(block.iterrows()):
            is_baseline = row.lm == baseline
            has_size = pd.notna(row.n_published)
            size = f"published {row.n_published:,}" if has_size and not index else ""
            cells = [
                "" if index else response,
                Cell("" if index else f"{row.n:,}", (size,) if size else ()),
                row.label,
                *(style.number(row[name], 2) for name in ("loglik", "bic") if whole),
                Cell(style.number(row.aic, 2), bold=row.aic == best),
                "" if is_baseline else style.signed(row.delta_aic, 2),
            ]
            if has_published:
                cells.append("" if is_baseline else style.signed(row.published, 2))
            likelihood = "" if is_baseline or pd.isna(row.aic) else f"{row.relative_likelihood:.3g}"
            cells += [likelihood, "" if is_baseline else reading(row.delta_aic)]
            grid.append(cells)
    what = "observations" if whole else "words"
    compared = f"ΔAIC: AIC minus that of {baseline_label(rows, baseline)} on the same {what}; "
    judged = "relative likelihood of the worse model: e^(-|ΔAIC| / 2); interpretation by "
    judged += "Burnham & Anderson (2004): 0 to 2, 4 to 7, 10 or more; they do not cover the rest"
    first = [compared + "below 0 the LM fits better; bold: the lowest AIC of a response", judged]
    if has_published:
        first.append("published: de Varda & Marelli (2024), Section 4 and Figure 2 D")
    return Table(
        "AIC by corpus and language model",
        header,
        grid,
        [*first, *lengths(rows, baseline), *notes],
        tuple(rules),
        left=("Response", "LM", "Reading"),
    )


def baseline_label(rows: pd.DataFrame, baseline: str) -> str:
    """Return the baseline's label."""
    return next(iter(rows.label[rows.lm == baseline]), baseline)


def lengths(rows: pd.DataFrame, baseline: str) -> list[str]:
    """Return a note on the correlation of ΔAIC with text length (their Appendix A)."""
    parts = []
    for label, mine in rows[rows.lm != baseline].groupby("label", sort=False):
        fitted = mine[mine.delta_aic.notna()]
        r = delta_aic.correlation(fitted.words_per_text.to_numpy(), fitted.delta_aic.to_numpy())
        if len(fitted) > 2 and not math.isnan(r):
            there = mine.published_r_length.iloc[0]
            known = "" if math.isnan(there) else f" (published {style.signed(there, 2)})"
            parts.append(f"{label} {style.signed(r, 2)}{known}")
    names = ", ".join(parts)
    return [f"Pearson's r of ΔAIC and words per text, over the responses: {names}"] if parts else []


def summary(path: Path) -> Table:
    """Return ΔAIC by LM and response with the number of words, from this table's CSV."""
    rows = comparison.table(path, ["label", "response", "n", "delta_aic"])
    names = list(dict.fromkeys(rows.response))
    what = "observations" if "loglik" in rows else "words"
    grid = [[what, *(f"{n:,}" for n in rows.groupby("response").n.first()[names])]]
    for label, mine in rows.groupby("label", sort=False):
        delta = mine.set_index("response").delta_aic.reindex(names)
        if (delta != 0).any():  # the baseline's are 0
            grid.append([label, *(style.signed(value, 2) for value in delta)])
    notes = [
        (
            f"ΔAIC against the baseline on all {what}: below 0 the LM fits better. All data are fitted: there "
            "is no held-out partition"
        )
    ]
    return Table("", ["LM", *names], grid, notes)


def table_delta_aic(view: View, delta_aic: File, out: Files) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows, _, missing = read(view, delta_aic)
    is_baseline = rows.lm == view.baseline
    data = rows.assign(
        difference=rows.delta_aic - rows.published,
        reading=rows.delta_aic.map(reading).mask(is_baseline, ""),
    )
    tables.write(out, layout(rows, view.baseline, missing), data)


PANELS = {
    "mean_surprisal_nats": ("A", "Mean surprisal of a word (nats)"),
    "r_frequency": ("B", "r of surprisal and log frequency"),
    "r_response": ("C", "r of surprisal and response"),
    "delta_aic": ("D", "ΔAIC against {}"),
}
HEIGHT = 0.34  # inches per response


def draw(
    rows: pd.DataFrame, lms: list[LM], responses: list[Response], baseline: str, words: list[str]
) -> Figure:
    """Draw the panels: responses downwards, a marker per LM; `words` are notes below the figure."""
    looks, names = style.looks(lms), [response.label for response in responses]
    step = min(0.26, 0.7 / len(lms))
    figure = style.figure(1.6 + 2 * HEIGHT * max(len(names), 3))
    grid = figure.subplots(2, 2, sharey=True)
    baseline_label = next((lm.label for lm in lms if lm.lm == baseline), baseline)
    for axes, (column, (letter, title)) in zip(grid.flat, PANELS.items(), strict=True):
        for number, lm in enumerate(lms):
            mine = rows[rows.lm == lm.lm].set_index("response")[column].reindex(names)
            look, off = looks[lm.lm], step * (number - (len(lms) - 1) / 2)
            if column == "delta_aic" and lm.lm == baseline:
                continue
            places = [index + off for index in range(len(names))]
            axes.plot(mine, places, look.marker, mfc=look.face, mec=look.colour, ms=5, gid=lm.lm)
            if column == "delta_aic":
                there = rows[rows.lm == lm.lm].set_index("response").published.reindex(names)
                style.published(axes, there, places, f"published {lm.lm}")
        if column == "delta_aic":
            axes.axvline(0, color=style.GREY, lw=0.7, zorder=1)
        axes.set_title(letter, loc="left", fontweight="bold")
        axes.set_xlabel(title.format(baseline_label))
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(style.tick)
        axes.grid(axis="x")
    handles = [
        style.handle(marker=look.marker, mfc=look.face, mec=look.colour, ls="", label=lm.label)
        for lm, look in ((lm, looks[lm.lm]) for lm in lms)
    ]
    if rows.published.notna().any():
        handles.append(style.published_handle())
    figure.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 4))
    style.notes(figure, words)
    return figure


def figure_delta_aic(view: View, delta_aic: File, out: Files) -> None:
    """Draw the four panels to `out` (.pdf, .svg, .png, .csv)."""
    rows, done, words = read(view, delta_aic)
    data = rows[["lm", "label", "response", "n", *PANELS, "published"]]
    data = data.assign(difference=data.delta_aic - data.published)
    style.write(out, data, draw, rows, view.lms, done, view.baseline, words, empty=words)
