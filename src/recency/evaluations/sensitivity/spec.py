"""Sensitivity: ΔLogLik under every combination of settings."""

import math

from recency import config as configuration
from recency import grids
from recency.errors import REFUSALS
from recency.evaluations.registry import Evaluation
from recency.regression import covered_endpoints, designs


def _problems(config, name) -> list[str]:
    """List strides that the experiment's LMs do not support, and models that cannot be fitted."""
    return _stride_problems(config, name) + _design_problems(config, name)


def _design_problems(config, name) -> list[str]:
    """List settings that invalidate a design, or exclude the experiment's endpoint."""
    experiment = config["experiments"][name]
    if "sensitivity" not in experiment:
        return []
    endpoint = experiment.get("endpoint")
    problems: dict[str, str] = {}
    for design in experiment.get("responses", {}):
        if _problem(config["designs"][design], endpoint):  # reported elsewhere
            continue
        for settings in grids.settings_of_design(experiment):
            if why := _problem(grids.varied_design(config["designs"][design], settings), endpoint):
                text = ", ".join(f"{key} {grids.written(key, settings[key])}" for key in settings)
                problems.setdefault(why, f"experiments → {name} → sensitivity: {text}: {why}")
    return list(problems.values())


def _problem(design, endpoint) -> str:
    """Return the reason why a design cannot be fitted or lacks an endpoint, or ""."""
    try:
        designs.check_model(design, designs.read(design))
    except REFUSALS as error:
        return str(error)
    return covered_endpoints.problems(design, endpoint) if endpoint else ""


def _stride_problems(config, name) -> list[str]:
    """List strides that the experiment's LMs do not support."""
    experiment, where = config["experiments"][name], f"experiments → {name} → sensitivity → stride"
    strides = [size for size in experiment.get("sensitivity", {}).get("stride", []) if size]
    problems = []
    for lm in experiment["lms"] if strides else ():
        settings = configuration.language_model(config, lm)
        if configuration.kind_of(settings) != "network" or "checkpoint" in settings:
            continue
        architecture = config["architectures"][settings["architecture"]]
        if architecture["family"] == "recurrent":
            problems.append(f"{where}: {lm!r} is recurrent and reads without windows")
            continue
        window = min(settings.get("scoring", {}).get("window") or math.inf, architecture["context"])
        beyond = [stride for stride in strides if stride > window]
        problems += [f"{where}: {size} is beyond the window of {lm}, {window}" for size in beyond]
    return problems


EVALUATION = Evaluation(
    key="sensitivity",
    standalone=False,
    settings={
        "grid": lambda study, experiment: study.grids[experiment],
        "plain_baseline": lambda study, experiment: study.plain_baseline(experiment),
    },
    problems=_problems,
)
