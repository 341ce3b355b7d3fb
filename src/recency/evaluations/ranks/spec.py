"""Ranks: uncertainty of the order of LMs, by refitting all regressions to resampled subjects."""

from recency.evaluations.registry import Evaluation
from recency.regression import designs


def name(settings) -> str:
    """Return the name of an experiment's draws in file names: `200-seed-1`."""
    return f"{settings['replicates']}-seed-{settings.get('seed', 1)}"


def _files(study, experiment: str, model: str) -> list[str]:
    """Return the refits of every cell's full or base model, in the order of the cells."""
    where, paths = name(study.experiment(experiment)["ranks"]), []
    for response, lm in study.cells(experiment):
        design = study.config["designs"][response["design"]]
        shared = model == "base" and designs.bases(design)[0] == "all"
        folder = "<results>/refits/{design}/{dataset}.{measure}".format(**response)
        paths.append(f"{folder}/{where}/{'none' if shared else lm['lm']}.{model}.parquet")
    return paths


def _problems(config, name) -> list[str]:
    """List settings that are incompatible with a ranking by refits."""
    experiment, where = config["experiments"][name], f"experiments → {name} → ranks"
    if "ranks" not in experiment:
        return []
    problems = []
    for design, listed in experiment["responses"].items():
        entry = config["designs"][design]
        if entry.get("engine", "lme4") not in ("cross_products", "lme4") or "family" in entry:
            problems.append(
                f"{where}: {design!r} is not a linear mixed model, the only kind supported by refits"
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
        "baseline_model": lambda study, experiment: study.base(experiment),
    },
    problems=_problems,
)
