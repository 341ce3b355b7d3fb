"""Sensitivity: ΔLogLik under every combination of settings."""

from recency.evaluations.registry import Evaluation


def _problems(config, name, known) -> list[str]:
    experiment = config["experiments"][name]
    return [
        f"experiments → {name}: `sensitivity` goes without `{other}`; give each its experiment"
        for other in ("compare", "published", "recovery", "minimal_pairs")
        if "sensitivity" in experiment and other in experiment
    ]


def _plain(study, experiment: str, lm: str) -> str:
    """Return the LM that a written-out name stands for."""
    return study.grids[experiment]["lms"][lm]["lm"]


EVALUATION = Evaluation(
    key="sensitivity",
    applies=lambda study, experiment: "sensitivity" in study.experiment(experiment),
    alone=False,
    settings={
        "grid": lambda study, experiment: study.grids[experiment],
        "plain_lms": lambda study, experiment: [
            study.described(lm)
            for lm in dict.fromkeys(cell["lm"] for cell in study.grids[experiment]["lms"].values())
        ],
        "plain_baseline": lambda study, experiment: _plain(
            study, experiment, study.experiment(experiment)["baseline"]
        ),
    },
    problems=_problems,
)
