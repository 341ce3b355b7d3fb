"""The predictors of a reading time, from the words, the LM's surprisal and the observation."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from os import PathLike

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from recency.errors import InputError
from recency.mixed.levels import Levels, levels
from recency.reading.contracts import EVENT, RESPONSES
from recency.regression import regions

PREDICTORS = (
    "length",
    "position",
    "unigram",
    "surprisal",
    "previous_length",
    "previous_unigram",
    "previous_surprisal",
    "previous_fixated",
)
EXTRA = ("foil_length", "given_length", "log_frequency")
"""Numbers that a dataset's words may have beside those, as columns of their own: the length of a
maze's other choice, and the length and log frequency that a corpus's authors took."""
CATEGORICAL = ("pos",)
"""Names that a dataset's words may have, such as parts of speech, one column each."""
GROUPS = ("subject", "sentence", "item")
SURPRISAL = {"plain": "surprisal_bits", "corrected": "corrected_bits"}


@dataclass
class Texts:
    """What is known of each word (W,) in reading order: predictors, its sentence, its item.

    `categories` has the levels of each categorical predictor; a level's indicator is the predictor
    `<name>_<level>`.
    """

    predictors: dict[str, np.ndarray]
    sentence: np.ndarray
    item: np.ndarray
    categories: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Rows:
    """The observations of one partition: raw predictors (n,), response y (n,), groups, word_id."""

    predictors: dict[str, np.ndarray]
    y: np.ndarray
    groups: dict[str, Levels]
    word: np.ndarray


def read_texts(
    words: str | PathLike,
    unigram: str | PathLike | None,
    surprisal: str | PathLike | None,
    variant: str = "plain",
    first_may_lack: bool = False,
) -> Texts:
    """Read the predictors that are properties of a word.

    length: characters of the word as displayed; position: in the sentence, from 1; unigram,
    surprisal: bits; previous_*: of the word before in the same item's text, 0 for its first word,
    whether or not that word is among the observations. Without an LM (`surprisal` is None) there is
    no surprisal, without `unigram` none of that. `variant` is `plain` or `corrected`, for the
    whitespace before the next word. A number of EXTRA may be missing where it is not asked for.
    With `first_may_lack` a word may have no surprisal (nothing stands before it in a text that is
    scored without a beginning; a table of surprisals lacks it): it is NaN, also as that of the word
    before, but there it is 0 if it begins its item.
    """
    there = pq.read_schema(words).names
    more = [name for name in (*EXTRA, *CATEGORICAL) if name in there]
    columns = ["item", "sentence", "position", "word_id", "word", *more]
    frame = pd.read_parquet(words, columns=columns)
    if not np.array_equal(frame["word_id"], np.arange(len(frame))):
        raise InputError(f"{words}: word_id is not the row number; make the file again")
    item = frame["item"].to_numpy()
    same_item = np.append(False, item[1:] == item[:-1])
    predictors = {
        "length": frame["word"].str.len().to_numpy(np.float64),
        "position": frame["position"].to_numpy(np.float64),
    }
    if unigram is not None:
        predictors["unigram"] = _bits(unigram, "surprisal_bits", len(frame))
    if surprisal is not None:
        predictors["surprisal"] = _bits(surprisal, SURPRISAL[variant], len(frame), first_may_lack)
    for name in ("length", "unigram", "surprisal"):
        if name in predictors:
            before = np.where(same_item, predictors[name], np.nan_to_num(predictors[name]))
            predictors[f"previous_{name}"] = np.where(same_item, np.roll(before, 1), 0.0)
    categories = {}
    for name in more:
        if name in EXTRA:
            predictors[name] = frame[name].to_numpy(np.float64)
            continue
        if frame[name].isna().any():
            word_id = int(frame[name].isna().argmax())
            raise InputError(
                f"{words}: {name} is missing at word_id {word_id}; every word needs one"
            )
        codes = levels(frame[name].map(lambda level: re.sub(r"\W", "_", str(level))))
        categories[name] = codes.names
        for code, level in enumerate(codes.names):
            predictors[f"{name}_{level}"] = (codes.codes == code).astype(np.float64)
    return Texts(predictors, frame["sentence"].to_numpy(), item, categories)


def read_rows(
    path: str | PathLike,
    texts: Texts,
    names: Collection[str],
    response: str = "raw",
    observed: str = RESPONSES[0],
) -> Rows:
    """Read a partition's observations with the predictors `names`.

    `observed` is the column of the response, time_ms or amplitude_uv; `response` is `raw` for its
    values or `log` for their natural logarithm.
    """
    frame = pd.read_parquet(path, columns=columns_of(path, observed))
    if frame.empty:
        raise InputError(f"{path} has no observations; see counts.csv beside it for the filters")
    word = frame["word_id"].to_numpy()
    predictors, y = values_of(frame, texts, names, response, observed, path)
    groups = {
        "subject": levels(frame["subject"]),
        "sentence": levels(texts.sentence[word]),
        "item": levels(texts.item[word]),
    }
    return Rows(predictors, y, groups, word)


