"""Structural probe: dependency trees decoded from each layer."""

from recency.evaluations.registry import Data, Evaluation


def training(config: dict) -> dict:
    """Return training settings in the config's `probe:`, without display settings and memory."""
    settings = config.get("probe", {})
    return {key: settings[key] for key in settings if key not in ("relations", "memory_gb")}


def _problems(config, name) -> list[str]:
    """List a probe without training settings."""
    lacking = "probe" in config["experiments"][name] and "probe" not in config
    where = f"experiments → {name} → probe"
    return [f"{where}: the table `probe` (training settings) is missing"] if lacking else []


EVALUATION = Evaluation(
    key="probe",
    network=True,
    wildcards={"treebank": "treebanks"},
    data=Data("treebanks", ("train", "dev", "test")),
    inputs={
        "probes": lambda study, experiment: [
            f"<results>/probe/{lm}/{study.experiment(experiment)['probe']}.csv"
            for lm in study.experiment(experiment)["lms"]
        ]
    },
    settings={
        "relations": lambda study, experiment: study.config["probe"]["relations"],
        "training": lambda study, experiment: training(study.config),
    },
    problems=_problems,
)
