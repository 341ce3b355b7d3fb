"""Mixed models: the deviance and its gradient, the search beside lme4, likelihoods, predictions."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from crosslmm import fitting, lme4, recorded
from crosslmm import scaled_search as search_module
from crosslmm.cross_products import Block, cross_products, drop_dependent
from crosslmm.deviance import solve
from crosslmm.factors import Levels, crossed_factors, joined
from crosslmm.fitting import figures, fit_model
from crosslmm.formula import column, parse
from crosslmm.internal import as_given
from crosslmm.scaled_search import products_of
from crosslmm.theta_search import search

NAMES = ("length", "position", "surprisal")


def deviance(products, La, Lb):
    """Return the deviance and its gradients by La and Lb."""
    solution = solve(products, La, Lb)
    return solution.deviance, solution.by_La, solution.by_Lb


@pytest.fixture(scope="module")
def R():
    """Return what evaluates R code, with lme4 loaded."""
    lme4._r()
    from rpy2 import robjects

    return robjects.r


def simulate(
    seed=0, subjects=15, sentences=12, words=8, sds=(60.0, 12.0, 8.0), keep=1.0, singles=0, noise=70
):
    """Return predictors, y and groups; `sds` are of the slopes, `singles` subjects have one row."""
    random = np.random.default_rng(seed)
    rows = random.random((subjects, sentences * words)) < keep
    rows[:singles] = False
    rows[np.arange(singles), random.integers(0, sentences * words, singles)] = True
    subject, word = np.nonzero(rows)
    sentence = word // words
    values = random.normal(size=(len(NAMES), sentences * words))
    predictors = {name: column[word] for name, column in zip(NAMES, values, strict=True)}
    slopes = random.normal(size=(subjects, len(sds))) * sds
    Z = np.column_stack([np.ones(len(word)), *list(predictors.values())[: len(sds) - 1]])
    y = 350 + 9 * predictors["length"] + 4 * predictors["surprisal"]
    y += (Z * slopes[subject]).sum(1) + random.normal(0, 25, sentences)[sentence]
    y += random.normal(0, noise, len(y))
    groups = {
        "subject": Levels(subject, [f"s{code:02}" for code in range(subjects)]),
        "sentence": Levels(sentence, [str(code) for code in range(sentences)]),
    }
    return predictors, y, groups


def small_products(seed=1):
    """Return cross-products of a small model with slopes on both sides, and its dense deviance."""
    predictors, y, groups = simulate(seed, subjects=6, sentences=5, words=4, keep=0.7)
    a, b = groups["subject"].codes, groups["sentence"].codes
    X = np.column_stack([np.ones(len(y)), *predictors.values()])
    Za, Zb = X[:, :3], X[:, [0, 2]]

    def dense(La, Lb):
        V = np.eye(len(y)) + (a[:, None] == a) * (Za @ La @ La.T @ Za.T)
        V += (b[:, None] == b) * (Zb @ Lb @ Lb.T @ Zb.T)
        inverse = np.linalg.inv(V)
        e = y - X @ np.linalg.solve(X.T @ inverse @ X, X.T @ inverse @ y)
        return np.linalg.slogdet(V)[1] + len(y) * (
            1 + np.log(2 * np.pi * (e @ inverse @ e) / len(y))
        )

    rows = [slice(0, 17), slice(17, 40), slice(40, None)]
    blocks = [Block(X[r], y[r], a[r], Za[r], b[r], Zb[r]) for r in rows]
    return cross_products(blocks, 6, 5), dense, Block(X, y, a, Za, b, Zb)


@pytest.mark.parametrize("seed", range(3))
def test_deviance_is_that_of_the_dense_model_and_its_gradient_that_of_differences(seed):
    products, dense, _ = small_products(seed)
    random = np.random.default_rng(seed)
    La, Lb = np.tril(random.normal(size=(3, 3))), np.tril(random.normal(size=(2, 2)))
    if seed == 2:
        La[:, 2] = Lb[1, 1] = 0  # a singular point
    value, *gradients = deviance(products, La, Lb)
    assert value == pytest.approx(dense(La, Lb), rel=1e-11)
    for L, gradient in zip((La, Lb), gradients, strict=True):
        for element in zip(*np.tril_indices(len(L)), strict=True):
            at, around = L[element], []
            for step in (1e-5, -1e-5):
                L[element] = at + step
                around.append(deviance(products, La, Lb)[0])
            L[element] = at
            difference = (around[0] - around[1]) / 2e-5
            assert gradient[element] == pytest.approx(difference, rel=1e-5, abs=1e-4)


def test_deviance_with_one_factor():
    products, dense, block = small_products()
    nothing = np.zeros((len(block.y), 0))
    alone = cross_products([replace(block, b=np.zeros_like(block.b), Zb=nothing)], 6, 1)
    La = np.tril(np.random.default_rng(0).normal(size=(3, 3)))
    value, gradient, empty = deviance(alone, La, np.zeros((0, 0)))
    assert value == pytest.approx(dense(La, np.zeros((2, 2))), rel=1e-11)
    assert gradient == pytest.approx(deviance(products, La, np.zeros((2, 2)))[1])
    assert empty.shape == (0, 0)


def test_cross_products_do_not_depend_on_how_rows_are_cut():
    products, _, block = small_products()
    whole = cross_products([block], 6, 5)
    assert products.n == whole.n
    for name in ("aa", "bb", "ab", "aw", "bw", "ww"):
        assert getattr(products, name) == pytest.approx(getattr(whole, name))


def test_dependent_columns_are_left_out():
    products, _, block = small_products()
    X = np.column_stack([block.X[:, :2], np.zeros(len(block.y)), block.X[:, 1], block.X[:, 2:]])
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 4]])
    reduced = drop_dependent(cross_products([replace(block, X=X)], 6, 5))
    assert reduced.ww == pytest.approx(products.ww)
    assert reduced.aw == pytest.approx(products.aw)


CASES = {
    "regular": {},
    "unbalanced": {"keep": 0.35},
    "a slope of zero variance": {"sds": (60, 12, 0.0)},
    "nothing varies by subject": {"sds": (0.0, 0.0, 0.0)},
    "subjects with one observation": {"singles": 2},
    "few subjects": {"subjects": 4, "sentences": 40, "words": 4},
}
CORRELATED = "time_ms ~ length + surprisal + (1 + length + position | subject) + (1 | sentence)"
FORMULAS = {
    "correlated": CORRELATED,
    "uncorrelated": CORRELATED.replace("|", "||", 1),
    "by subject alone": "time_ms ~ length + (1 + length | subject)",
    "slopes on both sides": "time_ms ~ length*surprisal + (1 + length | subject)"
    " + (0 + position | subject) + (1 + surprisal | sentence)",
}


@pytest.mark.merge
@pytest.mark.parametrize(
    "data,formula",
    [(case, "correlated") for case in CASES] + [("regular", f) for f in list(FORMULAS)[1:]],
)
def test_search_is_no_worse_than_lme4_tightened(R, data, formula):
    predictors, y, groups = simulate(3, **CASES[data])
    formula = parse(FORMULAS[formula])
    ours = fit_model(formula, predictors, y, groups, "cross_products")
    assert ours.converged and ours.optimum is not None, ours.note
    frame = lme4.data_frame({"time_ms": y, **predictors, **groups})
    tightened = R(
        """function(formula, data) {
                best <- NULL
                for (optimizer in c("bobyqa", "nloptwrap")) {
                  optCtrl <- if (optimizer == "bobyqa") list(rhoend = 1e-9, maxfun = 20000) else
                    list(xtol_abs = 1e-11, ftol_abs = 1e-10, maxeval = 20000)
                  fit <- suppressWarnings(suppressMessages(lmer(as.formula(formula), data,
                    REML = FALSE, control = lmerControl(optimizer, optCtrl = optCtrl,
                    calc.derivs = FALSE))))
                  if (is.null(best) || logLik(fit) > logLik(best)) best <- fit
                }
                best
            }"""
    )(str(formula), frame)
    lme4s = lme4.summary_of(tightened)
    summary = ours.summary
    assert summary.loglik == pytest.approx(-ours.optimum.deviance / 2, rel=1e-9)
    assert summary.loglik > lme4s.loglik - 1e-5
    if summary.loglik < lme4s.loglik + 1e-4:  # the same optimum: the same figures
        assert list(summary.fixed) == list(lme4s.fixed)
        for term, se in zip(summary.fixed, summary.se, strict=True):
            assert summary.fixed[term] == pytest.approx(lme4s.fixed[term], abs=0.01 * se)
        assert summary.sigma == pytest.approx(lme4s.sigma, rel=1e-3)
        for name, spread in summary.random.items():
            assert spread["sd"] == pytest.approx(lme4s.random[name]["sd"], rel=0.02, abs=0.3)
    assert summary.singular == ours.optimum.singular
    if "zero variance" in data or "nothing" in data:
        assert summary.singular and "singular" in ours.note


def test_search_leaves_columns_of_zeros():
    """Where all variances are zero the gradient vanishes, wherever the optimum is."""
    predictors, y, groups = simulate(5)
    formula = parse(CORRELATED)
    a, b = crossed_factors(formula)
    products = products_of(formula, [a, b], predictors, y, groups)
    zero, by_a, by_b = deviance(products, np.zeros((3, 3)), np.zeros((1, 1)))
    assert np.tril(by_a) == pytest.approx(0) and by_b == pytest.approx(0)
    optimum = search(products, a.free, b.free)
    assert optimum.converged and optimum.deviance < zero - 100
    from_zero = search(products, a.free, b.free, (np.zeros((3, 3)), np.zeros((1, 1))))
    assert from_zero.deviance == pytest.approx(optimum.deviance, abs=1e-6)


def test_two_searches_agree_to_the_last_digits():
    predictors, y, groups = simulate(6, keep=0.6)
    formula = parse(CORRELATED)
    crossed = crossed_factors(formula)
    found = [
        search(
            products_of(formula, crossed, predictors, y * scale, groups),
            crossed[0].free,
            crossed[1].free,
        )
        for scale in (1.0, 3.0)
    ]
    assert found[0].La == pytest.approx(found[1].La, abs=1e-7)


def test_the_better_of_two_optima_is_reported(R, monkeypatch):
    predictors, y, groups = simulate(2)
    asked = (parse("time_ms ~ length + (1 | subject) + (1 | sentence)"), predictors, y, groups)
    searched = fit_model(*asked, "cross_products")
    right = searched.summary.loglik

    def wrong(*arguments):
        optimum = search(*arguments)
        return replace(optimum, deviance=optimum.deviance * (1 + 2e-6))

    monkeypatch.setattr(search_module, "search", wrong)
    result = fit_model(*asked, "cross_products")
    assert result.summary.loglik == pytest.approx(right, abs=1e-6) and not result.converged
    assert f"{right * (1 + 2e-6):.6f} by the search and {right:.6f} by lme4" in result.note
    assert "lme4's figures at the search's optimum are reported" in result.note

    def worse(*arguments):
        optimum = wrong(*arguments)
        return replace(optimum, La=0.7 * optimum.La)

    monkeypatch.setattr(search_module, "search", worse)
    result = fit_model(*asked, "cross_products")
    assert "lme4's optimiser was used" in result.note and result.optimum is None
    assert result.converged and result.summary.loglik == pytest.approx(right, abs=1e-3)


def test_a_worse_optimum_of_lme4_is_not_reported(R, monkeypatch):
    """lme4's optimiser may end lower, as it did for predictors far from zero."""
    predictors, y, groups = simulate(2)
    asked = (parse("time_ms ~ length + (1 | subject) + (1 | sentence)"), predictors, y, groups)
    right = fit_model(*asked, "cross_products").summary.loglik
    monkeypatch.setattr(fitting, "DEVIANCES", -1.0)

    def worse(model):
        theta = np.array([3.0, 3.0])
        return lme4.make_at(model, lme4.evaluate(model, theta)[0], theta), []

    monkeypatch.setattr(lme4, "optimise", worse)
    result = fit_model(*asked, "cross_products")
    assert result.summary.loglik == pytest.approx(right, abs=1e-6)
    assert f"{right:.6f} by lme4, and -" in result.note and "is the better one" in result.note
    lme4s = fit_model(*asked, "lme4")
    assert lme4s.summary.loglik < right - 10 and not lme4s.converged
    assert "not converged: a step would lower the deviance by" in lme4s.note


