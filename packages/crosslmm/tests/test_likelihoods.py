"""The named likelihoods, against lme4's own matrices and dense multivariate normal densities."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from crosslmm import lme4, recorded
from crosslmm.factors import joined
from crosslmm.fitting import figures, fit_model
from crosslmm.formula import column, parse
from test_mixed_model import CORRELATED, in_lme4, simulate

FORMULA = CORRELATED + " + (1 | sentence)" if "sentence" not in CORRELATED else CORRELATED


@pytest.fixture(scope="module")
def R():
    lme4._r()
    from rpy2 import robjects

    return robjects.r


@pytest.fixture(scope="module")
def record():
    predictors, y, groups = simulate(4)
    return figures(fit_model(parse(FORMULA), predictors, y, groups, "cross_products"))


def dense(record, predictors, groups, names, n):
    """Return the covariance (n, n) of rows, from the effects of `names` and the residual."""
    V = record["sigma"] ** 2 * np.eye(n)
    for name in names:
        spread, codes = record["random"][name], joined(name, groups).codes
        Z = np.column_stack([column(term, predictors, n) for term in spread["terms"]])
        S = np.outer(spread["sd"], spread["sd"]) * np.nan_to_num(np.array(spread["correlation"]))
        V += (codes[:, None] == codes) * (Z @ S @ Z.T)
    return V


def test_marginal_by_subject_is_the_dense_normal_about_the_other_modes(record):
    predictors, y, groups = simulate(9, subjects=7, sentences=6, words=4, keep=0.7)
    n = len(y)
    residuals = y - recorded.fixed_part(record, predictors, n)
    parts = recorded.marginal(residuals, record, predictors, groups, ["subject"])
    sentence = {"ranef": {"sentence": record["ranef"]["sentence"]}, "random": record["random"]}
    mean = recorded.random_part(sentence, predictors, groups, n)
    V = dense(record, predictors, groups, ["subject"], n)
    expected = multivariate_normal(mean, V).logpdf(residuals)
    assert parts.sum() == pytest.approx(expected, rel=1e-10)
    # Subjects are independent, so that a subject's parts are the density of its rows.
    for code in range(2):
        rows = groups["subject"].codes == code
        alone = multivariate_normal(mean[rows], V[np.ix_(rows, rows)]).logpdf(residuals[rows])
        quadratic = parts[rows].sum() - alone
        assert abs(quadratic) < abs(alone)


SCRIPT = """
function(d, fit, k) {
  # Zt, Lambdat and their order are lme4's own; what is computed of them is the script's definition.
  d <- d[order(d$subject), ]
  bars <- lme4::findbars(formula(fit))
  Zt <- lme4::mkReTrms(bars, model.frame(lme4::subbars(formula(fit)), data = d))$Zt
  Lt <- lme4::getME(fit, "Lambdat")
  V <- sigma(fit)^2 * as.matrix(Matrix::crossprod(Lt[1:k, 1:k]))
  mean <- predict(fit, re.form = NA, newdata = d)
  total <- 0
  subjects <- levels(droplevels(d$subject))
  for (s in seq_along(subjects)) {
    rows <- which(d$subject == subjects[s])
    Z <- as.matrix(Zt[((s - 1) * k + 1):(s * k), rows])
    S <- t(Z) %*% V %*% Z + sigma(fit)^2 * diag(length(rows))
    e <- d$time_ms[rows] - mean[rows]
    R <- chol(S)
    total <- total - sum(log(diag(R))) - length(rows) / 2 * log(2 * pi) -
      sum(backsolve(R, e, transpose = TRUE)^2) / 2
  }
  total
}
"""


@pytest.mark.parametrize(("subjects", "sentences"), [(9, 30), (30, 9), (12, 16)])
def test_modelblocks_is_the_scripts_by_lme4s_own_matrices(R, subjects, sentences):
    """With more sentences than subjects, and with fewer: the order of lme4's factors decides."""
    predictors, y, groups = simulate(5, subjects=subjects, sentences=sentences)
    result = fit_model(parse(FORMULA), predictors, y, groups, "cross_products")
    record = figures(result)
    others, y2, groups2 = simulate(9, subjects=subjects, sentences=sentences, keep=0.8)
    frame = lme4.data_frame({"time_ms": y2, **others, **groups2})
    k = len(record["random"]["subject"]["terms"])
    expected = R(SCRIPT)(frame, in_lme4(result, parse(FORMULA), predictors, y, groups), k)[0]
    residuals = y2 - recorded.fixed_part(record, others, len(y2))
    levels = {name: len(modes) for name, modes in record["ranef"].items()}
    parts = recorded.modelblocks(residuals, record, others, groups2, levels)
    assert parts.sum() == pytest.approx(expected, rel=1e-9)
