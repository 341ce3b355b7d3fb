"""The memory that an LM's settings state: a slope's or a fading state's half-life, the words of a window."""

import math
from dataclasses import dataclass

from recency.figures import encoding
from recency.figures.comparison import LM

#: The units' half-lives that a scored LM's file has, at these quantiles; see score.
UNITS, QUANTILES = "unit_half_lives", (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Stated:
    """Half-life in tokens, of learned units the quartiles too; or the tokens of a window. NaN of others."""

    half_life: float = math.nan
    low: float = math.nan
    high: float = math.nan
    window: float = math.nan


def stated(lm: LM, units: list[float] | None = None) -> Stated:
    """Return what an LM's bias or memory states; `units` are the quartiles of its units' half-lives.

    ALiBi's slope m for all heads halves a word in ln 2/m tokens, a state that fades by α in
    ln 2/-ln α (SRNN's C as α, its tanh apart).
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
