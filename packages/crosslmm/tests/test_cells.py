"""Refits of bootstrap samples from sums by cell, against rows that are really repeated."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from crosslmm import deviance as deviance_module
from crosslmm.cells import Cells
from crosslmm.deviance import solve
from crosslmm.factors import Levels, crossed_factors
from crosslmm.fitting import fit_model
from crosslmm.formula import column, parse
from crosslmm.theta_search import search
from test_mixed_model import CORRELATED, R, simulate  # noqa: F401

FORMULAS = {
    "correlated": CORRELATED,
    "uncorrelated": CORRELATED.replace("|", "||", 1),
    "two columns by sentence": "time_ms ~ length*surprisal + (1 + length | subject)"
    " + (1 + surprisal | sentence)",
    "no effects by sentence": "time_ms ~ length + surprisal + (1 + length | subject)",
    "a dependent column": "time_ms ~ length + twice + surprisal + (1 | subject) + (1 | sentence)",
}


def cells_of(formula, predictors, y, groups, first="subject"):
    """Return the cells of a model whose factor a is `first`, and the names of both axes."""
    factors = {factor.group: factor for factor in crossed_factors(formula)}
    second = "sentence" if first == "subject" else "subject"
    a, b = groups[first], groups[second]
    return Cells(
        formula, factors[first], factors.get(second), predictors, y, a.codes, b.codes,
        (len(a.names), len(b.names)),
    )  # fmt: skip


def multiplicities(seed, groups):
    random = np.random.default_rng(seed)
    sizes = [len(groups[name].names) for name in ("subject", "sentence")]
    return [random.multinomial(n, np.full(n, 1 / n)) for n in sizes]


def repeated(times, predictors, y, groups):
    """Repeat rows as often as their levels occur in a sample; each copy of a level has its name."""
    index, copies = [], []
    subject, sentence = groups["subject"].codes, groups["sentence"].codes
    for row in range(len(y)):
        for s in range(times[0][subject[row]]):
            for t in range(times[1][sentence[row]]):
                index.append(row)
                copies.append((f"{subject[row]}.{s}", f"{sentence[row]}.{t}"))
    index = np.array(index)
    levels = {}
    for name, values in zip(("subject", "sentence"), zip(*copies, strict=True), strict=True):
        names, codes = np.unique(values, return_inverse=True)
        levels[name] = Levels(codes, names.tolist())
    columns = {name: values[index] for name, values in predictors.items()}
    return columns, y[index], levels


def covariance(spread):
    sd = np.array(spread["sd"])
    return sd[:, None] * np.nan_to_num(np.array(spread["correlation"], dtype=float)) * sd


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_weighted_fit_is_that_of_repeated_rows(name, seed):
    predictors, y, groups = simulate(seed, subjects=13, sentences=11, keep=0.8)
    predictors["twice"] = 2 * predictors["length"]
    formula, times = parse(FORMULAS[name]), multiplicities(seed, groups)
    cells = cells_of(formula, predictors, y, groups)
    fit = cells.fit(*times)
    expected = fit_model(
        formula, *repeated(times, predictors, y, groups), "cross_products", confirm=False
    ).summary
    assert fit.loglik == pytest.approx(expected.loglik, abs=1e-6)
    beta = fit.solution.beta + np.append(cells.shift, np.zeros(len(fit.solution.beta) - 1))
    assert beta == pytest.approx(np.array(list(expected.fixed.values())), rel=1e-4, abs=1e-3)
    assert fit.solution.sigma == pytest.approx(expected.sigma, rel=1e-5)
    for L, group in ((fit.La, "subject"), (fit.Lb, "sentence")):
        if group in expected.random:
            ours = fit.solution.sigma**2 * L @ L.T
            assert ours == pytest.approx(covariance(expected.random[group]), rel=1e-3, abs=0.05)
    # The modes are those of one copy, and all copies have the same.
    for row, level in enumerate(np.flatnonzero(times[0])):
        assert fit.solution.modes_a[row] == pytest.approx(
            expected.modes["subject"][f"{level}.0"], rel=1e-3, abs=0.02
        )


def test_each_level_once_is_the_ordinary_fit():
    predictors, y, groups = simulate(4)
    formula = parse(CORRELATED)
    cells = cells_of(formula, predictors, y, groups)
    once = [np.ones(len(groups[name].names), dtype=int) for name in ("subject", "sentence")]
    fit = cells.fit(*once)
    expected = fit_model(formula, predictors, y, groups, "cross_products", confirm=False)
    assert fit.loglik == pytest.approx(expected.summary.loglik, abs=1e-7)


@pytest.mark.parametrize("singular", [False, True])
def test_the_gradient_with_repeated_levels_is_that_of_differences(singular, monkeypatch):
    predictors, y, groups = simulate(3, subjects=7, sentences=6, words=5, keep=0.8)
    cells = cells_of(parse(FORMULAS["two columns by sentence"]), predictors, y, groups)
    products = cells.products(*multiplicities(5, groups))
    random = np.random.default_rng(2)
    La, Lb = (np.tril(random.normal(size=(2, 2))) for _ in range(2))
    if singular:
        La[:, 1] = Lb[1, 1] = 0
    at = solve(products, La, Lb)
    for L, gradient in ((La, at.by_La), (Lb, at.by_Lb)):
        for element in zip(*np.tril_indices(2), strict=True):
            value, around = L[element], []
            for step in (1e-5, -1e-5):
                L[element] = value + step
                around.append(solve(products, La, Lb).deviance)
            L[element] = value
            difference = (around[0] - around[1]) / 2e-5
            assert gradient[element] == pytest.approx(difference, rel=1e-5, abs=1e-4)
    assert 2 * at.by_Sa @ La == pytest.approx(at.by_La)
    assert 2 * at.by_Sb @ Lb == pytest.approx(at.by_Lb)
    monkeypatch.setattr(deviance_module, "SAFE", 0.0)  # the other formula of the same gradient
    assert solve(products, La, Lb).by_Sb == pytest.approx(at.by_Sb, rel=1e-7)


@pytest.mark.merge
@pytest.mark.parametrize(
    "data",
    [{}, {"sds": (60, 12, 0.0)}, {"sds": (0.0, 0.0, 0.0)}, {"subjects": 9, "sentences": 40}],
    ids=["regular", "no variance of a slope", "no variance by subject", "few subjects"],
)
@pytest.mark.parametrize("name", ["correlated", "uncorrelated", "no effects by sentence"])
def test_a_warm_start_ends_at_the_optimum(data, name):
    predictors, y, groups = simulate(6, **{"subjects": 25, "sentences": 20} | data)
    cells = cells_of(parse(FORMULAS[name]), predictors, y, groups)
    start, enough = cells.warm_start(), 1e-4
    for draw in range(25):
        times = multiplicities(draw, groups)
        fit = cells.fit(*times, start, enough)
        best = search(cells.products(*times), cells.free_a, cells.free_b)
        assert 2 * fit.loglik == pytest.approx(-best.deviance, abs=30 * enough)
        at = solve(cells.products(*times), fit.La, fit.Lb)  # of La and Lb as they are returned
        assert at.deviance == pytest.approx(-2 * fit.loglik, abs=1e-7)
        assert at.beta == pytest.approx(fit.solution.beta)


@pytest.mark.parametrize("name", ["correlated", "two columns by sentence"])
@pytest.mark.parametrize("seed", [3, 4])
def test_the_density_of_other_rows_is_the_dense_normal_s(name, seed):
    """Also of rows that are repeated; a cell's part is of one copy."""
    predictors, y, groups = simulate(seed, subjects=10, sentences=9, words=4, keep=0.8)
    formula = parse(FORMULAS[name])
    cells = cells_of(formula, predictors, y, groups)
    fit = cells.fit(*multiplicities(seed, groups))
    for times in ([np.arange(10) % 3, np.arange(9) % 2], [np.arange(10) % 2, np.arange(9) % 3]):
        columns, response, levels = repeated(times, predictors, y, groups)
        n, residuals = len(response), response - cells.shift
        for term, beta in zip(formula.fixed, fit.solution.beta, strict=True):
            residuals = residuals - beta * column(term, columns, n)
        V = np.eye(n)
        for factor, L in zip(crossed_factors(formula), (fit.La, fit.Lb), strict=True):
            Z = np.column_stack([column(term, columns, n) for term in factor.columns])
            codes = levels[factor.group].codes
            V += (codes[:, None] == codes) * (Z @ L @ L.T @ Z.T)
        V *= fit.solution.sigma**2
        expected = multivariate_normal(np.zeros(n), V).logpdf(residuals)
        value, parts = cells.log_density(fit, *times)
        assert value == pytest.approx(expected, rel=1e-9)
        assert (np.outer(*times) * parts).sum() == pytest.approx(expected, rel=1e-9)
        # A cell's share of the quadratic form and of the rest, by the dense matrices.
        by_row = residuals * np.linalg.solve(V, residuals)
        by_row += np.log(2 * np.pi) + np.linalg.slogdet(V)[1] / n
        subject, sentence = (
            np.array([int(levels[k].names[c].split(".")[0]) for c in levels[k].codes])
            for k in ("subject", "sentence")
        )
        shares = np.zeros(parts.shape)
        np.add.at(shares, (subject, sentence), -by_row / 2)
        assert np.outer(*times) * parts == pytest.approx(shares, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", ["correlated", "two columns by sentence", "uncorrelated"])
def test_either_factor_may_be_the_first(name):
    """The orders take different ways through the deviance, with the same results."""
    for shape in ({"subjects": 12, "sentences": 9}, {"subjects": 9, "sentences": 12}):
        predictors, y, groups = simulate(7, keep=0.9, **shape)
        formula, times = parse(FORMULAS[name]), multiplicities(1, groups)
        outside = [(t == 0).astype(int) for t in times]
        results = []
        for first, order in (("subject", 1), ("sentence", -1)):
            cells = cells_of(formula, predictors, y, groups, first)
            fit = cells.fit(*times[::order])
            value, parts = cells.log_density(fit, *outside[::order])
            results.append((fit.loglik, value, parts if order == 1 else parts.T))
        for one, other in zip(*results, strict=True):
            assert one == pytest.approx(other, rel=1e-6, abs=1e-4)


def test_a_warm_start_that_ends_too_early_is_gone_on_with(monkeypatch):
    """Of few subjects with many effects, BFGS may see no gain where there is some."""
    predictors, y, groups = simulate(2, subjects=10, sentences=12, words=10, noise=120)
    formula = "time_ms ~ length + (1 + length + position + surprisal | subject) + (1 | sentence)"
    cells = cells_of(parse(formula), predictors, y, groups)
    start, searches = cells.warm_start(), []

    def counted(*arguments):
        searches.append(search(*arguments))
        return searches[-1]

    monkeypatch.setattr("crosslmm.cells.search", counted)
    for draw in range(40):
        times = multiplicities(draw, groups)
        best = search(cells.products(*times), cells.free_a, cells.free_b)
        short = 2 * cells.fit(*times, start, 1e-4).loglik + best.deviance
        assert short == pytest.approx(0, abs=1.5e-3)
    assert 0 < len(searches) < 40


def test_a_sample_without_rows_has_the_density_1():
    """Subjects and sentences that were left out need not have any observations together."""
    predictors, y, groups = simulate(1, subjects=6, sentences=5)
    left = (groups["subject"].codes < 3) | (groups["sentence"].codes < 3)
    levels = {name: Levels(group.codes[left], group.names) for name, group in groups.items()}
    predictors = {name: values[left] for name, values in predictors.items()}
    cells = cells_of(parse(CORRELATED), predictors, y[left], levels)
    fit = cells.fit(np.ones(6, dtype=int), np.ones(5, dtype=int))
    outside = (np.arange(6) >= 3).astype(int), (np.arange(5) >= 3).astype(int)
    value, parts = cells.log_density(fit, *outside)
    assert value == 0 and not parts.any() and parts.shape == (6, 5)


def test_levels_without_rows_and_products_of_parts():
    """A level that no row has adds nothing, and rows may be summed in blocks of any size."""
    predictors, y, groups = simulate(9, subjects=6, sentences=5)
    more = replace(groups["subject"], names=[*groups["subject"].names, "nobody"])
    formula = parse(CORRELATED)
    times = multiplicities(1, groups)
    expected = cells_of(formula, predictors, y, groups).products(*times)
    wider = cells_of(formula, predictors, y, {**groups, "subject": more})
    products = wider.products(np.append(times[0], 2), times[1])
    assert products.ww == pytest.approx(expected.ww)
    assert products.n == expected.n == (times[0] @ wider.n[:-1] @ times[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crosslmm.cells.BLOCK", 7)
        parts = cells_of(formula, predictors, y, groups).products(*times)
    for name in ("aa", "bb", "ab", "aw", "bw", "ww"):
        assert getattr(parts, name) == pytest.approx(getattr(expected, name))