def test_engine_lme4_is_lmer_as_it_is(R):
    predictors, y, groups = simulate(2)
    result = fit_model(parse(CORRELATED), predictors, y, groups, "lme4")
    frame = lme4.data_frame({"time_ms": y, **predictors, **groups})
    lmer = R("function(f, d) lmer(as.formula(f), d, REML = FALSE)")
    assert result.summary.theta == list(lme4.summary_of(lmer(CORRELATED, frame)).theta)
    assert result.optimum is None


@pytest.mark.parametrize("engine", ["cross_products", "lme4"])
def test_a_model_that_lme4_refuses_is_a_result(R, engine):
    predictors, y, groups = simulate(2)
    groups["sentence"] = Levels(np.zeros(len(y), dtype=int), ["1"])
    result = fit_model(parse(CORRELATED), predictors, y, groups, engine)
    assert result.summary is None and not result.converged
    assert "must have > 1 sampled level" in result.note


def test_a_constant_predictor_is_dropped_and_said(R):
    predictors, y, groups = simulate(2)
    predictors["position"] = np.zeros(len(y))
    formula = parse("time_ms ~ length + position + (1 | subject) + (1 | sentence)")
    result = fit_model(formula, predictors, y, groups, "cross_products")
    assert result.converged and list(result.summary.fixed) == ["(Intercept)", "length"]
    assert "dropping 1 column" in result.note and result.optimum is not None


