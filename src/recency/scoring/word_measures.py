"""Compute measures of words and tokens from an LM's scores (recency.scoring.measures)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from recency import plugins
from recency.errors import InputError
from recency.scoring.measures import MeasureRequest, measure_of


@dataclass(frozen=True)
class Words:
    """Words or tokens of a text, as input of a measure's `value`.

    Attributes
    ----------
    statistics : mapping of str to ndarray (tokens + 1,)
        Statistics of the distribution before each token and at the text's end, nats.
    surprisal : mapping of int to ndarray (words,)
        Number of context words → surprisal, nats; -1 is the whole context.
    begin, end : ndarray (words,)
        The first token of each word, and of the next one.
    """

    statistics: Mapping[str, np.ndarray]
    surprisal: Mapping[int, np.ndarray]
    begin: np.ndarray
    end: np.ndarray

    def before(self, statistic: str) -> np.ndarray:
        """Return a statistic of the distribution before each word."""
        return self.statistics[statistic][self.begin]

    def after(self, statistic: str) -> np.ndarray:
        """Return a statistic of the distribution after each word (before the next one)."""
        return self.statistics[statistic][self.end]

    def over_tokens(self, name: str, how: str) -> np.ndarray:
        """Return the sum or mean (`how`) of a value over each word's tokens."""
        sums = np.add.reduceat(self.statistics[name][:-1], self.begin)
        return sums / (self.end - self.begin) if how == "mean" else sums


def token_measures(
    asked: MeasureRequest,
    statistics: Mapping[str, np.ndarray],
    contexts: Mapping[int, np.ndarray],
    log: float,
) -> list[np.ndarray]:
    """Return the measures of each token of a text, in the order of `measures.columns_of`.

    `statistics` are (tokens + 1,) each, nats, the last at the text's end. `contexts` maps each of
    `asked.lengths`, and -1 for the whole context, to surprisal (tokens,) in nats. `log` is the unit
    in nats.
    """
    return _compute(asked, statistics, contexts, np.arange(len(contexts[-1])), log)


def word_measures(
    asked: MeasureRequest,
    statistics: Mapping[str, np.ndarray],
    contexts: Mapping[int, np.ndarray],
    first: np.ndarray,
    log: float,
) -> list[np.ndarray]:
    """Return the measures of each word: statistics of its first token, and sums of surprisal.

    The arguments are those of `token_measures`; `first` has the numbers of the words' first tokens.
    """
    summed = {length: np.add.reduceat(tokens, first) for length, tokens in contexts.items()}
    return _compute(asked, statistics, summed, first, log)


def _compute(asked, statistics, surprisal, first, log) -> list[np.ndarray]:
    """Compute the measures of words or tokens that begin at the tokens `first`."""
    end = np.append(first[1:], len(next(iter(statistics.values()), [0])) - 1)
    words = Words(statistics, surprisal, first, end)
    values = []
    for name in asked.measures:
        measure = measure_of(name)
        derive = getattr(_module(name), "value", None)
        if measure.source == "ngram":  # of all words of a dataset together (ngram_likeness)
            value = np.full(len(first), np.nan)
        elif measure.source:
            value = words.over_tokens(name, measure.tokens)
        elif derive is None:
            value = words.before(measure.statistics(name)[0])
        else:
            value = derive(words, *measure.argument(name))
        values.append(value / log**measure.unit if measure.unit else value)
    values += [words.before(name) / log**power for name, power in asked.extra]
    return values + [surprisal[length] / log for length in asked.contexts]


def exact_statistic(name: str, log_probabilities, targets):
    """Return a measure's statistic of whole distributions.

    Parameters
    ----------
    name : str
        A name of the measure.
    log_probabilities : torch.Tensor (n, vocabulary)
        Float64, nats, in the order of token ids.
    targets : torch.Tensor (n,)
        The observed tokens.

    Returns
    -------
    torch.Tensor (n,), float64
    """
    values = _module(name).statistic(log_probabilities, targets, *measure_of(name).argument(name))
    if tuple(values.shape) != (len(targets),):
        raise InputError(
            f"measure {name!r}: statistic returns the shape {tuple(values.shape)} and not "
            f"({len(targets)},), a value for each position"
        )
    return values.double()


def function_of(name: str) -> Callable:
    """Return a measure's function of `measure_sites.SOURCES`, with its parameter bound."""
    measure = measure_of(name)
    function, argument = getattr(_module(name), measure.source), measure.argument(name)
    return lambda *given: function(*given, *argument)


def _module(name: str) -> ModuleType:
    return plugins.load("recency.scoring.measures", measure_of(name).name)
