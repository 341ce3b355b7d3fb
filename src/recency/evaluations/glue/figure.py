"""GLUE scores by run: the best epoch, and measures of the last epoch."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from recency.evaluations.glue import runs as run_files
from recency.evaluations.glue.runs import MEASURES
from recency.figures import style
from recency.figures.comparison import LM
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_glue", "GLUE, run by run")},
    "reads": ["runs"],
    "settings": ["variants", "tasks"],
    "published": "glue",
}

SPREAD = 0.5  # spread of the runs of a row, as a share of its height
FIGURES = {"accuracy": "best epoch, % correct", "mse": "best epoch, squared error"}


def draw(rows: pd.DataFrame, lms: list[LM], tasks: list[Mapping], paper: pd.DataFrame) -> Figure:
    """Draw two panels per task, LMs from top to bottom; hollow dots mark constant predictions."""
    looks = style.looks(lms)
    here = [task for task in tasks if not task["not_run"]]
    height = len(here) * (0.55 + 0.17 * len(lms)) + 0.5
    figure = style.figure(height)
    grid = figure.subplots(len(here), 2, squeeze=False, sharey=True)
    for (left, right), task in zip(grid, here, strict=True):
        mine = rows[rows.task == task["task"]]
        _panel(left, mine, "best", lms, looks)
        _panel(right, mine, "measured", lms, looks)
        left.axvline(mine.majority.iloc[0], color=style.GREY, lw=0.9, ls=(0, (3, 2)), zorder=1)
        right.axvline(
            mine.majority_measured.iloc[0], color=style.GREY, lw=0.9, ls=(0, (3, 2)), zorder=1
        )
        base = paper[(paper.task == task["task"]) & (paper["size"] == "base")]
        places = {lm.lm: y for y, lm in enumerate(lms)}
        left.plot(base.value, base.lm.map(places), "|", color=style.GREY, ms=9, mew=1.2, zorder=2)
        left.set_title(task["label"], loc="left", size=style.SMALL, weight="bold")
        left.set_xlabel(FIGURES[mine.figure.iloc[0]], size=style.SMALL, labelpad=1)
        right.set_xlabel(f"last epoch, {MEASURES[task['measure']]}", size=style.SMALL, labelpad=1)
        left.set_yticks(range(len(lms)), [lm.label for lm in lms])
        left.set_ylim(len(lms) - 0.5, -0.5)
        left.xaxis.set_major_locator(MaxNLocator(6))
        right.set_xlim(min(-0.1, 1.1 * mine.measured.min()), 1.04)
    marks = [
        style.handle(color=style.GREY, marker="o", ms=4, lw=0, label="a run"),
        style.handle(color=style.GREY, marker="o", ms=4, lw=0, mfc="white",
               label="run with constant predictions"),
        style.handle(color=style.GREY, lw=0.9, ls=(0, (3, 2)), label="constant prediction"),
    ]  # fmt: skip
    if len(paper):
        marks.append(
            style.handle(color=style.GREY, marker="|", ms=9, mew=1.2, lw=0, label="published, base")
        )
    figure.legend(handles=marks, loc="outside upper left", ncols=2, handletextpad=0.4)
    style.notes(figure, [f"not run: {task['not_run']}" for task in tasks if task["not_run"]])
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, column: str, lms: list[LM], looks: Mapping) -> None:
    """Draw each LM's runs, spread over its row."""
    for index, lm in enumerate(lms):
        runs = rows[rows.lm == lm.lm]
        step = SPREAD / max(1, len(runs) - 1)
        for number, run in enumerate(runs.itertuples()):
            y = index + number * step - SPREAD / 2 * (len(runs) > 1)
            colour = looks[lm.lm].colour
            axes.plot(
                getattr(run, column), y, "o", ms=3.6, mew=0.9, mec=colour,
                mfc="white" if run.ended else colour, zorder=3,
            )  # fmt: skip
    axes.grid(axis="x")
    axes.tick_params(length=2)
    axes.margins(x=0.08)


def main(
    *,
    runs: Files,
    out: Files,
    variants: list[Mapping],
    tasks: list[Mapping],
    published: File | None = None,
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with one row per run)."""
    models = run_files.lms_of(variants)
    rows = run_files.read(runs, variants, tasks)
    style.write(out, rows, draw, rows, models, tasks, run_files.published(published, tasks, models))
