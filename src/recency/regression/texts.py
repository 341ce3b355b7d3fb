"""Word-level columns of a dataset: its own, those of language models, and neighbouring words'."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from crosslmm.factors import levels
from readingtimes.contracts import whole_units
from readingtimes.names import nearest
from recency.errors import InputError
from recency.regression.designs import SURPRISAL
from recency.regression.predictor_names import CATEGORICAL, EXTRA, is_measure, measure_of, split

NO_WORD = "none"
"""The level of a neighbouring word's categorical column if there is no such word."""


@dataclass
class Files:
    """The files that columns are read from on demand, and the columns read so far."""

    words: str | PathLike
    lms: dict[str | None, str | PathLike]
    """surprisal under each LM; None is the LM that the regression is for"""
    variant: str = "plain"
    first_may_lack: bool = False
    read: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass
class Texts:
    """Data of each word (W,) in reading order: predictors, sentence, item.

    `categories` has the levels of each categorical predictor; a level's indicator is the predictor
    `<name>_<level>`. `unit` (W,) is the unit within which preceding and following words are found,
    `whole` (W,) the stimulus that is resampled as a whole; None where that is the sentence.
    `by_fixation`: preceding words are those that a reader fixated before.
    """

    predictors: dict[str, np.ndarray]
    sentence: np.ndarray
    item: np.ndarray
    categories: dict[str, list[str]] = field(default_factory=dict)
    files: Files | None = None
    unit: np.ndarray | None = None
    whole: np.ndarray | None = None
    by_fixation: bool = False


def read_texts(
    words: str | PathLike,
    unigram: str | PathLike | None,
    surprisal: str | PathLike | None,
    variant: str = "plain",
    first_may_lack: bool = False,
    others: Mapping[str, str | PathLike] | None = None,
    spillover: str = "item",
) -> Texts:
    """Read the predictors that are properties of a word.

    length: characters of the word as displayed; position: in the sentence, from 1; unigram,
    surprisal: bits; previous_*: of the preceding word in the same item, 0 for the item's first
    word, whether or not that word is among the observations. Without an LM (`surprisal` is None)
    there is no surprisal, and without `unigram` no unigram surprisal. `variant` is `plain` or
    `corrected`, for the whitespace before the next word. Numbers of EXTRA may be missing where they
    are not needed. With `first_may_lack` a word may have no surprisal, such as a text's first word
    if the LM has no beginning-of-text token: it is NaN, also as the preceding word's, except that
    an item's first word then counts as 0.

    A file with a column `subject` has a value per reader and word, which `reader_values` returns.

    `others` are the surprisal files of the LMs that a formula names. With `spillover` `sentence`,
    preceding words are looked up within the sentence; with `fixation`, `fixated_values` looks them up.
    word_values() reads all other columns
    of words.
    """
    there = pq.read_schema(words).names
    more = [name for name in (*EXTRA, *CATEGORICAL) if name in there]
    columns = ["item", "sentence", "position", "word_id", "word", *more]
    columns += ["stimulus"] if "stimulus" in there else []
    frame = pd.read_parquet(words, columns=columns)
    if not np.array_equal(frame["word_id"], np.arange(len(frame))):
        raise InputError(f"{words}: word_id is not the row number; make the file again")
    item = frame["item"].to_numpy()
    same_item = np.append(False, item[1:] == item[:-1])
    unit = frame["sentence"].to_numpy() if spillover == "sentence" else item
    same_unit = np.append(False, unit[1:] == unit[:-1])
    predictors = {
        "length": frame["word"].str.len().to_numpy(np.float64),
        "position": frame["position"].to_numpy(np.float64),
    }
    if unigram is not None:
        predictors["unigram"] = read_bits(unigram, "surprisal_bits", len(frame))
    if surprisal is not None and not is_by_reader(surprisal):
        predictors["surprisal"] = read_bits(
            surprisal, SURPRISAL[variant], len(frame), first_may_lack
        )
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
        codes = levels(frame[name].map(as_identifier))
        categories[name] = codes.names
        for code, level in enumerate(codes.names):
            predictors[f"{name}_{level}"] = (codes.codes == code).astype(np.float64)
    lms = {**(others or {}), **({} if surprisal is None else {None: surprisal})}
    files = Files(words, lms, variant, first_may_lack)
    sentence = frame["sentence"].to_numpy()
    units = whole_units(frame)
    whole = None if units.name == "sentence" else units.to_numpy()
    by_fixation = spillover == "fixation"
    return Texts(predictors, sentence, item, categories, files, unit, whole, by_fixation)


