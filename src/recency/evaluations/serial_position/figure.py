"""Serial position curves: recognition and recall by position, a panel per list length."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from recency.evaluations.serial_position.serial_curves import CURVE, TASKS, human, read
from recency.figures import comparison, ends, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_serial_position", "Serial position curves")},
    "reads": ["scores"],
    "settings": ["lms=variants", "seed"],
    "published": "serial_position",
}

PUBLISHED = ["length", "seconds", "position", "recalled"]
LABELS = {"recognition": "Recognized (%)", "recall": "Recalled (%)"}
PEOPLE = {"color": style.GREY, "ls": (0, (4, 2)), "lw": 1.1}


def draw(lines: pd.DataFrame, people: pd.DataFrame, lms: list[LM], notes: list[str]) -> Figure:
    """Draw a row of panels per task and a column per list length; human recall is dashed."""
    lengths = sorted(lines.length.unique())
    tasks = [task for task in TASKS if task in set(lines.task)]
    figure = style.figure(len(tasks) * max(2.5, 0.17 * len(lms) + 0.8) + 0.4)
    grid = figure.subplots(len(tasks), len(lengths), squeeze=False, sharex="col", sharey="row")
    named = []
    for task, row in zip(tasks, grid, strict=True):
        for length, axes in zip(lengths, row, strict=True):
            mine = lines[(lines.task == task) & (lines.length == length)]
            drawn, last = panel(axes, mine, lms)
            if task == "recognition":
                axes.axhline(50, color=style.GREY, lw=0.8, ls=(0, (1, 2)))
                axes.set_title(f"Lists of {length}", loc="left")
            else:
                for _, line in people[people.length == length].groupby("seconds"):
                    axes.plot(line.position, line.percent, gid="people", **PEOPLE)
            axes.grid()
        row[0].set_ylabel(LABELS[task])
        named.append((row[-1], drawn, last))
    for axes in grid[-1]:
        axes.set_xlabel("Position in the list")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if "recall" in tasks and people.length.isin(lengths).any():
        handles = [style.handle(**PEOPLE, label="people, published")]
        figure.legend(handles=handles, loc="outside upper left")
    style.notes(figure, notes)
    looks = style.looks(lms)
    for axes, drawn, last in named:
        ends.name(axes, [lm.label for lm in drawn], last, [looks[lm.lm].colour for lm in drawn])
    return figure


def panel(
    axes: Axes, rows: pd.DataFrame, lms: list[LM]
) -> tuple[list[LM], list[tuple[float, float]]]:
    """Draw each LM's curve with its interval; return the drawn LMs and the ends of their lines."""
    looks, drawn, last = style.looks(lms), [], []
    for lm in lms:
        line = rows[rows.lm == lm.lm].sort_values("position")
        if not len(line):
            continue
        look = looks[lm.lm]
        axes.fill_between(line.position, line.low, line.high, color=look.colour, alpha=0.12, lw=0)
        axes.plot(line.position, line.percent, color=look.colour, lw=1.1, marker=look.marker,
                  ms=3, mfc=look.face, mew=0.7, gid=f"curve {lm.lm}")  # fmt: skip
        drawn.append(lm)
        last.append((line.position.iloc[-1], line.percent.iloc[-1]))
    return drawn, last


def main(
    *, scores: Files, out: Files, lms: Described, seed: int = 0, published: File | None = None
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for each LM's curves)."""
    models, measured = read(scores, lms, seed)
    lines = comparison.joined(models, [measured[lm.lm][0] for lm in models])
    lines = lines[["lm", "label", *CURVE]]
    people = pd.DataFrame(columns=["length", "seconds", "position", "percent"])
    if published is not None:
        people, _ = human(comparison.table(published, PUBLISHED))
    silent = [lm.label for lm in models if "recall" not in set(measured[lm.lm][0].task)]
    notes = [f"no recall: {', '.join(silent)} (masked, or not requested)"] if silent else []
    style.write(out, lines, draw, lines, people, models, notes, empty=notes)
