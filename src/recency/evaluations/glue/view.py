"""GLUE scores by run: the best epoch, and measures of the last epoch.

GLUE scores and perplexity by LM, compared with published values and constant predictions.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from recency.evaluations.glue import runs as run_files
from recency.evaluations.glue.runs import MEASURES
from recency.figures import comparison, style, tables
from recency.figures.comparison import LM, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "figure_glue": {
        "makes": {"out": ("figure_glue", "GLUE, run by run")},
        "reads": ["runs"],
        "settings": ["variants", "tasks"],
        "published": "glue",
    },
    "table_glue": {
        "makes": {"out": ("table_glue", "Table of GLUE and perplexity")},
        "reads": ["runs", "curves"],
        "settings": ["variants", "trained", "tasks", "training", "title"],
        "published": "glue",
        "summary": ("table_glue.csv", "{title}: GLUE"),
    },
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
        known = paper[paper.task == task["task"]]
        places = {lm.lm: y for y, lm in enumerate(lms)}
        style.published(left, known.published, known.lm.map(places))
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
        marks.append(style.published_handle())
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


def figure_glue(
    view: View, runs: Files, out: Files, variants: list[Mapping], tasks: list[Mapping]
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with one row per run)."""
    models = run_files.lms_of(variants)
    rows = run_files.read(runs, variants, tasks)
    paper = run_files.published(view.published, tasks, models)
    with_paper = rows.merge(paper, "left", ["lm", "task"])
    style.write(out, with_paper, draw, rows, models, tasks, paper)


COLUMNS = ["lm", "label", "task", "figure", "measure", "runs", "best", "low", "high", "last", "measured",
           "ended", "majority", "majority_measured", "epochs", "train", "dev", "cut", "not_run",
           "published", "difference"]  # fmt: skip


def perplexities(curves: Files, trained: list[str]) -> dict[str, float]:
    """Return LM with its seed → exp of its last validation loss, if it has one."""
    perplexity_of = {}
    for lm, path in zip(trained, curves, strict=True):
        held_out = comparison.table(path, ["validation_nats"]).validation_nats.dropna()
        if len(held_out):
            perplexity_of[lm] = float(np.exp(held_out.iloc[-1]))
    return perplexity_of


def tidy(
    runs: pd.DataFrame, lms: list[LM], tasks: list[Mapping], ppl: pd.DataFrame, paper: pd.DataFrame
) -> pd.DataFrame:
    """Return COLUMNS for each LM and task, "ppl" first; a task that was not run has its reason."""
    rows = [run_files.summed(runs), ppl]
    for task in (task for task in tasks if task["not_run"]):
        absent = pd.DataFrame({"lm": [lm.lm for lm in lms], "label": [lm.label for lm in lms]})
        rows.append(absent.assign(**{key: task[key] for key in ("task", "measure", "not_run")}))
    table = pd.concat([frame for frame in rows if len(frame)], ignore_index=True)
    values = paper.set_index(["lm", "task"]).published
    table["published"] = values.reindex(pd.MultiIndex.from_frame(table[["lm", "task"]])).to_numpy()
    table["difference"] = table.best - table.published if "best" in table else np.nan
    order = {name: index for index, name in enumerate(["ppl", *(t["task"] for t in tasks)])}
    lm_order = {lm.lm: index for index, lm in enumerate(lms)}
    table = table.assign(a=table.lm.map(lm_order), b=table.task.map(order)).sort_values(["a", "b"])
    return table.reindex(columns=COLUMNS).reset_index(drop=True)


def written(value: float, figure: str) -> str:
    """Format a percentage with one decimal, a squared error with three."""
    return style.number(value, 3 if figure == "mse" else 1)


def layout(title: str, rows: pd.DataFrame, tasks: list[Mapping], training: Mapping) -> Table:
    """Return a row per LM, below a row for a constant prediction."""
    of = rows.set_index(["lm", "task"], drop=False)
    have = [("ppl", "Perplexity")] if (rows.task == "ppl").any() else []
    have += [(task["task"], task["label"]) for task in tasks]
    single = ["constant prediction"]
    for task, _ in have:
        with_majority = rows[(rows.task == task) & rows.majority.notna()]
        single.append(_single(with_majority.iloc[0]) if len(with_majority) else "")
    grid = [single]
    for lm, label in rows[["lm", "label"]].drop_duplicates().itertuples(index=False):
        cells = [label]
        cells += [_cell(of.loc[(lm, task)]) if (lm, task) in of.index else "–" for task, _ in have]
        grid.append(cells)
    header = ["LM", *(label for _, label in have)]
    return Table(f"{title}: GLUE", header, grid, notes(rows, tasks, training), (1,))


def _single(row: pd.Series) -> Cell:
    """Return the scores of a constant prediction."""
    second = f"{MEASURES[row.measure]} {style.number(row.majority_measured, 2)}"
    return Cell(written(row.majority, row.figure), (second,))


