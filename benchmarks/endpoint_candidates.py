"""Candidate endpoints of one simulated study: ΔLogLik of its LMs, intervals, true values, tests.

A candidate is a baseline model, a likelihood, and the data that are scored:

in_sample
    The partitions fit and exploratory, by the model that is fitted to both.
held_out
    The partition exploratory, by the model that is fitted to the partition fit.
crossed
    The partitions fit and exploratory, by the crossed bootstrap (recency.regression.crossed).

ΔLogLik estimates its value on as many unseen subjects and sentences of the same population, by
marginal likelihood and by the fit to the same partitions. Three LMs are compared: a is closer to
readers' expectations than b, and c is as close as b.

Log-likelihoods of cells under a fitted model, by their treatment of the random effects.

The likelihoods of crosslmm.recorded by cell (a subject's observations of a sentence), where
every subject reads the same words. Natural logarithm.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import checkout
import numpy as np

checkout.use()

from crosslmm.cells import Cells, Fit
from crosslmm.factors import crossed_factors
from crosslmm.formula import Formula, column
from crosslmm.stats.crossed_samples import Scores, half_width
from crosslmm.stats.permutation import permutation_p
from recency.simulation.studies import Response, Settings, simulate
from recency.simulation.study_scores import (
    BASELINES,
    FULL,
    Levels,
    Observations,
    crossed_scores,
    observations,
    once,
    partition,
    total,
)

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


LMS = ("a", "b", "c")
PAIRS = {"lead": ("a", "b"), "null": ("b", "c")}
"""Pairs of LMs with different and with equal closeness."""
LIKELIHOODS = {"in_sample": SEEN, "held_out": SEEN, "crossed": UNSEEN}
"""Data → the likelihoods for scoring them."""
TESTS = ("observation", "subject", "sentence", "larger")
"""Units whose errors a permutation swaps together, and the larger p of the two clustered tests."""
PER = 1000
"""Number of observations to which true values and biases are scaled."""


class Candidate(NamedTuple):
    """An endpoint."""

    baseline: str
    likelihood: str
    data: str


CANDIDATES = [
    Candidate(baseline, likelihood, data)
    for data, likelihoods in LIKELIHOODS.items()
    for baseline in BASELINES
    for likelihood in likelihoods
]


@dataclass
class Study:
    """The results of one simulated study.

    Attributes
    ----------
    scores
        ΔLogLik by candidate and LM, summed over responses.
    truth
        ΔLogLik of PER unseen observations, nats, by baseline, data and LM.
    p
        p values by pair and test, and whether the pair's first LM has the smaller errors.
    """

    scores: dict[Candidate, dict[str, Scores]]
    truth: dict[tuple[str, str], dict[str, float]]
    p: dict[str, dict[str, float]]
    first_is_better: dict[str, bool]


@dataclass
class _Model:
    """One model of one response.

    `cells` has the log-likelihood of each cell by data (likelihoods, subjects, sentences), `unseen`
    its log-likelihood of all unseen observations by data; `errors` are the squared errors on the
    held-out partition (observations,), ms².
    """

    cells: dict[str, np.ndarray]
    unseen: dict[str, float]
    errors: np.ndarray


def run(
    settings: Settings,
    closeness: Mapping[str, float],
    repeat: int,
    seed: int,
    draws: int,
    permutations: int,
    crossed_fixed: bool = True,
) -> Study:
    """Simulate a study and score all candidates.

    Parameters
    ----------
    settings
        The population of studies.
    closeness
        Correlation of LMs a and b with readers' expectations; c equals b.
    repeat, seed
        Together they seed the random numbers.
    draws, permutations
        Numbers of draws of each crossed bootstrap, and of permutations of each test.
    crossed_fixed
        Whether to score the baseline `fixed` by the crossed bootstrap as well, the slowest part.
    """
    random = np.random.default_rng([seed, repeat])
    # Unseen subjects and sentences come after those of the study.
    twice = replace(settings, subjects=2 * settings.subjects, sentences=2 * settings.sentences)
    by_lm = {"a": closeness["a"], "b": closeness["b"], "c": closeness["b"]}
    responses = simulate(twice, by_lm, random)
    shape = settings.subjects, settings.sentences
    baselines = [name for name in BASELINES if name != "fixed" or crossed_fixed]
    study = Study({}, {}, {}, {})
    errors = {lm: [] for lm in LMS}
    for number, response in enumerate(responses):
        stream = seed, f"{repeat}.{number}"
        models: dict[tuple[str, str], list[_Model]] = {}
        for lm in LMS:
            blocks = [_blocks(response, lm, s, shape) for s in range(settings.seeds)]
            models["full", lm] = [_model(FULL, block, draws, stream) for block in blocks]
            models["fixed", lm] = [
                _model(BASELINES["fixed"], block, draws if crossed_fixed else 0, stream)
                for block in blocks
            ]
            if lm == LMS[0]:
                shared = _model(BASELINES["all"], blocks[0], draws, stream)
            models["all", lm] = [shared] * settings.seeds
            errors[lm].append(np.array([model.errors for model in models["full", lm]]))
        _add_scores(study, models, blocks[0], number, baselines)
    for pair, (x, y) in PAIRS.items():
        differences = [a - b for a, b in zip(errors[x], errors[y], strict=True)]
        study.p[pair] = p_values(differences, settings, permutations, seed)
        study.first_is_better[pair] = sum(d.sum() for d in differences) < 0
    for by_lm_truth in study.truth.values():
        for lm in by_lm_truth:
            by_lm_truth[lm] /= settings.responses
    return study


def _blocks(
    response: Response, lm: str, seed: int, shape: tuple[int, int]
) -> dict[str, Observations]:
    """Return the observations of each partition, and of unseen subjects and sentences."""
    R, S = shape
    part = partition(R, S)
    kept = {"in_sample": part != 3, "fit": part < 2}
    kept |= {"exploratory": part == 2, "held_out": part == 3}
    seen = {
        name: observations(response, lm, seed, slice(R), slice(S), mask)
        for name, mask in kept.items()
    }
    everything = np.ones(shape, dtype=bool)
    return seen | {
        "unseen": observations(response, lm, seed, slice(R, None), slice(S, None), everything)
    }


def _model(
    formula: Formula, blocks: Mapping[str, Observations], draws: int, stream: tuple[int, str]
) -> _Model:
    """Fit a model and score it on all data; without draws, skip the crossed bootstrap."""
    cells = {name: blocks[name].cells(formula) for name in ("in_sample", "fit", "exploratory")}
    unseen = blocks["unseen"].cells(formula)
    fits = {
        name: Fitted(formula, cells[name].fit(*once(cells[name])), cells[name].shift)
        for name in ("in_sample", "fit")
    }
    scored = {
        "in_sample": score_seen(fits["in_sample"], blocks["in_sample"], cells["in_sample"]),
        "held_out": score_seen(fits["fit"], blocks["exploratory"], cells["exploratory"]),
    }
    if draws:
        scored["crossed"] = crossed_scores(cells["in_sample"], draws, stream, score_unseen)
    on_unseen = {name: float(marginal(fits[name], unseen).sum()) for name in fits}
    held_out = blocks["held_out"]
    errors = fits["fit"].residuals(held_out, conditional=True) ** 2
    return _Model(
        {name: np.array(parts) for name, parts in scored.items()},
        {
            "in_sample": on_unseen["in_sample"],
            "held_out": on_unseen["fit"],
            "crossed": on_unseen["in_sample"],
        },
        errors[held_out.kept[:, held_out.sentence]],
    )


def _add_scores(
    study: Study,
    models: Mapping[tuple[str, str], Sequence[_Model]],
    blocks: Mapping[str, Observations],
    number: int,
    crossed: Sequence[str],
) -> None:
    """Add a response's scores and (still unaveraged) true values to a study."""
    words = np.bincount(blocks["unseen"].sentence)
    n = {
        "in_sample": blocks["in_sample"].kept * words,
        "held_out": blocks["exploratory"].kept * words,
    }
    n["crossed"] = n["in_sample"]
    unseen = blocks["unseen"].kept.shape[0] * words.sum()
    for baseline in BASELINES:
        for data, likelihoods in LIKELIHOODS.items():
            if data == "crossed" and baseline not in crossed:
                continue
            for lm in LMS:
                pairs = list(zip(models["full", lm], models[baseline, lm], strict=True))
                gain = np.mean([full.unseen[data] - base.unseen[data] for full, base in pairs])
                truth = study.truth.setdefault((baseline, data), dict.fromkeys(LMS, 0.0))
                truth[lm] += gain / unseen * PER
                parts = np.array([full.cells[data] - base.cells[data] for full, base in pairs])
                for index, likelihood in enumerate(likelihoods):
                    scores = total(parts[:, index], n[data], str(number))
                    by_lm = study.scores.setdefault(Candidate(baseline, likelihood, data), {})
                    by_lm[lm] = by_lm[lm] + scores if lm in by_lm else scores


