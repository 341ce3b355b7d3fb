"""LM Turing test: human judgements of LMs' continuations (chapter 7 of the thesis)."""

import os
from functools import partial

from recency.evaluations.registry import Evaluation, setting, settings
from recency.planned import Planned

settings_of = partial(settings, "turing_test")


def _judgements(study: Planned, experiment: str) -> list[str]:
    """Return the file of judgements as a list, empty if the user has supplied none."""
    path = settings_of(study.config, experiment)["judgements"]["local"]
    return [path] if os.path.exists(path) else []


def _absent(study: Planned, experiment: str) -> str:
    """Return a hint on what to supply if there are no judgements, otherwise ""."""
    if _judgements(study, experiment):
        return ""
    file = settings_of(study.config, experiment)["judgements"]
    return f"{file['local']}: {file.get('supplied', 'is not here')}"


def _problems(config, name) -> list[str]:
    """Report judgements with a download address: they must be of this study's continuations."""
    asked = config["experiments"][name].get("turing_test")
    if asked is None or "local" in asked["judgements"]:
        return []
    return [
        f"experiments → {name} → turing_test → judgements: 'local' is missing; give the path of your file"
    ]


def _applies(study: Planned, experiment: str) -> bool:
    settings = study.experiment(experiment)
    dataset = settings.get("rank_metrics", {}).get("dataset")
    return "turing_test" in settings and dataset not in (None, *study.not_run)


EVALUATION = Evaluation(
    key="turing_test",
    applies=_applies,
    standalone=False,
    inputs={"judgements": _judgements},
    settings={
        "min_judges": setting("turing_test", "min_judges"),
        "absent": _absent,
    },
    problems=_problems,
)
