"""Linearity: linking functions of a sensitivity grid, compared with the linear effect."""

from recency import grids
from recency.evaluations.registry import Evaluation
from recency.planned import Planned

LINEAR = "linear"


def _functions(study: Planned, experiment: str) -> list:
    return study.experiment(experiment).get("sensitivity", {}).get("linking", [])


def _applies(study: Planned, experiment: str) -> bool:
    functions = _functions(study, experiment)
    return len(functions) > 1 and LINEAR in functions


def _cells(study: Planned, experiment: str) -> list[dict]:
    """Return the experiment's cells with their linking functions and their other settings."""
    grid = study.grids[experiment]
    others = [key for key in study.experiment(experiment)["sensitivity"] if key != "linking"]
    cells = []
    for cell in study.ranked_cells(experiment):
        of_lm = grid["lms"][cell.get("variant", cell["lm"])]
        settings = of_lm | grid["designs"][cell["design"]]
        described = [
            f"{grids.SETTINGS[key]}: {grids.written(key, settings[key])}"
            for key in others
            if key in settings and key not in of_lm.get("fixed", ())
        ]
        cells.append(
            {key: cell[key] for key in ("dataset", "measure")}
            | {"seed": cell.get("seed", ""), "lm": of_lm["lm"]}
            | {"label": study.description(of_lm["lm"])["label"], "design": settings["design"]}
            | {"settings": ", ".join(described), "linking": str(settings["linking"])}
        )
    return cells


EVALUATION = Evaluation(
    key="sensitivity",
    applies=_applies,
    standalone=False,
    settings={
        "cells": _cells,
        "plain_responses": lambda study, experiment: [
            dict(response)
            for response in {
                (row["dataset"], row["measure"]): row for row in study.all_responses(experiment)
            }.values()
        ],
    },
)
