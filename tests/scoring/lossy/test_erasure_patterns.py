"""Patterns of erasure against enumeration of all of them, and estimates against expectations."""

import itertools

import numpy as np
import pytest

from recency.scoring.lossy.lossy_estimates import (
    Patterns,
    list_patterns,
    most_probable,
    probabilities,
)


def enumerated(retention):
    """Return pattern → probability of all patterns, by a loop."""
    computed = {}
    for pattern in itertools.product([False, True], repeat=len(retention)):
        computed[pattern] = np.prod([q if r else 1 - q for q, r in zip(retention, pattern)])
    return computed


@pytest.mark.parametrize("words", [0, 1, 5])
def test_all_patterns_are_all(words):
    retention = np.random.default_rng(words).random(words)
    patterns = list_patterns(words)
    expected = enumerated(retention)
    assert {tuple(row) for row in patterns.tolist()} == set(expected)
    for row, probability in zip(patterns, probabilities(patterns, retention)):
        assert probability == pytest.approx(expected[tuple(row.tolist())], rel=1e-12)


@pytest.mark.parametrize("least, most", [(1e-3, 2000), (1 / 32, 24), (0.02, 5), (0.9, 10)])
def test_the_most_probable_patterns_are_those_of_an_enumeration(least, most):
    retention = np.random.default_rng(1).uniform(0.02, 0.98, 11)
    expected = sorted((p for p in enumerated(retention).values() if p >= least), reverse=True)
    patterns = most_probable(retention, least, most)
    computed = probabilities(patterns, retention)
    np.testing.assert_allclose(computed, expected[:most], rtol=1e-9)
    assert len({tuple(row) for row in patterns.tolist()}) == len(patterns)


@pytest.mark.parametrize("low, high", [(0.01, 0.99), (0.3, 0.7), (0.001, 0.05)])
def test_estimates_are_unbiased_and_no_worse_than_draws(low, high):
    """Over many seeds: the mean is the expectation, the variance at most that of plain draws."""
    rng = np.random.default_rng(3)
    retention, samples, seeds = rng.uniform(low, high, 9), 32, 400
    effects = rng.normal(size=9)

    def value(patterns):
        return np.exp((patterns * effects).sum(-1) / 2)

    expected = sum(p * value(np.array(row)) for row, p in enumerated(retention).items())
    plain = np.sqrt(
        sum(p * (value(np.array(row)) - expected) ** 2 for row, p in enumerated(retention).items())
        / samples
    )
    estimates = []
    for seed in range(seeds):
        patterns = Patterns(retention, samples, np.random.default_rng(seed))
        assert len(patterns.exact) + patterns.draws <= samples
        estimate = patterns.weights @ value(patterns.exact)
        if patterns.rest:
            drawn = patterns.draw(patterns.draws)
            scored = {tuple(row) for row in patterns.exact.tolist()}
            assert not scored & {tuple(row) for row in drawn.tolist()}
            estimate += patterns.rest * value(drawn).mean()
        estimates.append(estimate)
    assert np.mean(estimates) == pytest.approx(expected, abs=4 * plain / np.sqrt(seeds) + 1e-4)
    assert np.std(estimates) <= 1.1 * plain


def test_few_patterns_are_all_exact():
    patterns = Patterns(np.array([0.2, 0.5, 0.9]), 8, np.random.default_rng(0))
    assert len(patterns.exact) == 8 and patterns.rest == 0 and patterns.draws == 0
    assert patterns.weights.sum() == pytest.approx(1)


def test_contexts_of_thousands_of_words_have_patterns():
    patterns = Patterns(np.full(3000, 0.5), 16, np.random.default_rng(0))
    assert len(patterns.exact) + patterns.draws == 16
    assert patterns.rest == pytest.approx(1.0)


def test_what_is_almost_certain_needs_no_draws():
    """Twenty words of 0.999999: the most probable patterns have all but 1e-4 of the probability."""
    patterns = Patterns(np.full(20, 1 - 1e-6), 32, np.random.default_rng(0))
    assert patterns.rest == 0 and patterns.weights.sum() == pytest.approx(1)
