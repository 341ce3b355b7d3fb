"""Filter responses as in the paper, count the dropped rows, and divide the rest into partitions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from readingtimes.contracts import response_column, whole_units
from readingtimes.files import atomic, write_parquet
from readingtimes.gate import require_usable
from readingtimes.observations import events, filtered, joined
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

    `filters` are applied in order: each `keep` is a condition on the columns of
    `readingtimes.observations.joined` for the rows to keep. Without `out_exploratory` and `out_held_out` all
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
    whole = whole_units(of_words).name  # of all words, as in regressions
    divided = frame[["subject", *dict.fromkeys(["sentence", whole])]].assign(
        **{name: frame[name] for name in ("condition",) if name in frame}
    )
    frame["partition"] = "fit" if out_exploratory is None else partition(divided)
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


def partition(observations: pd.DataFrame) -> pd.Series:
    """Assign each observation to fit, exploratory or held_out (Clark et al. 2025, footnote 7).

    By (number of the subject + number of the sentence) mod 4: 0 and 1 fit, 2 exploratory, 3 held out,
    so that a subject's reading of a sentence is never split; of an experiment's items, that of a
    stimulus in all its conditions (`readingtimes.contracts.whole_units`). Numbers are ranks from 0 in
    `observations` (columns subject, sentence), after filtering.

    The conditions of a Latin square are also by subject + item: partitions by the same sum would be
    conditions. With the columns stimulus and condition, a subject's number is therefore its rank among
    those who read the stimulus in the same conditions, and a stimulus's its rank among those that the
    subject read in the same ones, so that each partition has each condition of each item and subject.
    Where all read all conditions, these are the same ranks.
    """
    whole = whole_units(observations)
    ranks = pd.DataFrame(
        {
            "subject": observations["subject"].rank(method="dense").astype("int64") - 1,
            "whole": whole.rank(method="dense").astype("int64") - 1,
        }
    )
    if whole.name == "stimulus" and "condition" in observations:
        ranks = _ranks_within_conditions(ranks, observations["condition"].astype("str"))
    numbers = ranks.sum(axis=1) % len(PARTITIONS)
    return numbers.map(dict(enumerate(PARTITIONS))).astype("str")


def _ranks_within_conditions(ranks: pd.DataFrame, condition: pd.Series) -> pd.DataFrame:
    """Return `ranks` of subjects and stimuli as ranks within the conditions that a subject read."""
    keys = list(ranks)
    read = ranks.assign(read=condition).drop_duplicates().sort_values("read")
    readings = read.groupby(keys)["read"].agg("\n".join).reset_index()
    for key, other in zip(keys, reversed(keys), strict=True):
        within = readings.groupby([other, "read"])[key].rank(method="dense")
        readings[f"{key}_within"] = within.astype("int64") - 1
    found = ranks.merge(readings, on=keys, how="left").set_axis(ranks.index)
    return found[[f"{key}_within" for key in keys]]
