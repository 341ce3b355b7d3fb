"""Surprisal and fit of each LM on each corpus, in four panels (de Varda & Marelli 2024, Fig. 2)."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from recency.evaluations.item_means import table as table_delta_aic
from recency.figures import style
from recency.figures.comparison import LM, Described, Response
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_delta_aic", "Surprisal, and ΔAIC of each LM")},
    "reads": ["delta_aic", "not_run"],
    "settings": ["lms", "responses", "baseline"],
    "published": "delta_aic",
}

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
                axes.plot(
                    there, places, "|", color="black", ms=9, mew=1.2, gid=f"published {lm.lm}"
                )
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
        handles.append(style.handle(marker="|", color="black", ms=9, ls="", label="published"))
    figure.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 4))
    style.notes(figure, words)
    return figure


def main(
    *,
    delta_aic: File,
    out: Files,
    lms: Described,
    responses: Described,
    baseline: str,
    published: File | None = None,
    not_run: File | None = None,
) -> None:
    """Draw the four panels to `out` (.pdf, .svg, .png, .csv)."""
    rows, models, done, words = table_delta_aic.read(delta_aic, lms, responses, not_run, published)
    data = rows[["lm", "label", "response", "n", *PANELS, "published"]]
    style.write(out, data, draw, rows, models, done, baseline, words, empty=words)
