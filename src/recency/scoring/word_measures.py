"""Compute measures of words and tokens from an LM's scores (recency.scoring.measures).

Tables of scores by word, summed over tokens, and by token.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pandas as pd

from recency import plugins
from recency.errors import InputError
from recency.scoring import alignment, measures, results
from recency.scoring.measures import MeasureRequest, measure_of
from recency.scoring.results import Result
from recency.scoring.texts import START, boundaries, correct, discrepancy


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


def word_table(
    words, items, texts, scores, model, unit, correction, first_word, spaces, asked
) -> Result:
    """Sum token scores to words, correct for white space, and list alignment issues.

    `items` has the rows of each text in `words`, `texts` its tokens (`alignment.Text`) and `scores`
    their scores (`causal.Scores`); for the settings see recency.scoring.surprisal.score_words.
    """
    kind = model.kind
    filled = np.full((2, len(words)), np.nan)
    counts = np.zeros((2, len(words)), np.int32)
    marked = bool((kind == alignment.SPACE).any()) and not model.masked
    columns = measures.columns_of(asked, unit)
    more = np.full((len(columns), len(words)), np.nan)
    issues, worst = [], 0.0
    for rows, text, score in zip(items, texts, scores, strict=True):
        if len(text.ids) == 0:
            issues += [
                (rows[issue.word], "", issue.reason, issue.treatment) for issue in text.issues
            ]
            continue
        owners, first = np.unique(text.word, return_index=True)  # words that have a token
        tokens = -score.log_probability
        if np.isnan(tokens[0]):
            null = first_word == "null"
            treatment = "null" if null else "its other tokens count"
            text.issues.insert(0, alignment.Issue(int(owners[0]), "has no context", treatment))
            if not null:
                tokens = np.append(0.0, tokens[1:])
        plain = np.add.reduceat(tokens, first)
        bounds = np.append(first, len(text.ids))
        if marked:
            begins_marked = kind[text.ids[0]] == alignment.SPACE
            before = boundaries(
                score.log_space[bounds], score.log_end[bounds], begins_marked, correction
            )
            if spaces is not None:  # no correction where no space follows the word
                before[1:][~spaces[rows][np.append(owners[1:], len(rows)) - 1]] = 0.0
            corrected = correct(plain, before)
            scored = np.repeat(np.isnan(plain), np.diff(bounds))
            off = discrepancy(np.where(scored, 0.0, tokens), corrected, before)
            total = float(np.nansum(np.abs(plain)))
            if not off <= 1e-9 * total + 1e-6:
                raise ArithmeticError(
                    f"the whitespace correction does not add up: off by {off} nats"
                )
            worst = max(worst, off)
            filled[1, rows[owners]] = corrected
        if columns:
            contexts = _contexts(score, first_word)
            more[:, rows[owners]] = word_measures(
                asked, score.statistics, contexts, first, results.UNITS[unit]
            )
        filled[0, rows[owners]] = plain
        counts[0, rows[owners]] = np.diff(bounds)
        counts[1, rows[owners]] = score.context[first]
        for issue in text.issues:
            pieces = text.ids[text.word == issue.word]
            pieces = " ".join(model.tokenizer.id_to_token(int(piece)) for piece in pieces)
            issues.append((rows[issue.word], pieces, issue.reason, issue.treatment))
    worst /= results.UNITS.get(unit, 1.0)
    checked = len(texts) if marked else 0
    notes = [f"{len(issues):,} entries in the alignment ledger, {len(words):,} words"]
    if checked:
        notes.append(
            f"the whitespace correction ({correction}) adds up in {checked} of {checked} texts, "
            f"within {worst:.1e} {unit}"
        )
    table = results.table(words, *filled, *counts, unit=unit).assign(**dict(zip(columns, more)))
    return Result(table, results.ledger(words, issues), checked, worst, notes)


def _contexts(score, first_word: str) -> dict[int, np.ndarray]:
    """Return number of context words → surprisal of the tokens, nats; -1 is the whole context."""
    surprisals = {-1: -score.log_probability}
    surprisals |= {length: -values for length, values in score.short.items()}
    if first_word == "rest":
        for values in surprisals.values():
            values[:1] = np.where(np.isnan(values[:1]), 0.0, values[:1])
    return surprisals


def token_table(
    words, items, texts, scores, model, unit, spaces, leading_space, asked
) -> pd.DataFrame:
    """Return one row per token: its word, its characters in the text, and its measures.

    `start` and `end` (exclusive) are character offsets in the original text if the words have a
    column `START`, else in the joined words.
    """
    log, columns = results.UNITS[unit], measures.columns_of(asked, unit)
    keys = [key for key in ("word_id", "item", "position", "word") if key in words]
    parts = []
    for rows, text, score in zip(items, texts, scores, strict=True):
        owner = words.iloc[rows[text.word]][keys].reset_index(drop=True)
        start, end = _offsets(
            words.iloc[rows], text.spans, None if spaces is None else spaces[rows], leading_space
        )
        contexts = _contexts(score, "null")
        values = token_measures(asked, score.statistics, contexts, log) if columns else []
        values_of = {
            "token": [model.tokenizer.id_to_token(int(number)) for number in text.ids],
            "token_id": text.ids.astype(np.int32),
            "start": start.astype(np.int32),
            "end": end.astype(np.int32),
            f"surprisal_{unit}": contexts[-1] / log,
            "context_tokens": score.context.astype(np.int32),
        }
        parts.append(owner.assign(**values_of, **dict(zip(columns, values))))
    if not parts:
        names = ["token", "token_id", "start", "end", f"surprisal_{unit}", "context_tokens"]
        return words[keys].assign(**dict.fromkeys([*names, *columns], np.zeros(0)))
    return pd.concat(parts, ignore_index=True)


def _offsets(words: pd.DataFrame, spans, spaces, leading_space) -> tuple[np.ndarray, np.ndarray]:
    """Convert the tokens' `spans` (tokens, 2) in the joined words to offsets in the text."""
    lengths = words["word"].str.len().to_numpy()
    gaps = np.ones(len(words), int) if spaces is None else spaces.astype(int)
    joined = leading_space + np.append(0, np.cumsum(lengths + gaps)[:-1])
    begins = joined - leading_space
    if START in words and words[START].iloc[0] != -1:
        begins = words[START].to_numpy()
        if not np.issubdtype(begins.dtype, np.integer):
            raise InputError(f"the table of words: {START} is not a whole number of characters")

    def moved(places: np.ndarray) -> np.ndarray:
        word = np.maximum(np.searchsorted(joined, places, side="right") - 1, 0)
        inside = begins[word] + places - joined[word]
        # The joining space maps to the last character before the next word.
        is_space = places >= joined[word] + lengths[word]
        following = begins[np.minimum(word + 1, len(words) - 1)] - 1
        return np.maximum(np.where(is_space, following, inside), 0)

    start, end = spans[:, 0], spans[:, 1]
    return moved(start), np.where(end > start, moved(end - 1) + 1, moved(start))
