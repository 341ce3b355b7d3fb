"""Delayed effects: the response functions of lags() and deconvolve() in designs' formulas."""

from recency.evaluations.registry import Evaluation
from recency.regression import delay_terms, designs


def cells(study, experiment: str) -> list[tuple[dict, dict]]:
    """Return every pair of response and LM of an experiment whose design has a delayed effect."""
    return [cell for cell in study.cells(experiment) if _is_delayed(study, cell[0])]


def _is_delayed(study, response: dict) -> bool:
    design = study.config["designs"][response["design"]]
    if not any(f"{name}(" in design["formula"] for name in delay_terms.DELAYS):
        return False
    predictors = designs.read(design).predictors
    return any(delay_terms.delay_of(term) is not None for term in predictors)


def _applies(study, experiment: str) -> bool:
    asked = study.all_responses(experiment)
    plain = not study.experiment(experiment).keys() & {"sensitivity", "steps"}
    return plain and any(_is_delayed(study, response) for response in asked)


def _named(study, experiment: str) -> list[dict]:
    return [
        {"lm": lm["lm"], "label": lm["label"]}
        | {key: response[key] for key in ("dataset", "measure", "design")}
        for response, lm in cells(study, experiment)
    ]


EVALUATION = Evaluation(
    key="responses",
    applies=_applies,
    inputs={
        "full": lambda study, experiment: [
            "<results>/regression/{design}/{dataset}.{measure}".format(**response)
            + f"/{lm['lm']}.full.json"
            for response, lm in cells(study, experiment)
        ],
    },
    settings={
        "cells": _named,
        "delayed_responses": lambda study, experiment: [
            response for response in study.all_responses(experiment) if _is_delayed(study, response)
        ],
    },
)
