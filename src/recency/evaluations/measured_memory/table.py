"""The half-life of each LM's memory, measured from outside."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from recency.evaluations.measured_memory.figure import bound, read, summary_columns, words
from recency.evaluations.measured_memory.half_life import Memory
from recency.figures import tables
from recency.figures.comparison import LM
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_measured_memory", "Half-lives of the LMs' memories")},
    "reads": ["memories"],
    "settings": ["lms=variants"],
}

ADDED = ("half_life_identified", "half_life_floor_bits", "half_within_low", "half_within_high")
NOTES = [
    "Next word: mean change of the next word's surprisal; the other columns leave it out",
    "Half-life: of an exponential with a floor, fitted to the mean change by distance; > or <: a "
    + "bound (95 %) where the half-life itself is not identified",
    "Half within: distance that contains half of the summed change, whatever its shape",
    "95 % intervals resample the replaced words, and the seeds where there are several",
]


def interval(memory: Memory) -> str:
    """Write a half-life with its interval, or its bound, or that it is not identified."""
    if memory.is_identified:
        low, high = words(memory.half_life_low), words(memory.half_life_high)
        return f"{words(memory.half_life)} ({low} to {high})"
    if not memory.effect.any():
        return "–"
    return bound(memory) or "not identified"


def half_within(memory: Memory) -> str:
    """Write the distance that contains half of the effect, with its interval."""
    if np.isnan(memory.half_within):
        return "–"
    ends = f"{memory.half_within_low:.0f} to {memory.half_within_high:.0f}"
    return f"{memory.half_within:.0f} ({ends})"


def order_by_half_life(memories: dict[str, Memory], lms: list[LM]) -> list[LM]:
    """Return the LMs by half-life, or by its bound, the longest first, unidentified ones last."""

    def longest(lm: LM) -> float:
        memory = memories[lm.lm]
        ends = (memory.half_life, memory.half_life_low, memory.half_life_high)
        return next((end for end in ends if np.isfinite(end) and end > 0), 0.0)

    return sorted(lms, key=longest, reverse=True)


def layout(memories: dict[str, Memory], lms: list[LM]) -> Table:
    """Set out one row per LM, the longest half-life first."""
    header = [
        [
            *(Cell("LM"), Cell("Next word (bits)"), Cell("Half-life (words)")),
            *(Cell("Floor (bits)"), Cell("Half within (words)"), Cell("Replaced")),
        ]
    ]
    rows = [
        [
            Cell(lm.label, left=True),
            Cell(f"{memory.effect[0]:.2f}"),
            Cell(interval(memory)),
            Cell("–" if np.isnan(memory.floor) else f"{memory.floor:.3f}"),
            Cell(half_within(memory)),
            Cell(f"{memory.places:,}"),
        ]
        for lm in order_by_half_life(memories, lms)
        for memory in [memories[lm.lm]]
    ]
    return Table("Measured memory", header, rows, NOTES)


def main(
    *, memories: Iterable[str | Path], out: Iterable[str | Path], lms: Iterable[Mapping]
) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    summaries, models = read(memories, lms)
    data = pd.DataFrame(
        {
            "lm": lm.lm,
            "label": lm.label,
            "half_life_words": memory.half_life,
            "low": memory.half_life_low,
            "high": memory.half_life_high,
            "next_word_bits": memory.effect[0],
            "half_within_words": memory.half_within,
            "places": memory.places,
        }
        | {name: value for name, value in summary_columns(memory).items() if name in ADDED}
        for lm in models
        for memory in [summaries[lm.lm]]
    )
    tables.write(out, layout(summaries, models), data)
