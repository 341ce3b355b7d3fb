"""The explorer: the words, readers, contributions and ranking of an experiment as one page."""

from recency import endpoints
from recency.evaluations import registry
from recency.evaluations.registry import Evaluation
from recency.planned import Planned

PAGE = "<results>/experiments/{experiment}/explore.html"


def applies(study: Planned, experiment: str) -> bool:
    """Return whether an experiment ranks LMs by reading times, other than at training steps."""
    steps = "steps" in study.experiment(experiment)
    return registry.ranking().applies(study, experiment) and not steps


def target(experiment: str) -> str:
    """Return the target of `./run` for an experiment's page."""
    return f"explore_{experiment}"


def _targets(config) -> list[tuple[str, str, str]]:
    """Return the targets of experiments that rank LMs by reading times: (name, line, kind)."""
    return [
        (target(name), f"{entry.get('title', name)} as one page", "explore_<experiment>")
        for name, entry in config.get("experiments", {}).items()
        if _ranks(config, entry)
    ]


def _ranks(config, entry) -> bool:
    """Return whether an experiment's responses have observations outside the fit, or need none."""
    if not entry.get("responses") or entry.keys() & {"sensitivity", "steps"}:
        return False
    names = {name.partition(".")[0] for listed in entry["responses"].values() for name in listed}
    parted = any(config["datasets"][name].get("partitioned", True) for name in names)
    return parted or entry.get("endpoint") == endpoints.IN_SAMPLE


EVALUATION = Evaluation(
    key="responses",
    applies=applies,
    also=lambda study, experiment: [PAGE.format(experiment=experiment)],
    targets=_targets,
)
