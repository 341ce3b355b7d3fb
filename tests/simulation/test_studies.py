"""Simulated studies: moments, the LMs' closeness to readers' expectations, training seeds."""

from dataclasses import replace

import numpy as np
import pytest

from recency.simulation.studies import PREDICTORS, Settings, previous, simulate

CLOSENESS = {"a": 0.96, "b": 0.64}
LARGE = Settings(subjects=60, sentences=400, words=10, responses=2, seeds=3)


@pytest.fixture(scope="module")
def responses():
    return simulate(LARGE, CLOSENESS, np.random.default_rng(1))


def test_shapes_and_independent_responses(responses):
    first, second = responses
    assert first.times.shape == (60, 4000) and first.lms["a"].shape == (3, 4000)
    assert first.sentence[-1] == 399 and (np.bincount(first.sentence) == 10).all()
    assert abs(np.corrcoef(first.source, second.source)[0, 1]) < 0.05


def test_lms_follow_the_source_as_closely_as_they_are_set_to(responses):
    for response in responses:
        for lm, closeness in CLOSENESS.items():
            for surprisal in response.lms[lm]:
                r = np.corrcoef(surprisal, response.source)[0, 1]
                assert r == pytest.approx(closeness, abs=0.03)
                assert surprisal.std() == pytest.approx(1, abs=0.04)


def test_seeds_share_half_of_an_lms_errors(responses):
    response = responses[0]
    errors = response.lms["b"] - CLOSENESS["b"] * response.source
    assert np.corrcoef(errors)[np.triu_indices(3, 1)] == pytest.approx(0.5, abs=0.05)


def test_seeds_differ_in_closeness_and_do_so_in_every_response():
    settings = replace(LARGE, seed_sd=0.3)
    responses = simulate(settings, {"b": 0.64}, np.random.default_rng(2))
    r = np.array([[np.corrcoef(s, x.source)[0, 1] for s in x.lms["b"]] for x in responses])
    assert np.ptp(r, axis=1).min() > 0.1
    assert r[0] == pytest.approx(r[1], abs=0.05)


def test_moments_of_the_times(responses):
    """The effects that generate the times are those of a regression by subject."""
    response = responses[0]
    columns = [*response.controls.values(), response.source, previous(response.source)]
    x = np.column_stack([np.ones(4000), *((c - c.mean()) / c.std() for c in columns)])
    effects = np.linalg.lstsq(x, response.times.T, rcond=None)[0]
    mean, sd = effects.mean(1), effects.std(1, ddof=1)
    assert mean[0] == pytest.approx(340, abs=4 * 50 / np.sqrt(60))
    assert mean[1:] == pytest.approx([6, -3, 4, 10, 6], abs=2.5)
    noise = np.sqrt(90**2 / 4000) * 1.2
    assert sd[0] == pytest.approx(50, rel=0.3)
    assert sd[4:] == pytest.approx(np.hypot([5, 3], noise), rel=0.35)
    residuals = response.times - effects.T @ x.T
    items = residuals.mean(0)
    by_sentence = items.reshape(400, 10).mean(1)
    assert items.std() == pytest.approx(np.sqrt(20**2 + 10**2 + 90**2 / 60), rel=0.07)
    assert by_sentence.std() == pytest.approx(np.sqrt(10**2 + 20**2 / 10 + 90**2 / 600), rel=0.15)


def test_predictors_are_scaled_by_the_first_sentences(responses):
    found = responses[0].predictors("a", 1, first=100)
    assert tuple(found) == PREDICTORS
    seen = responses[0].sentence < 100
    for values in found.values():
        assert values[seen].mean() == pytest.approx(0, abs=1e-9)
        assert values[seen].std() == pytest.approx(1)
    own = responses[0].lms["a"][1]
    assert np.corrcoef(found["previous_surprisal"][1:], own[:-1])[0, 1] == pytest.approx(1)


def test_the_same_random_numbers_give_the_same_study():
    small = Settings(subjects=8, sentences=8, words=3)
    first, second = (simulate(small, CLOSENESS, np.random.default_rng(5))[0] for _ in range(2))
    assert (first.times == second.times).all() and (first.lms["b"] == second.lms["b"]).all()
