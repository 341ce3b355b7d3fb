"""Simulated reading-time studies in which the source of readers' expectations is known.

Each response has its own subjects and sentences, and every subject reads every sentence. The
time of subject i on word w is

    y_iw = (b + b_i)' x_w + u_sentence(w) + v_w + e_iw,

with x_w the standardised length, position, unigram surprisal, expectation, and expectation of the
previous word. An LM's surprisal has a given correlation with the expectation, its `closeness`, so
that the true order of the LMs is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

CONTROLS = ("length", "position", "unigram")
PREDICTORS = (*CONTROLS, "surprisal", "previous_surprisal")
INTERCEPT = 340.0
"""Mean reading time, ms."""
COEFFICIENTS = {"length": 6.0, "position": -3.0, "unigram": 4.0}
"""Mean effects of the controls, ms per standard deviation."""
SUBJECT_SD = {"intercept": 50.0, "length": 3.0, "position": 3.0, "unigram": 0.0}
"""Standard deviations between subjects of the intercept, ms, and of these effects."""


@dataclass(frozen=True)
class Settings:
    """A population of studies; effects are in ms per standard deviation of the predictor.

    Attributes
    ----------
    subjects, sentences, words
        Numbers of subjects, sentences, and words in a sentence, of each response.
    responses
        Number of responses.
    seeds
        Number of training seeds of each LM.
    slope
        Mean effect of the expectation, ms.
    spillover
        Effect of the previous word's expectation, as a share of `slope`.
    slope_sd
        Standard deviation of both effects between subjects, as a share of their means.
    word_sd, sentence_sd, residual_sd
        Standard deviations of the effects of words and sentences that no predictor explains, and of
        the residuals, ms.
    seed_share
        Share of the variance of an LM's errors that is specific to a training seed.
    seed_sd
        Standard deviation between seeds of an LM's closeness, on Fisher's z scale.
    """

    subjects: int = 30
    sentences: int = 60
    words: int = 12
    responses: int = 1
    seeds: int = 1
    slope: float = 10.0
    spillover: float = 0.6
    slope_sd: float = 0.5
    word_sd: float = 20.0
    sentence_sd: float = 10.0
    residual_sd: float = 90.0
    seed_share: float = 0.5
    seed_sd: float = 0.0


@dataclass(frozen=True)
class Response:
    """The observations of one response.

    Attributes
    ----------
    sentence
        Sentence of each word, from 0, (words,).
    controls
        Length in characters, position from 0, unigram surprisal in bits, by name (words,).
    source
        Readers' expectations of the words, standardised (words,).
    lms
        Surprisal of each LM (seeds, words), in standard deviations.
    times
        Reading times (subjects, words), ms.
    """

    sentence: np.ndarray
    controls: Mapping[str, np.ndarray]
    source: np.ndarray
    lms: Mapping[str, np.ndarray]
    times: np.ndarray

    def predictors(self, lm: str, seed: int = 0, first: int | None = None) -> dict[str, np.ndarray]:
        """Return PREDICTORS (words,), standardised, with the surprisal of an LM.

        Parameters
        ----------
        lm, seed
            Name of the LM, and number of its training seed.
        first
            Number of sentences whose mean and standard deviation scale the predictors; all of them
            by default.
        """
        surprisal = self.lms[lm][seed]
        columns = {**self.controls, "surprisal": surprisal}
        columns["previous_surprisal"] = previous(surprisal)
        scaling = self.sentence < (first or np.inf)
        return {name: standardised(columns[name], scaling) for name in PREDICTORS}


def previous(values: np.ndarray) -> np.ndarray:
    """Return the value of the previous word for each word; 0 for the first one."""
    return np.concatenate([[0.0], values[:-1]])


def standardised(values: np.ndarray, scaling: np.ndarray | slice = np.s_[:]) -> np.ndarray:
    """Centre and scale values by the mean and standard deviation of those in `scaling`."""
    return (values - values[scaling].mean()) / values[scaling].std()


def simulate(
    settings: Settings, closeness: Mapping[str, float], random: np.random.Generator
) -> list[Response]:
    """Simulate one study.

    Parameters
    ----------
    settings
        The population of studies.
    closeness
        By LM, the correlation of its surprisal with readers' expectations, from 0 to below 1.
    random
        The source of random numbers.

    Returns
    -------
    list of Response
        `settings.responses` responses, with the same seeds of an LM in all of them.
    """
    seeds = {lm: random.standard_normal(settings.seeds) for lm in closeness}
    by_seed = {
        lm: np.tanh(np.arctanh(r) + settings.seed_sd * seeds[lm]) for lm, r in closeness.items()
    }
    return [_response(settings, by_seed, random) for _ in range(settings.responses)]


def _response(
    settings: Settings, closeness: Mapping[str, np.ndarray], random: np.random.Generator
) -> Response:
    words = settings.sentences * settings.words
    sentence = np.repeat(np.arange(settings.sentences), settings.words)
    length = random.poisson(4, words) + 1.0
    unigram = 5 + length + random.normal(0, 2, words)
    position = np.tile(np.arange(settings.words, dtype=float), settings.sentences)
    controls = {"length": length, "position": position, "unigram": unigram}
    # Rare words are less expected: this is half of the expectation's standard deviation.
    source = 0.5 * standardised(unigram) + np.sqrt(0.75) * random.standard_normal(words)
    lms = {lm: _surprisal(source, r, settings.seed_share, random) for lm, r in closeness.items()}
    return Response(
        sentence, controls, source, lms, _times(settings, controls, source, sentence, random)
    )


def _surprisal(
    source: np.ndarray, closeness: np.ndarray, seed_share: float, random: np.random.Generator
) -> np.ndarray:
    """Return an LM's surprisal (seeds, words), which correlates with `source` by its closeness."""
    shared = random.standard_normal(len(source))
    of_seed = random.standard_normal((len(closeness), len(source)))
    error = np.sqrt(1 - seed_share) * shared + np.sqrt(seed_share) * of_seed
    r = closeness[:, None]
    return r * source + np.sqrt(1 - r**2) * error


def _times(
    settings: Settings,
    controls: Mapping[str, np.ndarray],
    source: np.ndarray,
    sentence: np.ndarray,
    random: np.random.Generator,
) -> np.ndarray:
    slopes = np.array([settings.slope, settings.slope * settings.spillover])
    columns = [*(controls[name] for name in CONTROLS), source, previous(source)]
    x = np.column_stack([np.ones(len(source)), *map(standardised, columns)])
    mean = np.array([INTERCEPT, *(COEFFICIENTS[name] for name in CONTROLS), *slopes])
    sd = [SUBJECT_SD[name] for name in ("intercept", *CONTROLS)]
    sd = np.array([*sd, *(settings.slope_sd * np.abs(slopes))])
    effects = mean + sd * random.standard_normal((settings.subjects, len(mean)))
    items = random.normal(0, settings.sentence_sd, settings.sentences)[sentence]
    items += random.normal(0, settings.word_sd, len(source))
    residuals = random.normal(0, settings.residual_sd, (settings.subjects, len(source)))
    return effects @ x.T + items + residuals