def p_values(
    differences: Sequence[np.ndarray], settings: Settings, permutations: int, seed: int
) -> dict[str, float]:
    """Return the permutation p values of two LMs' squared errors, by test in TESTS.

    Parameters
    ----------
    differences
        Differences of squared errors (seeds, observations) by response, ms², on the
        held-out partition, subject by subject.
    settings
        The population of studies.
    permutations, seed
        Number of permutations, and the seed of their random signs.
    """
    held_out = partition(settings.subjects, settings.sentences) == 3
    subject, word = np.nonzero(np.repeat(held_out, settings.words, axis=1))
    sentence = word // settings.words
    many = range(settings.responses)
    clusters = {
        "observation": None,
        "subject": np.concatenate([subject + k * settings.subjects for k in many]),
        "sentence": np.concatenate([sentence + k * settings.sentences for k in many]),
    }
    values = np.concatenate(differences, axis=1)
    by_seed = values.mean(1) if len(values) > 1 else None
    p = {
        name: permutation_p(values.mean(0), permutations, seed, cluster, by_seed)
        for name, cluster in clusters.items()
    }
    return p | {"larger": max(p["subject"], p["sentence"])}


def ends(scores: Scores, interval: str) -> tuple[float, float]:
    """Return the 95 % confidence interval of a total.

    Parameters
    ----------
    scores
        The total.
    interval
        ``"two_way"`` for subjects and sentences together (crosslmm.stats.crossed_samples), or
        ``"given_fits"`` for the wider of the intervals for subjects and for sentences, each a
        normal approximation to the bootstrap of crosslmm.stats.totals.
    """
    if interval == "two_way":
        interval_ends = scores.ends()
        return interval_ends["low"], interval_ends["high"]
    se = max(_one_way(scores, axis) for axis in (0, 1))
    reach = half_width(se, math.inf, float(np.linalg.norm(scores.seeds)), scores.freedom)
    return scores.value - reach, scores.value + reach


def _one_way(scores: Scores, axis: int) -> float:
    """Return the standard error of a total over resampled subjects (axis 1 summed) or sentences."""
    sums = [cells.sum(axis) for cells in scores.cells.values()]
    return math.sqrt(sum(float(((s - s.mean()) ** 2).sum()) for s in sums))
