"""Read, check and sort the values of a user's table of responses."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.errors import InputError
from readingtimes.fixations import previous_fixated, since_fixation
from readingtimes.formats.anything import Style
from readingtimes.measures import has_later_passes
from readingtimes.own.columns import MISSING, Columns, decimal, labels
from readingtimes.response_names import AMPLITUDE, SCORE, TIME
from readingtimes.strict_tables import Table, warn


def value_column(measure: str, amplitudes: Collection[str], scores: Collection[str]) -> str:
    """Return the response column of a measure: time_ms, amplitude_uv or response.

    Parameters
    ----------
    measure : str
        The measure's name.
    amplitudes, scores : collection of str
        The options `amplitudes` (microvolts) and `scores` (no unit: ratings, cloze probabilities).

    Raises
    ------
    InputError
        If a measure is both an amplitude and a score.
    """
    if measure in amplitudes and measure in scores:
        raise InputError(f"options: {measure} is in `amplitudes` and in `scores`; leave one out")
    return AMPLITUDE if measure in amplitudes else SCORE if measure in scores else TIME


def long_table(table: Table, wide: Mapping[str, str], pattern: str) -> Table:
    """Convert a table with one column per subject to one row per word and subject."""
    if "subject" in table or "time_ms" in table:
        raise InputError(
            f"{table.path} has a column a subject ({pattern}), and a column subject, too"
        )
    rest = table.frame.drop(columns=list(wide))
    parts = [rest.assign(time_ms=table[column], subject=name) for column, name in wide.items()]
    return Table(table.path, pd.concat(parts))


def read_subjects(table: Table, mapped: Columns, names: Mapping | None) -> pd.Series:
    """Return each row's subject, `mean` without a column of subjects."""
    column = "subject" if "time_ms" in table and "subject" in table else None
    column = column or mapped.find("subject", table.frame.columns)
    if column is None:
        return pd.Series("mean", index=table.frame.index)
    return labels(table, column, names, "subjects")


def read_values(
    table: Table, column: str, missing: Sequence[str] | None, style: Style, value: str
) -> pd.Series:
    """Return the responses as numbers, NaN if missing; InputError if all are missing."""
    table = decimal(table, column, style)
    absent = MISSING if missing is None else ("", *map(str, missing))
    minimum = 0 if value == "time_ms" else None
    values = table.numbers(column, missing=absent, minimum=minimum)
    if values.isna().all():
        raise InputError(f"{table.path}: {column} has no value at all")
    return values


def without_later_passes(
    table: Table, values: pd.Series, measure: str, skipped: Mapping[str, object] | None
) -> pd.Series:
    """Set times of words skipped in first pass to 0, but for measures of later passes.

    `skipped` is the option `not_first_pass`: column → the value of a skipped word.
    """
    for column, value in (skipped or {}).items():
        if not has_later_passes(measure):
            values = values.mask(table[column] == str(value), 0.0)
    return values


def require_agreement(
    table: Table, name: str, kept: pd.Series, words: pd.DataFrame, word_id: pd.Series
) -> None:
    """Raise InputError if a column of the responses differs from the words' column of that name."""
    in_words = words[name].to_numpy()[word_id.to_numpy()]
    in_responses = kept.to_numpy()
    differs = (in_responses != in_words) & ~(pd.isna(in_responses) & pd.isna(in_words))
    if differs.any():
        first_wrong = int(np.argmax(differs))
        table.fail(
            word_id.index[first_wrong],
            f"{name} is {in_responses[first_wrong]}, in the words {in_words[first_wrong]}; keep it under another name: "
            "columns → responses",
        )


def averaged(
    table: Table, columns: Sequence[str], responses: pd.DataFrame, value: str
) -> pd.DataFrame:
    """Average responses of a subject to a word over the rows that `columns` distinguishes.

    Parameters
    ----------
    table : Table
        The rows, with the columns `columns`, as electrodes.
    columns : sequence of str
        The option `average`.
    responses : DataFrame
        Responses by row of the table, with subject, word_id and `value`.
    value : str
        The column that is averaged; rows without a value do not count.

    Raises
    ------
    InputError
        If two rows agree in all of `columns`, or differ in another column.
    """
    keys = ["subject", "word_id"]
    labels_of = table.frame.loc[responses.index, list(columns)]
    again = pd.concat([responses[keys], labels_of], axis=1).duplicated()
    if again.any():
        line = again.index[int(np.argmax(again))]
        at = ", ".join(f"{name} {table[name][line]}" for name in columns)
        table.fail(
            line,
            f"a second response of subject {responses.subject[line]} to this word at {at} "
            f"({again.sum():,} such rows); options → average names what distinguishes them",
        )
    groups = responses.groupby(keys, sort=False)
    others = [name for name in responses if name not in (*keys, value)]
    for name in others:
        if (groups[name].nunique(dropna=False) > 1).any():
            raise InputError(
                f"{table.path}: options → average: {name} differs between rows that are averaged; leave "
                "it out of `columns`, or select rows with `rows`"
            )
    means = groups.agg({value: "mean", **dict.fromkeys(others, "first")})
    warn(
        table.path,
        f"{len(responses):,} rows averaged over {', '.join(columns)} to {len(means):,} responses",
    )
    return means.reset_index()[list(responses.columns)]


