"""The results of scoring: the table of contract 3, and the ledger of alignment issues."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic, write_parquet
from recency.errors import InputError

#: Nats per unit.
UNITS = {"bits": np.log(2), "nats": 1.0, "log10": np.log(10)}
#: Reasons in the ledger for words with the probability of all unknown words.
UNKNOWN = ("unknown", "has the unknown token")
LEDGER = ["word_id", "item", "word", "tokens", "reason", "treatment"]


@dataclass
class Result:
    """Surprisal of words, with alignment issues and the error of the whitespace correction."""

    table: pd.DataFrame  # one row per word, in the words' order
    ledger: pd.DataFrame  # columns LEDGER
    texts: int = 0  # texts whose whitespace correction was checked
    discrepancy: float = 0.0  # largest deviation from the text's sum, in the unit
    notes: list[str] = field(default_factory=list)  # for the log
    tokens: pd.DataFrame | None = None  # one row per token, on request

    def __post_init__(self):
        """Refuse infinite surprisal; NaN is that of words without a context or a value."""
        if (column := next((n for n in self.table if n.startswith("surprisal_")), None)) is None:
            return
        values = self.table[column].to_numpy(np.float64)
        if (odd := np.isinf(values)).any():
            raise InputError(
                f"{int(odd.sum()):,} words have an infinite surprisal, word_id "
                f"{self.table.word_id[odd].iloc[0]} first: the LM gives them no probability; take an LM "
                "that knows all words"
            )

    def write(self, out: Path, ledger: Path | None = None, name: str = "") -> None:
        """Write the table (Parquet), the ledger (CSV), and the notes (log)."""
        for note in self.notes:
            print(f"{name}: {note}" if name else note, file=sys.stderr)
        write_parquet(self.table, out)
        if ledger:
            with atomic(ledger) as part:
                self.ledger.to_csv(part, index=False, lineterminator="\n")


def nats(unit: str) -> float:
    """Return the nats per unit; raise InputError for an unknown unit."""
    if unit not in UNITS:
        raise InputError(f"unit {unit!r} is none of {', '.join(UNITS)}")
    return UNITS[unit]


def table(
    words: pd.DataFrame,
    plain: np.ndarray,
    corrected: np.ndarray,
    tokens: np.ndarray,
    context: np.ndarray,
    unit: str = "bits",
) -> pd.DataFrame:
    """Build contract 3 from surprisal in nats; columns are named by the unit."""
    nats(unit)
    return pd.DataFrame(
        {
            "word_id": words["word_id"].to_numpy(np.int32),
            f"surprisal_{unit}": plain / UNITS[unit],
            f"corrected_{unit}": corrected / UNITS[unit],
            "tokens": np.asarray(tokens, dtype=np.int32),
            "context_tokens": np.asarray(context, dtype=np.int32),
        }
    )


def word_means(scores: pd.DataFrame, words: int) -> pd.DataFrame:
    """Return contract 3 with a row per word: of a table with `subject`, the means over readers.

    Words without a value have null surprisal and no tokens. `words` is the dataset's number of words,
    whose `word_id` are the numbers of their rows.
    """
    if "subject" not in scores:
        return scores
    numbers = scores.drop(columns=["subject", "previous_word_id"])
    means = numbers.groupby("word_id").mean().reindex(range(words)).rename_axis("word_id")
    return means.reset_index().fillna({"tokens": 0, "context_tokens": 0})


def ledger(words: pd.DataFrame, rows: list[tuple[int, str, str, str]]) -> pd.DataFrame:
    """Build the ledger from (row of `words`, tokens, reason, treatment)."""
    number = [row[0] for row in rows]
    return pd.DataFrame(
        {
            "word_id": words["word_id"].to_numpy(np.int32)[number],
            "item": words["item"].to_numpy()[number],
            "word": words["word"].to_numpy()[number],
            "tokens": [row[1] for row in rows],
            "reason": [row[2] for row in rows],
            "treatment": [row[3] for row in rows],
        },
        columns=LEDGER,
    ).astype({"tokens": "str", "reason": "str", "treatment": "str"})


def copy_scores(surprisal: Path, scores_ledger: Path, out: Path, ledger: Path) -> None:
    """Copy another LM's surprisal and ledger of a dataset."""
    write_parquet(pd.read_parquet(surprisal), out)
    with atomic(ledger) as part:
        part.write_bytes(Path(scores_ledger).read_bytes())
