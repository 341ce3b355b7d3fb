"""Simulated readers: fixations and reading times from the predictors of every word."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from recency.errors import InputError

WORD_TERMS = ("length", "position", "unigram", "surprisal", "previous_surprisal")
TERMS = ("intercept", *WORD_TERMS, "previous_fixated")
SKIPPING = ("intercept", "length", "unigram", "surprisal", "previous_fixated", "subject_sd")
# Columns of a table of responses, and additional columns for eye movements.
COLUMNS = ("subject", "item", "sentence", "position", "word", "time_ms", "correct")
OF_EYES = ("fixated", "previous_fixated", "words_since_fixation")
SHORTEST = 20  # ms; no key press or fixation is shorter


@dataclass(frozen=True)
class Readers:
    """A group of readers.

    Coefficients and standard deviations are in ms for the average word and ms per character
    (length), word (position) or bit (unigram, surprisal, previous_surprisal), by term of `TERMS`.
    With `skipping`, whose terms are log odds of fixating a word, the responses are eye movements.
    """

    subjects: int
    seed: int
    coefficients: Mapping[str, float]
    subject_sd: Mapping[str, float]
    sentence_sd: float
    residual_sd: float
    items: int | None = None  # number of randomly drawn texts per subject; None: all
    subject_correlation: float = 0.3  # of every pair of subject effects
    skew: float = 0.6  # sd of the log of the residual, 0 for a Gaussian
    slips: float = 0.0  # probability of a key pressed too soon, after 20 to 80 ms
    lapses: float = 0.0  # probability of a pause of over 3 s
    questions: float = 0.5  # probability that a sentence has a question
    wrong: float = 0.06  # probability of a wrong answer
    skipping: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        for key, terms in (
            ("coefficients", self.terms),
            ("subject_sd", self.terms),
            ("skipping", SKIPPING),
        ):
            for name in getattr(self, key) or ():
                if name not in terms:
                    raise InputError(
                        f"simulated readers: {key} has no term {name!r}; it has {', '.join(terms)}"
                    )
        many = len(self.subject_sd)
        if many > 1 and not -1 / (many - 1) < self.subject_correlation < 1:
            raise InputError(
                f"simulated readers: {many} subject effects cannot all have a correlation of "
                f"{self.subject_correlation}; set subject_correlation to a value nearer to 0"
            )

    @property
    def terms(self) -> tuple[str, ...]:
        """The effects that these readers can have."""
        return TERMS if self.skipping is not None else TERMS[:-1]

    def subject_effects(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the terms with by-subject effects, their sds and their correlations."""
        names = [name for name in TERMS if name in self.subject_sd]
        correlation = np.full((len(names), len(names)), float(self.subject_correlation))
        np.fill_diagonal(correlation, 1.0)
        return names, np.array([float(self.subject_sd[name]) for name in names]), correlation


def residuals(
    draws: np.random.Generator, shape: tuple[int, int], sd: float, skew: float
) -> np.ndarray:
    """Draw log-normal noise, shifted and scaled to mean 0 and this sd (ms)."""
    if skew == 0:
        return draws.normal(0, sd, shape)
    raw = np.exp(skew * draws.standard_normal(shape))
    mean = np.exp(skew**2 / 2)
    return (raw - mean) * (sd / (mean * np.sqrt(np.expm1(skew**2))))


def fixations(
    draws: np.random.Generator,
    starts: np.ndarray,
    centred: pd.DataFrame,
    subjects: int,
    skipping: Mapping[str, float],
) -> tuple[np.ndarray, np.ndarray]:
    """Draw first-pass fixations from centred predictors.

    `starts` marks words that begin an item. Returns (fixated, words_since_fixation), both subjects
    x words; the second counts from the last fixated word in the item, and is 1 directly after it.
    """
    slopes = sum(skipping.get(name, 0.0) * centred[name].to_numpy() for name in SKIPPING[1:4])
    habit = skipping.get("subject_sd", 0.0) * draws.standard_normal(subjects)
    odds = skipping.get("intercept", 0.0) + habit[:, None] + slopes
    chances = draws.random(odds.shape)
    fixated = np.zeros(odds.shape, dtype=bool)
    since = np.ones(odds.shape, dtype=np.int32)
    for word, starting in enumerate(starts):
        after = np.zeros(subjects)
        if not starting:
            after = fixated[:, word - 1]
            since[:, word] = np.where(after, 1, since[:, word - 1] + 1)
        logit = odds[:, word] + skipping.get("previous_fixated", 0.0) * after
        fixated[:, word] = chances[:, word] < 1 / (1 + np.exp(-logit))
    return fixated, since


