"""Crossed factors of which few pairs of levels have rows: the same sums, deviance and gradient."""

import numpy as np
import pytest

from crosslmm import scaled_search
from crosslmm.cross_products import Block, cross_products, select_columns
from crosslmm.deviance import solve
from crosslmm.factors import Levels, NotSearchable, crossed_factors
from crosslmm.fitting import fit_model
from crosslmm.formula import parse


def blocks(rows=700, parts=5):
    """Return blocks of rows with slopes by both factors; some levels have no rows, as of one part."""
    random = np.random.default_rng(1)
    a, b = random.integers(1, 20, rows), random.integers(0, 29, rows)
    X = np.column_stack([np.ones(rows), random.normal(size=(rows, 2))])
    y, Za, Zb = random.normal(size=rows), X[:, :3], X[:, [0, 2]]
    cuts = np.split(np.arange(rows), np.sort(random.integers(0, rows, parts - 1)))
    return [Block(X[c], y[c], a[c], Za[c], b[c], Zb[c]) for c in cuts if len(c)]


@pytest.mark.parametrize("gathered", [0.0, 1.0])
@pytest.mark.parametrize("singular", [False, True])
def test_sparse_and_whole_are_one(monkeypatch, gathered, singular):
    monkeypatch.setattr("crosslmm.cross_products.GATHERED", gathered)
    monkeypatch.setattr("crosslmm.cross_products.AT_ONCE", 700)  # two levels of a, or few pairs
    whole = cross_products(blocks(), 21, 30)
    sparse = cross_products(blocks(), 21, 30, sparse=True)
    assert len(sparse.ab.cells) < 0.8 * 21 * 30
    assert sparse.ab.whole() == pytest.approx(whole.ab)
    random = np.random.default_rng(2)
    La, Lb = np.tril(random.normal(size=(3, 3))), np.tril(random.normal(size=(2, 2)))
    if singular:
        La[:, 0], Lb[:, 1] = 0.0, 0.0
    ours, theirs = solve(sparse, La, Lb), solve(whole, La, Lb)
    for name, value in vars(theirs).items():
        assert getattr(ours, name) == pytest.approx(value, rel=1e-9, abs=1e-9), name
    fewer = [select_columns(each, [0, 2], [1]) for each in (sparse, whole)]
    assert fewer[0].ab.whole() == pytest.approx(fewer[1].ab)


def test_parts_of_dense_sums(monkeypatch):
    whole = cross_products(blocks(), 21, 30)
    at = np.diag([0.5, 0.2, 0.1]), np.diag([0.3, 0.1])
    expected = solve(whole, *at)
    monkeypatch.setattr("crosslmm.cross_products.AT_ONCE", 400)  # two levels of a
    found = solve(whole, *at)
    assert found.deviance == pytest.approx(expected.deviance, rel=1e-12)
    assert found.by_La == pytest.approx(expected.by_La) and found.by_Lb == pytest.approx(
        expected.by_Lb
    )


def test_a_fit_does_not_depend_on_how_its_cells_are_held(monkeypatch):
    random = np.random.default_rng(3)
    subject, item = random.integers(0, 60, 2_000), random.integers(0, 90, 2_000)
    x = random.normal(size=2_000)
    y = x + random.normal(size=60)[subject] + x * random.normal(size=60)[subject]
    y += random.normal(size=90)[item] + random.normal(0, 2, 2_000)
    groups = {"s": Levels(subject, [f"{n}" for n in range(60)])}
    groups["i"] = Levels(item, [f"{n}" for n in range(90)])
    asked = (parse("y ~ x + (1 + x | s) + (1 | i)"), {"x": x}, y, groups, "cross_products")
    whole = fit_model(*asked, confirm=False)
    monkeypatch.setattr(scaled_search, "SMALL", 0)
    monkeypatch.setattr(scaled_search, "FILLED", 1.0)
    sparse = fit_model(*asked, confirm=False)
    assert sparse.summary.loglik == pytest.approx(whole.summary.loglik, rel=1e-12)
    assert sparse.summary.theta == pytest.approx(whole.summary.theta, abs=1e-6)
    assert sparse.summary.fixed == pytest.approx(whole.summary.fixed, abs=1e-8)
    monkeypatch.setattr(scaled_search, "CELLS", 3_000)
    with pytest.raises(NotSearchable, match="60 x 90 levels"):
        scaled_search.products_of(asked[0], crossed_factors(asked[0]), {"x": x}, y, groups)
