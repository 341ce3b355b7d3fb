"""N-gram-likeness: how much of a language model's surprisal an n-gram model explains.

Fits surprisal_LM = a + b · surprisal_n-gram to the words of a dataset by least squares, and returns
each word's fitted value and residual, and R², the share of variance explained.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.scoring import ngram, ngram_surprisal
from recency.scoring.measures import MeasureRequest, measure_of
from recency.scoring.results import Result
from recency.scoring.word_measures import function_of

#: Fewest words for a fit of two coefficients.
LEAST = 3


@dataclass(frozen=True)
class Reference:
    """An n-gram model and its settings; see `ngram_surprisal.score`."""

    path: str | Path
    bos: bool = True
    context: str = "item"
    text_rule: str = "displayed"


@dataclass(frozen=True)
class Fit:
    """A fitted line."""

    fitted: np.ndarray  # (words,), NaN where a surprisal is missing
    intercept: float
    slope: float
    r2: float
    words: int  # number of words in the fit


def fit(surprisal: np.ndarray, reference: np.ndarray) -> Fit:
    """Fit surprisal = a + b · reference by least squares to the words that have both.

    Parameters
    ----------
    surprisal, reference : ndarray (words,)
        In the same unit; NaN where missing.

    Raises
    ------
    InputError
        If fewer than three words have both, or the reference or the surprisal is constant.
    """
    both = np.isfinite(surprisal) & np.isfinite(reference)
    y, x = surprisal[both], reference[both]
    if len(y) < LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        raise InputError(
            f"ngram_explained and ngram_remainder fit a line to {len(y)} words; it takes {LEAST} "
            "or more, of different surprisal"
        )
    slope = float(np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2))
    intercept = float(y.mean() - slope * x.mean())
    fitted = np.where(both, intercept + slope * np.where(both, reference, 0.0), np.nan)
    left = np.sum((y - fitted[both]) ** 2)
    return Fit(fitted, intercept, slope, 1 - float(left / np.sum((y - y.mean()) ** 2)), len(y))


def reference(
    given: Reference | str | Path | None,
    asked: MeasureRequest,
    bos: bool,
    within: str,
    tokens: bool,
) -> Reference | None:
    """Return the checked n-gram model of the requested measures; None if none needs one.

    Raises
    ------
    InputError
        If a measure needs a model and none is given, or it is no n-gram model, or for rows of
        tokens, which do not have these measures.
    """
    names = asked.with_sources("ngram")
    if not names:
        return None
    if given is None:
        raise InputError(
            f"measure {names[0]!r} needs an n-gram model: `ngram_lm`, an ARPA or KenLM file, or, in a "
            "config, the name of an n-gram LM"
        )
    if tokens:
        raise InputError(f"measure {names[0]!r} is defined for words, not for tokens")
    checked = given if isinstance(given, Reference) else Reference(given, bos, within)
    if not Path(checked.path).exists() or not ngram.is_ngram(checked.path):
        raise InputError(f"ngram_lm: {checked.path} is neither an ARPA file nor a KenLM binary")
    return checked


def fill(
    result: Result, words: pd.DataFrame, asked: MeasureRequest, reference: Reference, unit: str
) -> None:
    """Compute the columns of the n-gram-likeness measures, and add R² to the notes."""
    scored = ngram_surprisal.score(
        words, reference.path, reference.bos, reference.context, unit, reference.text_rule
    )
    surprisal = result.table[f"surprisal_{unit}"].to_numpy()
    of_ngrams = scored.table[f"surprisal_{unit}"].to_numpy()
    for name in asked.with_sources("ngram"):
        measure = measure_of(name)
        ending = f"_{unit}" if measure.unit else ""
        result.table[f"{name}{ending}"] = function_of(name)(surprisal, of_ngrams)
    line = fit(surprisal, of_ngrams)
    result.notes.append(
        f"n-gram-likeness: R² = {line.r2:.4f} of surprisal = {line.intercept:.3f} + {line.slope:.3f} · "
        f"that of {Path(reference.path).name}, {line.words:,} words ({scored.notes[0]})"
    )
