"""What states keep: how alike those of a network are, so many words apart."""

from recency.evaluations.registry import Evaluation, schema


def settings_of(config: dict, experiment: str) -> dict:
    """Return an experiment's `temporal_correlation`, the defaults filled in."""
    properties = schema("temporal_correlation")["experiment"]["temporal_correlation"]["properties"]
    defaults = {key: each["default"] for key, each in properties.items() if "default" in each}
    return defaults | config["experiments"][experiment]["temporal_correlation"]


def _files(study, experiment: str) -> list[str]:
    name = "{dataset}.reach-{reach}-seed-{seed}".format(**settings_of(study.config, experiment))
    return [
        f"<results>/temporal_correlation/{lm['variant']}/{name}.csv"
        for lm in study.variants(experiment)
    ]


EVALUATION = Evaluation(
    key="temporal_correlation",
    network=True,
    applies=lambda study, experiment: (
        study.experiment(experiment).get("temporal_correlation", {}).get("dataset")
        not in (None, *study.not_run)
    ),
    inputs={"correlations": _files},
    settings={"variants": lambda study, experiment: study.variants(experiment)},
)
