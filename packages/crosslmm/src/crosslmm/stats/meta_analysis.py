"""Fixed- and random-effects meta-analysis of independent estimates.

The computation is statsmodels' `combine_effects`. The variance between estimates, τ², is estimated
by Paule and Mandel's method (1982), which simulations favour over DerSimonian and Laird's for few
estimates (Veroniki et al. 2016). The interval of the random-effects mean is Hartung and Knapp's,
with Student's t, and never narrower than the uncorrected one (Röver, Knapp & Friede 2015). The
prediction interval for the effect of a new study follows Higgins, Thompson & Spiegelhalter (2009).

References
----------
Higgins, J. P. T., Thompson, S. G. & Spiegelhalter, D. J. (2009). A re-evaluation of random-effects
meta-analysis. *Journal of the Royal Statistical Society A* 172, 137-159.
Röver, C., Knapp, G. & Friede, T. (2015). Hartung-Knapp-Sidik-Jonkman approach and its modification for
random-effects meta-analysis with few studies. *BMC Medical Research Methodology* 15, 99.
Veroniki, A. A., et al. (2016). Methods to estimate the between-study variance and its uncertainty in
meta-analysis. *Research Synthesis Methods* 7, 55-79.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
FEWEST_FOR_PREDICTION = 3
"""Smallest number of estimates that has a prediction interval."""


@dataclass(frozen=True)
class MetaAnalysis:
    """A meta-analysis of k estimates; values in the estimates' unit, NaN where there are too few.

    Attributes
    ----------
    k
        Number of estimates.
    fixed, fixed_se, fixed_low, fixed_high
        Mean weighted by precision, its standard error and 95 % interval: for these studies only.
    random, random_se, random_low, random_high
        Mean of the population of studies, its standard error and 95 % interval (Hartung-Knapp).
    p
        Two-sided p value of the random-effects mean against 0.
    tau2
        Variance between studies, in the squared unit.
    q, q_p
        Cochran's Q with k - 1 degrees of freedom, and its p value.
    i2
        Share of the variance that lies between studies, 0 to 1.
    prediction_low, prediction_high
        95 % interval of the effect of a new study.
    weights
        Share of each estimate in the random-effects mean (k,).
    """

    k: int
    fixed: float
    fixed_se: float
    fixed_low: float
    fixed_high: float
    random: float
    random_se: float
    random_low: float
    random_high: float
    p: float
    tau2: float
    q: float
    q_p: float
    i2: float
    prediction_low: float
    prediction_high: float
    weights: tuple[float, ...]


def combine(effects: Sequence[float], standard_errors: Sequence[float]) -> MetaAnalysis:
    """Combine independent estimates in a meta-analysis.

    Parameters
    ----------
    effects, standard_errors : sequence of float
        Estimates and their standard errors (k,), from studies that are independent of each other.

    Returns
    -------
    MetaAnalysis
        A single estimate is both means, with the normal distribution's interval.

    Raises
    ------
    ValueError
        If there is no estimate, or a standard error is not a number above 0.
    """
    from scipy import stats

    effect, se = np.asarray(effects, float), np.asarray(standard_errors, float)
    if effect.ndim != 1 or effect.shape != se.shape or not len(effect):
        raise ValueError(f"{effect.size} effects with {se.size} standard errors")
    if not (np.isfinite(effect).all() and np.isfinite(se).all() and (se > 0).all()):
        raise ValueError(
            "an effect or a standard error is not a number, or a standard error is not above 0"
        )
    normal = float(stats.norm.ppf((1 + LEVEL) / 2))
    k, nan = len(effect), math.nan
    if k == 1:
        value, spread = float(effect[0]), float(se[0])
        ends = value - normal * spread, value + normal * spread
        p = float(2 * stats.norm.sf(abs(value) / spread))
        one = (value, spread, *ends)
        return MetaAnalysis(1, *one, *one, p, 0.0, nan, nan, nan, nan, nan, (1.0,))
    from statsmodels.stats.meta_analysis import combine_effects

    # In units of the typical standard error, since the search for τ² ends at an absolute tolerance.
    unit = float(np.median(se))
    result = combine_effects(effect / unit, (se / unit) ** 2, method_re="iterated")
    tau2 = max(float(result.tau2), 0.0)
    weights = 1 / ((se / unit) ** 2 + tau2)
    mean = float(weights @ (effect / unit) / weights.sum())
    plain = 1 / float(weights.sum())
    corrected = float(weights @ (effect / unit - mean) ** 2 / weights.sum()) / (k - 1)
    spread = math.sqrt(max(plain, corrected))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, k - 1)) * spread
    fixed, fixed_se = float(result.mean_effect_fe), float(result.sd_eff_w_fe)
    q = float(result.q)
    predicted = nan
    if k >= FEWEST_FOR_PREDICTION:
        quantile = float(stats.t.ppf((1 + LEVEL) / 2, k - 2))
        predicted = quantile * math.sqrt(tau2 + spread**2)
    return MetaAnalysis(
        k=k,
        fixed=fixed * unit,
        fixed_se=fixed_se * unit,
        fixed_low=(fixed - normal * fixed_se) * unit,
        fixed_high=(fixed + normal * fixed_se) * unit,
        random=mean * unit,
        random_se=spread * unit,
        random_low=(mean - reach) * unit,
        random_high=(mean + reach) * unit,
        p=float(2 * stats.t.sf(abs(mean) / spread, k - 1)),
        tau2=tau2 * unit**2,
        q=q,
        q_p=float(stats.chi2.sf(q, k - 1)),
        i2=max(0.0, (q - (k - 1)) / q) if q > 0 else 0.0,
        prediction_low=(mean - predicted) * unit,
        prediction_high=(mean + predicted) * unit,
        weights=tuple(map(float, weights / weights.sum())),
    )


def between_groups(groups: Sequence[MetaAnalysis]) -> tuple[float, int, float]:
    """Test whether the means of groups of studies differ.

    Parameters
    ----------
    groups : sequence of MetaAnalysis
        One meta-analysis per group; no study is in two groups.

    Returns
    -------
    q, df, p : float, int, float
        Cochran's Q of the groups' random-effects means, its degrees of freedom and p value; NaN for a
        single group.
    """
    from scipy import stats

    if len(groups) < 2:
        return math.nan, 0, math.nan
    mean = np.array([group.random for group in groups])
    weight = np.array([group.random_se for group in groups]) ** -2.0
    q = float(weight @ (mean - weight @ mean / weight.sum()) ** 2)
    return q, len(groups) - 1, float(stats.chi2.sf(q, len(groups) - 1))
