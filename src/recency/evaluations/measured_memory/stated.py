"""The memory implied by an LM's settings: half-life of a slope or state, or length of a window."""

import math
from dataclasses import dataclass

from recency.figures import encoding
from recency.figures.comparison import LM

#: Quantiles of the units' half-lives in a scored LM's file; see score.
UNITS, QUANTILES = "unit_half_lives", (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Stated:
    """Half-life in tokens, with quartiles for learned units, or length of a window; else NaN."""

    half_life: float = math.nan
    low: float = math.nan
    high: float = math.nan
    window: float = math.nan


def stated_memory(lm: LM, units: list[float] | None = None) -> Stated:
    """Return the memory implied by an LM's bias or memory; `units` are quartiles of half-lives.

    ALiBi's slope m for all heads has the half-life ln 2/m tokens, and a state that fades by α has
    ln 2/-ln α (for the SRNN, C as α, ignoring its tanh).
    """
    memory = lm.network.get("memory", {})
    if memory.get("decay") == 0:
        return Stated(window=memory.get("window", 1))
    if units:
        low, middle, high = units
        return Stated(middle, low, high)
    if memory:
        return Stated()
    if lm.bias["form"] == "window" and "width" in lm.bias:
        return Stated(window=lm.bias["width"])
    slope = encoding.slope(lm.bias)
    return Stated(math.log(2) / slope) if slope else Stated()
