"""Fine-tuning runs for figures and tables: one row per run, and summaries by LM."""

from collections.abc import Iterable

import pandas as pd

from recency.evaluations.glue.scores import RUN as COLUMNS
from recency.figures import comparison
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files

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
        rows = comparison.table(path, COLUMNS)
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
    """Return published values of LMs with these labels: lm, size, task (or "ppl"), value.

    `path` is a CSV of size, model, ppl and a column per task's label.
    """
    columns = ["lm", "size", "task", "value"]
    if path is None:
        return pd.DataFrame(columns=columns)
    task_of = {task["label"]: task["task"] for task in tasks} | {"ppl": "ppl"}
    table = comparison.table(path, ["size", "model", "ppl"])
    long = table.melt(["size", "model"], var_name="column", value_name="value")
    long["lm"] = long.model.map({lm.label: lm.lm for lm in lms})
    long["task"] = long.column.map(task_of)
    return long.dropna(subset=["lm", "task"])[columns].astype({"value": float})
