"""Serial position curves with primacy and recency, of people and of each LM and list length.

Intervals cover lists and seeds.
"""

import functools
import math
import operator
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from crosslmm.stats import totals
from crosslmm.stats.totals import Draws
from recency.errors import InputError
from recency.figures import comparison, encoding, ends, style, tables
from recency.figures.comparison import LM, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

#: Task → its column in the files of rule remember_lists.
TASKS = {"recognition": "recognized", "recall": "recalled"}
EDGE = 3  # number of words that count as the beginning and as the end of a list
REPLICATES = 2000
CURVE = ["length", "task", "position", "percent", "low", "high"]
SUMMARY = ["length", "task", "lists", "chance"]
SUMMARY += [f"{name}{end}" for name in ("mean", "primacy", "recency") for end in ("", "_low", "_high")]  # fmt: skip
READ = ["length", "list", "studied", "position", *TASKS.values()]


def summaries(length: int) -> dict[str, np.ndarray]:
    """Return mean, primacy and recency as weights (length,) of a curve's positions.

    Primacy is the mean of the first `EDGE` positions minus that of the middle ones, recency that of
    the last `EDGE` minus that of the middle ones.
    """
    middle = np.zeros(length)
    middle[EDGE:-EDGE] = 1 / (length - 2 * EDGE)
    first = np.where(np.arange(length) < EDGE, 1 / EDGE, 0.0)
    return {
        "mean": np.full(length, 1 / length),
        "primacy": first - middle,
        "recency": first[::-1] - middle,
    }


