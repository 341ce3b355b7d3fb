"""Families: is the better LM of one the worse reader, and does part of speech change that."""

from recency import config as configuration
from recency.evaluations import registry
from recency.evaluations.registry import Evaluation


def _beside(study, experiment: str) -> list[str]:
    beside = study.experiment(experiment)["families"].get("beside")
    return [f"<results>/experiments/{beside}/delta_loglik.csv"] if beside else []


def _problems(config, name, known) -> list[str]:
    experiment = config["experiments"][name]
    settings, where = experiment.get("families"), f"experiments → {name} → families"
    if settings is None:
        return []
    found = [
        f"{where} → groups → {family}: {lm!r} is not among the experiment's `lms`"
        for family, lms in settings["groups"].items()
        for lm in lms
        if lm not in experiment["lms"]
    ]
    if not experiment.get("responses"):
        found.append(f"{where}: it goes with `responses`, and there are none")
    beside = settings.get("beside")
    if beside is None or not known(f"{where} → beside", beside, "experiments"):
        return found
    other = config["experiments"][beside]
    if lost := [lm for lms in settings["groups"].values() for lm in lms if lm not in other["lms"]]:
        found.append(
            f"{where} → beside: {beside!r} has no LM {lost[0]!r}, so that nothing stands beside it"
        )
    asked = [
        {(r["dataset"], r["measure"]) for r in configuration.responses(config, each)}
        for each in (name, beside)
    ]
    if asked[0] != asked[1]:
        found.append(f"{where} → beside: {beside!r} has other responses; give both the same")
    return found


EVALUATION = Evaluation(
    key="families",
    alone=False,
    applies=lambda study, experiment: (
        "families" in study.experiment(experiment)
        and registry.evaluations()["reading_times"].applies(study, experiment)
    ),
    inputs={"beside": _beside},
    settings={
        "groups": lambda study, experiment: study.experiment(experiment)["families"]["groups"],
        "one_for_seeds": lambda study, experiment: study.one_for_seeds(experiment),
    },
    problems=_problems,
)
