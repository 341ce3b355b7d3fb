"""Minimal pairs: an acceptable and an unacceptable sentence each, from their files, and LMs' accuracy.

Accuracy is computed by paradigm; accuracy on a phenomenon, and overall, is the mean over its
paradigms, as in BLiMP (Warstadt et al. 2020). The pairs of a paradigm share a template, so that
they are not independent evidence on grammar: tests are reported by pairs and by paradigms.
"""

import gzip
import json
import math
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from crosslmm.stats.multiple_tests import holm
from crosslmm.stats.permutation import permutation_p
from crosslmm.stats.proportions import wilson
from readingtimes.files import atomic
from readingtimes.strict_tables import tab_separated
from recency.errors import InputError
from recency.figures.paths import File, Files, write_csv
from recency.text.utf8 import decoded

#: Columns to read, by their names in the files; a table without the first two has only paradigms.
KEYS = {
    "linguistics_term": "phenomenon",
    "field": "field",
    "UID": "paradigm",
    "sentence_good": "good",
    "sentence_bad": "bad",
}
OPTIONAL = ("linguistics_term", "field")
COLUMNS = ["pair", "paradigm", "phenomenon", "field", "good", "bad"]
#: BLiMP has 7 pairs of identical sentences among 67,000, at most 5 in a file of 1,000.
SAME_ALLOWED = 0.01

Row = tuple[int, dict[str, str]]
"""The line number in the file, and its values by the names of `KEYS`."""


def main(files: Files, out: File, labels: Mapping[str, str] = {}) -> None:
    """Write the pairs of all files, in order, to one Parquet file.

    `labels` maps phenomena or fields of the files to the names under which they are counted.
    """
    pairs = pd.concat([read(path, labels) for path in files], ignore_index=True)
    pairs.insert(0, "pair", range(len(pairs)))
    shared = pairs.groupby("paradigm").phenomenon.nunique()
    if len(twice := shared.index[shared > 1]):
        phenomena = pairs.phenomenon[pairs.paradigm == twice[0]].unique()
        raise InputError(
            f"the paradigm {twice[0]!r} has several phenomena: {', '.join(phenomena)}; give each a "
            "separate paradigm"
        )
    print(
        f"{len(pairs):,} pairs, {pairs.paradigm.nunique()} paradigms, "
        f"{pairs.phenomenon.nunique()} phenomena",
        file=sys.stderr,
    )
    with atomic(out) as path:
        pairs[COLUMNS].astype({"pair": "int32"}).to_parquet(path, index=False, compression="zstd")


def read(path: File, labels: Mapping[str, str] = {}) -> pd.DataFrame:
    r"""Read a file of pairs: columns paradigm, phenomenon, field, good, bad.

    JSON lines have all of `KEYS`, as in BLiMP's files; a table (.tsv) may lack `OPTIONAL`, and
    writes a line break within a sentence as \n. Raises InputError with file and line.
    """
    path = Path(path)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = decoded(data, path)
    table = ".tsv" in path.suffixes
    rows, same = [], []
    for line, row in _table(path, text) if table else _json_lines(path, text):
        for key in ("UID", "sentence_good", "sentence_bad"):
            if not row[key].strip():
                raise InputError(
                    f"{path}, line {line}: {key} is empty; complete or remove the line"
                )
        if row["sentence_good"] == row["sentence_bad"]:
            same.append(f"{path}, line {line}: both sentences are {row['sentence_good']!r}")
        rows.append(row)
    if not rows:
        raise InputError(f"{path} has no pairs; supply the whole file")
    if len(same) > SAME_ALLOWED * len(rows):
        raise InputError(
            f"{same[0]}, and so in {len(same)} of {len(rows)} pairs; correct or remove these lines"
        )
    for pair in same:
        print(f"{pair}: a tie for every LM", file=sys.stderr)
    pairs = pd.DataFrame(rows).rename(columns=KEYS)
    if "phenomenon" not in pairs:
        pairs["phenomenon"] = pairs["paradigm"]
    if "field" not in pairs:
        pairs["field"] = ""
    for column in ("phenomenon", "field"):
        pairs[column] = pairs[column].map(lambda term: labels.get(term, term))
    if OVERALL in set(pairs["phenomenon"]):
        raise InputError(
            f"{path}: a phenomenon is called {OVERALL!r}, as the mean of all is; rename it (`labels`)"
        )
    return pairs[COLUMNS[1:]]