def fitted(formula, seed=4, **options):
    """Return a fit as its JSON file has it, the merMod object, and what it was made from."""
    predictors, y, groups = simulate(seed, **options)
    result = fit_model(parse(formula), predictors, y, groups, "cross_products")
    record = {"scaling": {}, **figures(result)}
    return record, in_lme4(result, parse(formula), predictors, y, groups), predictors, y, groups


def in_lme4(result, formula, predictors, y, groups):
    """Build lme4's merMod object of a formula at the theta of a fit."""
    frame = lme4.data_frame({"time_ms": y, **predictors, **groups})
    model, _ = lme4.set_up(str(formula), frame)
    theta = np.array(result.summary.theta)
    return lme4.make_at(model, lme4.evaluate(model, theta)[0], theta)


@pytest.mark.parametrize("formula", [*FORMULAS.values(), CORRELATED + " + (1 | sentence:subject)"])
def test_predictions_are_those_of_predict(R, formula):
    record, model, *_ = fitted(formula, keep=0.5)
    predictors, y, groups = simulate(9, subjects=18, sentences=14, keep=0.3)
    frame = lme4.data_frame({"time_ms": y, **predictors, **groups})
    predict = R("function(m, d) predict(m, d, allow.new.levels = TRUE)")
    ours = recorded.fixed_part(record, predictors, len(y))
    ours += recorded.random_part(record, predictors, groups, len(y))
    assert ours == pytest.approx(np.array(predict(model, frame)), rel=1e-9)


