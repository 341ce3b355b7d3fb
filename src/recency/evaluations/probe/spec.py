"""How much of a sentence's dependency tree lies in each layer: the structural probe."""

from recency.evaluations.registry import Data, Evaluation

EVALUATION = Evaluation(
    key="probe",
    applies=lambda study, experiment: study.has_data(experiment, "probe"),
    data=Data("treebanks", ("train", "dev", "test")),
    inputs={
        "probes": lambda study, experiment: [
            f"<results>/probe/{lm}/{study.experiment(experiment)['probe']}.csv"
            for lm in study.experiment(experiment)["lms"]
        ]
    },
    settings={"relations": lambda study, experiment: study.config["probe"]["relations"]},
)