def _json_lines(path: Path, text: str) -> Iterator[Row]:
    """Yield the objects of a file with one on each line."""
    for line, written in enumerate(text.split("\n"), 1):
        if not written.strip():
            continue
        try:
            entry = json.loads(written)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path}, line {line}: not JSON ({error.msg}, character {error.pos + 1}); each "
                "line must be one whole object"
            ) from None
        for key in KEYS:
            if not isinstance(entry, dict) or key not in entry:
                raise InputError(f"{path}, line {line}: no {key!r}; a pair needs {', '.join(KEYS)}")
            if not isinstance(entry[key], str):
                raise InputError(f"{path}, line {line}: {key} is {entry[key]!r}, not a string")
        yield line, {key: entry[key] for key in KEYS}


def _table(path: Path, text: str) -> Iterator[Row]:
    """Yield the rows of a tab-separated table with a header."""
    rows = tab_separated(path, text)
    header = next(rows, (1, [""]))[1]
    for key in KEYS:
        if key not in header and key not in OPTIONAL:
            raise InputError(
                f"{path}: no column {key!r}, only {', '.join(header) or 'none'}; a table of pairs "
                "is tab-separated, with UID, sentence_good and sentence_bad"
            )
        if header.count(key) > 1:
            raise InputError(f"{path}: {header.count(key)} columns are named {key!r}; keep one")
    kept = [key for key in KEYS if key in header]
    for line, fields in rows:
        if fields == [""]:
            continue
        if len(fields) != len(header):
            raise InputError(
                f"{path}, line {line}: {len(fields)} fields, and the header has {len(header)}; "
                "correct the line"
            )
        row = dict(zip(header, fields, strict=True))
        yield line, {key: row[key].replace("\\n", "\n") for key in kept}


#: Sum of tokens → column of the scores, without good_ or bad_.
CONVENTIONS = {"all tokens": "bits", "without the first": "rest_bits"}
ACCURACY_KEYS = ["lm", "label", "tokens", "compared", "level", "group"]
ACCURACY_COLUMNS = [
    *ACCURACY_KEYS,
    *("paradigms", "pairs", "ties", "accuracy", "low", "high", "low_paradigms", "high_paradigms"),
    *("difference", "difference_low", "difference_high", "p_pairs", "p_paradigms"),
    *("p_pairs_holm", "p_paradigms_holm"),
]
OVERALL = "overall"
DRAWS = 10_000
"""Numbers of bootstrap resamples and of permutations."""


def compare_accuracy(
    pairs: File,
    scores: Sequence[File],
    lms: Sequence[Mapping],
    baseline: str,
    out: File,
    seed: int = 0,
) -> None:
    """Write a row per LM and sum of tokens, for each paradigm and phenomenon and overall.

    `scores` are in the order of `lms`. Accuracies and differences (from the baseline) are in
    percent. low and high are Wilson's 95 % interval by pairs (other sentences of the same
    paradigms); those of paradigms are by bootstrap (other paradigms). `compared` marks the sums by
    which LMs are compared. p_pairs is from McNemar's exact test, p_paradigms from sign flips of
    whole paradigms' differences; Holm's correction is over the LMs (overall), or over LMs and
    phenomena.
    """
    table = pd.read_parquet(pairs, columns=["pair", "paradigm", "phenomenon"])
    judged = {lm["lm"]: judge(path, table, lm["lm"]) for lm, path in zip(lms, scores, strict=True)}
    shown = compared(judged)
    rows = []
    for tokens in CONVENTIONS:
        family = []
        for lm in lms:
            name = lm["lm"]
            if tokens not in judged[name]:
                continue
            # Without a common sum, an LM's own sum is compared with the baseline's own.
            base = tokens if tokens in judged[baseline] else shown[baseline]
            right, tied = judged[name][tokens]
            reference = None if name == baseline else judged[baseline][base][0]
            key = (name, lm["label"], tokens, tokens == shown[name])
            for level, group, chosen in groups(table):
                summary = measure(right[chosen], table.paradigm[chosen], f"{seed} {group}")
                summary["ties"] = int(tied[chosen].sum())
                if reference is not None:
                    summary |= against(
                        right[chosen], reference[chosen], table.paradigm[chosen], f"{seed} {group}"
                    )
                row = dict.fromkeys(ACCURACY_COLUMNS, math.nan)
                row |= dict(zip(ACCURACY_KEYS, (*key, level, group), strict=True)) | summary
                if level == "paradigm":
                    row |= dict.fromkeys(("p_pairs", "p_paradigms"), math.nan)
                family.append(row)
        for level in ("overall", "phenomenon"):
            tested = [row for row in family if row["level"] == level]
            for p in ("p_pairs", "p_paradigms"):
                for row, value in zip(tested, holm([row[p] for row in tested]), strict=True):
                    row[f"{p}_holm"] = value
        rows += family
    write_csv(out, pd.DataFrame(rows, columns=ACCURACY_COLUMNS))


