"""Nearest words: neighbours of a word by a network's embedding and by its memory of the word."""

from functools import partial

from recency.evaluations.registry import Evaluation, settings

settings_of = partial(settings, "nearest_words")


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
