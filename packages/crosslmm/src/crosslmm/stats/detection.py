"""The lead that studies of a design detect, by the noncentral t distribution."""

import math

import numpy as np

POWER = 0.8
POINTS = 2_000
"""Equally probable values of the estimated standard error, over which power is averaged."""


def detectable(se: float, half_width: float, power: float = POWER) -> float:
    """Return the lead that this share of studies detects: whose 95 % interval lies above 0.

    The study at hand estimates the standard error, and so will the others: how uncertain it is
    follows from the interval, which is wider than 1.96 standard errors by Student's t. The estimate
    is divided by its mean relative to the true standard error, so that leads are right on average.

    Parameters
    ----------
    se, half_width : float
        Standard error, and half the width of the 95 % interval, in any unit.
    power : float
        The share of studies.

    Returns
    -------
    float
        In the same unit; NaN without a standard error.
    """
    from scipy import special
    from scipy.optimize import brentq

    if not (se > 0 and math.isfinite(half_width)):
        return math.nan
    critical = half_width / se
    least = float(special.ndtri(0.975))
    if critical <= least * 1.0001:
        return half_width + float(special.ndtri(power)) * se
    df = float(brentq(lambda df: special.stdtrit(df, 0.975) - critical, 0.2, 1e6))
    share = (np.arange(POINTS) + 0.5) / POINTS
    spread = np.sqrt(2 * special.gammaincinv(df / 2, share) / df)

    def lacking(lead: float) -> float:
        return float(special.ndtr(lead - critical * spread).mean()) - power

    lead = float(brentq(lacking, 0.0, critical * (spread[-1] + 10) + 10))
    # E[s]/σ, Cochran's c4.
    log_mean = special.gammaln((df + 1) / 2) - special.gammaln(df / 2)
    return lead * se / (math.sqrt(2 / df) * math.exp(log_mean))
