"""LMs compared at the same perplexity, from their learning curves.

An LM that predicts text better has trained for longer, or has a better memory; at its end, both are
compared at once. Here the one with the lower final perplexity is read where its curve had the other's.
Between two checkpoints ΔLogLik is linear in the bits per token (or word).
"""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from crosslmm.stats.totals import Draws, simultaneous_critical_value

Point = tuple[str, int]
"""LM and step."""
COLUMNS = [
    *("lm", "against", "perplexity", "unit", "step", "step_against", "seeds"),
    *("delta_loglik", "delta_loglik_against", "difference"),
    *("low", "high", "low_all", "high_all", "by"),
]


def matched(
    fits: Mapping[Point, Draws],
    bits: Mapping[Point, Draws],
    baselines: Mapping[str, str],
    unit: str = "token",
) -> pd.DataFrame:
    """Return a row (COLUMNS) per LM and its baseline, at the larger of their final perplexities.

    Parameters
    ----------
    fits
        ΔLogLik (nats) after each step.
    bits
        Bits per token or word of the same texts, after the same steps.
    baselines
        LM → the LM that it is compared with.
    unit
        Of the bits.

    Returns
    -------
    DataFrame
        `step` and `step_against` are interpolated; NaN, as the difference, where the better LM's curve
        begins below that perplexity. Intervals are for new readers, sentences and seeds, whose
        perplexities differ as well; low_all and high_all hold for all rows together.
    """
    ends = {lm: bits[lm, max(step for name, step in bits if name == lm)].value for lm, _ in bits}
    rows, totals = [], []
    for lm, against in baselines.items():
        if lm == against or not {lm, against} <= set(ends):
            continue
        target = max(ends[lm], ends[against])
        row = dict.fromkeys(COLUMNS, math.nan)
        row |= {"lm": lm, "against": against, "perplexity": 2.0**target, "unit": unit}
        found = [_at(target, name, fits, bits) for name in (lm, against)]
        if all(found):
            (step, mine), (step_against, other) = found
            row |= {"step": step, "step_against": step_against, "seeds": mine.freedom + 1}
            row |= {"delta_loglik": mine.value, "delta_loglik_against": other.value}
            totals.append((len(rows), mine, other))
        rows.append(row)
    every = [draws for _, *pair in totals for draws in pair]
    pairs = [(2 * place, 2 * place + 1) for place in range(len(totals))]
    together = simultaneous_critical_value(every, pairs) if len(pairs) > 1 else None
    for place, mine, other in totals:
        difference = mine - other
        found_ends = difference.ends(together)
        if together is None:
            found_ends |= {"low_all": found_ends["low"], "high_all": found_ends["high"]}
        rows[place] |= {"difference": difference.value}
        rows[place] |= {
            key: found_ends[key] for key in ("low", "high", "low_all", "high_all", "by")
        }
    return pd.DataFrame(rows, columns=COLUMNS)


def _at(
    target: float, lm: str, fits: Mapping[Point, Draws], bits: Mapping[Point, Draws]
) -> tuple[float, Draws] | None:
    """Return the step at which an LM's curve last had `target` bits, and its ΔLogLik there."""
    steps = sorted(step for name, step in fits if name == lm and (lm, step) in bits)
    values = np.array([bits[lm, step].value for step in steps])
    if not len(steps) or not np.isfinite(values).all():
        return None
    for place in range(len(steps) - 1, -1, -1):
        if values[place] == target:
            return float(steps[place]), fits[lm, steps[place]]
        if place and values[place] < target < values[place - 1]:
            break
    else:
        return None
    first, second = steps[place - 1], steps[place]
    share = (target - values[place - 1]) / (values[place] - values[place - 1])
    at, text = (of[lm, first] * (1 - share) + of[lm, second] * share for of in (fits, bits))
    slope = (fits[lm, second].value - fits[lm, first].value) / (values[place] - values[place - 1])
    # The seeds' perplexities differ from their mean there, each by its own; so does ΔLogLik, by the slope.
    same = dict.fromkeys(at.drawn, 0.0)
    moved = Draws(0.0, 0, same, -slope * text.seeds, -slope * text.noise, text.freedom)
    return first + share * (second - first), at + moved