def curves(tables: Sequence[pd.DataFrame], seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return an LM's curves (columns `CURVE`) and their summaries (`SUMMARY`), in percent.

    `tables` are the files of rule remember_lists, one per seed; curves are means over seeds. 95 %
    intervals are for new lists, the same ones for each seed, and for new seeds
    (`crosslmm.stats.totals`); they end at the smallest and largest possible value. `chance` is 50
    for recognition and, for recall, the percentage of unstudied words in the samples. A task that an
    LM cannot do is omitted.
    """
    if any(not table[READ[:4]].equals(tables[0][READ[:4]]) for table in tables):
        raise InputError("the seeds of an LM were tested on different lists; delete their files in serial_position")  # fmt: skip
    lines, rows = [], []
    for length in dict.fromkeys(tables[0].length):
        for task, column in TASKS.items():
            values, lures = (
                np.stack([_grid(t[(t.length == length) & (t.studied == side)], column) for t in tables])
                for side in (True, False)
            )  # fmt: skip
            if np.isnan(values).any():
                continue
            means = totals.resample_means(values, seed, REPLICATES)
            low, high = np.transpose([_ends(mean, 0.0) for mean in means])
            percent = [mean.value for mean in means]
            line = {"length": length, "task": task, "position": np.arange(1, length + 1)}
            lines.append(pd.DataFrame(line | {"percent": percent, "low": low, "high": high}))
            chance = 50.0 if task == "recognition" else lures.mean()
            row = {"length": length, "task": task, "lists": values.shape[1], "chance": chance}
            for name, weights in summaries(length).items():
                terms = (mean * weight for mean, weight in zip(means, weights, strict=True))
                combined = functools.reduce(operator.add, terms)
                columns = combined.value, *_ends(combined, 0.0 if name == "mean" else -100.0)
                row |= dict(zip((name, f"{name}_low", f"{name}_high"), columns, strict=True))
            rows.append(row)
    if not lines:
        return pd.DataFrame(columns=CURVE), pd.DataFrame(columns=SUMMARY)
    return pd.concat(lines, ignore_index=True)[CURVE], pd.DataFrame(rows)[SUMMARY]


def read(view: View, scores: Files, seed: int) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """Return LM → its curves and summaries."""
    return {
        lm: curves([pd.read_parquet(path, columns=READ) for path in paths], seed)
        for lm, paths in view.of_runs(scores).items()
    }


def human(published: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return published recall as curves and summaries, without intervals, by `seconds` per word."""
    lines, rows = [], []
    for (length, seconds), mine in published.groupby(["length", "seconds"]):
        mine = mine.sort_values("position")
        if list(mine.position) != list(range(1, int(length) + 1)):
            raise InputError(f"published serial_position: lists of {length} need positions 1 to {length}, each once")  # fmt: skip
        percent = mine.recalled.to_numpy(float)
        line = {"length": length, "task": "recall", "position": mine.position, "percent": percent}
        lines.append(pd.DataFrame(line).assign(seconds=seconds))
        values = {name: percent @ weights for name, weights in summaries(int(length)).items()}
        rows.append({"length": int(length), "task": "recall", "seconds": seconds} | values)
    return pd.concat(lines, ignore_index=True), pd.DataFrame(rows)


def _grid(rows: pd.DataFrame, column: str) -> np.ndarray:
    """Return the values (lists, positions) of the words of one list length."""
    return rows.pivot(index="list", columns="position", values=column).to_numpy(float)


def _ends(mean: Draws, lowest: float) -> tuple[float, float]:
    """Return the ends of a mean's interval, in percent, within the possible values."""
    ends = mean.ends()
    return max(ends["low"], lowest), min(ends["high"], 100.0)


PRODUCTS = {
    "figure_serial_position": {
        "makes": {"out": ("figure_serial_position", "Serial position curves")},
        "reads": ["scores"],
        "settings": ["lms=variants", "seed"],
        "published": "serial_position",
    },
    "table_serial_position": {
        "makes": {"out": ("table_serial_position", "Primacy and recency in lists of words")},
        "reads": ["scores"],
        "settings": ["lms=variants", "title", "seed"],
        "published": "serial_position",
        "summary": ("table_serial_position.csv", "{title}: primacy and recency"),
    },
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


def figure_serial_position(view: View, scores: Files, out: Files, seed: int = 0) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for each LM's curves)."""
    models, measured = view.lms, read(view, scores, seed)
    lines = comparison.joined(models, [measured[lm.lm][0] for lm in models])
    lines = lines[["lm", "label", *CURVE]]
    people = pd.DataFrame(columns=["length", "seconds", "position", "percent"])
    if (published := view.published_rows(PUBLISHED)) is not None:
        people, _ = human(published)
    silent = [lm.label for lm in models if "recall" not in set(measured[lm.lm][0].task)]
    notes = [f"no recall: {', '.join(silent)} (masked, or not requested)"] if silent else []
    style.write(out, lines, draw, lines, people, models, notes, empty=notes)


COLUMNS = ["lm", "label", "slope", *SUMMARY]
MEASURES = ("mean", "primacy", "recency")
NOTES = [
    "recognized: percent of unstudied words with a lower score than the studied word; chance is 50",
    "recalled: percent of sampled continuations with the word; lures: the same for unstudied words",
    (
        f"primacy: the first {EDGE} positions minus those between the first and last {EDGE}; recency: "
        f"the last {EDGE} minus the same; in percentage points"
    ),
    "95 % intervals are for new lists and, if there are several seeds, for new seeds",
    "slope: slope of a linear bias shared by all heads, per token",
]


def table_serial_position(view: View, scores: Files, out: Files, seed: int = 0) -> None:
    """Write the table to `out` (.csv tidy with a row per task, .html, .tex)."""
    measured = read(view, scores, seed)
    parts = [
        measured[lm.lm][1].assign(lm=lm.lm, label=lm.label, slope=encoding.slope(lm.bias))
        for lm in view.lms
    ]
    rows = pd.concat(parts, ignore_index=True)[COLUMNS]
    published = view.published_rows(PUBLISHED)
    people = None if published is None else human(published)[1]
    tables.write(out, layout(rows, people, view.title), rows)


def layout(rows: pd.DataFrame, people: pd.DataFrame | None, title: str) -> Table:
    """Return a row per LM and list length, people first."""
    header = ["", "Slope", "List", "Recognized (%)", "primacy", "recency"]
    header += ["Recalled (%)", "lures", "primacy", "recency"]
    grid, notes = [], list(NOTES)
    for row in people.itertuples() if people is not None else ():
        cells = [f"people, {row.seconds:g} s per word", "", str(row.length), "", "", ""]
        cells += [style.number(row.mean), "", style.signed(row.primacy), style.signed(row.recency)]
        grid.append(cells)
    first = len(grid)
    if first:
        notes.append("people: published free recall, with another procedure than for LMs")
    for (_, length), mine in rows.groupby(["lm", "length"], sort=False):
        head = mine.iloc[0]
        slope = "–" if pd.isna(head.slope) else f"{head.slope:g}"
        cells = [head.label, slope, str(length)]
        for task in TASKS:
            of_task = mine[mine.task == task]
            row = of_task.iloc[0] if len(of_task) else None
            values = [_cell(row, name) for name in MEASURES]
            if task == "recall":
                values.insert(1, style.number(math.nan if row is None else row.chance))
            cells += values
        grid.append(cells)
    return Table(title, header, grid, notes, rules=(first,) if first else ())


def _cell(row: pd.Series | None, name: str) -> Cell | str:
    """Return a percentage or a signed difference, with its interval beneath."""
    if row is None:
        return "–"
    write = style.number if name == "mean" else style.signed
    return Cell(write(row[name]), (style.interval(row[f"{name}_low"], row[f"{name}_high"], write),))


def summary(path: File) -> Table:
    """Return this table's CSV in short, for the summary."""
    rows = comparison.table(path, COLUMNS)
    header = ["", "List", "Task", "Mean (%)", "Primacy", "Recency"]
    grid = [
        [row.label, str(row.length), row.task, style.number(row.mean)]
        + [style.signed(row.primacy), style.signed(row.recency)]
        for row in rows.itertuples()
    ]
    return Table("", header, grid, [])
