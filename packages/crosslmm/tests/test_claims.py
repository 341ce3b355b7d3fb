"""Claims judged by an interval and a smallest effect of interest."""

import math

import pytest

from crosslmm.stats import claims

LARGE = 1e9


@pytest.mark.parametrize(
    ("low", "high", "smallest", "claim", "reverse"),
    [
        (21, 89, 10, "leads", "ruled out"),
        (2, 89, 10, "leads", "ruled out"),  # the interval may begin below 10
        (2, 8, 10, "leads by less", "ruled out"),  # a small but certain lead
        (-8, 8, 10, "ruled out", "ruled out"),  # equivalent
        (-8, 12, 10, "open", "ruled out"),
        (-20, 30, 10, "open", "open"),
        (-89, -21, 10, "ruled out", "leads"),
        (10, 10, 10, "leads", "ruled out"),
        (2, 8, 0, "leads", "ruled out"),
        (0, 8, 0, "open", "open"),
        (-8, 8, 0, "open", "open"),
        (-8, -2, 0, "ruled out", "leads"),
        (math.nan, math.nan, 10, "open", "open"),
        (-LARGE, LARGE, LARGE, "open", "open"),
    ],
)
def test_both_directions_are_judged_by_one_rule(low, high, smallest, claim, reverse):
    assert claims.judge(low, high, smallest) == claim
    assert claims.judge(-high, -low, smallest) == reverse
    assert claims.leads(low, high) is claim.startswith("leads")


@pytest.mark.parametrize(
    ("stated", "nats"),
    [
        (None, 0.0),
        ({}, 0.0),
        ({"nats_per_1000": 0.5}, 10.0),
        ({"relative": 0.1}, 12.0),
        ({"relative": None, "nats_per_1000": 0.5}, 10.0),
        ({"relative": 0}, 0.0),
        ({"ms_per_bit": 0.6}, 2.0 + 2 * 4.5),
    ],
)
def test_the_smallest_effect_in_nats(stated, nats):
    slopes = [(0.3, 1.0), (0.2, 2.0)]
    assert claims.in_nats(stated, 20_000, 120.0, slopes) == pytest.approx(nats)


@pytest.mark.parametrize("baseline", [0.0, -3.0, math.nan])
def test_a_share_of_no_gain_is_unknown(baseline):
    assert math.isnan(claims.in_nats({"relative": 0.1}, 20_000, baseline))
    assert claims.in_nats({"nats_per_1000": 0.5}, 20_000, baseline) == 10
    assert math.isnan(claims.in_nats({"ms_per_bit": 0.5}, 20_000, baseline))
