"""The observations of a regression: the response, and predictors of words and observations."""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from os import PathLike

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from crosslmm.factors import Levels, levels
from readingtimes.response_names import EVENT, RESPONSES
from recency.errors import InputError
from recency.regression.coding import NO_CODING, Coding, coded, drop_incomplete, raw
from recency.regression.predictor_names import EXTRA, GROUPS
from recency.regression.texts import Texts


@dataclass
class Rows:
    """The observations of one partition: raw predictors (n,), response y (n,), groups, word_id.

    `dropped` counts the rows that were dropped because of a missing value, in all and by column.
    """

    predictors: dict[str, np.ndarray]
    y: np.ndarray
    groups: dict[str, Levels]
    word: np.ndarray
    dropped: dict[str, int] = field(default_factory=dict)


def read_rows(
    path: str | PathLike,
    texts: Texts,
    names: Collection[str],
    response: str = "raw",
    observed: str = RESPONSES[0],
    coding: Coding = NO_CODING,
) -> Rows:
    """Read a partition's observations with the predictors `names`, some of them coded by `coding`.

    `observed` is the column of the response, time_ms or amplitude_uv; `response` is `raw` for its
    values or `log` for their natural logarithm. Rows without a value in a column that `coding`
    needs are dropped, counted, and reported on standard error.
    """
    frame = pd.read_parquet(path, columns=columns_of(path, observed, coding.reads(names)))
    if frame.empty:
        raise InputError(f"{path} has no observations; see counts.csv in the same folder")
    n = len(frame)
    frame, dropped = drop_incomplete(frame, texts, coding, path)
    if dropped:
        listed = ", ".join(f"{name} {count:,}" for name, count in dropped.items() if name != "rows")
        print(
            f"{path}: {dropped['rows']:,} of {n:,} rows lack a value and are left out ({listed})",
            file=sys.stderr,
        )
        if frame.empty:
            raise InputError(f"{path}: every row lacks a value of {listed}")
    predictors, y = values_of(frame, texts, names, response, observed, path, coding)
    groups = {
        name: levels(values) for name, values in groups_of(frame, texts, coding, path).items()
    }
    return Rows(predictors, y, groups, frame["word_id"].to_numpy(), dropped)


def groups_of(
    frame: pd.DataFrame, texts: Texts, coding: Coding, path: str | PathLike
) -> dict[str, np.ndarray | pd.Series]:
    """Return the values (n,) of the grouping factors: subject, sentence, item, and a formula's."""
    word = frame["word_id"].to_numpy()
    groups = {
        "subject": frame["subject"],
        "sentence": texts.sentence[word],
        "item": texts.item[word],
    }
    more = [name for name in coding.groups if name not in GROUPS]
    return groups | {name: _as_integers(raw(name, frame, texts, path)) for name in more}


def _as_integers(values: np.ndarray) -> np.ndarray:
    """Write a grouping factor's numbers as integers if all are whole."""
    whole = values.dtype != object and bool((values == np.round(values)).all())
    return values.astype(np.int64) if whole else values


def columns_of(path: str | PathLike, observed: str, wanted: Collection[str] = ()) -> list[str]:
    """Return the columns that a regression reads from the observations at `path`.

    `wanted` columns that do not exist are left out. Raises an InputError if the response is not
    `observed`.
    """
    there = pq.read_schema(path).names
    if observed not in there:
        other = next((name for name in (*RESPONSES, EVENT) if name in there), "none")
        raise InputError(
            f"{path} has no column {observed}, which the design's formula has on its left side, but "
            f"{other}; times are regressed by 'time_ms ~ …', ERP amplitudes by 'amplitude_uv ~ …', "
            "scores without a unit by 'response ~ …', events by 'event ~ …': list the measure under "
            "a design of its kind"
        )
    usual = ["subject", "word_id", observed, "previous_fixated"]
    usual += ["span"] if "span" in there else []
    return usual + [name for name in there if name in wanted and name not in usual]


def values_of(
    frame: pd.DataFrame,
    texts: Texts,
    names: Collection[str],
    response: str,
    observed: str,
    path: str | PathLike,
    coding: Coding = NO_CODING,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the raw predictors and the response of rows of `path`."""
    y = frame[observed].to_numpy(np.float64)
    if response == "log":
        if y.min() <= 0:
            raise InputError(
                f"{path}: {observed} is {y.min():g} in at least one row and has no logarithm; "
                "use `response: raw` in the design or filter such rows out"
            )
        y = np.log(y)

    def values(name: str) -> np.ndarray:
        return _complete_column(name, frame, texts, path)

    predictors = {}
    for name in names:
        if name in coding.columns:
            predictors[name] = coded(name, coding.columns[name], values)
        else:
            predictors[name] = values(name.strip("`"))
    return predictors, y


def _complete_column(
    name: str, frame: pd.DataFrame, texts: Texts, path: str | PathLike
) -> np.ndarray:
    """Return a column of the data (n,); raise an InputError if it lacks a value."""
    if name == "previous_fixated":
        missing = int(frame[name].isna().sum())
        if missing:
            raise InputError(
                f"{path}: previous_fixated is missing in {missing} of {len(frame)} rows; "
                "use a design without it where eye movements were not recorded"
            )
        return frame[name].to_numpy(np.float64)
    values = raw(name, frame, texts, path)
    lacking = pd.isna(values)
    if lacking.any():
        word_id = frame["word_id"].to_numpy()[lacking.argmax()]
        where = f"{path}: {name} is missing for word_id {word_id}"
        if name in EXTRA:
            raise InputError(f"{where}, in the dataset's own words; filter such words out")
        raise InputError(
            f"{where}, to which the LM gives none (its ledger says why); filter such words out "
            "(`not sentence_first`, or `words_since_unscored > 1`, with previous2_ `> 2`, and the "
            "dataset's `scored_by: [<lm>]`); for first words set `bos: true` or `scoring: {first_word: rest}`"
        )
    return values


def word_means(rows: Rows) -> Rows:
    """Average the response and the predictors of each word over subjects; words in reading order.

    De Varda & Marelli (2024) regress such means. The mean of a log response is a mean of
    logarithms. `subject` has a single level.
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
    means = {name: mean(values) for name, values in rows.predictors.items()}
    return Rows(means, mean(rows.y), groups, word, rows.dropped)


def subset(rows: Rows, kept: np.ndarray) -> Rows:
    """Return the rows where `kept` (n,) is true, with only the levels that occur among them."""
    groups = {}
    for name, group in rows.groups.items():
        there, codes = np.unique(group.codes[kept], return_inverse=True)
        groups[name] = Levels(codes, [group.names[code] for code in there])
    predictors = {name: values[kept] for name, values in rows.predictors.items()}
    return Rows(predictors, rows.y[kept], groups, rows.word[kept])


def concatenate_rows(parts: Sequence[Rows]) -> Rows:
    """Concatenate the rows of several files, with the levels in natural order."""
    if len(parts) == 1:
        return parts[0]
    groups = {}
    for name in parts[0].groups:
        values = np.concatenate(
            [np.array(rows.groups[name].names)[rows.groups[name].codes] for rows in parts]
        )
        groups[name] = levels(values.astype(int) if name == "sentence" else values)
    return Rows(
        {
            name: np.concatenate([rows.predictors[name] for rows in parts])
            for name in parts[0].predictors
        },
        np.concatenate([rows.y for rows in parts]),
        groups,
        np.concatenate([rows.word for rows in parts]),
    )
