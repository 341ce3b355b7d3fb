"""Fine-tuning runs for figures and tables: scores of predictions, one row per run, summaries by LM."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from recency.figures import comparison
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files

COLUMNS = ["accuracy", "matthews", "f1", "mse", "pearson", "constant"]
#: Columns of a file of runs.
RUN = ["seed", "epoch", "train_loss", *COLUMNS, "majority", "majority_f1", "train", "dev", "cut"]
#: Predicted scores with less than this share of the true scores' spread count as constant.
FLAT = 0.1


def score_labels(predicted: np.ndarray, true: np.ndarray) -> dict:
    """Return accuracy, multi-class Matthews coefficient, F1 of the last label, and constant.

    Matthews' coefficient and F1 are 0 where they are 0/0, as for constant predictions.
    """
    classes = int(max(predicted.max(), true.max())) + 1
    table = np.zeros((classes, classes))
    np.add.at(table, (true, predicted), 1)
    n, right = table.sum(), np.trace(table)
    there, guesses = table.sum(1), table.sum(0)
    # Gorodkin (2004), equation 8; for two labels (tp·tn - fp·fn) / √(…).
    under = np.sqrt((n**2 - guesses @ guesses) * (n**2 - there @ there))
    both = there[-1] + guesses[-1]
    return {
        "accuracy": right / n,
        "matthews": (right * n - there @ guesses) / under if under else 0.0,
        "f1": 2 * table[-1, -1] / both if both else 0.0,
        "constant": len(np.unique(predicted)) == 1,
    }


def score_numbers(predicted: np.ndarray, true: np.ndarray) -> dict:
    """Return mean squared error, Pearson's correlation (0 for a constant), and constant."""
    predicted, true = predicted.astype(float), true.astype(float)
    flat = predicted.std() < FLAT * true.std()
    spread = predicted.std() * true.std()
    covariance = np.mean((predicted - predicted.mean()) * (true - true.mean()))
    return {
        "mse": float(np.mean((predicted - true) ** 2)),
        "pearson": covariance / spread if spread else 0.0,
        "constant": bool(flat),
    }


def majority(true: np.ndarray, labels: bool) -> dict:
    """Return accuracy or squared error of a constant prediction (`majority`) and `majority_f1`."""
    if not labels:
        return {"majority": float(true.astype(float).var()), "majority_f1": np.nan}
    counts = np.bincount(true)
    scores = score_labels(np.full(len(true), counts.argmax()), true)
    return {"majority": scores["accuracy"], "majority_f1": scores["f1"]}


MEASURES = {"matthews": "Matthews", "f1": "F1", "pearson": "Pearson"}


def lms_of(variants: Described) -> list[LM]:
    """Return the LMs in order, without duplicates for their seeds."""
    once = {variant["lm"]: variant for variant in variants}
    return comparison.records(once.values(), [])[0]


def read(runs: Files, variants: Described, tasks: Described) -> pd.DataFrame:
    """Return one row per run from rule fine_tune's files, by LM and task.

    Columns: lm, label, variant (the LM with its seed), task, seed (of the fine-tuning), best and
    last (percent correct, or squared error), best_epoch, epochs, measure and its value at the last
    epoch (`measured`), ended (whether predictions became constant), majority and majority_measured
    (scores of a constant prediction), train, dev, cut.
    """
    here = [task for task in tasks if not task["not_run"]]
    cells = [(variant, task) for variant in variants for task in here]
    records = []
    for path, (variant, task) in zip(runs, cells, strict=True):
        rows = comparison.table(path, RUN)
        figure = "mse" if task["measure"] == "pearson" else "accuracy"
        scale = 1 if figure == "mse" else 100
        for seed, run in rows.groupby("seed", sort=False):
            last = run.loc[run.epoch.idxmax()]
            best = run.loc[run[figure].idxmin() if figure == "mse" else run[figure].idxmax()]
            records.append(
                {
                    "lm": variant["lm"], "label": variant["label"], "variant": variant["variant"],
                    "task": task["task"], "seed": seed, "figure": figure,
                    "best": scale * best[figure], "best_epoch": int(best.epoch),
                    "last": scale * last[figure], "epochs": int(last.epoch),
                    "measure": task["measure"], "measured": last[task["measure"]],
                    "ended": str(last.constant) == "True", "majority": scale * last.majority,
                    "majority_measured": last.majority_f1 if task["measure"] == "f1" else 0.0,
                    "train": int(last.train), "dev": int(last.dev), "cut": int(last.cut),
                }
            )  # fmt: skip
    return pd.DataFrame(records)


def summed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per LM and task: means over runs, range of `best`, number of constant runs."""
    by = rows.groupby(["lm", "task"], sort=False)
    summary = by.agg(
        label=("label", "first"), figure=("figure", "first"), measure=("measure", "first"),
        runs=("best", "size"), best=("best", "mean"), low=("best", "min"), high=("best", "max"),
        last=("last", "mean"), measured=("measured", "mean"), ended=("ended", "sum"),
        majority=("majority", "first"), majority_measured=("majority_measured", "first"), epochs=("epochs", "first"), train=("train", "first"),
        dev=("dev", "first"), cut=("cut", "first"),
    )  # fmt: skip
    return summary.reset_index()


def published(path: File | None, tasks: Described, lms: Iterable[LM]) -> pd.DataFrame:
    """Return published values of LMs with these labels: lm, task (or "ppl"), published.

    `path` is a CSV of label, ppl and a column per task's label.
    """
    columns = ["lm", "task", "published"]
    if path is None:
        return pd.DataFrame(columns=columns)
    task_of = {task["label"]: task["task"] for task in tasks} | {"ppl": "ppl"}
    table = comparison.table(path, ["label", "ppl"]).drop(columns="size", errors="ignore")
    long = table.melt("label", var_name="column", value_name="published")
    long["lm"] = long.label.map({lm.label: lm.lm for lm in lms})
    long["task"] = long.column.map(task_of)
    return long.dropna(subset=["lm", "task"])[columns].astype({"published": float})
