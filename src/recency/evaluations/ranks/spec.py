"""Ranks: how sure the order of an experiment's LMs is when subjects are drawn anew and all is refitted."""

from recency.evaluations.registry import Evaluation
from recency.regression import designs


def name(settings) -> str:
    """Name the draws of an experiment, as files have it: `200-seed-1`."""
    return f"{settings['replicates']}-seed-{settings.get('seed', 1)}"


def _files(study, experiment: str, model: str) -> list[str]:
    """Return the refits of every cell's full or base model, in the cells' order."""
    where, paths = name(study.experiment(experiment)["ranks"]), []
    for response, lm in study.cells(experiment):
        design = study.config["designs"][response["design"]]
        shared = model == "base" and designs.bases(design)[0] == "all"
        folder = "<results>/refits/{design}/{dataset}.{measure}".format(**response)
        paths.append(f"{folder}/{where}/{'none' if shared else lm['lm']}.{model}.parquet")
    return paths


def _problems(config, name) -> list[str]:
    """List what a ranking by refits does not go with."""
    experiment, where = config["experiments"][name], f"experiments → {name} → ranks"
    if "ranks" not in experiment:
        return []
    problems = []
    for design, listed in experiment["responses"].items():
        entry = config["designs"][design]
        if entry.get("engine", "lme4") not in ("cross_products", "lme4") or "family" in entry:
            problems.append(
                f"{where}: {design!r} is no linear mixed model, which refits alone cover"
            )
        for response in listed:
            dataset = response.partition(".")[0]
            if not config["datasets"][dataset].get("partitioned", True):
                problems.append(f"{where}: {dataset!r} has no exploratory partition")
    return problems


EVALUATION = Evaluation(
    key="ranks",
    applies=lambda study, experiment: "ranks" in study.experiment(experiment),
    standalone=False,
    inputs={
        "full": lambda study, experiment: _files(study, experiment, "full"),
        "base": lambda study, experiment: _files(study, experiment, "base"),
    },
    settings={
        "cells": lambda study, experiment: study.ranked_cells(experiment),
        "lms": lambda study, experiment: study.ranked_lms(experiment),
        "baseline": lambda study, experiment: study.ranked_baseline(experiment),
        "over": lambda study, experiment: study.base(experiment),
    },
    problems=_problems,
)
