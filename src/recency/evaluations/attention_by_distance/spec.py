"""Attention of each head to tokens by distance, which shows whether a bias has an effect."""

from recency.evaluations.registry import Evaluation
from recency.planned import Planned


def _files(study: Planned, experiment: str, ending: str) -> list[str]:
    dataset = study.experiment(experiment)["attention"]
    return [
        f"<results>/attention/{lm['variant']}/{dataset}.{ending}"
        for lm in study.variants(experiment)
    ]


EVALUATION = Evaluation(
    key="attention",
    network=True,
    attention=True,
    applies=lambda study, experiment: (
        study.experiment(experiment).get("attention") not in (None, *study.not_run)
        and "steps" not in study.experiment(experiment)
    ),
    inputs={
        "by_distance": lambda study, experiment: _files(study, experiment, "by_distance.parquet"),
        "by_head": lambda study, experiment: _files(study, experiment, "by_head.csv"),
    },
)