def _cell(row: pd.Series) -> Cell:
    """Return an LM's score on a task, its range, the last epoch's measure, and constant runs."""
    below = []
    published = [] if np.isnan(row.published) else [f"published {style.tick(row.published)}"]
    if isinstance(row.not_run, str) and row.not_run:
        return Cell("not run", tuple(published))
    if row.task == "ppl" and row.runs == 1:
        return Cell(written(row.best, row.figure), tuple(published))
    if row.runs > 1:
        low, high = (written(value, row.figure) for value in (row.low, row.high))
        below.append(f"{low} to {high}")
    if row.task != "ppl":
        below.append(f"{MEASURES[row.measure]} {style.number(row.measured, 2)}")
        if row.ended:
            below.append(f"constant: {row.ended:.0f} of {row.runs:.0f} runs")
    return Cell(
        written(row.best, row.figure), (*below, *published),
        bold=row.task != "ppl" and _has_learned(row),
    )  # fmt: skip


def _has_learned(row: pd.Series) -> bool:
    """Return whether no run ended on a constant prediction and all runs beat one at their best."""
    better = row.high < row.majority if row.figure == "mse" else row.low > row.majority
    return bool(better and not row.ended)


def notes(rows: pd.DataFrame, tasks: list[Mapping], training: Mapping) -> list[str]:
    """Return notes on the measures, the runs, and cut or missing examples."""
    done = rows[rows.epochs.notna()]
    lines = [
        (
            "the study's measure: accuracy on dev at the best epoch, selected on dev itself (for "
            "scores the mean squared error, for targets from 0 to 1), mean over runs, with minimum and "
            "maximum; beneath, the last epoch's Matthews coefficient, F1 or Pearson correlation"
        ),
        (
            "constant prediction: the most frequent label of dev (for scores, their mean); constant: number of "
            "runs that ended on a constant prediction. Bold: no run did, and all were "
            "better than it at their best epoch"
        ),
    ]
    if len(done):
        many = sorted({int(count) for count in done.runs})
        of = "/".join(map(str, many))
        examples = training["examples"]
        sizes = ", ".join(
            f"{task} {int(task_rows.train.iloc[0]):,} and {int(task_rows.dev.iloc[0]):,}"
            for task, task_rows in done.groupby("task", sort=False)
        )
        lines.append(
            f"{of} runs per cell (networks × fine-tuning seeds), {int(done.epochs.max())} epochs"
            + (f", at most {examples:,} examples of train" if examples else "")
            + f"; examples of train and dev: {sizes}"
        )
        cut = done[done.cut > 0].drop_duplicates("task")
        if len(cut):
            counts = ", ".join(f"{row.task} {int(row.cut):,}" for row in cut.itertuples())
            lines.append(f"examples cut to the context, from the longer sentence: {counts}")
    if (rows.task == "ppl").any():
        lines.append(
            "perplexity: of masked tokens of validation text, mean over the networks; published values are "
            "for another text and vocabulary, so that only their order is comparable"
        )
    lines += [f"not run: {task['not_run']}" for task in tasks if task["not_run"]]
    return lines


def summary(path: File) -> Table:
    """Return the scores and the number of constant runs, for the summary."""
    rows = comparison.table(path, COLUMNS)
    rows = rows[(rows.task != "ppl") & rows.best.notna()]
    names = list(dict.fromkeys(rows.task))
    grid = []
    for label, lm_rows in rows.groupby("label", sort=False):
        by = lm_rows.set_index("task")
        cells = [label]
        for name in names:
            row = by.loc[name]
            ended = f" ({row.ended:.0f}/{row.runs:.0f} constant)" if row.ended else ""
            cells.append(written(row.best, row.figure) + ended)
        grid.append(cells)
    note = "best epoch's accuracy in percent (STS-B: squared error), mean over runs"
    return Table("", ["LM", *names], grid, [note])


def table_glue(
    view: View,
    runs: Files,
    curves: Files,
    out: Files,
    variants: list[Mapping],
    trained: list[str],
    tasks: list[Mapping],
    training: Mapping,
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex); `runs` are fine_tune's files, by LM."""
    models = run_files.lms_of(variants)
    one = {variant["variant"]: variant for variant in variants}
    ppl = pd.DataFrame(
        {"lm": one[lm]["lm"], "label": one[lm]["label"], "ppl": value}
        for lm, value in perplexities(curves, trained).items()
    )
    if len(ppl):
        ppl = ppl.groupby(["lm", "label"], sort=False).ppl.agg(["size", "mean", "min", "max"])
        ppl = ppl.set_axis(["runs", "best", "low", "high"], axis=1).reset_index()
        ppl = ppl.assign(task="ppl", figure="ppl")
    paper = run_files.published(view.published, tasks, models)
    rows = tidy(run_files.read(runs, variants, tasks), models, tasks, ppl, paper)
    tables.write(out, layout(view.title, rows, tasks, training), rows)
