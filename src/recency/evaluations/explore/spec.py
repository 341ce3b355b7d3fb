"""The explorer: the words, readers, contributions and ranking of an experiment as one page."""

from recency.evaluations import registry
from recency.evaluations.registry import Evaluation

PAGE = "<results>/experiments/{experiment}/explore.html"


def applies(study, experiment: str) -> bool:
    """Say whether an experiment ranks LMs by reading times; of steps of a training it shows none."""
    steps = "steps" in study.experiment(experiment)
    return registry.ranking().applies(study, experiment) and not steps


def target(experiment: str) -> str:
    """Return the name by which `./run` makes an experiment's page."""
    return f"explore_{experiment}"


def _targets(config) -> list[tuple[str, str]]:
    """Return the targets of the experiments that state reading times: (name, line)."""
    return [
        (target(name), f"{entry.get('title', name)}: words, readers and LMs as one page")
        for name, entry in config.get("experiments", {}).items()
        if entry.get("responses") and not entry.keys() & {"sensitivity", "steps"}
    ]


EVALUATION = Evaluation(
    key="responses",
    applies=applies,
    also=lambda study, experiment: [PAGE.format(experiment=experiment)],
    targets=_targets,
)
