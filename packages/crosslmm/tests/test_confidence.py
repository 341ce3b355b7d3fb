"""Confidence intervals and simulations: lme4's own, differences of the likelihood, coverage."""

import numpy as np
import pandas as pd
import pytest

from crosslmm import lme4, lmer
from crosslmm.errors import InputError
from crosslmm.fit_formula import search_of
from crosslmm.profile_likelihood import Held, HeldFixed, HeldVariance
from test_lmer import effects, in_r, reading, sleep

CASES = {
    "slopes": (sleep, "rt ~ day + (day | subject)", {}),
    "uncorrelated": (sleep, "rt ~ day + (day || subject)", {}),
    "crossed": (reading, "`reading.time` ~ length + condition + (1 | reader) + (1 | text)", {}),
    "pairs": (reading, "reading.time ~ length + (1 | school) + (1 | text:school) + (1 | text)", {}),
    "three": (reading, "reading.time ~ length + (1 | school) + (1 | reader) + (1 | text)", {}),
    "weighted": (sleep, "rt ~ day + (day | subject)", {"weights": "w"}),
}


def case(name):
    make, formula, options = CASES[name]
    data = make()
    data["w"] = np.random.default_rng(5).choice([0.5, 1.0, 3.0], len(data))
    return formula, data, options


@pytest.mark.parametrize(
    "name",
    [name if name == "crossed" else pytest.param(name, marks=pytest.mark.merge) for name in CASES],
)
def test_profile_intervals_are_lme4s(name):
    formula, data, options = case(name)
    fit = lmer(formula, data, engine="search", **options)
    lme4._r()
    from rpy2 import robjects

    weights = ", weights = w" if options else ""
    table = robjects.r(
        f"""function(formula, data) {{
          m <- lmer(as.formula(formula), data, REML = FALSE{weights},
                    control = lmerControl("bobyqa", optCtrl = list(rhoend = 1e-9)))
          suppressWarnings(suppressMessages(confint(m, oldNames = FALSE, quiet = TRUE)))
        }}"""
    )(formula, in_r(data))
    ours, theirs = fit.confint(), np.array(table)
    assert list(ours.columns) == ["2.5 %", "97.5 %"]
    assert set(ours.index) == set(table.rownames)
    theirs = pd.DataFrame(theirs, list(table.rownames)).loc[ours.index].to_numpy()
    width = theirs[:, 1] - theirs[:, 0]
    # lme4 interpolates its profile with splines.
    difference = np.abs(ours.to_numpy() - theirs) / width[:, None]
    if options:  # lme4 leaves the weights out where it profiles fixed effects
        difference = difference[: -len(fit.fixed)]
    assert difference.max() < 0.01
    assert fit.confint("fixed").equals(ours.loc[list(fit.fixed.index)])
    assert fit.confint("sigma").equals(ours.loc[["sigma"]])
    assert fit.confint(["sigma", "(Intercept)"], level=0.5).shape == (2, 2)


@pytest.mark.parametrize("weights", [None, "w"])
def test_an_interval_ends_where_the_likelihood_of_the_model_without_it_says(weights):
    """A fixed effect held at its limit is an offset of a model without it."""
    data = reading()
    data["w"] = np.random.default_rng(5).choice([0.5, 1.0, 3.0], len(data))
    formula = "reading.time ~ length + condition + (1 + length | reader) + (1 | text)"
    fit = lmer(formula, data, engine="search", weights=weights)
    for end in fit.confint("length").loc["length"]:
        held = data.assign(held=end * data["length"])
        without = formula.replace("length + condition", "condition")
        other = lmer(without, held, engine="search", offset="held", weights=weights)
        assert 2 * (fit.loglik - other.loglik) == pytest.approx(3.841459, abs=1e-3)
    for end in fit.confint("(Intercept)").loc["(Intercept)"]:
        other = lmer(
            "reading.time ~ 0 + length + hard + odd + (1 + length | reader) + (1 | text)",
            data.assign(held=end, **{c: (data["condition"] == c) * 1.0 for c in ("hard", "odd")}),
            engine="search",
            offset="held",
            weights=weights,
        )
        assert 2 * (fit.loglik - other.loglik) == pytest.approx(3.841459, abs=1e-3)


