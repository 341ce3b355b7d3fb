"""Filter responses as in the paper, count the dropped rows, and divide the rest into partitions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from readingtimes import filters as conditions
from readingtimes.contracts import response_column
from readingtimes.files import atomic, write_parquet
from readingtimes.gate import require_usable
from readingtimes.response_names import EVENT
from recency.errors import InputError

PARTITIONS = ("fit", "fit", "exploratory", "held_out")
NEVER = 1_000_000


def main(
    words: str | Path,
    responses: str | Path,
    filters: Sequence[Mapping[str, str]],
    out_fit: str | Path,
    out_counts: str | Path,
    out_exploratory: str | Path | None = None,
    out_held_out: str | Path | None = None,
    keep: Sequence[str] = (),
    event: str | None = None,
    surprisal: Sequence[str | Path] = (),
    response: str | None = None,
    accept: Sequence[str] = (),
    offset: int | None = None,
    language: str | None = None,
) -> None:
    """Write the partitions and counts.csv (step, kept, dropped).

    `filters` are applied in order: each `keep` is a condition on the columns of `joined`
    (readingtimes.filters) for the rows to keep. Without `out_exploratory` and `out_held_out` all
    remaining rows are in the partition `fit`. With the condition `event`, the response is whether it
    holds, 1 or 0. With `surprisal` files there is a column `words_since_unscored`, see
    `since_unscored`. `keep` lists columns for regressions; the partitions have those of the responses,
    while columns of words stay with the words.

    Data that fail a check are refused (`gate.require_usable`) unless `accept` names the check.
    `response` (<dataset>.<measure>), `offset` (the parser's shift of the times in words) and
    `language` are for these checks.
    """
    of_words, of_responses = pd.read_parquet(words), pd.read_parquet(responses)
    require_usable(of_words, of_responses, response or str(responses), accept, offset, language)
    if surprisal:
        of_words["words_since_unscored"] = since_unscored(of_words, surprisal)
    frame = joined(of_words, of_responses)
    value = EVENT if event else response_column(frame, str(responses))
    columns = ["subject", "word_id", value, "previous_fixated", "partition"]
    available = {*columns, *of_words}
    columns += ["span"] if "span" in frame else []  # of responses to several words
    columns += [name for name in of_responses if name in keep and name not in {*available, "span"}]
    frame, counts = filtered(frame, filters)
    if missing := of_responses.attrs.get(
        "missing", 0
    ):  # rows without a value, dropped by the parser
        presented = len(of_responses)
        counts[:1] = [("presented", presented + missing, 0), ("missing", presented, missing)]
    if event:
        frame[EVENT] = events(frame, event, str(responses))
    frame["partition"] = "fit" if out_exploratory is None else partition(frame)
    outs = {"fit": out_fit, "exploratory": out_exploratory, "held_out": out_held_out}
    for name, out in outs.items():
        part = frame.loc[frame.partition == name, columns]
        if out is None:
            counts.append((name, 0, None))
            continue
        if part.empty:
            raise InputError(
                f"{responses}: no observation is left for the partition {name}, of {len(frame):,} "
                f"by {frame.subject.nunique():,} subjects over {frame.sentence.nunique():,} "
                "sentences; the data are too few for three partitions"
            )
        counts.append((name, len(part), None))
        write_parquet(part, out)
    with atomic(out_counts) as temporary:
        table = pd.DataFrame(counts, columns=["step", "kept", "dropped"])
        table.astype({"dropped": "Int64"}).to_csv(temporary, index=False, lineterminator="\n")


def joined(words: pd.DataFrame, responses: pd.DataFrame) -> pd.DataFrame:
    """Join each response to its word and the flags sentence_first, _last, item_first and item_last.

    The rows stay in the order of `responses`.
    """
    words = words.sort_values("word_id")
    flags = {}
    for name in ("sentence", "item"):
        flags[f"{name}_first"] = ~words[name].duplicated()
        flags[f"{name}_last"] = ~words[name].duplicated(keep="last")
    by_word = words.assign(**flags).set_index("word_id")
    if (lost := ~responses.word_id.isin(by_word.index)).any():
        raise InputError(
            f"{lost.sum():,} responses are to unknown words (word_id "
            f"{responses.word_id[lost].iloc[0]} is one): the two files are of different data sets"
        )
    shared = [name for name in by_word if name in responses]
    frame = responses.drop(columns=shared).join(by_word, on="word_id")
    if "previous_fixated" not in frame:
        frame["previous_fixated"] = pd.NA
    return frame.astype({"previous_fixated": "boolean"})


def since_unscored(words: pd.DataFrame, surprisal: Sequence[str | Path]) -> pd.Series:
    """Return the distance in words since the last word of the item without surprisal in any file.

    0 for such a word, 1 for the next one; `NEVER` if there is none before.
    """
    lacking = pd.Series(False, index=words.index)
    for path in surprisal:
        scored = pd.read_parquet(path, columns=["word_id", "surprisal_bits"]).dropna()
        lacking |= ~words.word_id.isin(scored.word_id)
    positions = pd.Series(range(len(words)), index=words.index)
    last = positions.where(lacking).groupby(words["item"]).ffill()
    return (positions - last).fillna(NEVER).astype("int64")


def filtered(
    frame: pd.DataFrame, filters: Sequence[Mapping[str, str]]
) -> tuple[pd.DataFrame, list[tuple[str, int, int | None]]]:
    """Apply the filters in order; return the rest and (step, rows kept, rows dropped) per step."""
    counts: list[tuple[str, int, int | None]] = [("presented", len(frame), 0)]
    for step in filters:
        keep = _holds(frame, step["name"], step["keep"])
        counts.append((step["name"], int(keep.sum()), int((~keep).sum())))
        if not keep.any():
            raise InputError(
                f"filters → {step['name']}: {step['keep']!r} drops all {len(frame):,} responses "
                "that were left"
            )
        frame = frame[keep]
    return frame.copy(), counts


def events(frame: pd.DataFrame, query: str, where: str) -> pd.Series:
    """Return 1.0 for rows in which an event happened, else 0.0.

    Raises InputError if the query is undefined because a column is missing.
    """
    happened = conditions.evaluated(frame, f"event: {query!r}", query)
    if missing := [name for name in conditions.read(query).columns if frame[name].isna().any()]:
        count = int(frame[missing[0]].isna().sum())
        raise InputError(
            f"{where}: the event {query!r} needs {missing[0]}, which is missing in {count:,} of "
            f"{len(frame):,} rows; filter them out"
        )
    return happened.astype("float64")


def partition(observations: pd.DataFrame) -> pd.Series:
    """Assign each observation to fit, exploratory or held_out (Clark et al. 2025, footnote 7).

    By (number of the subject + number of the sentence) mod 4: 0 and 1 fit, 2 exploratory, 3 held out,
    so that a subject's reading of a sentence is never split. Numbers are ranks from 0 in
    `observations` (columns subject, sentence), after filtering.
    """
    ranks = [
        observations[name].rank(method="dense").astype("int64") - 1
        for name in ("subject", "sentence")
    ]
    return ((ranks[0] + ranks[1]) % len(PARTITIONS)).map(dict(enumerate(PARTITIONS))).astype("str")


def _holds(frame: pd.DataFrame, name: str, keep: str) -> pd.Series:
    """Evaluate a filter; raise InputError if it is undefined for a row."""
    holds = conditions.evaluated(frame, f"filters → {name}: {keep!r}", keep)
    return holds.fillna(False).astype(bool)
