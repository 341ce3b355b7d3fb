"""N-gram-likeness: how much of a language model's surprisal an n-gram model explains.

The least squares fit of surprisal_LM = a + b · surprisal_n-gram over the words of a dataset: a
word's fitted value, its remainder, and R², the share of the variance that is explained.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.scoring import ngram, ngram_surprisal
from recency.scoring.measures import Asked, measure_of
from recency.scoring.results import Result
from recency.scoring.word_measures import function_of

#: Words that a line of two numbers is fitted to at least.
LEAST = 3


@dataclass(frozen=True)
class Reference:
    """An n-gram model, and how it reads the words; see `ngram_surprisal.score`."""

    path: str | Path
    bos: bool = True
    context: str = "item"
    text_rule: str = "displayed"


@dataclass(frozen=True)
class Fit:
    """The line, its values and its R²."""

    fitted: np.ndarray  # (words,), NaN where either surprisal is
    intercept: float
    slope: float
    r2: float
    words: int  # that it was fitted to


def fit(surprisal: np.ndarray, reference: np.ndarray) -> Fit:
    """Fit surprisal = a + b · reference by least squares, to the words that have both.

    Parameters
    ----------
    surprisal, reference : ndarray (words,)
        In one unit; NaN where a word has none.

    Raises
    ------
    InputError
        If fewer than three words have both, or the reference or the surprisal is constant.
    """
    both = np.isfinite(surprisal) & np.isfinite(reference)
    y, x = surprisal[both], reference[both]
    if len(y) < LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        raise InputError(
            f"ngram_explained and ngram_remainder are of a line fitted to {len(y)} words; it takes {LEAST} "
            "or more, of different surprisal"
        )
    slope = float(np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2))
    intercept = float(y.mean() - slope * x.mean())
    fitted = np.where(both, intercept + slope * np.where(both, reference, 0.0), np.nan)
    left = np.sum((y - fitted[both]) ** 2)
    return Fit(fitted, intercept, slope, 1 - float(left / np.sum((y - y.mean()) ** 2)), len(y))


def reference(
    given: Reference | str | Path | None, asked: Asked, bos: bool, within: str, tokens: bool
) -> Reference | None:
    """Return the n-gram model that measures are asked of, checked; None where none is.

    Raises
    ------
    InputError
        If the measures need a model and none is given, or it is no n-gram model, or values are
        wanted token by token, which have none.
    """
    names = asked.of("ngram")
    if not names:
        return None
    if given is None:
        raise InputError(
            f"measure {names[0]!r} needs an n-gram model: `ngram_lm`, an ARPA or KenLM file, in a config "
            "the name of an n-gram LM"
        )
    if tokens:
        raise InputError(f"measure {names[0]!r} is of words; tokens have none")
    made = given if isinstance(given, Reference) else Reference(given, bos, within)
    if not Path(made.path).exists() or not ngram.is_ngram(made.path):
        raise InputError(f"ngram_lm: {made.path} is neither an ARPA file nor a KenLM binary")
    return made


def fill(
    result: Result, words: pd.DataFrame, asked: Asked, reference: Reference, unit: str
) -> None:
    """Fill the columns of the measures of n-gram-likeness, and note R²."""
    scored = ngram_surprisal.score(
        words, reference.path, reference.bos, reference.context, unit, reference.text_rule
    )
    surprisal = result.table[f"surprisal_{unit}"].to_numpy()
    of_ngrams = scored.table[f"surprisal_{unit}"].to_numpy()
    for name in asked.of("ngram"):
        measure = measure_of(name)
        ending = f"_{unit}" if measure.unit else ""
        result.table[f"{name}{ending}"] = function_of(name)(surprisal, of_ngrams)
    line = fit(surprisal, of_ngrams)
    result.notes.append(
        f"n-gram-likeness: R² = {line.r2:.4f} of surprisal = {line.intercept:.3f} + {line.slope:.3f} · "
        f"that of {Path(reference.path).name}, {line.words:,} words ({scored.notes[0]})"
    )