def columns_of(path: str | PathLike, observed: str) -> list[str]:
    """Return the columns that a regression reads of the observations at `path`.

    Raises an InputError where they have another response than `observed`.
    """
    there = pq.read_schema(path).names
    if observed not in there:
        other = next((name for name in (*RESPONSES, EVENT) if name in there), "neither")
        raise InputError(
            f"{path} has no column {observed}, which the design's formula has on its left side, but "
            f"{other}; times are regressed by 'time_ms ~ …', ERP amplitudes by 'amplitude_uv ~ …', "
            "events by 'event ~ …': list the measure under a design of its kind"
        )
    span = ["span"] if "span" in there else []
    return ["subject", "word_id", observed, "previous_fixated", *span]


def values_of(
    frame: pd.DataFrame,
    texts: Texts,
    names: Collection[str],
    response: str,
    observed: str,
    path: str | PathLike,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the raw predictors and the response of some of the rows of `path`."""
    word = frame["word_id"].to_numpy()
    y = frame[observed].to_numpy(np.float64)
    if response == "log":
        if y.min() <= 0:
            raise InputError(
                f"{path}: {observed} is {y.min():g} in at least one row and has no logarithm; "
                "use `response: raw` in the design or filter such rows out"
            )
        y = np.log(y)
    predictors = {}
    for name in names:
        if name == "previous_fixated":
            missing = int(frame[name].isna().sum())
            if missing:
                raise InputError(
                    f"{path}: previous_fixated is missing in {missing} of {len(frame)} rows; "
                    "use a design without it where eye movements were not recorded"
                )
            predictors[name] = frame[name].to_numpy(np.float64)
        elif name in texts.predictors:
            predictors[name] = regions.over(name, texts.predictors[name], frame)
            lacking = np.isnan(predictors[name])
            if lacking.any():
                where = f"{path}: {name} is missing for word_id {word[lacking.argmax()]}"
                if name in EXTRA:
                    raise InputError(f"{where}, in the dataset's own words; filter such words out")
                raise InputError(
                    f"{where}, to which the LM gives none (its ledger says why); filter such words out "
                    "(`not sentence_first`, or `words_since_unscored > 1` with the dataset's `scored_by: "
                    "[<lm>]`); for first words set `bos: true` or `scoring: {first_word: rest}`"
                )
        elif name in EXTRA:
            raise InputError(f"the design needs {name!r}, which the dataset's words do not have")
        else:
            kind = "unigram model" if "unigram" in name else "language model"
            raise InputError(f"the design needs {name!r}, but no {kind} was given")
    return predictors, y


def word_means(rows: Rows) -> Rows:
    """Average response and predictors of each word over the subjects; words in reading order.

    De Varda & Marelli (2024) regress such means; of a log response, the mean of logarithms. There is one level of `subject`.
    """
    word, first, codes = np.unique(rows.word, return_index=True, return_inverse=True)
    counts = np.bincount(codes)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(codes, values) / counts

    groups = {"subject": Levels(np.zeros(len(word), dtype=int), ["mean"])}
    for name in ("sentence", "item"):
        old = rows.groups[name]
        chosen = levels(old.codes[first])
        groups[name] = Levels(chosen.codes, [old.names[int(code)] for code in chosen.names])
    return Rows({k: mean(v) for k, v in rows.predictors.items()}, mean(rows.y), groups, word)


def _bits(path: str | PathLike, column: str, words: int, may_lack: bool = False) -> np.ndarray:
    """Read surprisal in bits by word_id: finite values, or with `may_lack` nulls of some words."""
    frame = pd.read_parquet(path, columns=["word_id", column])
    bits = np.full(words, np.nan)
    inside = frame["word_id"].between(0, words - 1)
    bits[frame.loc[inside, "word_id"]] = frame.loc[inside, column].to_numpy(np.float64)
    null = np.isnan(bits) & np.isin(np.arange(words), frame["word_id"])
    missing = np.flatnonzero(~np.isfinite(bits) & ~(null & (may_lack and not null.all())))
    if len(missing):
        way_out = (
            "use `surprisal: plain` in the design for a model without leading-whitespace tokens"
            if column == SURPRISAL["corrected"]
            else "make the file again from the same words"
        )
        raise InputError(
            f"{path}: {column} has no finite value for {len(missing)} of {words} words, "
            f"the first at word_id {missing[0]}; {way_out}"
        )
    return bits
