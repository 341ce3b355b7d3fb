"""Three and more grouping factors: dense matrices, differences, and lme4 on random designs."""

import numpy as np
import pytest
from scipy.sparse import issparse

from crosslmm import several
from crosslmm.factors import Levels, NotSearchable, all_factors, joined
from crosslmm.fitting import fit_model
from crosslmm.formula import column, parse
from crosslmm.several import several_products, solve_several

FORMULA = "y ~ x + w + (1 + x | subject) + (1 + w | sentence) + (1 | word)"


def simulate(n=300, shape=(7, 5, 11), seed=0, sds=(30, 8, 15, 12)):
    """Return predictors, response and groups: subjects, sentences, and words nested in these."""
    random = np.random.default_rng(seed)
    subjects, sentences, words = shape
    a, c = random.integers(0, subjects, n), random.integers(0, words, n)
    b = c * sentences // words
    x, w = random.normal(size=(2, n))
    y = 300 + 10 * x + 4 * w + sds[0] * random.normal(size=subjects)[a]
    y += sds[1] * random.normal(size=subjects)[a] * x + sds[2] * random.normal(size=sentences)[b]
    y += sds[3] * random.normal(size=words)[c] + 60 * random.normal(size=n)
    groups = {}
    for name, codes in zip(("subject", "sentence", "word"), (a, b, c), strict=True):
        present, codes = np.unique(codes, return_inverse=True)
        groups[name] = Levels(codes, [f"{name}{level}" for level in present])
    return {"x": x, "w": w}, y, groups


@pytest.mark.parametrize("share", [0, 1])
@pytest.mark.parametrize("singular", [False, True])
def test_the_deviance_is_that_of_dense_matrices_and_its_gradient_the_derivative(
    singular, share, monkeypatch
):
    monkeypatch.setattr(several, "SPARSE", share)  # products of factors: dense, sparse
    predictors, y, groups = simulate()
    formula, n = parse(FORMULA), len(y)
    factors = all_factors(formula)
    products = several_products(formula, factors, predictors, y, groups)
    random = np.random.default_rng(1)
    Ls = [np.tril(random.normal(size=free.shape)) for free in (f.free for f in factors)]
    if singular:
        Ls[0][:, 1], Ls[2][:] = 0, 0
    X = np.column_stack([column(c, predictors, n) for c in formula.fixed])

    def dense(Ss):
        V = np.eye(n)
        for factor, S in zip(factors, Ss, strict=True):
            codes = joined(factor.group, groups).codes
            Z = np.column_stack([column(c, predictors, n) for c in factor.columns])
            V += (codes[:, None] == codes) * (Z @ S @ Z.T)
        inverse = np.linalg.inv(V)
        beta = np.linalg.solve(X.T @ inverse @ X, X.T @ inverse @ y)
        r2 = (y - X @ beta) @ inverse @ (y - X @ beta)
        return np.linalg.slogdet(V)[1] + n * (1 + np.log(2 * np.pi * r2 / n)), beta, r2, inverse

    Ss = [L @ L.T for L in Ls]
    value, beta, r2, inverse = dense(Ss)
    assert issparse(products.between) == bool(share)
    at = solve_several(products, Ls)
    assert at.deviance == pytest.approx(value, rel=1e-11)
    assert at.sigma == pytest.approx(np.sqrt(r2 / n))
    assert at.beta[1:] == pytest.approx(beta[1:])
    for factor, modes, S in zip(factors, at.modes, Ss, strict=True):
        codes = joined(factor.group, groups).codes
        Z = np.column_stack([column(c, predictors, n) for c in factor.columns])
        left = inverse @ (y - X @ beta)
        expected = [S @ Z[codes == g].T @ left[codes == g] for g in range(len(modes))]
        assert modes == pytest.approx(np.array(expected), abs=1e-8)
    for f, S in enumerate(Ss):
        for i in range(len(S)):
            for j in range(i + 1):
                around = []
                for step in (1e-5, -1e-5):
                    moved = [each.copy() for each in Ss]
                    moved[f][i, j] += step
                    moved[f][j, i] += step * (i != j)
                    around.append(dense(moved)[0])
                difference = (around[0] - around[1]) / 2e-5
                gradient = at.by_S[f][i, j] * (1 if i == j else 2)
                assert gradient == pytest.approx(difference, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize(
    "formula",
    [
        FORMULA,
        "y ~ x + (1 + x || subject) + (1 | sentence) + (0 + x | word)",
        "y ~ x + (1 | subject) + (1 | sentence) + (1 | word) + (1 | sentence:subject)",
        "y ~ x + (1 + x | subject) + (1 + x | sentence:subject)",
        "y ~ x + (1 | subject/sentence/word)",
    ],
)
def test_fits_are_confirmed_by_lme4(formula):
    predictors, y, groups = simulate(900, (9, 7, 20), seed=2)
    formula = parse(formula)
    fit = fit_model(formula, predictors, y, groups, "cross_products", confirm=True)
    assert fit.optimum is not None, fit.note  # lme4 evaluated its own deviance there
    assert fit.difference < 1e-6
    theirs = fit_model(formula, predictors, y, groups, "lme4")
    assert fit.summary.loglik > theirs.summary.loglik - 1e-4


def random_formula(random):
    """Draw a model of three to four factors, with slopes, correlated or not, or nested ones."""
    terms = []
    for group in ("subject", "sentence", "word"):
        slopes = [name for name in ("x", "w") if random.random() < 0.35]
        bar = "||" if slopes and random.random() < 0.3 else "|"
        intercept = "0" if slopes and random.random() < 0.15 else "1"
        terms.append(f"({' + '.join([intercept, *slopes])} {bar} {group})")
    if random.random() < 0.3:
        terms.append("(1 | sentence:subject)")
    return "y ~ x * w + " + " + ".join(terms)


@pytest.mark.merge
def test_two_hundred_random_designs_are_those_of_lme4():
    """The deviance at our theta is lme4's own, and lme4's optimiser finds nothing better."""
    random = np.random.default_rng(0)
    worse = []
    for seed in range(200):
        shape = tuple(int(random.integers(*ends)) for ends in ((4, 16), (4, 10), (12, 25)))
        sds = random.choice([0.0, 5.0, 20.0, 60.0], 4)
        n = int(random.integers(250, 700))
        predictors, y, groups = simulate(n, shape, seed, sds)
        formula = parse(random_formula(random))
        fit = fit_model(formula, predictors, y, groups, "cross_products", confirm=True)
        assert fit.summary is not None, (seed, str(formula), fit.note)
        if fit.optimum is None:
            worse.append((seed, str(formula), fit.note))
            continue
        assert fit.difference < 1e-5, (seed, str(formula), fit.difference)
        if seed % 8 == 0:
            theirs = fit_model(formula, predictors, y, groups, "lme4").summary
            assert fit.summary.loglik > theirs.loglik - 1e-3, (seed, str(formula))
    assert len(worse) <= 2, worse


def test_too_many_effects_for_memory_are_refused(monkeypatch):
    monkeypatch.setattr("crosslmm.several.ELEMENTS", 100)
    predictors, y, groups = simulate()
    formula = parse(FORMULA)
    with pytest.raises(NotSearchable, match="too many for cross-products"):
        several_products(formula, all_factors(formula), predictors, y, groups)
