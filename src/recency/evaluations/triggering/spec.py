"""What a memory is for: how far a word makes others likelier in the text that LMs are trained on."""

from recency.evaluations.registry import Evaluation, schema


def _settings(study, experiment: str) -> dict:
    properties = schema("triggering")["experiment"]["triggering"]["properties"]
    return {"reach": properties["reach"]["default"]} | study.experiment(experiment)["triggering"]


EVALUATION = Evaluation(
    key="triggering",
    uses_lms=False,
    applies=lambda study, experiment: "triggering" in study.experiment(experiment),
    inputs={
        "text": lambda study, experiment: (
            f"<results>/corpora/{_settings(study, experiment)['corpus']}/text.parquet"
        )
    },
    settings={
        "pairs": lambda study, experiment: _settings(study, experiment)["pairs"],
        "reach": lambda study, experiment: _settings(study, experiment)["reach"],
    },
)
