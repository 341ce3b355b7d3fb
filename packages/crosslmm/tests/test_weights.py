"""Weights, offsets and contrasts: dense matrices, lme4's own lmer(), and what is refused."""

import numpy as np
import pandas as pd
import pytest

from crosslmm import lme4, lmer
from crosslmm.design import CODINGS
from crosslmm.errors import InputError
from test_lmer import in_r, reading


def weighted(seed=3, n=500):
    """Make reading times whose residual variance is by a weight, with an offset."""
    random = np.random.default_rng(seed)
    data = reading(seed, n)
    data["w"] = random.choice([0.5, 1.0, 2.0, 7.0], n)
    data["known"] = random.normal(0, 30, n)
    data["reading.time"] += data["known"] + random.normal(size=n) * 60 / np.sqrt(data["w"])
    return data


FORMULAS = [
    "reading.time ~ length + (1 + length | reader) + (1 | text)",
    "reading.time ~ length + (1 | reader) + (1 | text) + (1 | text:reader)",
    "reading.time ~ condition + (0 + condition | reader) + (1 | school) + (1 | text)",
]


def dense_loglik(fit, data, offset, weights):
    """Evaluate log N(y; X b, V) at a fit's parameters, V made of its variances and correlations."""
    X = {name: np.ones(len(data)) for name in ("(Intercept)",)} | {"length": data["length"]}
    X |= {f"condition{c}": (data["condition"] == c) * 1.0 for c in ("easy", "hard", "odd")}
    V = np.diag(fit.sigma**2 / weights)
    for group, correlation in fit.correlations.items():
        codes = data[group.split(":")].astype(str).agg(":".join, axis=1).to_numpy()
        sd = fit.random.loc[fit.random["group"] == group, "sd"].to_numpy()
        S = np.nan_to_num(correlation.to_numpy()) * np.outer(sd, sd)
        Z = np.column_stack([X[column] for column in correlation])
        V += (codes[:, None] == codes) * (Z @ S @ Z.T)
    left = data["reading.time"] - offset
    for name, estimate in fit.fixed["estimate"].items():
        left = left - estimate * X[name]
    log_determinant = np.linalg.slogdet(V)[1]
    return -0.5 * (
        len(data) * np.log(2 * np.pi) + log_determinant + left @ np.linalg.solve(V, left)
    )


@pytest.mark.parametrize(
    "formula", [*FORMULAS[1:2], *(pytest.param(f, marks=pytest.mark.merge) for f in FORMULAS[::2])]
)
def test_the_likelihood_is_that_of_dense_matrices_and_lme4s(formula):
    data = weighted()
    fit = lmer(formula, data, engine="search", weights="w", offset="known")
    dense = dense_loglik(fit, data, data["known"], data["w"])
    assert fit.loglik == pytest.approx(dense, abs=1e-6)
    confirmed = lmer(formula, data, weights="w", offset="known")
    assert confirmed.engine == "search, confirmed by lme4", confirmed.note
    assert confirmed.loglik == pytest.approx(fit.loglik, abs=1e-6)
    lme4._r()
    from rpy2 import robjects

    theirs = robjects.r(
        """function(formula, data, theta) suppressWarnings(suppressMessages(lmer(
             as.formula(formula), data, REML = FALSE, weights = w, offset = known, start = theta,
             control = lmerControl("bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 50000)))))"""
    )(formula, in_r(data), robjects.FloatVector(confirmed.theta))
    loglik, fitted, fixed = (
        np.array(robjects.r(f"function(m) as.numeric({code})")(theirs))
        for code in ("logLik(m)", "fitted(m)", "fixef(m)")
    )
    assert fit.loglik == pytest.approx(loglik[0], abs=2e-3) and fit.loglik > loglik[0] - 1e-5
    assert fit.fitted.to_numpy() == pytest.approx(fitted, abs=1.0)
    assert fit.fixed["estimate"].to_numpy() == pytest.approx(fixed, abs=0.1)
    assert fit.predict(data).to_numpy() == pytest.approx(fit.fitted.to_numpy())
    moved = fit.predict(data.assign(known=data["known"] + 5).drop(columns="w"))
    assert moved.to_numpy() == pytest.approx(fit.fitted.to_numpy() + 5)
    assert abs(lmer(formula, data, engine="search").loglik - fit.loglik) > 1


def test_a_weight_that_all_rows_share_changes_sigma_alone():
    data = weighted()
    formula = "reading.time ~ length + (1 + length | reader) + (1 | text)"
    one, plain = (
        lmer(formula, data.assign(w=2.0), engine="search", **options)
        for options in ({"weights": "w"}, {})
    )
    assert one.loglik == pytest.approx(plain.loglik, abs=1e-6)
    assert one.sigma == pytest.approx(plain.sigma * np.sqrt(2), rel=1e-6)
    assert one.fixed.to_numpy() == pytest.approx(plain.fixed.to_numpy(), rel=1e-5)


def test_poisson_rates_have_an_offset():
    random = np.random.default_rng(0)
    data = pd.DataFrame({"g": np.repeat(list("abcdefgh"), 40), "x": random.normal(size=320)})
    data["log_words"] = np.log(random.integers(2, 30, 320))
    rate = np.exp(-1 + 0.3 * data["x"] + np.repeat(random.normal(0, 0.4, 8), 40))
    data["count"] = random.poisson(rate * np.exp(data["log_words"]))
    fit = lmer("count ~ x + (1 | g)", data, family="poisson", offset="log_words")
    in_formula = lmer("count ~ x + offset(log_words) + (1 | g)", data, family="poisson")
    assert fit.loglik == pytest.approx(in_formula.loglik)
    assert fit.fixed["estimate"]["x"] == pytest.approx(0.3, abs=0.05)
    more = data.assign(log_words=data["log_words"] + np.log(2))
    assert fit.predict(more).to_numpy() == pytest.approx(2 * fit.fitted.to_numpy())