@pytest.mark.parametrize("formula", [CASES[name][1] for name in ("pairs", "three")])
def test_the_gradient_of_a_held_variance_is_the_derivative(formula):
    formula = formula.replace("(1 | text)", "(1 + length | text)")
    fit = lmer(formula, reading(), engine="search")
    searched, random = search_of(fit._source.prepared), np.random.default_rng(0)
    groups = [factor.group for factor in searched.result.factors]
    number = groups.index("text")
    unit = searched.model.scale.factor
    for held, value in [
        (Held(), 60.0 / unit),
        (Held(number, (0,)), 25.0 / unit),
        (Held(number, (1,)), 3.0 / unit),
        (Held(number, (0, 1)), 0.4),
    ]:
        likelihood = HeldVariance(searched, held)
        scales = likelihood._scales
        x = likelihood._start + 0.5 * scales * random.normal(size=len(scales))
        _, gradient = likelihood.at(x, value)
        step = 1e-4 * scales
        numeric = [
            likelihood.at(x + step * on, value)[0] - likelihood.at(x - step * on, value)[0]
            for on in np.eye(len(x))
        ]
        assert gradient * 2 * step == pytest.approx(np.array(numeric), rel=1e-4, abs=1e-6)
    least = searched.result.optimum.deviance
    assert HeldVariance(searched, Held()).deviance(fit.sigma / unit)[0] == pytest.approx(
        least, abs=1e-4
    )
    at = np.eye(len(fit.fixed))[1], fit.fixed["estimate"].iloc[1]
    assert HeldFixed(searched, at[0]).deviance(at[1])[0] == pytest.approx(least, abs=1e-6)


def test_intervals_at_the_edge_of_the_parameters():
    data = sleep(1, 0.0)  # the slopes do not vary
    fit = lmer("rt ~ day + (day | subject)", data, engine="search")
    found = fit.confint("random")
    assert fit.singular  # a correlation of 1
    assert found.loc["sd_day|subject", "2.5 %"] == 0 < found.loc["sd_day|subject", "97.5 %"]
    assert found.loc["cor_day.(Intercept)|subject", "97.5 %"] == 1
    estimate = fit.random["sd"].iloc[0]
    assert found.loc["sd_(Intercept)|subject", "2.5 %"] < estimate
    assert estimate < found.loc["sd_(Intercept)|subject", "97.5 %"]


def test_wald_and_lme4s_intervals_of_its_own_models():
    data = reading()
    fit = lmer("reading.time ~ length + (1 | reader)", data, engine="search")
    wald = fit.confint(method="wald", level=0.9)
    expected = fit.fixed["estimate"] + 1.6448536 * fit.fixed["se"]
    assert wald["95 %"].to_numpy() == pytest.approx(expected.to_numpy())
    data["hit"] = (data["reading.time"] > 340) * 1
    hits = lmer("hit ~ condition + (1 | reader)", data, family="binomial")
    found = hits.confint("fixed", method="wald")
    expected = hits.fixed["estimate"] - 1.959964 * hits.fixed["se"]
    assert found["2.5 %"].to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-3)
    simulated = hits.simulate(3, seed=1)
    assert set(np.unique(simulated)) == {0.0, 1.0} and simulated.shape == (900, 3)


@pytest.mark.parametrize(
    "options,message",
    [
        ({"method": "profil"}, "'profil'; did you mean 'profile'"),
        ({"level": 95}, "level is 95 and must be between 0 and 1"),
        ({"parameters": "lenght"}, "'lenght'; did you mean 'length'"),
        ({"method": "boot", "draws": 1}, "draws is 1 and must be 2 or more"),
    ],
)
def test_what_is_refused_of_intervals(options, message):
    fit = lmer("reading.time ~ length + (1 | reader)", reading(), engine="search")
    with pytest.raises(InputError, match=message):
        fit.confint(**options)


