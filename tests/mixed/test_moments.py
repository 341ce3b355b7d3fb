"""The start of the search: each factor's covariance as if it were alone, against closed forms."""

import numpy as np
import pytest

from recency.mixed import moments
from recency.mixed.cross_products import Block, cross_products
from recency.mixed.moments import alone
from recency.mixed.theta_search import by_moments, descend, search


def products_of_factor(X, y, codes, Z):
    """Return what `alone` takes: Z'Z, Z'W, W'W and n."""
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
    found = alone(*products_of_factor(ones, y, codes, ones), np.ones((1, 1), dtype=bool))
    assert found.sigma == pytest.approx(np.sqrt(error), rel=1e-3)
    assert found.L[0, 0] == pytest.approx(np.sqrt(between / error), rel=1e-3)


def test_information_is_that_of_the_dense_model(monkeypatch):
    monkeypatch.setattr(moments, "SWEEPS", 30)  # the last one's weights are at the L before
    random = np.random.default_rng(5)
    codes = random.integers(0, 40, 600)
    X = np.column_stack([np.ones(600), random.normal(size=(600, 2))])
    Z, free = X[:, :2], np.tril(np.ones((2, 2), dtype=bool))
    y = X @ [1, 2, 3] + (Z * random.normal(size=(40, 2))[codes]).sum(1) + random.normal(size=600)
    found = alone(*products_of_factor(X, y, codes, Z), free)
    same = codes[:, None] == codes

    def dense(L):
        return np.eye(600) + same * (Z @ L @ L.T @ Z.T)

    inverse = np.linalg.inv(dense(found.L))
    changes = []
    for element in np.argwhere(free):
        step = np.zeros((2, 2))
        step[tuple(element)] = 1e-6
        changes.append(inverse @ (dense(found.L + step) - dense(found.L - step)) / 2e-6)
    expected = [[np.trace(one @ other) for other in changes] for one in changes]
    assert found.information == pytest.approx(np.array(expected), rel=1e-4, abs=1e-4)


def test_uncorrelated_terms_stay_so_and_no_variance_is_zero():
    random = np.random.default_rng(7)
    codes = random.integers(0, 8, 200)
    X = np.column_stack([np.ones(200), random.normal(size=(200, 2))])
    y = X @ [1, 2, 3] + random.normal(size=200)  # nothing varies by group
    free = np.eye(3, dtype=bool)
    found = alone(*products_of_factor(X, y, codes, X), free)
    assert (found.L[~free] == 0).all()
    assert (np.diagonal(found.L) > 0.01).all()
    assert found.information.shape == (3, 3)


@pytest.mark.parametrize("seed", range(4))
def test_search_from_moments_is_short_and_ends_where_the_gradient_vanishes(seed):
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 30, 4000), random.integers(0, 40, 4000)
    X = np.column_stack([np.ones(4000), random.normal(size=(4000, 2))])
    slopes = random.normal(size=(30, 2)) * [0.6, 0.2]
    y = X @ [1, 2, 3] + (X[:, :2] * slopes[a]).sum(1) + random.normal(size=4000)
    y += 0.3 * random.normal(size=40)[b]
    products = cross_products([Block(X, y, a, X[:, :2], b, X[:, :1])], 30, 40)
    free = np.tril(np.ones((2, 2), dtype=bool)), np.ones((1, 1), dtype=bool)
    start, inverse = by_moments(products, list(free))
    found = search(products, *free)
    optimum = np.concatenate([found.La[free[0]], found.Lb[free[1]]])
    assert start == pytest.approx(optimum, abs=0.05)
    assert np.linalg.eigvalsh(inverse).min() > 0
    assert found.converged and found.gain < 1e-7
    assert found.evaluations <= 12  # 4 of them for the Hessian at the end


@pytest.mark.parametrize("seed", [3, 7, 50])
def test_near_a_limit_the_best_of_several_starts_is_taken(seed):
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 8, 150), random.integers(0, 10, 150)
    X = np.column_stack([np.ones(150), random.normal(size=(150, 3))])
    u = random.normal(size=(8, 4)) * [1, 0.1, 0.1, 0]
    y = X.sum(1) + (X * u[a]).sum(1)
    y += random.normal(size=150)
    products = cross_products([Block(X, y, a, X, b, X[:, :1])], 8, 10)
    free = np.tril(np.ones((4, 4), dtype=bool)), np.ones((1, 1), dtype=bool)
    others = [descend(products, *free, np.eye(4) * at, np.eye(1) * at)[0] for at in (0.1, 1.0)]
    assert search(products, *free).deviance <= min(others) + 1e-5
