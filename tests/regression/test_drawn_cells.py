"""Scores of draws of cells, against lme4's fits of repeated rows and SciPy's dense normal densities."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from crosslmm import lme4
from crosslmm.formula import parse
from recency.regression import crossed
from recency.regression.predictors import Rows
from test_cells import cells_of, covariance, repeated
from test_mixed_model import CORRELATED, R, simulate  # noqa: F401

HALVES = [(0, 0), (0, 1), (1, 0), (1, 1)]
"""Four draws, each of half of the subjects and of the sentences: each cell is left out once."""


def drawn(names, draw):
    """Return the multiplicities of a draw of `HALVES`; subjects' names start with `s`."""
    axis = 0 if names[0].startswith("s") else 1
    return np.where(
        np.arange(len(names)) % 2 == HALVES[draw][axis], 1 + np.arange(len(names)) % 3, 0
    )


@pytest.mark.parametrize("shape", [(12, 10), (10, 12)])
def test_draws_and_scores_are_those_of_lme4_and_scipy(R, monkeypatch, shape):  # noqa: F811
    predictors, y, groups = simulate(8, subjects=shape[0], sentences=shape[1], words=6, keep=0.9)
    formula = parse(CORRELATED)
    monkeypatch.setattr(crossed, "resampled", lambda names, seed: drawn(names, seed[2]))
    monkeypatch.setattr(crossed, "ENOUGH", 1e-10)
    rows = Rows(predictors, y, groups, np.zeros(len(y), dtype=int))
    table = crossed.scores(formula, rows, predictors, len(HALVES))
    scores = table.set_index(["subject", "unit"]).loglik
    cells = cells_of(formula, predictors, y, groups)
    lmer = R(
        """function(formula, data) suppressWarnings(suppressMessages(lmer(as.formula(formula), data,
             REML = FALSE, control = lmerControl("bobyqa", calc.derivs = FALSE,
             optCtrl = list(rhoend = 1e-9, maxfun = 20000)))))"""
    )
    for draw in range(len(HALVES)):
        times = [drawn(groups[name].names, draw) for name in ("subject", "sentence")]
        columns, response, levels = repeated(times, predictors, y, groups)
        data = lme4.data_frame({"time_ms": response, **columns, **levels})
        expected = lme4.summary_of(lmer(str(formula), data))
        fit = cells.fit(*times)
        assert fit.loglik == pytest.approx(expected.loglik, abs=1e-4)
        assert fit.solution.sigma == pytest.approx(expected.sigma, rel=1e-4)
        for L, group in ((fit.La, "subject"), (fit.Lb, "sentence")):
            ours = fit.solution.sigma**2 * L @ L.T
            theirs = covariance(expected.random[group])
            assert ours == pytest.approx(theirs, rel=0.01, abs=0.01 * np.abs(theirs).max())
        # The rows that were left out, under lme4's parameters.
        outside = [(t == 0).astype(int) for t in times]
        left_out = outside[0][groups["subject"].codes] * outside[1][groups["sentence"].codes] > 0
        n = int(left_out.sum())
        left = {name: values[left_out] for name, values in predictors.items()}
        mean, V = np.zeros(n), expected.sigma**2 * np.eye(n)
        for term, beta in expected.fixed.items():
            mean += beta * (1.0 if term == "(Intercept)" else left[term])
        for group, spread in expected.random.items():
            Z = np.column_stack(
                [np.ones(n) if t in ("1", "(Intercept)") else left[t] for t in spread["columns"]]
            )
            codes = groups[group].codes[left_out]
            V += (codes[:, None] == codes) * (Z @ covariance(spread) @ Z.T)
        brute = multivariate_normal(mean, V).logpdf(y[left_out])
        value, parts = cells.log_density(fit, *outside)
        assert value == pytest.approx(brute, abs=0.01)
        assert parts.sum() == pytest.approx(value)
        names = [
            [groups[name].names[level] for level in np.flatnonzero(times_out)]
            for name, times_out in zip(("subject", "sentence"), outside, strict=True)
        ]
        assert scores.loc[names[0], names[1]].sum() == pytest.approx(brute, abs=0.01)
