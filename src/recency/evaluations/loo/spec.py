"""Leave-one-out cross-validation of Bayesian models (`engine: brms`), relative to their baselines."""

from recency.evaluations.registry import Evaluation
from recency.regression import designs


def _bayesian(study, response: dict) -> bool:
    return study.config["designs"][response["design"]]["engine"] == "brms"


def _cells(study, experiment: str) -> list[tuple[dict, dict]]:
    """Return every pair of response and LM of an experiment whose design uses brms."""
    return [cell for cell in study.cells(experiment) if _bayesian(study, cell[0])]


def _applies(study, experiment: str) -> bool:
    plain = not study.experiment(experiment).keys() & {"sensitivity", "steps"}
    return plain and any(_bayesian(study, r) for r in study.all_responses(experiment))


def _files(study, experiment: str, model: str, ending: str = "json") -> list[str]:
    """Return the file of every cell's full or base model, in the order of the cells."""
    paths = []
    for response, lm in _cells(study, experiment):
        design = study.config["designs"][response["design"]]
        shared = model == "base" and designs.bases(design)[0] == "all"
        folder = "<results>/regression/{design}/{dataset}.{measure}".format(**response)
        paths.append(f"{folder}/{'none' if shared else lm['lm']}.{model}.{ending}")
    return paths


EVALUATION = Evaluation(
    key="responses",
    applies=_applies,
    inputs={
        "full": lambda study, experiment: _files(study, experiment, "full"),
        "base": lambda study, experiment: _files(study, experiment, "base"),
        "full_observations": lambda study, experiment: _files(study, experiment, "full", "parquet"),
        "base_observations": lambda study, experiment: _files(study, experiment, "base", "parquet"),
    },
    settings={
        "cells": lambda study, experiment: [
            {"lm": lm["lm"], "label": lm["label"], "response": response["label"]}
            | {key: response[key] for key in ("dataset", "measure", "design")}
            for response, lm in _cells(study, experiment)
        ]
    },
)
