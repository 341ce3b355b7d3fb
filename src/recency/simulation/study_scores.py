"""Scores of LMs in simulated studies: fitted models, the crossed bootstrap, totals over cells.

The same computation as recency.regression.crossed and crosslmm.stats.crossed_samples do from files,
here on the arrays of recency.simulation.studies.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crosslmm.cells import Cells, Fit
from crosslmm.factors import crossed_factors
from crosslmm.formula import Formula, parse
from crosslmm.stats.crossed_samples import Scores
from recency.regression.crossed import ENOUGH, PILOTS, resampled
from recency.simulation.studies import Response

_CONTROLS = "time_ms ~ length + position + unigram"
_OF_LM = "surprisal + previous_surprisal"
FULL = parse(
    f"{_CONTROLS} + {_OF_LM} + (1 + position + length + {_OF_LM} | subject) + (1 | sentence)"
)
"""The published regression of self-paced reading."""
BASELINES = {
    "all": parse(f"{_CONTROLS} + (1 + position + length | subject) + (1 | sentence)"),
    "fixed": parse(f"{_CONTROLS} + (1 + position + length + {_OF_LM} | subject) + (1 | sentence)"),
}
"""Its baseline models: without any predictor of the LM, and with its by-subject slopes."""

Levels = tuple[np.ndarray, np.ndarray]
"""Number of occurrences of each subject and each sentence in a sample."""


@dataclass(frozen=True)
class Observations:
    """Observations of a response, with predictors of one LM.

    Attributes
    ----------
    predictors
        Scaled predictors of the words, by name (words,).
    sentence
        Sentence of each word, from 0 (words,).
    times
        Reading times (subjects, words), ms.
    kept
        Mask of the cells (subjects, sentences) that are observed.
    """

    predictors: Mapping[str, np.ndarray]
    sentence: np.ndarray
    times: np.ndarray
    kept: np.ndarray

    def cells(self, formula: Formula) -> Cells:
        """Return the sums of products of a model's columns by cell."""
        subject_factor, sentence_factor = crossed_factors(formula)
        subject, word = np.nonzero(self.kept[:, self.sentence])
        return Cells(
            formula,
            subject_factor,
            sentence_factor,
            {name: values[word] for name, values in self.predictors.items()},
            self.times[subject, word],
            subject,
            self.sentence[word],
            self.kept.shape,
        )


def partition(subjects: int, sentences: int) -> np.ndarray:
    """Return each cell's partition (subjects, sentences): 0, 1 fit; 2 exploratory; 3 held out."""
    return (np.arange(subjects)[:, None] + np.arange(sentences)) % 4


def observations(
    response: Response, lm: str, seed: int, subjects: slice, sentences: slice, kept: np.ndarray
) -> Observations:
    """Return the observations of a range of subjects and sentences in the cells `kept`.

    Predictors are scaled by the first `kept.shape[1]` sentences of the response, so that the later,
    unseen ones have the same scale.
    """
    words = np.isin(response.sentence, np.arange(response.sentence[-1] + 1)[sentences])
    scaled = response.predictors(lm, seed, kept.shape[1])
    sentence = response.sentence[words]
    return Observations(
        {name: values[words] for name, values in scaled.items()},
        sentence - sentence[0],
        response.times[subjects][:, words],
        kept,
    )


def once(cells: Cells) -> Levels:
    """Return the sample in which each subject and each sentence occurs once."""
    subjects, sentences = cells.n.shape
    return np.ones(subjects, dtype=int), np.ones(sentences, dtype=int)


def marginal(cells: Cells, fit: Fit, levels: Levels) -> Sequence[np.ndarray]:
    """Score cells by their marginal log-likelihood, as in the primary endpoint."""
    return [cells.log_density(fit, *levels)[1]]


def crossed_scores(
    cells: Cells,
    draws: int,
    stream: tuple[int, str],
    score: Callable[[Cells, Fit, Levels], Sequence[np.ndarray]] = marginal,
) -> np.ndarray:
    """Return the mean scores of cells by fits without their subject and sentence.

    Parameters
    ----------
    cells
        The observations.
    draws
        Number of bootstrap draws.
    stream
        A number and a name: models with the same ones share their draws.
    score
        Log-likelihoods of the cells of a sample under a fit (subjects, sentences), one by kind.

    Returns
    -------
    numpy.ndarray
        (kinds, subjects, sentences). A cell that is in every draw has the mean score of an observation
        for each of its observations.
    """
    names = [[str(level) for level in range(many)] for many in cells.n.shape]
    if names[0] == names[1]:  # they would have the same draws
        names[1] = [f"sentence {level}" for level in names[1]]
    pilots = [
        tuple(resampled(levels, (*stream, draw)) for levels in names)
        for draw in range(min(PILOTS, draws))
    ]
    start = cells.warm_start(pilots, ENOUGH)
    total, seen = 0.0, np.zeros(cells.n.shape)
    for draw in range(draws):
        times = [resampled(levels, (*stream, draw)) for levels in names]
        outside = tuple((t == 0).astype(int) for t in times)
        if not outside[0].any() or not outside[1].any():
            continue
        try:
            parts = np.array(score(cells, cells.fit(*times, start, ENOUGH), outside))
        except np.linalg.LinAlgError:
            continue
        total = total + parts
        seen += np.outer(*outside)
    mean = total / np.maximum(seen, 1)
    scored = seen > 0
    rate = mean[:, scored].sum(1) / cells.n[scored].sum()
    return np.where(scored, mean, rate[:, None, None] * cells.n)


def total(cells: np.ndarray, n: np.ndarray, sample: str) -> Scores:
    """Return the total of cells (seeds, subjects, sentences), the mean over training seeds.

    Parameters
    ----------
    cells
        Scores by training seed.
    n
        Number of observations of each cell (subjects, sentences).
    sample
        Name of the sample of subjects and sentences.
    """
    by_seed, mean, seeds = cells.sum((1, 2)), cells.mean(0), len(cells)
    apart = np.zeros(seeds)
    if seeds > 1:
        apart = (by_seed - by_seed.mean()) / np.sqrt(seeds * (seeds - 1))
    centred = mean - mean.sum() / n.sum() * n
    return Scores(float(by_seed.mean()), int(n.sum()), {sample: centred}, apart, seeds - 1)
