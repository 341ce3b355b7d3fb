"""Claims judged by an interval and a smallest effect of interest."""

import math

import pytest

from recency.stats import claims

LARGE = 1e9


@pytest.mark.parametrize(
    ("low", "high", "smallest", "claim", "reverse", "separated"),
    [
        (21, 89, 10, "supported", "excluded", True),
        (2, 89, 10, "supported", "excluded", True),  # the interval may begin below 10
        (2, 8, 10, "excluded", "excluded", False),  # a small but certain lead
        (-8, 8, 10, "excluded", "excluded", False),  # equivalent
        (-8, 12, 10, "open", "excluded", False),
        (-20, 30, 10, "open", "open", False),
        (-89, -21, 10, "excluded", "supported", True),
        (10, 10, 10, "supported", "excluded", True),
        (2, 8, 0, "supported", "excluded", True),
        (0, 8, 0, "open", "open", False),
        (-8, 8, 0, "open", "open", False),
        (-8, -2, 0, "excluded", "supported", True),
        (math.nan, math.nan, 10, "open", "open", False),
        (-LARGE, LARGE, LARGE, "open", "open", False),
    ],
)
def test_both_directions_are_judged_by_one_rule(low, high, smallest, claim, reverse, separated):
    assert claims.judge(low, high, smallest) == claim
    assert claims.judge(-high, -low, smallest) == reverse
    assert claims.are_separated(low, high, smallest) is separated
    assert claims.are_separated(-high, -low, smallest) is separated


@pytest.mark.parametrize(
    ("stated", "nats"),
    [
        (None, 0.0),
        ({}, 0.0),
        ({"nats_per_1000": 0.5}, 10.0),
        ({"relative": 0.1}, 12.0),
        ({"relative": None, "nats_per_1000": 0.5}, 10.0),
        ({"relative": 0}, 0.0),
    ],
)
def test_the_smallest_effect_in_nats(stated, nats):
    assert claims.in_nats(stated, 20_000, 120.0) == pytest.approx(nats)


@pytest.mark.parametrize("baseline", [0.0, -3.0, math.nan])
def test_a_share_of_no_gain_is_unknown(baseline):
    assert math.isnan(claims.in_nats({"relative": 0.1}, 20_000, baseline))
    assert claims.in_nats({"nats_per_1000": 0.5}, 20_000, baseline) == 10
