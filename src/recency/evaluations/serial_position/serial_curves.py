"""Serial position curves, with primacy and recency, and intervals over lists and seeds."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from crosslmm.stats import bootstrap
from recency.errors import InputError
from recency.figures import comparison
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files

#: Task → its column in the files of rule remember_lists.
TASKS = {"recognition": "recognized", "recall": "recalled"}
EDGE = 3  # number of words that count as the beginning and as the end of a list
REPLICATES = 2000
CURVE = ["length", "task", "position", "percent", "low", "high"]
SUMMARY = ["length", "task", "lists", "chance"]
SUMMARY += [f"{name}{end}" for name in ("mean", "primacy", "recency") for end in ("", "_low", "_high")]  # fmt: skip
READ = ["length", "list", "studied", "position", *TASKS.values()]


def summaries(length: int) -> dict[str, np.ndarray]:
    """Return mean, primacy and recency as weights (length,) of a curve's positions.

    Primacy is the mean of the first `EDGE` positions minus that of the middle ones, recency that of
    the last `EDGE` minus that of the middle ones.
    """
    middle = np.zeros(length)
    middle[EDGE:-EDGE] = 1 / (length - 2 * EDGE)
    first = np.where(np.arange(length) < EDGE, 1 / EDGE, 0.0)
    return {
        "mean": np.full(length, 1 / length),
        "primacy": first - middle,
        "recency": first[::-1] - middle,
    }


def curves(tables: Sequence[pd.DataFrame], seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return an LM's curves (columns `CURVE`) and their summaries (`SUMMARY`), in percent.

    `tables` are the files of rule remember_lists, one per seed; curves are means over seeds. 95 %
    intervals resample lists, the same ones for each seed, and seeds (`bootstrap.resample_few`). `chance`
    is 50 for recognition and, for recall, the percentage of unstudied words in the samples. A task
    that an LM cannot do is omitted.
    """
    if any(not table[READ[:4]].equals(tables[0][READ[:4]]) for table in tables):
        raise InputError("the seeds of an LM were tested on different lists; delete their files in serial_position")  # fmt: skip
    lines, rows = [], []
    for length in dict.fromkeys(tables[0].length):
        for task, column in TASKS.items():
            values, lures = (
                np.stack([_grid(t[(t.length == length) & (t.studied == side)], column) for t in tables])
                for side in (True, False)
            )  # fmt: skip
            if np.isnan(values).any():
                continue
            drawn = _resample(values, seed)
            mean = values.mean((0, 1))
            low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
            line = {"length": length, "task": task, "position": np.arange(1, length + 1)}
            lines.append(pd.DataFrame(line | {"percent": mean, "low": low, "high": high}))
            chance = 50.0 if task == "recognition" else lures.mean()
            row = {"length": length, "task": task, "lists": values.shape[1], "chance": chance}
            for name, weights in summaries(length).items():
                ends = bootstrap.percentiles(drawn @ weights)
                row |= dict(zip((name, f"{name}_low", f"{name}_high"), (mean @ weights, *ends)))
            rows.append(row)
    if not lines:
        return pd.DataFrame(columns=CURVE), pd.DataFrame(columns=SUMMARY)
    return pd.concat(lines, ignore_index=True)[CURVE], pd.DataFrame(rows)[SUMMARY]


def read(
    scores: Files, lms: Described, seed: int = 0
) -> tuple[list[LM], Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]]:
    """Return the LMs, and LM → its curves and summaries."""
    models, files = comparison.of_seeds(scores, lms)
    tables = {lm.lm: [pd.read_parquet(path, columns=READ) for path in files[lm.lm]] for lm in models}  # fmt: skip
    return models, {name: curves(table, seed) for name, table in tables.items()}


def human(published: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return published recall as curves and summaries, without intervals, by `seconds` per word."""
    lines, rows = [], []
    for (length, seconds), mine in published.groupby(["length", "seconds"]):
        mine = mine.sort_values("position")
        if list(mine.position) != list(range(1, int(length) + 1)):
            raise InputError(f"published serial_position: lists of {length} need positions 1 to {length}, each once")  # fmt: skip
        percent = mine.recalled.to_numpy(float)
        line = {"length": length, "task": "recall", "position": mine.position, "percent": percent}
        lines.append(pd.DataFrame(line).assign(seconds=seconds))
        values = {name: percent @ weights for name, weights in summaries(int(length)).items()}
        rows.append({"length": int(length), "task": "recall", "seconds": seconds} | values)
    return pd.concat(lines, ignore_index=True), pd.DataFrame(rows)


def _grid(rows: pd.DataFrame, column: str) -> np.ndarray:
    """Return the values (lists, positions) of the words of one list length."""
    return rows.pivot(index="list", columns="position", values=column).to_numpy(float)


def _resample(values: np.ndarray, seed: int) -> np.ndarray:
    """Return bootstrap means (replicates, positions) of `values` (seeds, lists, positions)."""
    seeds, lists, _ = values.shape
    random = np.random.default_rng(seed)
    counts = random.multinomial(lists, np.full(lists, 1 / lists), REPLICATES) / lists
    shares = bootstrap.resample_few(random, seeds, REPLICATES)
    return sum(shares[:, n, None] * (counts @ mine) for n, mine in enumerate(values))