def as_identifier(level: object) -> str:
    """Write a level such that it can be part of a column's name."""
    return re.sub(r"\W", "_", str(level))


def word_values(texts: Texts, name: str) -> np.ndarray | None:
    """Return a word-level column (W,) by its name in a formula; None if words have no such column.

    Numbers are float64, NaN if missing; text is object, None if missing. `previous…_` and `next…_`
    refer to another word of the unit; if there is none, a number is 0 and a text NO_WORD. A measure
    that an LM lacks for a text's first word is 0 as the preceding word's.
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
    """Return the value of the word `shift` places later in the same unit (W,); see word_values().

    The words of a unit are contiguous: values and unit (W,) are in reading order.
    """
    index = np.arange(len(values)) + shift
    there = (index >= 0) & (index < len(values))
    index = np.where(there, index, 0)
    there &= unit[index] == unit
    edge: object = NO_WORD if values.dtype == object else 0.0
    result = values[index]
    result[~there] = edge
    return result


def _of_words(files: Files, name: str) -> np.ndarray | None:
    if name not in pq.read_schema(files.words).names:
        return None
    return plain(pd.read_parquet(files.words, columns=[name])[name])


def plain(values: pd.Series) -> np.ndarray:
    """Return a column as float64 (booleans as 0 and 1) or as text, None if missing."""
    if pd.api.types.is_numeric_dtype(values):
        return values.astype("Float64").to_numpy(np.float64, na_value=np.nan)
    text = values.astype(object).where(values.notna(), None)
    return np.array([None if level is None else str(level) for level in text], dtype=object)


def _of_lm(texts: Texts, stem: str, lm: str | None) -> np.ndarray | None:
    """Read an LM's column of each word: its surprisal, or any other column of its file."""
    if lm not in texts.files.lms or is_by_reader(texts.files.lms[lm]):
        return None
    path, files = texts.files.lms[lm], texts.files
    item = texts.item
    if stem == "surprisal":
        return read_bits(path, SURPRISAL[files.variant], len(item), files.first_may_lack)
    column = _column(path, stem, lm)
    if column is None:
        return None
    frame = pd.read_parquet(path, columns=["word_id", column])
    values = np.full(len(item), np.nan)
    inside = frame["word_id"].between(0, len(item) - 1)
    values[frame.loc[inside, "word_id"]] = plain(frame.loc[inside, column])
    return values


def _column(path: str | PathLike, stem: str, lm: str | None) -> str | None:
    """Return the column of an LM's file with a measure; None if the name may be of something else."""
    names = {column: measure_of(column) for column in pq.read_schema(path).names}
    chosen = [column for column, short in names.items() if stem in (column, short)]
    if not chosen:
        if lm is None and not is_measure(stem):
            return None
        measures = sorted(set(names.values()) - {"word_id", "subject", "previous_word_id"})
        raise InputError(f"{path} has no {nearest(stem, measures)}")
    return chosen[0]


def is_by_reader(path: str | PathLike) -> bool:
    """Return whether an LM's file has a value per reader and word (contract 3 with `subject`)."""
    return "subject" in pq.read_schema(path).names