@pytest.mark.parametrize("formula", [*FORMULAS.values(), CORRELATED + " + (1 | sentence:subject)"])
@pytest.mark.parametrize("options", [{}, {"sds": (60, 12, 0.0)}])
def test_marginal_likelihood_is_that_of_the_dense_normal(R, formula, options):
    record, *_ = fitted(formula, **options)
    predictors, y, groups = simulate(9, subjects=5, sentences=6, words=4, keep=0.6)
    residuals = y - recorded.fixed_part(record, predictors, len(y))
    V = record["sigma"] ** 2 * np.eye(len(y))
    for name, spread in record["random"].items():
        codes = joined(name, groups).codes
        Z = np.column_stack([column(term, predictors, len(y)) for term in spread["terms"]])
        S = np.outer(spread["sd"], spread["sd"]) * np.nan_to_num(np.array(spread["correlation"]))
        V += (codes[:, None] == codes) * (Z @ S @ Z.T)
    expected = multivariate_normal(np.zeros(len(y)), V).logpdf(residuals)
    parts = recorded.marginal(residuals, record, predictors, groups)
    assert parts.sum() == pytest.approx(expected, rel=1e-10)


def test_marginal_likelihood_of_the_fitted_data_is_lme4s(R):
    record, model, predictors, y, groups = fitted(CORRELATED)
    residuals = y - recorded.fixed_part(record, predictors, len(y))
    parts = recorded.marginal(residuals, record, predictors, groups)
    assert parts.sum() == pytest.approx(lme4.summary_of(model).loglik, rel=1e-10)


