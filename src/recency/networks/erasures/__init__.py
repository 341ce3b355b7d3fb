"""Forms of erasure, one file each: the probability that a word of context is retained.

A form's file holds `PARAMETERS`, the JSON schema of its parameters, optionally `RULES`, further
rules of that schema, and a class `Form`. Its `retention(words)` returns a probability for each word
of context. `Form.features` names the attributes of words that it uses; `reach` is the largest
distance in words, unless the config sets it.

The forms are next to the networks, not in recency.scoring, since training uses them too.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recency import plugins
from recency.errors import InputError

#: A probability of retention below this is 0, and one above 1 - this is 1.
EPSILON = 1e-4


@dataclass(frozen=True)
class ContextWords:
    """Words of context, with the attributes that forms of erasure use.

    Attributes
    ----------
    distance : ndarray (...)
        Words back from the predicted word: 1 is the word before it.
    frequency : ndarray (...), optional
        Zipf frequency: log10 of occurrences per billion words (van Heuven et al. 2014).
    position : ndarray (...), optional
        Number of the word in its sentence, from 1.
    """

    distance: np.ndarray
    frequency: np.ndarray | None = None
    position: np.ndarray | None = None


class Erasure:
    """Base class of the forms of erasure."""

    #: The attributes of `ContextWords` that the form reads.
    features: tuple[str, ...] = ("distance",)
    #: Largest number of context words, unless the LM's `reach` sets it; None for all.
    reach: int | None = None

    def retention(self, words: ContextWords) -> np.ndarray:
        """Return the probability that each word is retained, in the shape of `words.distance`."""
        raise TypeError(f"{type(self).__module__} defines no retention(words)")


def build(spec: Mapping) -> Erasure:
    """Build the form that an `erasure:` entry specifies."""
    parameters = {key: value for key, value in spec.items() if key != "form"}
    module = plugins.load("recency.networks.erasures", spec["form"])
    return module.Form(**parameters)


def retention(form: Erasure, words: ContextWords, reach: int | None = None) -> np.ndarray:
    """Return the retention probabilities of a form, after checking them.

    Parameters
    ----------
    form : Erasure
        The form.
    words : ContextWords
        Words of context, of any shape.
    reach : int, optional
        Largest number of context words: words further back have probability 0.

    Returns
    -------
    ndarray
        Float64 in the shape of `words.distance`; below `EPSILON` 0 and above 1 - `EPSILON` 1.

    Raises
    ------
    InputError
        If a value is not between 0 and 1.
    """
    values = np.asarray(form.retention(words), np.float64)
    values = np.broadcast_to(values, np.shape(words.distance))
    wrong = ~((values >= 0) & (values <= 1))  # NaN too
    if wrong.any():
        name = type(form).__module__.rpartition(".")[2]
        where = np.broadcast_to(words.distance, values.shape)[wrong][0]
        raise InputError(
            f"erasure {name!r}: the retention of a word {where:g} words back is "
            f"{values[wrong][0]:.4g}, and a probability is between 0 and 1; correct its parameters"
        )
    values = np.where(values < EPSILON, 0.0, np.where(values > 1 - EPSILON, 1.0, values))
    return values if reach is None else np.where(np.asarray(words.distance) > reach, 0.0, values)


def logistic(score: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + e^-score), without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(score, np.float64)))
