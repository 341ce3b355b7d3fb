"""A dataset as two exported tables: its words with all predictors, and its responses."""

from collections.abc import Mapping, Sequence
from os import PathLike

import pandas as pd

from readingtimes.response_names import EVENT
from recency.errors import InputError
from recency.export.column_names import short_names
from recency.reading.observations import events, filtered, joined, partition, since_unscored
from recency.regression.designs import SURPRISAL
from recency.regression.texts import is_by_reader, read_texts

IDS = ("item", "sentence", "position", "word_id")
OF_LM = "word_id"
"""Columns of a surprisal file that are not measures of the LM."""


def word_table(
    words: str | PathLike,
    unigram: str | PathLike | None,
    surprisal: Mapping[str, str | PathLike],
) -> tuple[pd.DataFrame, dict[str, tuple[str, str]]]:
    """Return every word, one row each, and the origin of LMs' columns: name → (LM, column in its file).

    A row has the dataset's columns, length, unigram_bits, the values of the previous word, and all
    columns of each LM's file as <column>_<LM>, for surprisals also those of the previous word. A
    column of the dataset with the same name is renamed to <name>_own. Predictors are those of
    regressions, see recency.regression.predictors.
    """
    computed = {"length": "length", "unigram": "unigram_bits"}
    taken = [f"{before}{name}" for name in computed.values() for before in ("", "previous_")]
    frame = pd.read_parquet(words).rename(columns={name: f"{name}_own" for name in taken})
    texts = read_texts(words, unigram, None)
    for name, column in computed.items():
        if name in texts.predictors:
            frame[column] = texts.predictors[name]
            frame[f"previous_{column}"] = texts.predictors[f"previous_{name}"]
    frame = frame.astype({"length": "int64", "previous_length": "int64"})
    origins: dict[str, tuple[str, str]] = {}
    short = short_names(surprisal)
    for lm, path in surprisal.items():
        if is_by_reader(path):
            raise InputError(
                f"{path}: {lm} has a value per reader and word, and a table of words has one per word; "
                "export without this LM"
            )
        given = pd.read_parquet(path).set_index(OF_LM)
        added = given.reindex(frame.word_id).set_axis(frame.index)
        for column in added:
            name = f"{column}_{short[lm]}"
            frame[name], origins[name] = added[column], (lm, column)
        for variant, column in SURPRISAL.items():
            if column in added and added[column].notna().any():
                of_lm = read_texts(words, None, path, variant, first_may_lack=True)
                name = f"previous_{column}_{short[lm]}"
                frame[name] = of_lm.predictors["previous_surprisal"]
                origins[name] = (lm, f"previous_{column}")
    return frame, origins


def response_table(
    words: pd.DataFrame,
    measure: Mapping,
    responses: str | PathLike,
    scored: Sequence[str | PathLike],
) -> pd.DataFrame:
    """Return every response of a measure, one row each, including filtered ones.

    `measure` has the keys measure, filters (name and keep, in order), event (a query or None) and
    partitioned. A row has measure, subject, the word's item, sentence, position and word_id, the
    response columns, and `dropped_by`, the first filter that drops it, or otherwise `partition`:
    fit, exploratory or held_out (only fit if a dataset is not partitioned).
    """
    texts = words.copy()
    if scored:
        texts["words_since_unscored"] = since_unscored(texts, scored)
    given = pd.read_parquet(responses)
    rest = joined(texts, given)
    columns = [name for name in given if name not in ("subject", *IDS)]
    columns += [] if "previous_fixated" in columns else ["previous_fixated"]
    frame = rest[["subject", *IDS, *columns]].copy()
    frame.insert(0, "measure", measure["measure"])
    frame["dropped_by"] = pd.Series(pd.NA, frame.index, dtype="string")
    for step in measure["filters"]:
        kept, _ = filtered(rest, [step])
        frame.loc[rest.index.difference(kept.index), "dropped_by"] = step["name"]
        rest = kept
    if measure["event"]:
        frame[EVENT] = events(rest, measure["event"], str(responses))
    parts = partition(rest) if measure["partitioned"] else "fit"
    frame["partition"] = pd.Series(parts, rest.index, dtype="string").reindex(frame.index)
    return frame


def for_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with truth values as TRUE and FALSE, which R and pandas both read."""
    names = {True: "TRUE", False: "FALSE"}
    flags = [name for name in frame if pd.api.types.is_bool_dtype(frame[name].dtype)]
    return frame.assign(**{name: frame[name].astype(object).map(names) for name in flags})
