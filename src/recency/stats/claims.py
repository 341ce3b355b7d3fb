"""Claims about a difference: supported, excluded or open, judged by its confidence interval.

The interval is compared with a smallest effect of interest that is stated before the results are
seen. That an effect is absent needs a bound just as that it is present does.
"""

import math
from collections.abc import Mapping

SUPPORTED, EXCLUDED, OPEN = "supported", "excluded", "open"


def judge(low: float, high: float, smallest_effect: float = 0.0) -> str:
    """Judge the claim that a difference is positive and large enough to matter.

    Parameters
    ----------
    low, high : float
        Ends of the confidence interval of the difference; NaN where there is no interval.
    smallest_effect : float
        Smallest effect of interest, in the unit of the difference; 0 or more.

    Returns
    -------
    str
        "excluded" if ``high < smallest_effect``: a difference as large as the smallest effect of
        interest is ruled out, even where a smaller one is certain. Otherwise "supported" if
        ``low > 0``. Otherwise "open", also without an interval.

    References
    ----------
    Lakens, D., Scheel, A. M. & Isager, P. M. (2018). Equivalence testing for psychological
    research: A tutorial. *Advances in Methods and Practices in Psychological Science*, 1, 259-269.

    Examples
    --------
    >>> judge(21, 89, 10), judge(-5, 89, 10), judge(-5, 8, 10), judge(2, 8, 10)
    ('supported', 'open', 'excluded', 'excluded')
    """
    if math.isnan(low) or math.isnan(high):
        return OPEN
    if high < smallest_effect:
        return EXCLUDED
    return SUPPORTED if low > 0 else OPEN


def are_separated(low: float, high: float, smallest_effect: float = 0.0) -> bool:
    """Return whether the claim is supported that either of two quantities is the larger one.

    Parameters
    ----------
    low, high : float
        Ends of the confidence interval of their difference.
    smallest_effect : float
        Smallest effect of interest, in the unit of the difference; 0 or more.

    Examples
    --------
    >>> are_separated(-89, -21, 10), are_separated(2, 8, 10)
    (True, False)
    """
    claims = (judge(low, high, smallest_effect), judge(-high, -low, smallest_effect))
    return SUPPORTED in claims


def in_nats(
    smallest_effect: Mapping[str, float | None] | None, observations: float, baseline: float
) -> float:
    """Convert a smallest effect of interest, as the config states it, to nats.

    Parameters
    ----------
    smallest_effect : mapping, optional
        Either ``nats_per_1000``, in nats per 1,000 scored observations, or ``relative``, a share
        of the baseline LM's ΔLogLik. A value of None counts as not given.
    observations : float
        Number of scored observations.
    baseline : float
        ΔLogLik of the baseline LM in nats; NaN where it was not run.

    Returns
    -------
    float
        Nats; 0 where no smallest effect is stated; NaN where it cannot be converted, as a share of
        a ΔLogLik that is missing or not positive.

    Examples
    --------
    >>> in_nats({"nats_per_1000": 0.5}, 20_000, 120.0), in_nats({"relative": 0.1}, 20_000, 120.0)
    (10.0, 12.0)
    """
    stated = {unit: value for unit, value in (smallest_effect or {}).items() if value is not None}
    if not stated:
        return 0.0
    ((unit, value),) = stated.items()
    if unit == "nats_per_1000":
        return value * observations / 1000
    return value * baseline if baseline > 0 else math.nan
