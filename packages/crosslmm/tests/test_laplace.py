"""Laplace's approximation: against dense matrices, exact integrals, and lme4's closed form."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

from crosslmm.densities import exgaussian, gamma, gaussian, inverse_gaussian
from crosslmm.laplace import Grouping, Laplace, NoMode

SCALES = {gaussian: [4.1], gamma: [-1.5], inverse_gaussian: [-4.2], exgaussian: [3.9, 4.1]}
MODELS = [
    (gaussian, "identity", 0),
    (gaussian, "identity", 1),
    (gamma, "log", 0),
    (gamma, "identity", 0),
    (inverse_gaussian, "log", 0),
    (exgaussian, "identity", 0),
    (exgaussian, "identity", 1),
]


def triangle(c):
    return np.tril(np.ones((c, c), dtype=bool))


def made(density, link, scale_effects, third, n=240, seed=0):
    """Return a model with correlated slopes by a, an intercept by b (and c), and parameters."""
    random = np.random.default_rng(seed)
    a, b, c = (random.integers(0, levels, n) for levels in (8, 11, 5))
    x, one = random.normal(size=n), np.ones(n)
    Z, predictor, free = np.column_stack([one, x]), np.zeros(2, int), triangle(2)
    unit = 1.0 if link == "identity" else 1 / 300
    theta = [25 * unit, 3 * unit, 6 * unit]
    if scale_effects:
        Z, predictor, free = np.column_stack([Z, one]), np.array([0, 0, 1]), triangle(3)
        theta += [0.02, 0.03, 0.15]
    groupings = [Grouping(a, 8, Z, predictor, free)]
    groupings.append(Grouping(b, 11, one[:, None], np.array([0]), triangle(1)))
    theta.append(10 * unit)
    if third:
        groupings.append(Grouping(c, 5, x[:, None], np.array([0]), triangle(1)))
        theta.append(5 * unit)
    y = 300 + 20 * x + 25 * random.normal(size=8)[a] + 60 * random.normal(size=n)
    X = [np.column_stack([one, x]), *(one[:, None] for _ in SCALES[density])]
    beta = [300.0, 18.0] if link == "identity" else [np.log(300), 0.06]
    model = Laplace(density, link, np.maximum(y, 60.0), X, groupings)
    return model, np.array([*beta, *SCALES[density], *theta])


def dense(model, parameters):
    """Return the approximation by dense matrices and a quasi-Newton search for the mode."""
    n, K = len(model.y), len(model.X)
    betas, Ls = model.unpack(parameters)
    given = [None] * len(model.z.order)
    for place, grouping in zip(model.z.order, (model.z.first, *model.z.rest), strict=True):
        given[place] = grouping
    Z = [[] for _ in range(K)]
    for grouping, L in zip(given, Ls, strict=True):
        for k in range(K):
            block = np.zeros((n, grouping.levels, len(L)))
            block[np.arange(n), grouping.codes] = grouping.Z * (grouping.predictor == k)
            Z[k].append((block @ L).reshape(n, -1))
    Z = [np.hstack(parts) for parts in Z]
    fixed = model.fixed(betas)

    def at(u):
        return fixed + np.stack([z @ u for z in Z], axis=1)

    def negative(u):
        gradient, _ = model.derivatives(at(u))
        by_u = sum(z.T @ gradient[:, k] for k, z in enumerate(Z)) - u
        return u @ u / 2 - model.log_density(at(u)).sum(), -by_u

    start = np.zeros(Z[0].shape[1])
    u = minimize(negative, start, jac=True, method="BFGS", options={"gtol": 1e-7}).x
    _, W = model.derivatives(at(u))
    P = np.eye(len(u))
    for k in range(K):
        for m in range(K):
            P += Z[k].T @ (W[:, k, m][:, None] * Z[m])
    return -negative(u)[0] - np.linalg.slogdet(P)[1] / 2


@pytest.mark.parametrize("third", [False, True], ids=["two factors", "three factors"])
@pytest.mark.parametrize(
    ("density", "link", "scale_effects"),
    MODELS,
    ids=[f"{d.__name__.rpartition('.')[2]}-{link}-{s}" for d, link, s in MODELS],
)
def test_the_value_is_that_of_dense_matrices_and_the_gradient_its_derivative(
    density, link, scale_effects, third
):
    model, parameters = made(density, link, scale_effects, third)
    value, gradient = model.value(parameters)
    assert value == pytest.approx(dense(model, parameters), abs=1e-6)
    for index, step in enumerate(1e-5 * np.maximum(np.abs(parameters), 0.01)):
        ahead, behind = parameters.copy(), parameters.copy()
        ahead[index] += step
        behind[index] -= step
        difference = (model.mode(ahead).loglik - model.mode(behind).loglik) / (2 * step)
        assert gradient[index] == pytest.approx(difference, rel=1e-4, abs=1e-4)


def test_a_gaussian_model_is_exact():
    model, parameters = made(gaussian, "identity", 0, True)
    _, Ls = model.unpack(parameters)
    n = len(model.y)
    covariance = np.exp(2 * parameters[2]) * np.eye(n)
    for place, grouping in zip(model.z.order, (model.z.first, *model.z.rest), strict=True):
        block = np.zeros((n, grouping.levels, len(Ls[place])))
        block[np.arange(n), grouping.codes] = grouping.Z
        scaled = (block @ Ls[place]).reshape(n, -1)
        covariance += scaled @ scaled.T
    left = model.y - model.X[0] @ parameters[:2]
    _, logs = np.linalg.slogdet(covariance)
    expected = -0.5 * (n * np.log(2 * np.pi) + logs + left @ np.linalg.solve(covariance, left))
    assert model.mode(parameters).loglik == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("density", [gamma, inverse_gaussian, exgaussian])
def test_it_is_near_the_integral_over_an_intercept(density):
    """One intercept of 4 levels with 50 rows each: the integral is of one dimension."""
    random = np.random.default_rng(3)
    codes, one = np.repeat(np.arange(4), 50), np.ones(200)
    link = "identity" if density is exgaussian else "log"
    sd = 30.0 if link == "identity" else 0.1
    y = np.maximum(300 + 30 * random.normal(size=4)[codes] + 70 * random.normal(size=200), 60)
    grouping = Grouping(codes, 4, one[:, None], np.array([0]), triangle(1))
    location = 300.0 if link == "identity" else np.log(300)
    parameters = np.array([location, *SCALES[density], sd])
    X = [one[:, None]] * (1 + len(SCALES[density]))
    model = Laplace(density, link, y, X, [grouping])
    total = 0.0
    for level in range(4):
        rows = codes == level

        def joint(u, rows=rows):
            eta = np.tile(parameters[:-1], (rows.sum(), 1))
            eta[:, 0] += sd * u
            part = Laplace(density, link, y[rows], X, [grouping], np.zeros((50, len(X))))
            return part.log_density(eta).sum() - u**2 / 2 - np.log(2 * np.pi) / 2

        at = max(np.linspace(-4, 4, 801), key=joint)
        peak = joint(at)
        width = quad(lambda u, peak=peak, joint=joint: np.exp(joint(u) - peak), at - 4, at + 4)[0]
        total += peak + np.log(width)
    assert model.mode(parameters).loglik == pytest.approx(total, abs=6e-3)


def test_a_model_without_a_mode_is_refused():
    model, parameters = made(gamma, "identity", 0, False)
    parameters[0] = -300.0
    with pytest.raises(NoMode, match="not finite"):
        model.mode(parameters)
