"""The start of the search: each factor's covariance as if it were alone, against closed forms."""

import numpy as np
import pytest

from crosslmm.cross_products import Block, cross_products
from crosslmm.deviance import solve
from crosslmm.theta_search import (
    Chart,
    blocks_of,
    by_moments,
    escape,
    estimate_single,
    precision_at,
    search,
)


def products_of_factor(X, y, codes, Z):
    """Return what `estimate_single` takes: Z'Z, Z'W, W'W and n."""
    blank = np.zeros((len(y), 0))
    whole = cross_products([Block(X, y, codes, Z, codes * 0, blank)], codes.max() + 1, 1)
    return whole.aa, whole.aw, whole.ww, whole.n


def test_balanced_one_way_is_the_maximum_likelihood_of_the_textbook():
    groups, each = 20, 15
    random = np.random.default_rng(3)
    codes = np.repeat(np.arange(groups), each)
    y = 40 + random.normal(0, 3, groups)[codes] + random.normal(0, 4, len(codes))
    within = sum(((y[codes == g] - y[codes == g].mean()) ** 2).sum() for g in range(groups))
    error = within / (len(y) - groups)
    means = np.array([y[codes == g].mean() for g in range(groups)])
    between = (means.var() * each - error) / each  # of a random intercept, by maximum likelihood
    ones = np.ones((len(y), 1))
    found = estimate_single(*products_of_factor(ones, y, codes, ones), np.ones((1, 1), dtype=bool))
    assert found.sigma == pytest.approx(np.sqrt(error), rel=1e-3)
    assert found.L[0, 0] == pytest.approx(np.sqrt(between / error), rel=1e-3)


def test_expected_derivatives_are_those_of_the_dense_model():
    random = np.random.default_rng(5)
    codes = random.integers(0, 40, 600)
    Z = np.column_stack([np.ones(600), random.normal(size=600)])
    L = np.array([[0.8, 0.0], [0.3, 0.5]])
    zz = products_of_factor(Z, np.ones(600), codes, Z)[0]
    same = codes[:, None] == codes
    inverse = np.linalg.inv(np.eye(600) + same * (Z @ L @ L.T @ Z.T))
    for _ in range(3):
        change = random.normal(size=(2, 2))
        change = change + change.T
        turned = inverse @ (same * (Z @ change @ Z.T))
        found = change.ravel() @ precision_at(zz, L) @ change.ravel()
        assert found == pytest.approx(np.trace(turned @ turned), rel=1e-9)


def test_uncorrelated_terms_stay_so_and_no_variance_is_zero():
    random = np.random.default_rng(7)
    codes = random.integers(0, 8, 200)
    X = np.column_stack([np.ones(200), random.normal(size=(200, 2))])
    y = X @ [1, 2, 3] + random.normal(size=200)  # nothing varies by group
    free = np.eye(3, dtype=bool)
    found = estimate_single(*products_of_factor(X, y, codes, X), free)
    assert (found.L[~free] == 0).all()
    assert (np.diagonal(found.L) > 0.01).all()


def crossed(seed, rows=4000, sds=(0.6, 0.2), levels=(30, 40)):
    """Return cross-products of two factors, slopes by one of them, and what varies in their L."""
    random = np.random.default_rng(seed)
    a, b = (random.integers(0, many, rows) for many in levels)
    k = len(sds)
    X = np.column_stack([np.ones(rows), random.normal(size=(rows, max(k - 1, 2)))])
    y = X.sum(1) + (X[:, :k] * (random.normal(size=(levels[0], k)) * sds)[a]).sum(1)
    y += random.normal(size=rows) + 0.3 * random.normal(size=levels[1])[b]
    products = cross_products([Block(X, y, a, X[:, :k], b, X[:, :1])], *levels)
    return products, (np.tril(np.ones((k, k), dtype=bool)), np.ones((1, 1), dtype=bool))


@pytest.mark.parametrize("seed", range(4))
def test_search_from_moments_is_short_and_ends_where_the_gradient_vanishes(seed):
    products, free = crossed(seed)
    start = by_moments(products, free)
    found = search(products, *free)
    assert start[0] @ start[0].T == pytest.approx(found.La @ found.La.T, abs=0.05)
    assert found.converged and found.gain < 1e-9 and found.evaluations <= 10
    at = solve(products, found.La, found.Lb)
    assert np.abs(np.tril(at.by_La)).max() < 1e-3 and np.abs(at.by_Lb).max() < 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_at_the_edge_every_start_ends_at_one_optimum(seed):
    products, free = crossed(seed, 150, (1.0, 0.1, 0.1, 0.0), (8, 10))
    found = search(products, *free)
    assert found.converged and found.singular
    random = np.random.default_rng(seed)
    starts = [(np.eye(4) * at, np.eye(1) * at) for at in (0.0, 0.02, 1.0)]
    starts.append((np.tril(random.normal(size=(4, 4))), np.eye(1)))
    for start in starts:
        other = search(products, *free, start)
        assert other.converged and other.deviance == pytest.approx(found.deviance, abs=1e-5)
        assert other.evaluations < 60


def test_covariances_have_no_way_off_the_optimum_and_one_off_a_saddle():
    products, free = crossed(1, 600, (0.8, 0.4, 0.0), (12, 15))
    blocks, zz = blocks_of(free), (products.aa, products.bb)
    found = search(products, *free)

    def way(La, Lb):
        at = solve(products, La, Lb)
        return at.deviance, escape(blocks, (La, Lb), (at.by_Sa, at.by_Sb), zz)

    end = way(found.La, found.Lb)[1]
    assert end is None or end.gain < 1e-6
    deviance, off = way(np.zeros((3, 3)), found.Lb)
    assert off.block.factor == 0 and off.gain > 1
    assert way(*off.taken((np.zeros((3, 3)), found.Lb), 0.25))[0] < deviance - 1
    # Sigma goes down along the cone's edge and not within it: no random covariance is better.
    random = np.random.default_rng(0)
    for _ in range(20):
        root = random.normal(size=(3, 3))
        Sigma = found.La @ found.La.T + 1e-3 * random.random() * root @ root.T
        assert solve(products, np.linalg.cholesky(Sigma), found.Lb).deviance > found.deviance


@pytest.mark.parametrize("correlated", [True, False])
def test_a_chart_has_the_gradient_of_differences(correlated):
    products, free = crossed(2, 600, (0.8, 0.4, 0.1), (12, 15))
    free = free if correlated else (np.eye(3, dtype=bool), free[1])
    blocks, random = blocks_of(free), np.random.default_rng(3)
    Ls = [np.where(f, random.normal(size=f.shape), 0.0) for f in free]
    chart = Chart(blocks, Ls)
    for L, again in zip(Ls, chart.factors(chart.start), strict=True):
        assert again @ again.T == pytest.approx(L @ L.T)
    theta = chart.start + 0.1 * random.normal(size=len(chart.start))

    def value(theta):
        return solve(products, *chart.factors(theta))

    at = value(theta)
    gradient = chart.gradient(theta, (at.by_Sa, at.by_Sb))
    for element, slope in enumerate(gradient):
        step = np.zeros(len(theta))
        step[element] = 1e-5
        around = value(theta + step).deviance - value(theta - step).deviance
        assert slope == pytest.approx(around / 2e-5, rel=1e-4, abs=1e-4)
