"""Dependencies in annotated stories, and the attention of heads to them (Clark et al. 2025, § 7)."""

from recency.evaluations.registry import Data, Evaluation
from recency.planned import Planned


def _of(study: Planned, experiment: str) -> str:
    return study.experiment(experiment)["dependencies"]


EVALUATION = Evaluation(
    key="dependencies",
    network=True,
    attention=True,
    wildcards={"dependencies": "dependencies"},
    data=Data("dependencies", ("trees", "leaves")),
    inputs={
        "heads": lambda study, experiment: [
            f"<results>/attention/{lm}/{_of(study, experiment)}.heads.csv"
            for lm in study.experiment(experiment)["lms"]
        ],
        "counts": lambda study, experiment: (
            f"<results>/dependencies/{_of(study, experiment)}.counts.csv"
        ),
    },
)