def test_independent_errors():
    residuals = np.array([1.0, -2.0, 0.5])
    expected = multivariate_normal(np.zeros(3), 4 * np.eye(3)).logpdf(residuals)
    assert recorded.independent(residuals, 2.0).sum() == pytest.approx(expected)


def test_starting_r_leaves_the_environment_of_child_processes_alone():
    """Led to R's libraries, another Python would load a libpython that is not its own."""
    before = os.environ.get("LD_LIBRARY_PATH")
    lme4._r.cache_clear()
    lme4._r()
    assert os.environ.get("LD_LIBRARY_PATH") == before
    subprocess.run([sys.executable, "-c", "import ssl"], check=True)


@pytest.mark.parametrize("kind", ["correlated", "uncorrelated", "nested"])
def test_a_quick_set_up_is_lme4s(R, kind):
    predictors, y, groups = simulate(3, sentences=20)
    text = {
        "correlated": CORRELATED,
        "uncorrelated": CORRELATED.replace("|", "||", 1),
        "nested": "time_ms ~ length + (1 + length | subject) + (1 | sentence) + (1 | sentence:subject)",
    }[kind]
    formula = parse(text)
    model = as_given(formula, {n: predictors[n] for n in formula.predictors}, y, groups)
    of_r, searched = fitting.in_r(model), search_module.search_internal(model)
    quick, (slow, _) = of_r.set_up_terms(searched), of_r.set_up()
    same = R(
        """function(a, b) {
          Z <- function(m) unname(as.matrix(m$reTrms$Zt))
          others <- setdiff(names(b$reTrms), c("Zt", "Ztlist"))
          c(identical(Z(a), Z(b)), isTRUE(all.equal(a$reTrms[others], b$reTrms[others])),
            isTRUE(all.equal(a$X, b$X)), isTRUE(all.equal(a$fr, b$fr)))
        }"""
    )
    assert list(same(quick, slow)) == [True] * 4
    theta = of_r.theta(slow, searched.Ls)
    assert of_r.theta(quick, searched.Ls) == pytest.approx(theta)
    evaluation, value = lme4.evaluate(quick, theta)
    assert value == pytest.approx(evaluation[0](lme4._vector(theta))[0], rel=1e-13)


def test_a_wrong_quick_set_up_is_not_believed(R, monkeypatch):
    predictors, y, groups = simulate(2)
    asked = (parse("time_ms ~ length + (1 | subject) + (1 | sentence)"), predictors, y, groups)
    right, set_up = fit_model(*asked, "cross_products"), lme4.set_up_terms
    double = R("function(m) { m$reTrms$Zt@x <- 2 * m$reTrms$Zt@x; m }")
    monkeypatch.setattr(lme4, "set_up_terms", lambda *given: double(set_up(*given)))
    result = fit_model(*asked, "cross_products")
    assert result.note == right.note and result.difference == pytest.approx(right.difference)
    assert result.summary.loglik == pytest.approx(right.summary.loglik, rel=1e-12)


def test_models_that_lme4_may_refuse_are_set_up_by_lme4(R):
    predictors, y, groups = simulate(2)
    predictors["twice"] = 2 * predictors["length"]
    model = as_given(
        parse("time_ms ~ length + twice + (1 | subject) + (1 | sentence)"), predictors, y, groups
    )
    searched = search_module.search_internal(model)
    assert fitting.in_r(model).set_up_terms(searched) is None
