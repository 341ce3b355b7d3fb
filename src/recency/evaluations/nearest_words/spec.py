"""What a network holds of words: those nearest to a word, by its embedding and by the memory it has of it."""

from recency.evaluations.registry import Evaluation, schema


def settings_of(config: dict, experiment: str) -> dict:
    """Return an experiment's `nearest_words`, the defaults filled in."""
    properties = schema("nearest_words")["experiment"]["nearest_words"]["properties"]
    defaults = {key: each["default"] for key, each in properties.items() if "default" in each}
    return defaults | config["experiments"][experiment]["nearest_words"]


EVALUATION = Evaluation(
    key="nearest_words",
    network=True,
    applies=lambda study, experiment: "nearest_words" in study.experiment(experiment),
    inputs={
        "neighbours": lambda study, experiment: [
            f"<results>/experiments/{experiment}/nearest_words.{lm}.csv"
            for lm in study.experiment(experiment)["lms"]
        ]
    },
    settings={
        "words": lambda study, experiment: settings_of(study.config, experiment)["words"],
        "neighbours": lambda study, experiment: settings_of(study.config, experiment)["neighbours"],
    },
)
