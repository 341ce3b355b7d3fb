"""What is known of each word of a dataset: its own columns, what language models give, neighbours'."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from recency.errors import InputError
from recency.mixed.levels import levels
from recency.names import nearest
from recency.regression.designs import SURPRISAL
from recency.regression.predictor_names import CATEGORICAL, EXTRA, is_measure, measure_of, split

NO_WORD = "none"
"""The level of a word's categorical column where there is no such word before or after it."""


@dataclass
class Files:
    """Where what a word has is read from when it is asked for, and kept then."""

    words: str | PathLike
    lms: dict[str | None, str | PathLike]
    """surprisal under each LM; None is the one that the regression is for"""
    variant: str = "plain"
    first_may_lack: bool = False
    onsets: str | PathLike | None = None
    """when each word came up (recency.reading.onsets)"""
    readings: Any = None
    """these, once they were read (recency.regression.readings)"""
    read: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass
class Texts:
    """What is known of each word (W,) in reading order: predictors, its sentence, its item.

    `categories` has the levels of each categorical predictor; a level's indicator is the predictor
    `<name>_<level>`. `unit` (W,) is what words share that stand before or after one another.
    """

    predictors: dict[str, np.ndarray]
    sentence: np.ndarray
    item: np.ndarray
    categories: dict[str, list[str]] = field(default_factory=dict)
    files: Files | None = None
    unit: np.ndarray | None = None


def read_texts(
    words: str | PathLike,
    unigram: str | PathLike | None,
    surprisal: str | PathLike | None,
    variant: str = "plain",
    first_may_lack: bool = False,
    others: Mapping[str, str | PathLike] | None = None,
    spillover: str = "item",
    onsets: str | PathLike | None = None,
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

    `others` are the files of surprisal of LMs that a formula names. With `spillover` `sentence` the
    word before is sought in the sentence. `onsets` is for kernels. All else that words have, word_values() reads.
    """
    there = pq.read_schema(words).names
    more = [name for name in (*EXTRA, *CATEGORICAL) if name in there]
    columns = ["item", "sentence", "position", "word_id", "word", *more]
    frame = pd.read_parquet(words, columns=columns)
    if not np.array_equal(frame["word_id"], np.arange(len(frame))):
        raise InputError(f"{words}: word_id is not the row number; make the file again")
    item = frame["item"].to_numpy()
    same_item = np.append(False, item[1:] == item[:-1])
    unit = item if spillover == "item" else frame["sentence"].to_numpy()
    same_unit = np.append(False, unit[1:] == unit[:-1])
    predictors = {
        "length": frame["word"].str.len().to_numpy(np.float64),
        "position": frame["position"].to_numpy(np.float64),
    }
    if unigram is not None:
        predictors["unigram"] = bits_of(unigram, "surprisal_bits", len(frame))
    if surprisal is not None:
        predictors["surprisal"] = bits_of(surprisal, SURPRISAL[variant], len(frame), first_may_lack)
    for name in ("length", "unigram", "surprisal"):
        if name in predictors:
            before = np.where(same_item, predictors[name], np.nan_to_num(predictors[name]))
            predictors[f"previous_{name}"] = np.where(same_unit, np.roll(before, 1), 0.0)
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
        codes = levels(frame[name].map(mangled))
        categories[name] = codes.names
        for code, level in enumerate(codes.names):
            predictors[f"{name}_{level}"] = (codes.codes == code).astype(np.float64)
    lms = {**(others or {}), **({} if surprisal is None else {None: surprisal})}
    files = Files(words, lms, variant, first_may_lack, onsets)
    sentence = frame["sentence"].to_numpy()
    return Texts(predictors, sentence, item, categories, files, unit)


def mangled(level: object) -> str:
    """Write a level as part of a column's name."""
    return re.sub(r"\W", "_", str(level))


def word_values(texts: Texts, name: str) -> np.ndarray | None:
    """Return a word-level column (W,) by its name in a formula; None where words have none.

    Numbers are float64, NaN where missing; text is object, None where missing. `previous…_` and
    `next…_` are of another word of the unit: where there is none a number is 0, a name NO_WORD. What
    an LM does not give of a text's first word is 0 as that of another word.
    """
    if name in texts.predictors:
        return texts.predictors[name]
    if texts.files is None:
        return None
    if name not in texts.files.read:
        values = _read(texts, name)
        if values is None:
            return None
        texts.files.read[name] = values
    return texts.files.read[name]


def _read(texts: Texts, name: str) -> np.ndarray | None:
    if (values := _of_words(texts.files, name)) is not None:
        return values
    parts = split(name)
    if not parts.shift:
        return _of_lm(texts, parts.stem, parts.lm)
    whole = parts.stem if parts.lm is None else f"{parts.stem}[{parts.lm}]"
    values = word_values(texts, whole)
    if values is None:
        return None
    if parts.of_lm and values.dtype != object:
        first = np.append(True, texts.item[1:] != texts.item[:-1])
        values = np.where(np.isnan(values) & first, 0.0, values)
    return shifted(values, parts.shift, texts.unit)


def shifted(values: np.ndarray, shift: int, unit: np.ndarray) -> np.ndarray:
    """Return each word's value of the word `shift` places on, in the same unit; see word_values().

    Words of a unit stand together: values and unit (W,), in reading order.
    """
    place = np.arange(len(values)) + shift
    there = (place >= 0) & (place < len(values))
    place = np.where(there, place, 0)
    there &= unit[place] == unit
    edge: object = NO_WORD if values.dtype == object else 0.0
    found = values[place]
    found[~there] = edge
    return found


def _of_words(files: Files, name: str) -> np.ndarray | None:
    if name not in pq.read_schema(files.words).names:
        return None
    return plain(pd.read_parquet(files.words, columns=[name])[name])


def plain(values: pd.Series) -> np.ndarray:
    """Return a column as float64 (true and false as 1 and 0), or as text, None where missing."""
    if pd.api.types.is_numeric_dtype(values):
        return values.astype("Float64").to_numpy(np.float64, na_value=np.nan)
    text = values.astype(object).where(values.notna(), None)
    return np.array([None if level is None else str(level) for level in text], dtype=object)


def _of_lm(texts: Texts, stem: str, lm: str | None) -> np.ndarray | None:
    """Read what an LM gives of each word: its surprisal, or any other column of its file."""
    if lm not in texts.files.lms:
        return None
    path, files = texts.files.lms[lm], texts.files
    item = texts.item
    if stem == "surprisal":
        return bits_of(path, SURPRISAL[files.variant], len(item), files.first_may_lack)
    there = pq.read_schema(path).names
    names = {column: measure_of(column) for column in there}
    chosen = [column for column, short in names.items() if stem in (column, short)]
    if not chosen:
        if lm is None and not is_measure(stem):
            return None
        measures = sorted(set(names.values()) - {"word_id"})
        raise InputError(f"{path} has no {nearest(stem, measures)}")
    frame = pd.read_parquet(path, columns=["word_id", chosen[0]])
    values = np.full(len(item), np.nan)
    inside = frame["word_id"].between(0, len(item) - 1)
    values[frame.loc[inside, "word_id"]] = plain(frame.loc[inside, chosen[0]])
    return values


def bits_of(path: str | PathLike, column: str, words: int, may_lack: bool = False) -> np.ndarray:
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
