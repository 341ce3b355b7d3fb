"""Smooths: additive models (`engine: gam`) compared with linear ones."""

from recency.evaluations.registry import Evaluation
from recency.regression import designs


def cells(study, experiment: str) -> list[tuple[dict, dict]]:
    """Return every pair of response and LM of an experiment whose design is an additive model."""
    return [cell for cell in study.cells(experiment) if _additive(study, cell[0])]


def _additive(study, response: dict) -> bool:
    return study.config["designs"][response["design"]]["engine"] == "gam"


def _applies(study, experiment: str) -> bool:
    asked = study.all_responses(experiment)
    plain = not study.experiment(experiment).keys() & {"sensitivity", "steps"}
    return plain and any(_additive(study, response) for response in asked)


def _files(study, experiment: str, model: str, ending: str = "json") -> list[str]:
    """Return the file of every cell's full, linear or base model, in the order of the cells."""
    paths = []
    for response, lm in cells(study, experiment):
        design = study.config["designs"][response["design"]]
        shared = model == "base" and designs.bases(design)[0] == "all"
        folder = "<results>/regression/{design}/{dataset}.{measure}".format(**response)
        paths.append(f"{folder}/{'none' if shared else lm['lm']}.{model}.{ending}")
    return paths


def _named(study, experiment: str) -> list[dict]:
    return [
        {"lm": lm["lm"], "label": lm["label"]}
        | {key: response[key] for key in ("dataset", "measure", "design")}
        | {"of_interest": study.config["designs"][response["design"]]["of_interest"]}
        for response, lm in cells(study, experiment)
    ]


EVALUATION = Evaluation(
    key="responses",
    applies=_applies,
    inputs={
        **{
            model: lambda study, experiment, model=model: _files(study, experiment, model)
            for model in ("full", "linear", "base")
        },
        **{
            f"{model}_observations": lambda study, experiment, model=model: _files(
                study, experiment, model, "parquet"
            )
            for model in ("full", "linear", "base")
        },
    },
    settings={
        "cells": _named,
        "additive_responses": lambda study, experiment: [
            response for response in study.all_responses(experiment) if _additive(study, response)
        ],
    },
)
