"""Effect of a replaced word on surprisal by distance, one line per LM."""

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recency.evaluations.measured_memory.half_life import Memory, measured
from recency.evaluations.measured_memory.stated import UNITS
from recency.figures import comparison, ends, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files

PRODUCT = {
    "makes": {"out": ("figure_measured_memory", "Effect of a replaced word by distance")},
    "reads": ["memories"],
    "settings": ["lms=variants"],
}

COLUMNS = ["place", "distance", "change_bits"]
SINGLE = 8  # words: up to this distance one point per word, then one per half octave
SMALLEST = 1e-4  # bits: smaller values are not drawn
TOGETHER = 10  # maximum number of LMs in one panel if they differ in when their bias applies


def read(memories: Files, lms: Described) -> tuple[dict[str, Memory], list[LM]]:
    """Return LM → its memory, and the LMs, from the files of rule measured_memory in order of `lms`.

    The memory of an LM with several seeds is their mean.
    """
    models, files = comparison.of_seeds(memories, lms)
    result = {}
    for lm, paths in files.items():
        tables = [pd.read_parquet(path, columns=COLUMNS) for path in paths]
        units = [table.attrs[UNITS] for table in tables if table.attrs.get(UNITS)]
        middle = [float(unit) for unit in np.median(units, axis=0)] if units else None
        result[lm] = replace(measured(*tables), units=middle)
    return result, models


def points(distance: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the drawn points: each small distance, then means of half octaves."""
    far = np.ceil(SINGLE * 2 ** (np.arange(1, 40) / 2)).astype(int)
    edges = np.unique(np.concatenate([np.arange(1, SINGLE + 1), far]))
    part = np.searchsorted(edges, distance, side="right")
    kept = [part == value for value in np.unique(part)]
    middle = [np.exp(np.log(distance[mine]).mean()) for mine in kept]
    return np.array(middle), np.array([values[mine].mean() for mine in kept])


def named(lm: LM, memory: Memory) -> str:
    """Write an LM's label and half-life."""
    return f"{lm.label}  {bound(memory) or words(memory.half_life)}"


def words(half_life: float) -> str:
    """Write a half-life in words, to two significant digits or as an integer."""
    if np.isnan(half_life):
        return "–"
    return f"{half_life:.2g}" if half_life < 99.5 else f"{half_life:.0f}"


def bound(memory: Memory) -> str:
    """Format the one-sided interval of a half-life ("> 64", "< 0.1"), or an empty string."""
    if memory.half_life_high == np.inf:
        return f"> {words(memory.half_life_low)}"
    if memory.half_life_low == 0:
        return f"< {words(memory.half_life_high)}"
    return ""


def summary_columns(memory: Memory) -> dict[str, float | bool]:
    """Return the CSV columns that summarize a memory, in words and the floor in bits."""
    return {
        "half_life_words": memory.half_life,
        "half_life_low": memory.half_life_low,
        "half_life_high": memory.half_life_high,
        "half_life_floor_bits": memory.floor,
        "half_life_identified": memory.is_identified,
        "half_within_words": memory.half_within,
        "half_within_low": memory.half_within_low,
        "half_within_high": memory.half_within_high,
    }


def panels(lms: list[LM]) -> dict[str, list[LM]]:
    """Return the panels: with many LMs, inference-only biases have a separate one.

    LMs without a bias are in both panels.
    """
    added = [lm for lm in lms if lm.applied == "inference" and lm.kind != "none"]
    if len(lms) <= TOGETHER or not added or len(added) == len(lms):
        return {"": lms}
    plain = [lm for lm in lms if lm.kind == "none"]
    trained = [lm for lm in lms if lm not in added]
    return {"In training and inference": trained, "Inference-only": [*plain, *added]}


def draw(memories: dict[str, Memory], lms: list[LM]) -> Figure:
    """Draw mean |change| over distance, both logarithmic, and each LM's half-life at its line's end."""
    shown = [lm for lm in lms if memories[lm.lm].effect.max() > SMALLEST]
    together = panels(shown)
    heights = [max(3.2, 0.17 * len(group) + 1.2) for group in together.values()]
    figure = style.figure(sum(heights))
    every = figure.subplots(
        len(together), sharex=True, sharey=True, squeeze=False, height_ratios=heights
    )[:, 0]
    longest = max(memory.distance.max() for memory in memories.values())
    every[0].set_xscale("log", base=2)
    every[0].set(yscale="log", xlim=(0.9, longest * 1.1))
    every[-1].set_xlabel("Distance from the replaced word (words)")
    ends_of = []
    for axes, (title, group) in zip(every, together.items(), strict=True):
        ends_of.append(lines(axes, memories, group))
        axes.set_title(title, loc="left")
        style.plain_ticks(axes)
        axes.set_ylabel("Mean change of surprisal (bits)")
        axes.grid()
    looks = style.looks(lms)
    for axes, group, last in zip(every, together.values(), ends_of, strict=True):
        texts = [named(lm, memories[lm.lm]) for lm in group]
        ends.name(axes, texts, last, [looks[lm.lm].colour for lm in group])
    silent = [lm.label for lm in lms if lm not in shown]
    style.notes(figure, [f"no change at all: {', '.join(silent)}"] if silent else [])
    return figure


def lines(axes: Axes, memories: dict[str, Memory], lms: list[LM]) -> list[tuple[float, float]]:
    """Draw each LM's line with its interval, and return the ends of the lines."""
    looks, last = style.looks(lms), []
    for lm in lms:
        memory, colour = memories[lm.lm], looks[lm.lm].colour
        x, y = points(memory.distance, memory.effect)
        low, high = (points(memory.distance, bound)[1] for bound in (memory.low, memory.high))
        seen = y > SMALLEST
        axes.fill_between(x[seen], np.maximum(low, SMALLEST)[seen], high[seen], color=colour,
                          alpha=0.12, lw=0)  # fmt: skip
        axes.plot(x[seen], y[seen], color=colour, lw=1.1, marker=looks[lm.lm].marker, ms=3,
                  mfc=looks[lm.lm].face, mew=0.7)  # fmt: skip
        last.append((x[seen][-1], y[seen][-1]))
    return last


def main(*, memories: Files, out: Files, lms: Described) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with means and intervals by distance)."""
    memory_of, models = read(memories, lms)
    columns = ["lm", "label", "distance", "change_bits", "low", "high"]
    parts = [
        pd.DataFrame(
            {"distance": m.distance, "change_bits": m.effect, "low": m.low, "high": m.high}
        )
        for m in (memory_of[lm.lm] for lm in models)
    ]
    data = comparison.joined(models, parts)[columns].astype({"distance": int})
    style.write(out, data, draw, memory_of, models)
