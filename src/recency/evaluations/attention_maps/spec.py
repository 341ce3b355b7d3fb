"""Attention of every head over one sentence: written for every LM, drawn for some."""

from readingtimes.names import nearest
from recency import config as configuration
from recency.evaluations.registry import Evaluation
from recency.planned import Planned


def _maps(study: Planned, experiment: str, lms: list[str]) -> list[str]:
    sentence = study.experiment(experiment)["attention_maps"]["sentence"]
    return [f"<results>/attention_maps/{lm}/{sentence}.parquet" for lm in lms]


def _lms_of_maps(study: Planned, experiment: str) -> list[str]:
    return study.experiment(experiment)["attention_maps"]["lms"]


def _problems(config, name) -> list[str]:
    """List drawn LMs that are not in the experiment, and layers that they do not have."""
    experiment, where = config["experiments"][name], f"experiments → {name} → attention_maps"
    if "attention_maps" not in experiment:
        return []
    maps, problems = experiment["attention_maps"], []
    for lm in maps["lms"]:
        if lm not in experiment["lms"]:
            problems.append(
                f"{where} → lms: not among the experiment's {nearest(lm, experiment['lms'])}"
            )
            continue
        settings = configuration.language_model(config, lm)
        layers = config["architectures"][settings["architecture"]]["layers"]
        if "checkpoint" not in settings and maps["layers"] > layers:
            problems.append(f"{where} → layers: {maps['layers']} are more than {lm} has, {layers}")
    return problems


EVALUATION = Evaluation(
    key="attention_maps",
    network=True,
    attention=True,
    wildcards={"sentence": "sentences"},
    inputs={
        "maps": lambda study, experiment: _maps(study, experiment, _lms_of_maps(study, experiment))
    },
    settings={
        "drawn_lms": lambda study, experiment: [
            study.description(lm) for lm in _lms_of_maps(study, experiment)
        ],
        "layers": lambda study, experiment: study.experiment(experiment)["attention_maps"][
            "layers"
        ],
    },
    also=lambda study, experiment: _maps(study, experiment, study.experiment(experiment)["lms"]),
    problems=_problems,
)
