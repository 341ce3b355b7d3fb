"""Figures of a search that lme4 has not seen, beside lme4's; which fits it does see."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crosslmm
from crosslmm import fitting, lme4
from crosslmm import scaled_search as search_module
from crosslmm.factors import Levels
from crosslmm.fitting import figures, fit_model
from crosslmm.formula import parse
from test_mixed_model import CORRELATED, FORMULAS, simulate

NESTED = CORRELATED + " + (1 | sentence:subject)"


@pytest.fixture
def no_r(monkeypatch):
    """Let nothing be set up in R."""

    def refuse(*_):
        raise AssertionError("R was asked")

    monkeypatch.setattr(lme4, "data_frame", refuse)


@pytest.mark.parametrize("formula", [*FORMULAS.values(), NESTED])
@pytest.mark.parametrize("options", [{"keep": 0.5}, {"sds": (60, 12, 0.0)}])
def test_figures_are_those_that_lme4_reports(formula, options):
    predictors, y, groups = simulate(4, **options)
    asked = (parse(formula), predictors, y, groups, "cross_products")
    confirmed, ours = fit_model(*asked), fit_model(*asked, confirm=False)
    assert confirmed.optimum is not None and (confirmed.by, ours.by) == ("lme4", "search")
    assert confirmed.difference < 1e-6
    assert fitting.distance(ours.figures, confirmed.figures) == pytest.approx(
        confirmed.difference, abs=1e-9
    )
    assert ours.summary.covariance == pytest.approx(confirmed.summary.covariance, rel=1e-6)
    assert ours.summary.theta == pytest.approx(confirmed.summary.theta, abs=1e-9)
    assert list(ours.summary.random) == list(confirmed.summary.random)
    assert ours.summary.singular == confirmed.summary.singular
    for group, spread in confirmed.summary.random.items():
        seen = np.asarray(spread["correlation"])
        apart = np.isfinite(seen)  # beside an sd that is all but 0 rounding decides
        apart &= np.minimum.outer(spread["sd"], spread["sd"]) > 1e-4
        found = np.asarray(ours.summary.random[group]["correlation"])
        assert found[apart] == pytest.approx(seen[apart], abs=1e-5)
    record, theirs = figures(ours), figures(confirmed)
    assert record["figures_by"] == "search" and theirs["difference_from_lme4"] < 1e-6
    assert {**record, "note": ""}.keys() <= theirs.keys()


def test_a_column_that_depends_on_others_is_left_out_by_both():
    predictors, y, groups = simulate(2)
    predictors["position"] = 2 - 3 * predictors["length"]
    formula = parse("time_ms ~ length + position + (1 | subject) + (1 | sentence)")
    asked = (formula, predictors, y, groups, "cross_products")
    ours = fit_model(*asked, confirm=False)
    assert list(ours.summary.fixed) == ["(Intercept)", "length"] and "position" in ours.note
    assert fit_model(*asked).difference < 1e-6


def test_a_difference_is_seen_wherever_it_is():
    predictors, y, groups = simulate(4)
    asked = (parse(CORRELATED), predictors, y, groups, "cross_products")
    figures = fit_model(*asked, confirm=False).figures
    others = [
        replace(figures, loglik=figures.loglik + 1),
        replace(figures, beta=figures.beta + np.sqrt(np.diagonal(figures.covariance))),
        replace(figures, covariance=4 * figures.covariance),
        replace(figures, modes=[modes + 30 for modes in figures.modes]),
        replace(figures, Ls=[2 * L for L in figures.Ls]),
    ]
    assert fitting.distance(figures, figures) == 0
    assert fitting.distance(replace(figures, kept=()), figures) is None
    assert all(fitting.distance(other, figures) > 0.4 for other in others)


def test_rows_are_held_against_their_sums(no_r, monkeypatch):
    predictors, y, groups = simulate(4)
    asked = (parse(CORRELATED), predictors, y, groups)
    search_module.search_theta(*asked)
    whole = search_module.squares_left
    monkeypatch.setattr(search_module, "squares_left", lambda *a: whole(*a) * (1 + 1e-6))
    with pytest.raises(search_module.NotSearchable, match="by the rows"):
        search_module.search_theta(*asked)


def test_too_few_levels_are_refused_without_r(no_r):
    predictors, y, groups = simulate(2)
    groups["sentence"] = Levels(np.zeros(len(y), dtype=int), ["1"])
    result = fit_model(parse(CORRELATED), predictors, y, groups, "cross_products", confirm=False)
    assert result.summary is None and "there must be two levels" in result.note


def test_names_that_need_backticks_are_compared_in_nested_groups_too():
    random = np.random.default_rng(0)
    data = pd.DataFrame({"x": random.normal(size=900), "a": random.integers(0, 12, 900)})
    data["the item"] = random.integers(0, 15, 900)
    pair = data["a"] * 15 + data["the item"]
    data["rt"] = data["x"] + random.normal(size=900) + random.normal(size=180)[pair]
    formula = "rt ~ x + (1 | a) + (1 | `the item`) + (1 | a:`the item`)"
    found = [crosslmm.lmer(formula, data, engine=engine) for engine in ("search", "lme4")]
    assert found[0].loglik == pytest.approx(found[1].loglik, abs=1e-3)
    pairs = found[1].modes["a:the item"]
    ours = found[0].modes["a:the item"].loc[pairs.index]
    assert ours.to_numpy() == pytest.approx(pairs.to_numpy(), abs=0.02)
    assert crosslmm.lmer(formula, data).engine == "search, confirmed by lme4"
