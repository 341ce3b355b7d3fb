"""Binomial and Poisson models of any data frame: as lme4's glmer() fits them, without R."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from scipy.special import expit

from crosslmm import lmer
from crosslmm.errors import InputError
from random_designs import draw
from reference_glmer import FILE, POINTS
from test_lmer import effects

STORED = json.loads(FILE.read_text())


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(4)
    frame = pd.DataFrame({"subject": np.repeat(np.arange(20), 60), "x": random.normal(size=1200)})
    odds = 0.5 + 0.8 * frame.x + random.normal(0, 0.7, 20)[frame.subject]
    frame["right"] = random.random(1200) < 1 / (1 + np.exp(-odds))
    frame["fixations"] = random.poisson(np.exp(0.2 + 0.3 * frame.x))
    return frame


@pytest.mark.merge
@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("points", [1, POINTS])
def test_random_designs_are_glmers(family, points):
    """Log-likelihood, estimates, standard errors and theta are lme4's to 1e-4."""
    those = [s for s in STORED if (s["family"], s["points"]) == (family, points)]
    short = 0
    for stored in those:
        design = draw(stored["seed"], family)
        fit = lmer(design.formula, design.data, quadrature=points, **design.options)
        assert fit.engine == "laplace" and fit.converged, design
        assert fit.loglik == pytest.approx(stored["loglik"], abs=1e-4), design
        assert fit.loglik > stored["loglik"] - 1e-6, design
        if fit.loglik > stored["loglik"] + 5e-6:  # lme4 stopped short of its optimum
            short += 1
            continue
        away = (fit.fixed["estimate"] - stored["fixed"]) / fit.fixed["se"]
        assert away.abs().max() < 1e-4, design
        assert np.abs(fit.theta) == pytest.approx(np.abs(stored["theta"]), abs=1e-4), design
        if stored["se"]:
            assert fit.fixed["se"].to_numpy() == pytest.approx(stored["se"], rel=1e-4), design
    assert len(those) > 8 and short <= 1


def test_quadrature_is_the_integral():
    """By subject, on a grid, where Laplace's approximation is off by more than a unit."""
    random = np.random.default_rng(3)
    data = pd.DataFrame({"s": np.repeat(np.arange(40), 4), "x": random.normal(size=160)})
    eta = 0.5 * data["x"] + effects(random, data["s"].to_numpy(), 2.5)[:, 0]
    data["hit"] = (random.random(160) < expit(eta)) * 1
    fits = {n: lmer("hit ~ x + (1 | s)", data, family="binomial", quadrature=n) for n in (1, 25)}
    fit, sd = fits[25], fits[25].random["sd"].iloc[0]
    grid = np.linspace(-8 * sd, 8 * sd, 4001)
    total = 0.0
    for _, rows in data.groupby("s"):
        eta = fit.fixed["estimate"] @ [np.ones(len(rows)), rows["x"]]
        p = expit(eta[:, None] + grid)
        density = np.prod(np.where(rows["hit"].to_numpy()[:, None] == 1, p, 1 - p), 0)
        total += np.log(integrate.trapezoid(density * stats.norm.pdf(grid, 0, sd), grid))
    assert fit.loglik == pytest.approx(total, abs=1e-6)
    assert abs(fits[1].loglik - fit.loglik) > 0.5
    assert "(adaptive quadrature, 25 points)" in fit.summary()


def test_figures_and_predictions(data):
    fit = lmer("right ~ x + (1 | subject)", data, family="binomial", engine="search")
    theirs = lmer("right ~ x + (1 | subject)", data, family="binomial", engine="lme4")
    assert theirs.engine == "lme4" and fit.engine == "laplace"
    for name in ("loglik", "aic", "bic", "npar", "nobs"):
        assert getattr(fit, name) == pytest.approx(getattr(theirs, name), abs=1e-4)
    assert fit.fitted.to_numpy() == pytest.approx(theirs.fitted.to_numpy(), abs=1e-5)
    assert fit.residuals.to_numpy() == pytest.approx(theirs.residuals.to_numpy(), abs=1e-5)
    assert fit.modes["subject"].to_numpy() == pytest.approx(theirs.modes["subject"], abs=1e-4)
    new = pd.DataFrame({"subject": [3, 99], "x": [1.0, -1.0]})
    assert fit.predict(new).tolist() == pytest.approx(theirs.predict(new).tolist(), abs=1e-5)
    assert fit.random.group.tolist() == ["subject"]
    texts = [one.summary().partition("Random effects:")[2] for one in (fit, theirs)]
    names = [re.findall(r"[^\W\d]+", text.partition("\n\nNote")[0]) for text in texts]
    assert names[0] == names[1] and "z value" in texts[0]
    assert fit.summary().startswith("Generalised linear mixed model fit by maximum likelihood (Lap")


def test_responses_of_events(data):
    """Booleans, text and shares of trials are the same model."""
    plain = lmer("right ~ x + (1 | subject)", data, family="binomial")
    words = data.assign(right=np.where(data["right"], "yes", "no"))
    assert lmer("right ~ x + (1 | subject)", words, family="binomial").loglik == plain.loglik
    rounded = data.assign(x=data["x"].round(), right=data["right"] * 1)
    cells = rounded.groupby(["subject", "x"])["right"].agg(["mean", "size"]).reset_index()
    fits = [
        lmer("right ~ x + (1 | subject)", rounded, family="binomial"),
        lmer("mean ~ x + (1 | subject)", cells, family="binomial", weights="size"),
    ]
    assert fits[1].fixed.to_numpy() == pytest.approx(fits[0].fixed.to_numpy(), rel=1e-4)
    events = (cells["mean"] * cells["size"]).round()
    ways = stats.binom.logpmf(events, cells["size"], 0.5).sum()
    assert fits[1].loglik - fits[0].loglik == pytest.approx(ways - 1200 * np.log(0.5), abs=1e-6)