def require_one_response(
    table: Table, mapped: Columns, responses: pd.DataFrame, subject: pd.Series
) -> None:
    """Raise InputError if a subject responds to a word twice."""
    again = responses.duplicated(["subject", "word_id"]).to_numpy()
    if again.any():
        first_repeated = int(np.argmax(again))
        line = responses.index[first_repeated]
        if (subject == "mean").all():
            table.fail(
                line,
                f"a second response to this word ({again.sum():,} such rows); if there are several "
                f"readers, map `subject` (there is no column {mapped.name('subject')})",
            )
        table.fail(
            line,
            f"subject {subject.iloc[first_repeated]} has a response to this word already "
            f"({again.sum():,} such rows)",
        )


def sort_by_word(path: Path, responses: pd.DataFrame, words: pd.DataFrame) -> pd.DataFrame:
    """Sort each subject's words within a text; report if the order changed."""
    item = words["item"].to_numpy()[responses.word_id.to_numpy()]
    rank = responses.groupby("subject", sort=False).ngroup().to_numpy()
    text = pd.DataFrame({"subject": rank, "item": item})
    text = text.groupby(["subject", "item"], sort=False).ngroup().to_numpy()
    order = np.lexsort((responses.word_id.to_numpy(), text, rank))
    moved = int((order != np.arange(len(responses))).sum())
    if moved:
        warn(path, f"{moved:,} rows were out of reading order, and are sorted by subject and word")
    return responses.iloc[order].reset_index(drop=True)


def add_fixation_history(responses: pd.DataFrame, words: pd.DataFrame, value: str) -> pd.DataFrame:
    """Add words_since_fixation and previous_fixated if missing.

    A column `first_pass` says which words were fixated; without it, those with a response above 0.
    """
    item = pd.Series(words["item"].to_numpy()[responses.word_id.to_numpy()], index=responses.index)
    read = pd.DataFrame({"subject": responses.subject, "item": item}).drop_duplicates()
    all_words = read.merge(words[["item", "word_id"]], on="item", how="left", sort=False)
    says = "first_pass" if "first_pass" in responses else value
    if responses[says].dtype.kind not in "biuf":
        raise InputError(
            "options → columns → first_pass: its column says of each word whether it was fixated in "
            "first pass, as 0 and 1 or true and false; map such a column, or leave it out"
        )
    rows = all_words.merge(
        responses[["subject", "word_id", says]], on=["subject", "word_id"], how="left"
    )
    rows = rows.astype({"subject": "str"})
    fixated = rows[says].astype(float) > 0
    rows["words_since_fixation"] = since_fixation(fixated)
    rows["previous_fixated"] = previous_fixated(fixated, [rows.subject, rows["item"]])
    new = [n for n in ("words_since_fixation", "previous_fixated") if n not in responses]
    history = rows.set_index(["subject", "word_id"])[new]
    index = pd.MultiIndex.from_frame(responses[["subject", "word_id"]])
    return responses.assign(**{name: history[name].reindex(index).to_numpy() for name in new})


def drop_missing(
    path: Path, responses: pd.DataFrame, value: str, measure: str, skipped: bool
) -> pd.DataFrame:
    """Drop and report responses without a value, or treat them as unfixated words."""
    gone = responses[value].isna()
    if not gone.any():
        return responses
    if skipped and value == "time_ms":
        warn(
            path,
            f"{gone.sum():,} of {len(responses):,} times of {measure} are missing: 0, not fixated",
        )
        return responses.assign(time_ms=responses.time_ms.fillna(0.0))
    warn(
        path,
        f"{gone.sum():,} of {len(responses):,} responses of {measure} dropped, without a value",
    )
    kept = responses[~gone].reset_index(drop=True)
    kept.attrs["missing"] = int(gone.sum())  # for counts.csv
    return kept