@pytest.mark.parametrize("name", ["slopes", "pairs", "three", "weighted"])
def test_refits_are_the_fits_of_their_responses(name):
    """The bootstrap replaces the response in the cross-products; lmer sums them all again."""
    from crosslmm.confidence import refits

    formula, data, options = case(name)
    fit = lmer(formula, data, engine="search", **options)
    simulated = fit.simulate(2, seed=7)
    response = fit._source.request.response
    for column, summary in zip(simulated, refits(fit._source, 2, seed=7), strict=True):
        again = lmer(
            formula, data.assign(**{response: simulated[column]}), engine="search", **options
        )
        assert summary.loglik == pytest.approx(again.loglik, abs=1e-6)
        assert list(summary.fixed.values()) == pytest.approx(
            again.fixed["estimate"].tolist(), rel=1e-5
        )


def test_simulations_have_the_models_moments():
    formula, data, options = case("weighted")
    fit = lmer(formula, data, engine="search", **options)
    drawn = fit.simulate(2000, seed=3).to_numpy()
    fixed = fit.predict(data, random=False).to_numpy()
    sd = fit.random["sd"].to_numpy()
    S = fit.correlations["subject"].to_numpy() * np.outer(sd[:2], sd[:2])
    Z = np.column_stack([np.ones(len(data)), data["day"]])
    same = data["subject"].to_numpy()[:, None] == data["subject"].to_numpy()
    V = same * (Z @ S @ Z.T) + np.diag(fit.sigma**2 / data["w"])
    error = np.sqrt(np.diagonal(V) / 2000)
    assert np.abs((drawn.mean(1) - fixed) / error).max() < 4.5
    size = np.sqrt(np.outer(np.diagonal(V), np.diagonal(V)))
    assert np.abs((np.cov(drawn) - V) / size).max() < 0.15
    given = fit.simulate(2000, seed=3, new_effects=False).to_numpy()
    assert np.abs(given.mean(1) - fit.fitted.to_numpy()).max() < 5 * error.max()
    assert given.var(1) == pytest.approx(fit.sigma**2 / data["w"].to_numpy(), rel=0.15)
    assert fit.simulate(1, seed=3).equals(fit.simulate(1, seed=3))
    assert list(fit.simulate(2).columns) == ["sim_1", "sim_2"]


@pytest.mark.merge
def test_bootstrap_intervals_are_about_the_profiles():
    formula, data, options = case("crossed")
    fit = lmer(formula, data, engine="search", **options)
    profile, boot = fit.confint(), fit.confint(method="boot", draws=200, seed=2)
    assert list(profile.index) == list(boot.index)
    width = (profile["97.5 %"] - profile["2.5 %"]).to_numpy()
    fixed = [name in fit.fixed.index for name in profile.index]
    difference = np.abs(profile.to_numpy() - boot.to_numpy()) / width[:, None]
    assert difference[fixed].max() < 0.2 and difference.max() < 0.35
    assert boot.equals(fit.confint(method="boot", draws=200, seed=2))


@pytest.mark.merge
def test_coverage_of_fixed_effects():
    """Intervals of 90 % cover the true effect in about 90 of 100 samples."""
    random, covered = np.random.default_rng(0), {"profile": 0, "boot": 0}
    samples = 100
    for _ in range(samples):
        subject = np.repeat(np.arange(16), 12)
        x = random.normal(size=len(subject))
        y = 3 + 0.5 * x + effects(random, subject, 1)[:, 0] + random.normal(size=len(x))
        data = pd.DataFrame({"y": y, "x": x, "subject": subject})
        fit = lmer("y ~ x + (1 | subject)", data, engine="search")
        for method in covered:
            low, high = fit.confint("x", method=method, level=0.9, draws=80).loc["x"]
            covered[method] += low < 0.5 < high
    # 90 of 100, and three binomial standard errors.
    assert 81 <= covered["profile"] <= 99 and 81 <= covered["boot"] <= 99, covered
