"""Sensitivity: ΔLogLik under every combination of settings."""

import math

from recency import config as configuration
from recency.evaluations.registry import Evaluation


def _problems(config, name) -> list[str]:
    """List strides that the experiment's LMs cannot have."""
    experiment, where = config["experiments"][name], f"experiments → {name} → sensitivity → stride"
    strides = [each for each in experiment.get("sensitivity", {}).get("stride", []) if each]
    found = []
    for lm in experiment["lms"] if strides else ():
        settings = configuration.language_model(config, lm)
        if configuration.kind_of(settings) != "network" or "checkpoint" in settings:
            continue
        architecture = config["architectures"][settings["architecture"]]
        if architecture["family"] == "recurrent":
            found.append(f"{where}: {lm!r} is recurrent and reads without windows")
            continue
        window = min(settings.get("scoring", {}).get("window") or math.inf, architecture["context"])
        beyond = [stride for stride in strides if stride > window]
        found += [f"{where}: {each} is beyond the window of {lm}, {window}" for each in beyond]
    return found


def _plain(study, experiment: str, lm: str) -> str:
    """Return the LM that a written-out name stands for."""
    return study.grids[experiment]["lms"][lm]["lm"]


EVALUATION = Evaluation(
    key="sensitivity",
    applies=lambda study, experiment: "sensitivity" in study.experiment(experiment),
    alone=False,
    settings={
        "grid": lambda study, experiment: study.grids[experiment],
        "plain_lms": lambda study, experiment: [
            study.described(lm)
            for lm in dict.fromkeys(cell["lm"] for cell in study.grids[experiment]["lms"].values())
        ],
        "plain_baseline": lambda study, experiment: _plain(
            study, experiment, study.experiment(experiment)["baseline"]
        ),
    },
    problems=_problems,
)
