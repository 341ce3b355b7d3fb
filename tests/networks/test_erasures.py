"""Forms of erasure against their equations, and what is refused of them."""

import math

import numpy as np
import pytest

from recency.errors import InputError
from recency.networks import erasures

DISTANCE = np.arange(1, 30)
ZIPF = np.linspace(0.5, 7.5, 29)
POSITION = np.arange(29, 0, -1)
WORDS = erasures.ContextWords(DISTANCE, ZIPF, POSITION)
SLOPES = {"frequency": -0.4, "distance": -2.0, "position": 0.1}


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize(
    "name, settings, equation",
    [
        ("exponential", {"half_life": 3}, lambda d, z, n: 0.5 ** ((d - 1) / 3)),
        ("exponential", {"rate": 0}, lambda d, z, n: 1),
        ("exponential", {"rate": -math.log(0.8), "first": 0.8}, lambda d, z, n: 0.8**d),
        ("power_law", {"exponent": 0.5}, lambda d, z, n: d**-0.5),
        ("power_law", {"exponent": 2, "buffer": 4}, lambda d, z, n: min(1, (4 / d) ** 2)),
        ("truncation", {"words": 0}, lambda d, z, n: 0),
        ("truncation", {"words": 7}, lambda d, z, n: d <= 7),
        ("frequency", {"slope": -0.5, "intercept": 2}, lambda d, z, n: sigmoid(2 - 0.5 * z)),
        ("position", {"slope": 0.1, "intercept": -1}, lambda d, z, n: sigmoid(0.1 * n - 1)),
        (
            "resource_rational",
            {"slopes": SLOPES, "intercept": 3.0},
            lambda d, z, n: sigmoid(3 - 0.4 * z - 2 * math.log(d) + 0.1 * n),
        ),
    ],
)
def test_a_form_is_its_equation(name, settings, equation):
    form = erasures.build({"form": name, **settings})
    expected = np.array([float(equation(*word)) for word in zip(DISTANCE, ZIPF, POSITION)])
    expected = np.where(expected < 1e-4, 0, np.where(expected > 1 - 1e-4, 1, expected))
    values = erasures.retention(form, WORDS)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    cut = erasures.retention(form, WORDS, reach=5)
    np.testing.assert_array_equal(cut, np.where(DISTANCE > 5, 0, values))


def test_retention_that_is_no_probability_is_refused():
    class Wrong(erasures.Erasure):
        def __init__(self, value):
            self.value = value

        def retention(self, words):
            return np.where(words.distance == 4, self.value, 0.5)

    for value in (1.01, -0.01, np.nan):
        with pytest.raises(InputError, match="a word 4 words back is .* between 0 and 1"):
            erasures.retention(Wrong(value), WORDS)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"form": "exponential"}, "one of `half_life` and `rate`"),
        ({"form": "exponential", "half_life": 2, "rate": 1}, "one of `half_life` and `rate`"),
        ({"form": "resource_rational"}, "give either a `budget`"),
        ({"form": "resource_rational", "intercept": 1}, "or `slopes` and `intercept`"),
        ({"form": "exponentail", "half_life": 2}, "did you mean 'exponential'"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        erasures.build(settings)