def test_more_effects_than_rows_of_a_level_are_fitted():
    """Overdispersed counts: an effect of each row, as glmer() allows."""
    random = np.random.default_rng(0)
    eta = 1 + random.normal(0, 0.6, 200)
    data = pd.DataFrame({"y": random.poisson(np.exp(eta)), "row": np.arange(200)})
    fit = lmer("y ~ 1 + (1 | row)", data, family="poisson")
    assert fit.converged and fit.random["sd"].iloc[0] == pytest.approx(0.6, abs=0.15)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"family": "binomal"}, "family is 'binomal'; did you mean 'binomial'"),
        ({"reml": True}, "reml=True is incompatible with family 'binomial'"),
        ({"formula": "right ~ x"}, "formula 'right ~ x'"),
        (
            {"formula": "fixations ~ x + (1 | subject)"},
            "responses that are 0 or 1, .* is 2 in row 4",
        ),
        ({"formula": "x ~ 1 + (1 | subject)", "family": "poisson"}, "that are counts 0, 1, 2, …"),
        ({"quadrature": 0}, "quadrature is 0 and must be a whole number"),
        ({"quadrature": 5, "family": "gamma"}, "quadrature=5 needs family 'binomial' or 'poisson'"),
        (
            {"quadrature": 5, "formula": "right ~ x + (1 + x | subject)"},
            "quadrature needs a single random effect",
        ),
    ],
)
def test_what_cannot_be_fitted_is_said(data, arguments, said):
    arguments = {"formula": "right ~ x + (1 | subject)", "family": "binomial"} | arguments
    with pytest.raises(InputError, match=said):
        lmer(data=data, **arguments)


def dense_deviance(fit, family, parameters):
    """Return minus twice the Laplace log-likelihood at beta and the terms' L, with dense matrices."""
    source = fit._source
    prepared, scale = source.prepared, source.internal
    n, y = fit.nobs, prepared.y
    X = np.column_stack([v * np.ones(n) for v in scale.fixed.values(prepared.leaves, n)])
    eta = X @ parameters[: X.shape[1]] + (
        0 if prepared.offset is None else prepared.offset + scale.mean
    )
    start, blocks = X.shape[1], []
    for name, basis in zip(scale.groups, scale.random, strict=True):
        k = len(basis.columns)
        L = np.zeros((k, k))
        L[np.tril_indices(k)] = parameters[start : start + k * (k + 1) // 2]
        start += k * (k + 1) // 2
        Z = np.column_stack([v * np.ones(n) for v in basis.values(prepared.leaves, n)]) @ L
        codes = prepared.groups[name].codes
        levels = np.eye(codes.max() + 1)[codes]
        blocks.append((levels[:, :, None] * Z[:, None, :]).reshape(n, -1))
    U = np.hstack(blocks)
    u = np.zeros(U.shape[1])
    for _ in range(60):
        at = eta + U @ u
        mean = expit(at) if family == "binomial" else np.exp(at)
        W = mean * (1 - mean) if family == "binomial" else mean
        P = U.T @ (W[:, None] * U) + np.eye(len(u))
        u = u + np.linalg.solve(P, U.T @ (y - mean) - u)
    at = eta + U @ u
    density = (
        stats.bernoulli.logpmf(y, expit(at))
        if family == "binomial"
        else stats.poisson.logpmf(y, np.exp(at))
    )
    return -2 * density.sum() + u @ u + np.linalg.slogdet(P)[1]


@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize(
    "seed", [4, 14, *(pytest.param(seed, marks=pytest.mark.merge) for seed in (0, 20, 24))]
)
def test_standard_errors_are_of_the_curvature_of_a_dense_likelihood(family, seed):
    """By fourth-order differences: lme4's deviance has errors that its own differences enlarge."""
    design = draw(seed, family)
    fit = lmer(design.formula, design.data, **design.options)
    figures = fit._source.result.figures
    lower = [L[np.tril_indices(len(L))] for L in figures.Ls]
    x = np.concatenate([figures.beta, *lower])
    assert dense_deviance(fit, family, x) == pytest.approx(-2 * fit.loglik, abs=1e-7)
    p, h = len(figures.beta), 0.02
    size = np.append(np.sqrt(np.diagonal(figures.covariance)), np.full(len(x) - p, 0.1))

    def at(*moves):
        z = x.copy()
        for c, by in moves:
            z[c] += by * h * size[c]
        return dense_deviance(fit, family, z)

    def second(i, j, k):
        return (
            at((i, k), (j, k)) - at((i, k), (j, -k)) - at((i, -k), (j, k)) + at((i, -k), (j, -k))
        ) / (2 * k * h) ** 2

    H = np.array(
        [
            [(4 * second(i, j, 1) - second(i, j, 2)) / 3 for j in range(len(x))]
            for i in range(len(x))
        ]
    )
    H = H / np.outer(size, size) / 2
    se = np.sqrt(np.diagonal(np.linalg.inv(H))[:p])
    assert not fit.singular
    assert np.sqrt(np.diagonal(figures.covariance)) == pytest.approx(se, rel=1e-4)
