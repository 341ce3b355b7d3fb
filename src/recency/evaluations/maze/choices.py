"""Rule maze_choices: how often each LM prefers the word to its foil, by condition and position.

As in chapter 11 of the thesis, an LM chooses the word of lower surprisal; ties count as wrong.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from crosslmm.stats import bootstrap
from readingtimes import filters
from recency.errors import InputError
from recency.evaluations.contrasts import paired
from recency.figures.paths import File, Files, write_csv
from recency.scoring.foils import COLUMN, FOIL

READERS = "readers"
COLUMNS = ["lm", "label", "level", "group", "words", "accuracy", "low", "high"]
COLUMNS += ["difference", "difference_low", "difference_high", "margin_bits", "perplexity"]
REPLICATES = 2000
NO_FOILS = "no surprisal of the foils"


def main(
    words: File,
    surprisals: Files,
    out_choices: File,
    out_contrasts: File,
    lms: Sequence[Mapping],
    baseline: str,
    by: str,
    filter: str | None = None,
    condition: str | None = None,
    contrasts: Sequence[Mapping] = (),
    choices: File | None = None,
    times: Sequence[File] = (),
    seed: int = 0,
) -> None:
    """Write maze.csv (COLUMNS; levels overall, condition, position, not run) and the contrasts.

    Accuracy is in percent of the words with a foil selected by `filter`; 95 % intervals resample
    the groups of the column `by`, and differences from the baseline use the same resamples.
    margin_bits is the mean surprisal of the foil minus that of the word; perplexity is per word
    over the selected words. `choices` and `times` are readers' responses and observations: a
    reader's choice is correct where `correct` is true. `surprisals` are paths
    …/{lm}/{dataset}.parquet.
    """
    table = pd.read_parquet(words)
    for column in (FOIL, by, *([condition] if condition else [])):
        if column not in table:
            raise InputError(
                f"{words}: the words have no column {column!r}, named in experiments → maze"
            )
    kept = np.ones(len(table), bool)
    if filter:
        kept = filters.evaluated(table, "maze → filter", filter).fillna(False).to_numpy(bool)
    counted = kept & table[FOIL].notna().to_numpy()
    if not counted.any():
        raise InputError(f"{words}: no word with a foil passes maze → filter")
    paths = {Path(path).parent.name: Path(path) for path in surprisals}
    rows, judged, bits = [], {}, {}
    for lm in lms:
        name, path = lm["lm"], paths.get(lm["lm"])
        if path is None or COLUMN not in pq.read_schema(path).names:
            rows.append({"lm": name, "label": lm["label"], "level": "not run", "group": NO_FOILS})
            continue
        plain, foil = _bits(path, len(table))
        judged[name] = (foil > plain).astype(float), counted & np.isfinite(plain + foil)
        bits[name] = plain, foil - plain
    labels = {lm["lm"]: lm["label"] for lm in lms}
    if choices is not None and "correct" in pq.read_schema(choices).names:
        answers = pd.read_parquet(choices, columns=["word_id", "correct"])
        share = answers.correct.astype(float).groupby(answers.word_id).mean()
        share = share.reindex(table["word_id"]).to_numpy()
        judged[READERS], labels[READERS] = (share, counted & np.isfinite(share)), "readers"
    frames = pd.factorize(table[by])[0]
    for level, group, chosen in groups(table, condition):
        mine = {
            name: summed(right, seen & chosen, frames)
            for name, (right, seen) in judged.items()
            if (seen & chosen).any()
        }
        drawn = {name: _shares(judgements, seed) for name, judgements in mine.items()}
        for name, sums in mine.items():
            row = {"lm": name, "label": labels[name], "level": level, "group": group}
            row["words"] = int(sums[:, 1].sum())
            row["accuracy"] = 100 * sums[:, 0].sum() / sums[:, 1].sum()
            row["low"], row["high"] = bootstrap.percentiles(drawn[name])
            if name not in (baseline, READERS) and baseline in mine:
                base = mine[baseline]
                row["difference"] = row["accuracy"] - 100 * base[:, 0].sum() / base[:, 1].sum()
                row["difference_low"], row["difference_high"] = bootstrap.percentiles(
                    drawn[name] - drawn[baseline]
                )
            if name != READERS:
                row["margin_bits"] = bits[name][1][judged[name][1] & chosen].mean()
            if name != READERS and level == "overall":
                row["perplexity"] = 2 ** np.nanmean(bits[name][0][kept])
            rows.append(row)
    write_csv(out_choices, pd.DataFrame(rows, columns=COLUMNS))
    values = {name: plain for name, (plain, _) in bits.items()}
    if times:
        values = {READERS: paired.responses(times, len(table))[0]} | values
    tests = paired.tested(table[kept], {k: v[kept] for k, v in values.items()}, contrasts, by)
    write_csv(out_contrasts, tests.assign(label=tests.lm.map(labels | {READERS: "readers"})))


def _bits(path: Path, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the surprisals of words and of foils (words,), NaN if missing."""
    rows = pd.read_parquet(path, columns=["word_id", "surprisal_bits", COLUMN])
    if len(rows) != size:
        raise InputError(
            f"{path} was computed for other words than the dataset's; delete it, so that it is computed again"
        )
    table = rows.set_index("word_id").sort_index()
    return table["surprisal_bits"].to_numpy(float), table[COLUMN].to_numpy(float)


def groups(words: pd.DataFrame, condition: str | None) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield level, name and boolean mask of the words of each accuracy."""
    yield "overall", "overall", np.ones(len(words), bool)
    if condition:
        for name in sorted(words[condition].dropna().unique()):
            yield "condition", name, (words[condition] == name).to_numpy(bool)
    for position in sorted(words["position"].unique()):
        yield "position", str(position), (words["position"] == position).to_numpy()


def summed(right: np.ndarray, seen: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Return the numbers of correct words and of all words, (frames, 2)."""
    size = frames.max() + 1
    return np.stack([np.bincount(frames[seen], w, size) for w in (right[seen], None)], axis=1)


def _shares(sums: np.ndarray, seed: int) -> np.ndarray:
    """Return resampled percentages (replicates,), NaN if fewer than two frames have words."""
    if (sums[:, 1] > 0).sum() < 2:
        return np.full(REPLICATES, math.nan)
    drawn = bootstrap.draws(sums, REPLICATES, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = 100 * drawn[:, 0] / drawn[:, 1]
    return np.where(np.isfinite(shares), shares, np.nanmean(shares))
