"""Time the join engine: a million rows of times on 50,000 words, next to pandas and difflib.

    python benchmarks/joins.py [--quick] [--out results/joins.<hardware>.json]

Synthetic texts of 420 items; 20 readers read each. One core.

`keys_seconds`: rows with item, sentence, position and word, numbered from 0 where the words are
numbered from 1: every candidate alignment is weighed, the alignment of characters included.
`words_seconds`: rows with item and word alone, aligned word by word for each reader. `file_seconds`:
the first, read from Parquet by the parser `table`. `ratio_vs_merge`: keys_seconds over
`pandas.merge` on the right keys, which verifies nothing. `ratio_vs_difflib`: seconds of difflib's
alignment of words over those of ours of characters, which tokens, clitics and lost punctuation
need; one reading of all texts. `peak_memory_gib`: of the process, after all of it.
The last line is one JSON object.
"""

import argparse
import difflib
import os
import resource
import tempfile
import time
from pathlib import Path

import checkout
import numpy as np
import pandas as pd
from result import keep, processor

checkout.use()

from readingtimes.contracts import word_table
from readingtimes.joins import engine, index
from readingtimes.joins.readings import aligned as align
from readingtimes.parsers import table as parser

TARGETS = {
    "keys_seconds": 10.0,
    "words_seconds": 10.0,
    "file_seconds": 20.0,
    "peak_memory_gib": 1.0,
}
"""Seconds and memory are at most so much."""


def texts(items: int, seed: int) -> pd.DataFrame:
    """Make texts of about 120 words, in sentences of 5 to 18, of words as frequent as Zipf's."""
    rng = np.random.default_rng(seed)
    letters = list("abcdefghiklmnoprst")
    vocabulary = ["".join(rng.choice(letters, n)) for n in rng.integers(1, 12, 5000)]
    share = 1 / np.arange(1, len(vocabulary) + 1)
    share /= share.sum()
    item, sentence, words, number = [], [], [], 0
    for text in range(1, items + 1):
        for size in rng.integers(5, 19, 10):
            number += 1
            chosen = [vocabulary[c] for c in rng.choice(len(vocabulary), size, p=share)]
            item += [str(text)] * size
            sentence += [number] * size
            words += chosen[:-1] + [chosen[-1] + "."]
    return word_table(item, sentence, words)


def readings(words: pd.DataFrame, readers: int) -> pd.DataFrame:
    """Return a row for each reader and word, numbered from 0, with a time in ms."""
    rows = words[["item", "word", "word_id"]].assign(
        sentence=(words["sentence"] - 1).astype(str), position=words["position"] - 1
    )
    rows = pd.concat([rows] * readers, ignore_index=True)
    rows["reader"] = np.repeat([f"r{n}" for n in range(readers)], len(words))
    return rows.assign(value=300.0 + 10 * rows["word"].str.len())


def joined(words: pd.DataFrame, rows: pd.DataFrame, columns: list[str]) -> float:
    """Return the seconds of a join whose every row must have its true word."""
    start = time.perf_counter()
    made = engine.join(words, rows[[*columns, "value"]], "the table", kind="time")
    seconds = time.perf_counter() - start
    if not (made.row == rows["word_id"].to_numpy()).all():
        raise RuntimeError("a row has another word than its own")
    return seconds


def from_file(words: pd.DataFrame, rows: pd.DataFrame) -> float:
    """Return the seconds in which the parser reads and joins a Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "times.parquet")
        rows.drop(columns="word_id").to_parquet(path)
        columns = {"subject": "reader", "SPR": "value"}
        start = time.perf_counter()
        parser.responses({"table": path}, words, "SPR", columns=columns)
        return time.perf_counter() - start


def merged(words: pd.DataFrame, rows: pd.DataFrame) -> float:
    """Return the seconds of pandas' merge on the right keys."""
    keys = ["item", "sentence", "position"]
    right = words[[*keys, "word_id"]].assign(
        sentence=(words["sentence"] - 1).astype(str), position=words["position"] - 1
    )
    start = time.perf_counter()
    rows.drop(columns="word_id").merge(right, on=keys, how="left")
    return time.perf_counter() - start


def aligned(words: pd.DataFrame, rows: pd.DataFrame) -> float:
    """Return the seconds of difflib's alignment of one reading, text by text."""
    one = rows[rows["reader"] == "r0"]
    start = time.perf_counter()
    for item, part in one.groupby("item", sort=False):
        ours = words["word"][words["item"] == item].tolist()
        difflib.SequenceMatcher(None, ours, part["word"].tolist(), False).get_matching_blocks()
    return time.perf_counter() - start


def main() -> None:
    """Run the benchmark as the command line says."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="small data, under a minute")
    arguments.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    given = arguments.parse_args()
    words = texts(40 if given.quick else 440, 1)
    rows = readings(words, 20)
    metrics = {"rows": len(rows), "words": len(words)}
    metrics["keys_seconds"] = joined(words, rows, ["item", "sentence", "position", "word"])
    metrics["words_seconds"] = joined(words, rows, ["item", "word", "reader"])
    metrics["ratio_vs_merge"] = metrics["keys_seconds"] / merged(words, rows)
    one = rows[rows["reader"] == "r0"].reset_index(drop=True)
    start = time.perf_counter()
    known = index.index(words)
    align(known, one[["item", "word"]], known.item, known.item_start)
    seconds = time.perf_counter() - start
    metrics["ratio_vs_difflib"] = aligned(words, rows) / seconds
    metrics["peak_memory_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    metrics["file_seconds"] = from_file(words, rows)
    hardware = processor(f"{len(os.sched_getaffinity(0))} cores, 1 used")
    keep("joins", hardware, metrics, TARGETS, given.out, quick=given.quick)


if __name__ == "__main__":
    main()
