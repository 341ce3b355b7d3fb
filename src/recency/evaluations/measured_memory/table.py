"""The half-life of each LM's memory, measured from outside."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from recency.evaluations.measured_memory.figure import read, words
from recency.evaluations.measured_memory.half_life import LONGEST, SHORTEST, Memory
from recency.figures import tables
from recency.figures.comparison import LM
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_measured_memory", "Half-lives of the LMs' memories")},
    "reads": ["memories"],
    "settings": ["lms=variants"],
}

NOTES = [
    "Next word: mean change of the next word's surprisal; it is left out of what follows",
    "Half-life: of the exponential nearest to the mean change by distance; intervals (95 %) draw the replaced words anew, and seeds where there are several, whose mean it is",
    "Half within: so many words on, half of the summed change has fallen",
]


def interval(memory: Memory) -> str:
    """Write a half-life with its interval; ends of the search as what they are."""
    if np.isnan(memory.half_life):
        return "–"
    low, high = words(memory.half_life_low), words(memory.half_life_high)
    low = f"under {words(SHORTEST)}" if memory.half_life_low < 1.05 * SHORTEST else low
    high = f"over {words(LONGEST)}" if memory.half_life_high > LONGEST / 1.05 else high
    return f"{words(memory.half_life)} ({low} to {high})"


def layout(memories: dict[str, Memory], lms: list[LM]) -> Table:
    """Set out a row an LM, the longest half-life first."""
    header = [
        [
            *(Cell("LM"), Cell("Next word (bits)"), Cell("Half-life (words)")),
            *(Cell("Half within (words)"), Cell("Replaced")),
        ]
    ]
    order = sorted(lms, key=lambda lm: -np.nan_to_num(memories[lm.lm].half_life))
    rows = [
        [
            Cell(lm.label, left=True),
            Cell(f"{memory.effect[0]:.2f}"),
            Cell(interval(memory)),
            Cell("–" if np.isnan(memory.half_within) else f"{memory.half_within:.0f}"),
            Cell(f"{memory.places:,}"),
        ]
        for lm in order
        for memory in [memories[lm.lm]]
    ]
    return Table("Measured memory", header, rows, NOTES)


def main(
    *, memories: Iterable[str | Path], out: Iterable[str | Path], lms: Iterable[Mapping]
) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    found, models = read(memories, lms)
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
        for lm in models
        for memory in [found[lm.lm]]
    )
    tables.write(out, layout(found, models), data)