def read(words: pd.DataFrame, x: pd.DataFrame, readers: Readers) -> pd.DataFrame:
    """Simulate reading: one row per subject and word, by subject and then in reading order.

    `x` has the predictors `WORD_TERMS` of `words` in natural units. The columns are `COLUMNS`,
    time_ms in whole ms (0 for a skipped word), correct c, e, or - for a sentence without a
    question, and of eye movements `OF_EYES`, with previous_fixated within the same item.
    """
    # One stream per source of randomness, so that changing one does not affect the others.
    sources = ("subjects", "sentences", "residuals", "fixations", "attention", "questions", "items")
    seeds = np.random.SeedSequence(readers.seed).spawn(len(sources))
    draws = {name: np.random.default_rng(s) for name, s in zip(sources, seeds, strict=True)}
    shape = (readers.subjects, len(words))
    centred = x - x.mean()

    design = {"intercept": np.ones(shape)}
    design |= {name: np.broadcast_to(centred[name].to_numpy(), shape) for name in WORD_TERMS}
    columns = {}
    if readers.skipping is not None:
        starts = words["item"].ne(words["item"].shift(1)).to_numpy()
        fixated, since = fixations(
            draws["fixations"], starts, centred, readers.subjects, readers.skipping
        )
        before = (since == 1) & ~starts
        design["previous_fixated"] = before.astype(float)
        columns = dict(zip(OF_EYES, (fixated, before, since), strict=True))

    names, sd, correlation = readers.subject_effects()
    independent = draws["subjects"].standard_normal((readers.subjects, len(names)))
    effects = independent @ np.linalg.cholesky(correlation).T * sd
    time = residuals(draws["residuals"], shape, readers.residual_sd, readers.skew)
    for name, column in design.items():
        time += readers.coefficients.get(name, 0.0) * column
    for name, effect in zip(names, effects.T, strict=True):
        time += effect[:, None] * design[name]
    _, sentence = np.unique(words["sentence"], return_inverse=True)
    sentences = sentence.max() + 1
    time += draws["sentences"].normal(0, readers.sentence_sd, sentences)[sentence]
    time = np.rint(np.maximum(time, SHORTEST))

    # Data for filters, independent of the residual, so that filtering does not bias the effects.
    chance, other = draws["attention"].random((2, *shape))
    time = np.where(chance < readers.slips, np.rint(20 + 60 * other), time)
    time = np.where(chance > 1 - readers.lapses, np.rint(3001 + 3000 * other), time)
    if readers.skipping is not None:
        time = np.where(fixated, time, 0)
    asked = draws["questions"].random(sentences) < readers.questions
    right = draws["questions"].random((readers.subjects, sentences)) >= readers.wrong
    correct = np.where(asked, np.where(right, "c", "e"), "-")[:, sentence]

    digits = len(str(readers.subjects))
    subjects = [f"s{number:0{digits}d}" for number in range(1, readers.subjects + 1)]
    table = {"subject": np.repeat(subjects, len(words))}
    for name in ("item", "sentence", "position", "word"):
        table[name] = np.tile(words[name].to_numpy(), readers.subjects)
    table |= {"time_ms": time.astype(np.int32), "correct": correct, **columns}
    frame = pd.DataFrame({name: np.ravel(column) for name, column in table.items()})
    item, names = pd.factorize(words["item"])
    many = len(names) if readers.items is None else readers.items
    if not 1 <= many <= len(names):
        raise InputError(
            f"simulated readers: items is {many}, but there are {len(names)} texts to read"
        )
    order = draws["items"].permuted(np.tile(np.arange(len(names)), (readers.subjects, 1)), axis=1)
    return frame[(order < many)[:, item].ravel()].reset_index(drop=True)