def judge(path: File, pairs: pd.DataFrame, lm: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return, for each sum of tokens, masks (n,) of the correct pairs and of the ties.

    A tie counts as wrong.
    """
    scores = pd.read_parquet(path)
    again = "delete the file, so that the workflow computes it again"
    if not np.array_equal(scores["pair"], pairs["pair"]):
        raise InputError(f"{path} was computed for other pairs than the table's; {again}")
    judged = {}
    for tokens, column in CONVENTIONS.items():
        good, bad = (scores[f"{side}_{column}"].to_numpy(float) for side in ("good", "bad"))
        if np.isnan(good).all():
            continue
        if len(odd := np.flatnonzero(~np.isfinite(good + bad))):
            raise InputError(
                f"{path}: {column} of pair {odd[0]} is {good[odd[0]]} and {bad[odd[0]]}: {lm} assigns "
                "a sentence no probability; train the LM again"
            )
        judged[tokens] = good < bad, good == bad
    return judged


def compared(judged: Mapping[str, Mapping]) -> dict[str, str]:
    """Return the sum by which each LM is compared: a common one, or else the LM's first."""
    shared = [name for name in CONVENTIONS if all(name in sums for sums in judged.values())]
    return {lm: (shared or list(sums))[0] for lm, sums in judged.items()}


def groups(pairs: pd.DataFrame) -> Iterable[tuple[str, str, np.ndarray]]:
    """Yield level, name and mask of the pairs of each accuracy."""
    yield OVERALL, OVERALL, np.ones(len(pairs), dtype=bool)
    for level in ("phenomenon", "paradigm"):
        for name in sorted(pairs[level].unique()):
            yield level, name, (pairs[level] == name).to_numpy()


def measure(right: np.ndarray, paradigm: pd.Series, seed: str) -> dict[str, float]:
    """Return accuracy (percent), as the mean over paradigms, with its intervals."""
    codes = pd.factorize(paradigm)[0]
    sizes = np.bincount(codes)
    accuracy = 100 * np.bincount(codes, right) / sizes
    # Number of pairs whose proportion would have the variance of this mean of proportions.
    low, high = wilson(accuracy.mean() / 100, len(sizes) ** 2 / (1 / sizes).sum())
    low_paradigms, high_paradigms = bootstrap(accuracy, seed)
    return {
        "paradigms": len(sizes),
        "pairs": len(right),
        "accuracy": accuracy.mean(),
        "low": 100 * low,
        "high": 100 * high,
        "low_paradigms": low_paradigms,
        "high_paradigms": high_paradigms,
    }


def against(
    right: np.ndarray, baseline: np.ndarray, paradigm: pd.Series, seed: str
) -> dict[str, float]:
    """Compare an LM's correct pairs with the baseline's, by pair and by paradigm, in percent."""
    from scipy.stats import binomtest

    gained, lost = int((right & ~baseline).sum()), int((~right & baseline).sum())
    codes = pd.factorize(paradigm)[0]
    gains = 100 * np.bincount(codes, right.astype(float) - baseline) / np.bincount(codes)
    low, high = bootstrap(gains, seed)
    p = math.nan  # one paradigm allows no test
    if len(gains) > 1:
        p = permutation_p(gains, DRAWS, zlib.crc32(seed.encode()))
    return {
        "difference": gains.mean(),
        "difference_low": low,
        "difference_high": high,
        "p_pairs": binomtest(gained, gained + lost).pvalue if gained + lost else 1.0,
        "p_paradigms": p,
    }


def bootstrap(accuracies: np.ndarray, seed: str) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of the mean over paradigms, NaN for a single one."""
    if len(accuracies) == 1:
        return math.nan, math.nan
    # Seeded by the group: the same resamples for every LM, regardless of the rest of the table.
    random = np.random.default_rng(zlib.crc32(seed.encode()))
    means = accuracies[random.integers(len(accuracies), size=(DRAWS, len(accuracies)))].mean(axis=1)
    return tuple(np.quantile(means, [0.025, 0.975]))
