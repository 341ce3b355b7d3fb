"""Families of lmer: log-likelihoods in units of the response, by lme4, SciPy's densities and integration."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from crosslmm import lme4, lmer
from crosslmm.errors import InputError
from test_lmer import effects, in_r, reading

FORMULA = "rt ~ length + condition + (1 + length | reader) + (1 | text)"


def skewed():
    data = reading()
    return data.assign(rt=100 + 100 * np.exp(data["reading.time"] / 200))


def one_group(seed=0):
    """Make times of eight subjects, for likelihoods that are integrated subject by subject."""
    random = np.random.default_rng(seed)
    subject, x = np.repeat(np.arange(8), 25), random.normal(size=200)
    eta = 5.5 + 0.1 * x + effects(random, subject, 0.2)[:, 0]
    rt = np.exp(eta) * random.gamma(10, 0.1, 200)
    return pd.DataFrame({"rt": rt, "x": 3 + 5 * x, "subject": [f"s{code}" for code in subject]})


def test_lognormal_is_lme4s_of_the_logarithm_in_units_of_the_response():
    data = skewed()
    fits = [lmer(FORMULA, data, family="lognormal", engine=e) for e in ("auto", "search")]
    lme4._r()
    from rpy2 import robjects

    loglik = robjects.r(
        "function(f, d) as.numeric(logLik(lmer(as.formula(f), d, REML = FALSE))) - sum(log(d$rt))"
    )(FORMULA.replace("rt ~", "log(rt) ~"), in_r(data))[0]
    for fit in fits:
        assert fit.loglik == pytest.approx(loglik, abs=2e-3)
    eta = np.log(fits[1].fitted) - fits[1].sigma ** 2 / 2
    log_fit = lmer(FORMULA.replace("rt ~", "log(rt) ~"), data, engine="search")
    assert eta.to_numpy() == pytest.approx(log_fit.fitted.to_numpy())
    assert fits[1].fixed.to_numpy() == pytest.approx(log_fit.fixed.to_numpy())
    assert fits[1].aic - log_fit.aic == pytest.approx(2 * np.log(data["rt"]).sum())
    spline = lmer(FORMULA.replace("length +", "ns(length, 2) +", 1), data, family="lognormal")
    assert spline.engine == "lme4" and spline.loglik >= fits[1].loglik - 1e-3
    assert spline.predict(data.head(9)).to_numpy() == pytest.approx(spline.fitted[:9].to_numpy())


def test_the_shift_is_that_of_the_profile_likelihood():
    data = skewed()
    fit = lmer(FORMULA, data, family="shifted_lognormal", engine="search")
    shift = fit._source.shift

    def loglik(at):
        moved = lmer(FORMULA, data.assign(rt=data["rt"] - at), family="lognormal", engine="search")
        return moved.loglik

    assert fit.loglik == pytest.approx(loglik(shift), abs=1e-6)
    assert fit.loglik > max(loglik(0.9 * shift), loglik(1.05 * shift), loglik(0.0))
    assert lmer(FORMULA, data, family="shifted_lognormal").engine == "search, confirmed by lme4"
    assert f"shift {shift:.4f}" in fit.summary()
    # The mean of the response, not the exponential of the mean of its logarithm.
    drawn = fit.simulate(500, seed=1, new_effects=False).to_numpy()
    assert drawn.mean(1) == pytest.approx(fit.fitted.to_numpy(), rel=0.07)


DENSITIES = {
    "gamma": lambda y, mu, scale: stats.gamma.logpdf(
        y, 1 / scale[0] ** 2, scale=mu * scale[0] ** 2
    ),
    "exgaussian": lambda y, mu, scale: stats.exponnorm.logpdf(
        y, scale[1] / scale[0], loc=mu - scale[1], scale=scale[0]
    ),
}


@pytest.mark.parametrize("family", list(DENSITIES))
def test_likelihoods_are_those_of_numeric_integrals(family):
    data = one_group()
    fit = lmer("rt ~ x + (1 | subject)", data, family=family)
    scale, sd = np.exp(fit._source.scale), fit.random["sd"].iloc[0]
    assert fit.engine == "laplace" and fit.converged and fit.sigma == pytest.approx(scale[0])
    total = 0.0
    for _, rows in data.groupby("subject"):
        eta = fit.fixed["estimate"].iloc[0] + fit.fixed["estimate"].iloc[1] * rows["x"].to_numpy()
        y = rows["rt"].to_numpy()

        def log_density(b, eta=eta, y=y):
            mu = np.exp(eta + b) if family == "gamma" else eta + b
            return DENSITIES[family](y, mu, scale).sum() + stats.norm.logpdf(b, 0, sd)

        grid = np.linspace(-6 * sd, 6 * sd, 301)
        values = np.array([log_density(b) for b in grid])
        total += values.max() + np.log(integrate.trapezoid(np.exp(values - values.max()), grid))
    assert fit.loglik == pytest.approx(total, abs=0.15)  # Laplace's approximation
    assert fit.npar == len(fit.fixed) + 1 + len(scale)
    assert fit.predict(data).to_numpy() == pytest.approx(fit.fitted.to_numpy())


def test_figures_of_a_density_do_not_depend_on_the_columns_scale():
    data = skewed()
    formula = "rt ~ length * condition + (1 + length | reader) + (1 | text)"
    one = lmer(formula, data, family="gamma")
    other = lmer(formula, data.assign(length=1000 + 10 * data["length"]), family="gamma")
    assert other.loglik == pytest.approx(one.loglik, abs=1e-3)
    slope = one.fixed.loc["length"]
    assert other.fixed.loc["length"].to_numpy() == pytest.approx(
        [slope.estimate / 10, slope.se / 10, slope.t], rel=1e-2
    )
    assert other.fitted.to_numpy() == pytest.approx(one.fitted.to_numpy(), rel=1e-2)
    assert other.random["sd"].iloc[1] == pytest.approx(one.random["sd"].iloc[1] / 10, rel=1e-2)
    assert "Family: gamma (sigma" in one.summary()
    identity = lmer("rt ~ length + (1 | reader)", data, family="gamma", link="identity")
    assert identity.fixed["estimate"].iloc[0] > 100
    low, high = one.confint("length", method="wald").loc["length"]
    assert low < slope.estimate < high


def test_aic_is_comparable_between_families():
    random, data = np.random.default_rng(1), one_group()
    data["rt"] = np.exp(
        5 + 0.02 * data["x"] + np.repeat(random.normal(0, 0.2, 8), 25) + random.normal(0, 0.4, 200)
    )
    aic = {
        family: lmer("rt ~ x + (1 | subject)", data, family=family, engine=engine).aic
        for family, engine in (("gaussian", "search"), ("lognormal", "search"), ("gamma", "auto"))
    }
    assert aic["lognormal"] < aic["gamma"] < aic["gaussian"]


@pytest.mark.parametrize(
    "options,message",
    [
        (
            {"family": "lognormal"},
            r"needs responses above 0, and 2 of 900 of rt are not: -5 in row 3",
        ),
        ({"family": "gamma"}, "needs responses above 0"),
        ({"family": "gama"}, "'gama'; did you mean 'gamma'"),
        (
            {"family": "lognormal", "reml": True},
            "reml=True is incompatible with family 'lognormal'",
        ),
        ({"family": "gamma", "engine": "lme4"}, 'engine="lme4" is incompatible with family'),
        (
            {"family": "gamma", "link": "logit"},
            "link of family 'gamma': 'logit'; did you mean 'log'",
        ),
        ({"family": "shifted_lognormal", "engine": "lme4"}, "whose shift the search profiles"),
        ({"link": "log"}, "link is incompatible with family 'gaussian'"),
        ({"family": "binomial", "link": "probit"}, "link is incompatible with family 'binomial'"),
    ],
)
def test_what_is_refused(options, message):
    data = skewed()
    data.loc[[3, 8], "rt"] = -5
    with pytest.raises(InputError, match=message):
        lmer(FORMULA, data, **options)


def test_what_a_density_does_not_offer_is_refused():
    fit = lmer("rt ~ x + (1 | subject)", one_group(), family="gamma")
    for ask in (fit.confint, lambda: fit.simulate(1), fit.plot):
        with pytest.raises(InputError, match="not family 'gamma'"):
            ask()
