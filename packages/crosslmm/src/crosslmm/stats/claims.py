"""Claims about a difference, judged by its confidence interval.

The interval is compared with zero, and with a smallest effect of interest that is stated before the
results are seen. That an effect is absent needs a bound just as that it is present does.
"""

import math
from collections.abc import Mapping, Sequence

LEADS = "leads"
LEADS_BY_LESS = "leads by less"
RULED_OUT = "ruled out"
OPEN = "open"


def judge(low: float, high: float, smallest_effect: float = 0.0) -> str:
    """Judge the claim that A leads B, by the interval of A - B.

    Parameters
    ----------
    low, high : float
        Ends of the confidence interval of the difference; NaN where there is no interval.
    smallest_effect : float
        Smallest effect of interest, in the unit of the difference; 0 or more.

    Returns
    -------
    str
        "leads" if ``low > 0``; "leads by less" if moreover ``high < smallest_effect``, so that a lead
        as large as the smallest effect is ruled out; "ruled out" if only that holds: A may lead or
        not, but not by the smallest effect. Otherwise "open", also without an interval.

    References
    ----------
    Lakens, D., Scheel, A. M. & Isager, P. M. (2018). Equivalence testing for psychological
    research: A tutorial. *Advances in Methods and Practices in Psychological Science*, 1, 259-269.

    Examples
    --------
    >>> judge(21, 89, 10), judge(2, 8, 10), judge(-5, 8, 10), judge(-5, 89, 10)
    ('leads', 'leads by less', 'ruled out', 'open')
    """
    if math.isnan(low) or math.isnan(high):
        return OPEN
    if low > 0:
        return LEADS_BY_LESS if high < smallest_effect else LEADS
    return RULED_OUT if high < smallest_effect else OPEN


def judge_share(low: float, high: float, share_high: float, smallest_effect: float) -> str:
    """Judge the claim that A leads B by a share of what is itself estimated.

    Whether A leads is never said otherwise than by the interval of the difference.

    Parameters
    ----------
    low, high : float
        Ends of the interval of the difference.
    share_high : float
        Upper end of the interval of its share, such as Fieller's; NaN where it has none.
    smallest_effect : float
        Smallest effect of interest, a share.

    Returns
    -------
    str
        As of `judge`.

    Examples
    --------
    >>> judge_share(-5, 89, 0.08, 0.1), judge_share(-5, 89, float("nan"), 0.1)
    ('ruled out', 'open')
    """
    most = -math.inf if high < 0 else share_high
    return judge(low, math.inf if math.isnan(most) else most, smallest_effect)


def leads(low: float, high: float) -> bool:
    """Return whether A leads B, by however little: the interval lies above zero."""
    return judge(low, high) == LEADS


def in_nats(
    smallest_effect: Mapping[str, float | None] | None,
    observations: float,
    baseline: float,
    slopes: Sequence[tuple[float, float]] = (),
) -> float:
    """Convert a smallest effect of interest, as the config states it, to nats.

    Parameters
    ----------
    smallest_effect : mapping, optional
        ``nats_per_1000``, in nats per 1,000 scored observations, ``relative``, a share of the
        baseline LM's ΔLogLik, or ``ms_per_bit``: what a slope of this size adds to the
        log-likelihood, b² / (2 SE²) in each response. A value of None counts as not given.
    observations : float
        Number of scored observations.
    baseline : float
        ΔLogLik of the baseline LM in nats; NaN where it was not run.
    slopes
        By response: the standard error of the baseline LM's slope in ms per bit, and scored
        observations for each fitted one.

    Returns
    -------
    float
        Nats; 0 where no smallest effect is stated; NaN where it cannot be converted, as a share of
        a ΔLogLik that is missing or not positive, or as a slope without any in ms per bit.

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
    if unit == "ms_per_bit":
        gains = [scored * (value / se) ** 2 / 2 for se, scored in slopes]
        return math.fsum(gains) if gains else math.nan
    return value * baseline if baseline > 0 else math.nan
