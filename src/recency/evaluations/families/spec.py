"""Families of LMs: perplexity and fit to reading times, with and without part of speech."""

from recency import config as configuration
from recency.evaluations import registry
from recency.evaluations.registry import Evaluation
from recency.planned import Planned

#: Key of the reference experiment, the same LMs without part of speech.
REFERENCE = "without_part_of_speech"


def _others(study: Planned, experiment: str) -> list[str]:
    other = study.experiment(experiment)["families"].get(REFERENCE)
    return [f"<results>/experiments/{other}/delta_loglik.csv"] if other else []


def _cells(study: Planned, experiment: str) -> list[dict]:
    """Return lm, label, dataset, measure and design of each LM of a family, with its first seed."""
    groups = study.experiment(experiment)["families"]["groups"].values()
    named = {lm for lms in groups for lm in lms}
    first: dict[str, str] = {}
    for lm, one in study.one_for_seeds(experiment).items():
        if one in named:
            first.setdefault(one, lm)
    keys = ("dataset", "measure", "design")
    return [
        {"lm": lm, "label": study.description(one)["label"]} | {key: response[key] for key in keys}
        for one, lm in first.items()
        for response in study.responses(experiment)
    ]


def _fits(ending: str):
    where = "<results>/regression/{design}/{dataset}.{measure}/{lm}.full." + ending
    return lambda study, experiment: [where.format(**c) for c in _cells(study, experiment)]


def _all_mixed(study: Planned, experiment: str) -> bool:
    """Return whether all designs are Gaussian mixed models, whose variance has shares."""
    designs = [study.config["designs"][r["design"]] for r in study.responses(experiment)]
    mixed = (design["engine"] in ("cross_products", "lme4") for design in designs)
    return all(mixed) and all(design.get("family", "gaussian") == "gaussian" for design in designs)


def _problems(config, name) -> list[str]:
    experiment = config["experiments"][name]
    settings, where = experiment.get("families"), f"experiments → {name} → families"
    if settings is None:
        return []
    problems = [
        f"{where} → groups → {family}: {lm!r} is not among the experiment's `lms`"
        for family, lms in settings["groups"].items()
        for lm in lms
        if lm not in experiment["lms"]
    ]
    reference = settings.get(REFERENCE)
    if reference is None:
        return problems
    other = config["experiments"][reference]
    if lost := [lm for lms in settings["groups"].values() for lm in lms if lm not in other["lms"]]:
        problems.append(
            f"{where} → {REFERENCE}: {reference!r} has no LM {lost[0]!r}; add it there, or remove it here"
        )
    asked = [
        {(r["dataset"], r["measure"]) for r in configuration.responses(config, experiment_name)}
        for experiment_name in (name, reference)
    ]
    if asked[0] != asked[1]:
        problems.append(
            f"{where} → {REFERENCE}: {reference!r} has other responses; give both the same"
        )
    return problems


EVALUATION = Evaluation(
    key="families",
    standalone=False,
    applies=lambda study, experiment: (
        "families" in study.experiment(experiment)
        and registry.evaluations()["reading_times"].applies(study, experiment)
    ),
    inputs={"others": _others, "fitted": _fits("data.parquet"), "fits": _fits("json")},
    settings={
        "cells": _cells,
        "groups": lambda study, experiment: study.experiment(experiment)["families"]["groups"],
        "one_for_seeds": lambda study, experiment: study.one_for_seeds(experiment),
    },
    conditions={"mixed": _all_mixed},
    problems=_problems,
)
