"""Half-life of the decline of each LM's measured memory."""

import numpy as np
import pandas as pd

from recency.evaluations.measured_memory.figure import bound, read, summary_columns, words
from recency.evaluations.measured_memory.half_life import Memory
from recency.figures import tables
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files
from recency.figures.tables import Table

PRODUCT = {
    "makes": {"out": ("table_measured_memory", "Slope of decline: half-lives")},
    "reads": ["memories"],
    "settings": ["lms=variants"],
}

ADDED = ("half_life_identified", "half_life_floor_bits", "half_within_low", "half_within_high")
NOTES = [
    "Next word: mean change of the next word's surprisal; the other columns exclude it",
    (
        "Half-life: half-life of an exponential with a floor, fitted to the mean change by distance; > or <: a "
        "bound (95 %) where the half-life itself is not identified"
    ),
    "Half within: distance that contains half of the summed change, regardless of its shape",
    "95 % intervals resample the replaced words, and the seeds where there are several",
]


def interval(memory: Memory) -> str:
    """Format a half-life with its interval, its bound, or as not identified."""
    if memory.is_identified:
        low, high = words(memory.half_life_low), words(memory.half_life_high)
        return f"{words(memory.half_life)} ({low} to {high})"
    if not memory.effect.any():
        return "–"
    return bound(memory) or "not identified"


def half_within(memory: Memory) -> str:
    """Format the distance that contains half of the effect, with its interval."""
    if np.isnan(memory.half_within):
        return "–"
    ends = f"{memory.half_within_low:.0f} to {memory.half_within_high:.0f}"
    return f"{memory.half_within:.0f} ({ends})"


def order_by_half_life(memories: dict[str, Memory], lms: list[LM]) -> list[LM]:
    """Return the LMs by half-life or its bound, the longest first, unidentified ones last."""

    def longest(lm: LM) -> float:
        memory = memories[lm.lm]
        ends = (memory.half_life, memory.half_life_low, memory.half_life_high)
        return next((end for end in ends if np.isfinite(end) and end > 0), 0.0)

    return sorted(lms, key=longest, reverse=True)


def layout(memories: dict[str, Memory], lms: list[LM]) -> Table:
    """Return one row per LM, the longest half-life first."""
    texts = ["LM", "Next word (bits)", "Half-life (words)", "Floor (bits)", "Half within (words)"]
    header = [*texts, "Replaced"]
    rows = []
    for lm in order_by_half_life(memories, lms):
        memory = memories[lm.lm]
        floor = "–" if np.isnan(memory.floor) else f"{memory.floor:.3f}"
        row = [lm.label, f"{memory.effect[0]:.2f}", interval(memory), floor]
        rows.append([*row, half_within(memory), f"{memory.replacements:,}"])
    return Table("Slope of decline", header, rows, NOTES)


def main(*, memories: Files, out: Files, lms: Described) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    summaries, models = read(memories, lms)
    rows = []
    for lm in models:
        memory = summaries[lm.lm]
        row = {"lm": lm.lm, "label": lm.label, "half_life_words": memory.half_life}
        row |= {"low": memory.half_life_low, "high": memory.half_life_high}
        row |= {"next_word_bits": memory.effect[0], "half_within_words": memory.half_within}
        row["replacements"] = memory.replacements
        columns = summary_columns(memory).items()
        rows.append(row | {name: value for name, value in columns if name in ADDED})
    data = pd.DataFrame(rows)
    tables.write(out, layout(summaries, models), data)
