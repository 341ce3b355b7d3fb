"""Log-likelihoods of cells under a fitted model, by their treatment of the random effects.

The likelihoods of crosslmm.recorded by cell (a subject's observations of a sentence), where
every subject reads the same words. Natural logarithm.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from crosslmm.cells import Cells, Fit
from crosslmm.factors import crossed_factors
from crosslmm.formula import Formula, column
from recency.simulation.study_scores import Levels, Observations, once

SEEN = ("conditional", "marginal_subject", "marginal", "fixed_effects", "modelblocks")
"""Likelihoods of subjects and sentences in the fit, as `score_seen` returns them."""
UNSEEN = ("marginal_subject", "marginal", "fixed_effects")
"""Likelihoods of unseen subjects and sentences, as `score_unseen` returns them."""


@dataclass(frozen=True)
class Fitted:
    """A fit of `formula` to observations whose times were centred by `shift`, ms."""

    formula: Formula
    fit: Fit
    shift: float

    def residuals(self, scored: Observations, conditional: bool = False) -> np.ndarray:
        """Return times minus predictions (subjects, words), `conditional` on random effects."""
        fixed = columns(self.formula.fixed, scored)
        left = scored.times - self.shift - fixed @ self.fit.solution.beta
        if conditional:
            by_subject, _ = crossed_factors(self.formula)
            left = left - self.fit.solution.modes_a @ columns(by_subject.columns, scored).T
            left -= self.fit.solution.modes_b[scored.sentence, 0]
        return left


def columns(names: Sequence[str], scored: Observations) -> np.ndarray:
    """Return the columns of the words' design matrix, (words, names)."""
    words = len(scored.sentence)
    return np.column_stack([column(name, scored.predictors, words) for name in names])


def score_seen(fitted: Fitted, scored: Observations, cells: Cells) -> list[np.ndarray]:
    """Return the log-likelihoods of cells (subjects, sentences), one by likelihood in SEEN.

    Parameters
    ----------
    fitted
        The model.
    scored, cells
        The observations, and their sums of products.
    """
    return [
        _density(fitted, scored, _by_cell(scored, fitted.residuals(scored, conditional=True) ** 2)),
        subjects_integrated(fitted, scored, fitted.fit.solution.modes_b[:, 0]),
        marginal(fitted, cells),
        _density(fitted, scored, _by_cell(scored, fitted.residuals(scored) ** 2)),
        modelblocks(fitted, scored),
    ]


def score_unseen(cells: Cells, fit: Fit, levels: Levels) -> list[np.ndarray]:
    """Return the log-likelihoods of cells (subjects, sentences), one by likelihood in UNSEEN."""
    by_subject = replace(fit, Lb=0 * fit.Lb)
    neither = replace(by_subject, La=0 * fit.La)
    return [cells.log_density(model, *levels)[1] for model in (by_subject, fit, neither)]


def marginal(fitted: Fitted, cells: Cells) -> np.ndarray:
    """Return the log-likelihood of cells, with the effects of both factors integrated out."""
    beta = fitted.fit.solution.beta.copy()
    beta[0] += fitted.shift - cells.shift
    fit = replace(fitted.fit, solution=replace(fitted.fit.solution, beta=beta))
    return cells.log_density(fit, *once(cells))[1]


def subjects_integrated(fitted: Fitted, scored: Observations, modes: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of cells, with by-subject effects integrated out.

    Parameters
    ----------
    fitted, scored
        The model, whose random effect by sentence is an intercept, and the observations.
    modes
        The sentences' effects (sentences,), ms.
    """
    by_subject, _ = crossed_factors(fitted.formula)
    Z, L = columns(by_subject.columns, scored), fitted.fit.La
    kept = scored.kept[:, scored.sentence]
    residuals = kept * (fitted.residuals(scored) - modes[scored.sentence])
    k = Z.shape[1]
    products = (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), k * k)
    inner = L.T @ (kept @ products).reshape(-1, k, k) @ L + np.eye(k)
    effects = np.linalg.solve(inner, (residuals @ Z @ L)[:, :, None])[:, :, 0] @ L.T
    quadratic = _by_cell(scored, residuals * (residuals - effects @ Z.T))
    return _density(fitted, scored, quadratic, float(np.linalg.slogdet(inner)[1].sum()))


def modelblocks(fitted: Fitted, scored: Observations) -> np.ndarray:
    """Return the log-likelihood of cells as in Modelblocks' `get_loglik_lmer.r`.

    See crosslmm.recorded.modelblocks. With at least as many subjects as sentences it
    integrates by-subject effects out and leaves by-sentence effects out. Otherwise subject s has
    instead its own intercept in each of the sentences (s - 1) k + 1 to s k, with the variance
    between sentences, where k is the number of by-subject effects.
    """
    subjects, sentences = scored.kept.shape
    if subjects >= sentences:
        return subjects_integrated(fitted, scored, np.zeros(sentences))
    n = scored.kept * np.bincount(scored.sentence)
    owner = np.arange(sentences) // len(fitted.fit.La) == np.arange(subjects)[:, None]
    relative = float(fitted.fit.Lb[0, 0]) ** 2 * owner
    residuals = fitted.residuals(scored)
    sums = _by_cell(scored, residuals)
    quadratic = _by_cell(scored, residuals**2) - relative / (1 + relative * n) * sums**2
    return _density(fitted, scored, quadratic, float(np.log1p(relative * n).sum()))


def _by_cell(scored: Observations, values: np.ndarray) -> np.ndarray:
    """Sum values (subjects, words) within each observed cell (subjects, sentences)."""
    starts = np.searchsorted(scored.sentence, np.arange(scored.kept.shape[1]))
    return scored.kept * np.add.reduceat(values, starts, axis=1)


def _density(
    fitted: Fitted, scored: Observations, quadratic: np.ndarray, log_determinant: float = 0.0
) -> np.ndarray:
    """Return the log-likelihood of cells from their parts of e'e (ms²) and of a determinant."""
    sigma = fitted.fit.solution.sigma
    n = scored.kept * np.bincount(scored.sentence)
    rest = np.log(2 * np.pi * sigma**2) + log_determinant / n.sum()
    return -0.5 * (quadratic / sigma**2 + rest * n)
