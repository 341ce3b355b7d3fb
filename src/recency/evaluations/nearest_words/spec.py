"""Nearest words: neighbours of a word by a network's embedding and by its memory of the word."""

from recency.evaluations.registry import Evaluation, setting

EVALUATION = Evaluation(
    key="nearest_words",
    network=True,
    inputs={
        "neighbours": lambda study, experiment: [
            f"<results>/experiments/{experiment}/nearest_words.{lm}.csv"
            for lm in study.experiment(experiment)["lms"]
        ]
    },
    settings={name: setting("nearest_words", name) for name in ("words", "neighbours")},
)
