"""The detectable lead: four of five studies detect it, whatever the number of seeds."""

import math

import numpy as np
import pytest
from scipy import stats

from crosslmm.stats.crossed_samples import half_width
from crosslmm.stats.detection import detectable


@pytest.mark.merge
@pytest.mark.parametrize(
    ("seeds", "sampled"), [(2, 0.01), (3, 0.01), (6, 0.01), (2, 1), (3, 1), (4, 1)]
)
def test_four_of_five_studies_detect_it(seeds, sampled):
    """Studies whose standard error is the seeds', or in equal parts the seeds' and the samples'.

    A half-width and .84 standard errors would be detected by 60 to 74 % of them.
    """
    random, many = np.random.default_rng(seeds), 700
    trained = random.standard_normal((many, seeds))
    by_seeds = trained.std(1, ddof=1) / math.sqrt(seeds)
    by_samples = sampled * np.sqrt(random.chisquare(25, many) / 25 / seeds)
    off = trained.mean(1) + sampled * random.standard_normal(many) / math.sqrt(seeds)
    pairs = list(zip(by_samples, by_seeds, strict=True))
    half = np.array([half_width(samples, 25, seed, seeds - 1) for samples, seed in pairs])
    lead = np.mean([detectable(math.hypot(*pair), h) for pair, h in zip(pairs, half, strict=True)])
    assert 0.75 < np.mean(off + lead > half) < 0.85


@pytest.mark.parametrize("df", [2, 5, 30])
def test_power_is_that_of_the_noncentral_t(df):
    critical = stats.t.ppf(0.975, df)
    lead = (
        detectable(1.0, critical)
        * math.sqrt(2 / df)
        * math.gamma((df + 1) / 2)
        / math.gamma(df / 2)
    )
    assert stats.nct.sf(critical, df, lead) == pytest.approx(0.8, abs=2e-3)


def test_a_known_standard_error_takes_2_80_of_it():
    assert detectable(5.0, 5 * 1.959964) == pytest.approx(5 * 2.801585, rel=1e-5)
    assert math.isnan(detectable(math.nan, 1.0)) and math.isnan(detectable(1.0, math.inf))