def reader_values(texts: Texts, name: str, frame: pd.DataFrame) -> np.ndarray | None:
    """Return an LM's column (n,) for each reader and word of observations; None for other columns.

    `previous…_` refers to the word that the reader fixated before the first fixation of the word (0 if
    there is none), `previous2…_` to the one before that in the same sense.

    Parameters
    ----------
    texts : Texts
        The words, with the files of LMs.
    name : str
        A name in a formula.
    frame : DataFrame
        Observations: subject and word_id.

    Raises
    ------
    InputError
        For a name that is not defined for readers, and for readers or words without fixations, with
        their number.
    """
    parts, files = split(name), texts.files
    if files is None or name in pq.read_schema(files.words).names:
        return None
    path = files.lms.get(parts.lm)
    if path is None or not is_by_reader(path) or not (parts.of_lm or is_measure(parts.stem)):
        return None
    if parts.shift > 0 or "span" in frame:
        raise InputError(
            f"{path}: {name} is not defined for the contexts of readers, which have values of single "
            "fixated words; use the word's own, or `previous_…`"
        )
    stem = SURPRISAL[files.variant] if parts.stem == "surprisal" else parts.stem
    column = _column(path, stem, parts.lm)
    table = pd.read_parquet(path, columns=["subject", "word_id", column, "previous_word_id"])
    table = table.set_index(["subject", "word_id"])
    subject, word = frame["subject"].astype("str").to_numpy(), frame["word_id"].to_numpy()
    for _ in range(-parts.shift):
        word = _of_rows(table["previous_word_id"], subject, word, path)
    return _of_rows(table[column], subject, word, path)


def fixated_values(
    texts: Texts, name: str, frame: pd.DataFrame, path: str | PathLike
) -> np.ndarray | None:
    """Return a column (n,) of the word that the reader had fixated before; None for other columns.

    That word is `words_since_fixation` words before an observation's; without one in the same text, a
    number is 0 and a text NO_WORD, as a text's first word has.

    Raises
    ------
    InputError
        For words further away than the one fixated before, and observations without eye movements.
    """
    parts = split(name)
    if not texts.by_fixation or not parts.shift or name in frame:
        return None
    whole = parts.stem if parts.lm is None else f"{parts.stem}[{parts.lm}]"
    values = word_values(texts, whole)
    if values is None:
        return None
    if parts.shift != -1 or "words_since_fixation" not in frame:
        raise InputError(
            f"{path}: with `spillover: fixation`, {name} needs words_since_fixation, and refers to the word "
            "fixated before (`previous_…`) alone; take `spillover: item`"
        )
    word = frame["word_id"].to_numpy()
    distance = frame["words_since_fixation"].to_numpy(np.float64)
    at = word - np.where(distance > 0, distance, len(texts.item)).astype(int)
    there = (at >= 0) & (texts.item[np.maximum(at, 0)] == texts.item[word])
    result = values[np.where(there, at, 0)]
    result[~there] = NO_WORD if values.dtype == object else 0.0
    return np.nan_to_num(result) if parts.of_lm and values.dtype != object else result


def _of_rows(
    values: pd.Series, subject: np.ndarray, word: np.ndarray, path: str | PathLike
) -> np.ndarray:
    """Return the values of subjects' words (n,); those of no word (-1) are 0 for values, -1 for words."""
    none = word < 0
    at = values.index.get_indexer(pd.MultiIndex.from_arrays([subject, word]))
    if (lost := ~none & (at < 0)).any():
        first = int(lost.argmax())
        readers = len(set(subject[lost]) - set(values.index.get_level_values("subject")))
        raise InputError(
            f"{path}: {lost.sum():,} of {len(word):,} observations are of words without a fixation of "
            f"their reader, word_id {word[first]} of subject {subject[first]} first ({readers:,} readers "
            "have none at all); filter them out (`time_ms > 0`), or take a measure of fixated words"
        )
    nothing = -1 if values.name == "previous_word_id" else 0.0
    return np.where(none, nothing, values.to_numpy()[at])


def read_bits(path: str | PathLike, column: str, words: int, may_lack: bool = False) -> np.ndarray:
    """Read surprisal in bits by word_id; all finite, or with `may_lack` null for some words."""
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
