"""Mixed models fitted by Laplace's approximation: glmmTMB's figures, the search's, known effects."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crosslmm.design import categorical
from crosslmm.factors import Levels, NotSearchable
from crosslmm.fitting import fit_model
from crosslmm.formula import parse
from crosslmm.generalised import fit_generalised

SLOPES = parse("y ~ x + (1 + x | subject) + (1 | sentence)")


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(5)
    n, subjects, sentences = 1500, 20, 30
    a, b = random.integers(0, subjects, n), random.integers(0, sentences, n)
    x = random.normal(size=n)
    eta = 5.6 + 0.08 * x + 0.15 * random.normal(size=subjects)[a]
    eta = eta + 0.05 * random.normal(size=subjects)[a] * x
    mu = np.exp(eta + 0.08 * random.normal(size=sentences)[b])
    frame = {"subject": [f"s{i:02}" for i in a], "sentence": [f"t{i:02}" for i in b], "x": x}
    frame["y"] = np.round(random.gamma(1 / 0.09, 0.09 * mu), 3)
    frame["z"] = np.round(mu + np.exp(4 + 0.15 * x) * random.normal(size=n), 3)
    return pd.DataFrame(frame)


def fitted(data, name, link, formula, response="y"):
    groups = {name: categorical(data[name]) for name in ("subject", "sentence")}
    x = {"x": data.x.to_numpy()}
    return fit_generalised(name, link, formula, x, data[response].to_numpy(), groups)


def test_gamma_is_that_of_glmmtmb(data):
    """By glmmTMB 1.1.5: y ~ x + (1 + x | subject) + (1 | sentence), family = Gamma("log")."""
    fit = fitted(data, "gamma", "log", SLOPES)
    assert fit.location.loglik == pytest.approx(-8845.0194297, abs=1e-4)
    assert fit.location.converged
    assert list(fit.location.fixed.values()) == pytest.approx([5.6748184, 0.0691771], abs=2e-5)
    assert fit.location.se == pytest.approx([0.0271065, 0.0106431], rel=1e-3)
    assert fit.location.sigma == pytest.approx(0.3001688, rel=1e-5)
    random = fit.location.random
    assert random["subject"]["sd"] == pytest.approx([0.0892893, 0.0328882], rel=2e-3)
    assert random["sentence"]["sd"] == pytest.approx([0.0906307], rel=2e-3)


def test_a_location_scale_model_is_that_of_glmmtmb(data):
    """By glmmTMB 1.1.5 with dispformula = ~ x, whose dispersion is the variance."""
    fit = fitted(data, "gaussian", "identity", replace(SLOPES, scale=parse("sigma ~ x")), "z")
    assert fit.location.loglik == pytest.approx(-8226.39218924, abs=1e-4)
    assert list(fit.location.fixed.values()) == pytest.approx([295.618149, 20.520281], abs=5e-3)
    assert fit.location.se == pytest.approx([7.6273419, 3.4201770], rel=1e-3)
    log_variance = [2 * value for value in fit.scale.fixed.values()]
    assert log_variance == pytest.approx([8.012704742, 0.320572527], abs=1e-4)


def test_a_gaussian_model_is_the_searched_one(data):
    groups = {name: categorical(data[name]) for name in ("subject", "sentence")}
    x, y = {"x": data.x.to_numpy()}, data.z.to_numpy()
    expected = fit_model(SLOPES, x, y, groups, "cross_products", confirm=False).summary
    fit = fitted(data, "gaussian", "identity", SLOPES, "z")
    assert fit.location.loglik == pytest.approx(expected.loglik, abs=1e-5)
    for effect, se in zip(fit.location.fixed, expected.se, strict=True):
        difference = fit.location.fixed[effect] - expected.fixed[effect]
        assert abs(difference) < 1e-3 * se
    assert fit.location.se == pytest.approx(expected.se, rel=1e-3)
    assert fit.location.sigma == pytest.approx(expected.sigma, rel=1e-4)


def drawn(name, seed=1, n=6000):
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 30, n), random.integers(0, 40, n)
    x = random.normal(size=n)
    by_subject, by_scale = random.normal(0, 40, 30), random.normal(0, 0.25, 30)
    mu = 350 + 15 * x + by_subject[a] + random.normal(0, 15, 40)[b]
    if name == "exgaussian":
        y = mu - 90 + 45 * random.normal(size=n) + random.exponential(90, n)
    elif name == "inverse_gaussian":
        y = random.wald(mu, 1 / 0.018**2)
    else:
        y = mu + np.exp(4 + 0.2 * x + by_scale[a]) * random.normal(size=n)
    groups = {
        "subject": Levels(a, [f"s{i}" for i in range(30)]),
        "sentence": Levels(b, [f"t{i}" for i in range(40)]),
    }
    return x, y, groups


@pytest.mark.parametrize(
    ("name", "sigma", "others"),
    [("exgaussian", 45.0, {"beta": np.log(90)}), ("inverse_gaussian", 0.018, {})],
)
def test_known_parameters_are_recovered(name, sigma, others):
    x, y, groups = drawn(name)
    formula = parse("y ~ x + (1 | subject) + (1 | sentence)")
    fit = fit_generalised(name, "identity", formula, {"x": x}, y, groups)
    estimate, se = fit.location.fixed["x"], fit.location.se[1]
    assert estimate == pytest.approx(15, abs=3 * se)
    assert se < 4
    assert fit.location.sigma == pytest.approx(sigma, rel=0.06)
    assert fit.others == pytest.approx(others, abs=0.06)
    assert fit.location.random["subject"]["sd"] == pytest.approx([40], rel=0.35)


def test_effects_on_the_scale_vary_by_subject():
    x, y, groups = drawn("gaussian")
    formula = parse("y ~ x + (1 | subject) + (1 | sentence)")
    formula = replace(formula, scale=parse("sigma ~ x + (1 | subject)"))
    fit = fit_generalised("gaussian", "identity", formula, {"x": x}, y, groups)
    assert fit.scale.fixed["x"] == pytest.approx(0.2, abs=3 * fit.scale.se[1])
    assert fit.scale.random["subject"]["sd"] == pytest.approx([0.175], rel=0.15)  # of the 30 drawn
    assert set(fit.scale.modes) == {"subject"}
    assert set(fit.location.modes) == {"subject", "sentence"}


def test_a_dependent_column_is_left_out(data):
    groups = {name: categorical(data[name]) for name in ("subject", "sentence")}
    columns = {"x": data.x.to_numpy(), "twice": 2 * data.x.to_numpy()}
    formula = parse("y ~ x + twice + (1 | subject) + (1 | sentence)")
    fit = fit_generalised("gamma", "log", formula, columns, data.y.to_numpy(), groups)
    assert list(fit.location.fixed) == ["(Intercept)", "x"]


def test_a_model_without_random_effects_is_refused(data):
    with pytest.raises(NotSearchable, match="no random effect"):
        fitted(data, "gamma", "log", parse("y ~ x"))