@pytest.mark.parametrize(
    "kind",
    [
        k if k == "backward_difference" else pytest.param(k, marks=pytest.mark.merge)
        for k in CODINGS
    ],
)
def test_contrasts_are_rs(kind):
    data = reading()
    formula = "reading.time ~ condition * native + (1 + condition | reader) + (1 | text)"
    options = {"contrasts": {"condition": kind, "native": "sum"}}
    fit, alone = lmer(formula, data, **options), lmer(formula, data, engine="search", **options)
    assert fit.engine == "search, confirmed by lme4", fit.note
    from rpy2 import robjects

    names = {"backward_difference": "MASS::contr.sdif"}
    theirs = robjects.r(
        f"""function(formula, data) {{
          data$native <- factor(data$native)
          contrasts(data$condition) <- {names.get(kind, f"contr.{kind}")}(levels(data$condition))
          contrasts(data$native) <- contr.sum
          suppressWarnings(suppressMessages(lmer(as.formula(formula), data, REML = FALSE,
            control = lmerControl("bobyqa", optCtrl = list(rhoend = 1e-9)))))
        }}"""
    )(formula, in_r(data))
    fixed = robjects.r("fixef")(theirs)
    for ours in (fit, alone):
        assert list(ours.fixed.index) == list(fixed.names)
        assert ours.fixed["estimate"].to_numpy() == pytest.approx(np.array(fixed), abs=0.05)
        assert ours.predict(data).to_numpy() == pytest.approx(ours.fitted.to_numpy())
    plain = lmer(formula, data, engine="search")
    assert plain.loglik == pytest.approx(alone.loglik, abs=1e-5)
    at = CODINGS[kind](["easy", "hard", "odd"])
    # What coefficients estimate: the contrasts of the levels' means.
    assert at.comparisons() @ np.column_stack([np.ones(3), at.values])[:, 1:] == pytest.approx(
        np.eye(2)
    )


@pytest.mark.parametrize(
    "options,message",
    [
        ({"weights": "v"}, "weights is to be a column of the data, and 'v'"),
        ({"weights": [1, 2]}, "weights is to be the name of a column"),
        ({"weights": "minus"}, r"'minus' is -1 in row 4 \(2 such rows\); weights must be above 0"),
        ({"offset": "condition"}, "offset: column 'condition' has .* values, not numbers"),
        ({"offset": "endless"}, "offset: column 'endless' is inf in row 7"),
        ({"contrasts": {"length": "sum"}}, "no categorical column 'length'"),
        ({"contrasts": {"condition": "sums"}}, "'sums'; did you mean 'sum'"),
        ({"contrasts": {"digit": "sum"}}, "would have the name of the level '1'"),
        ({"family": "gamma", "weights": "length"}, "weights is incompatible with family 'gamma'"),
    ],
)
def test_what_is_refused(options, message):
    data = reading()
    data["minus"], data["endless"] = 1.0, 0.0
    data.loc[[4, 9], "minus"], data.loc[7, "endless"] = -1.0, np.inf
    data["digit"] = np.where(data["native"], "1", "2")
    formula = "reading.time ~ length + condition + digit + (1 | reader)"
    with pytest.raises(InputError, match=message):
        lmer(formula, data, engine="search", **options)


def random_design(random):
    """Draw a formula with categorical slopes in any correlation structure, and options."""
    slopes = ["1 + condition", "0 + condition", "condition", "1 + length + native", "length:native"]
    terms = []
    for group in random.permutation(["reader", "text"])[: random.integers(1, 3)]:
        of_group = random.choice([*slopes, "1", "1 + length"])
        bar = "||" if of_group != "1" and random.random() < 0.3 else "|"
        terms.append(f"({of_group} {bar} {group})")
        if random.random() < 0.3 and not terms[-1].startswith(("(1 ", "(condition")):
            terms.append(f"(1 | {group})")
    if random.random() < 0.3:
        terms.append("(1 | school)")
    fixed = random.choice(["length", "condition", "condition * length", "native + length"])
    options = {}
    if random.random() < 0.6:
        options["weights"] = "w"
    if random.random() < 0.5:
        options["offset"] = "known"
    if random.random() < 0.5:
        options["contrasts"] = {"condition": str(random.choice(list(CODINGS)))}
    return f"reading.time ~ condition + {fixed} + {' + '.join(terms)}", options


@pytest.mark.merge
def test_random_designs_are_confirmed_by_lme4():
    """lme4's own deviance and figures at our theta, of designs of every structure of slopes."""
    random, others = np.random.default_rng(0), []
    for seed in range(60):
        formula, options = random_design(random)
        data = weighted(seed, int(random.integers(400, 900)))
        fit = lmer(formula, data, **options)
        if fit.engine != "search, confirmed by lme4":
            others.append((seed, formula, options, fit.note))
            continue
        assert fit.converged, (seed, formula, options, fit.note)
        alone = lmer(formula, data, engine="search", **options)
        assert alone.loglik == pytest.approx(fit.loglik, abs=1e-4), (seed, formula, options)
        if seed % 5 == 0:
            theirs = lmer(formula, data, engine="lme4", **options)
            assert fit.loglik > theirs.loglik - 1e-3, (seed, formula, options)
    assert all("occurs in two terms" in note for *_, note in others), others
