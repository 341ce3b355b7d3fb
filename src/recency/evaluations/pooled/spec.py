"""Pooled: a meta-analysis of one experiment's corpora, by language and overall."""

from recency import languages
from recency.evaluations.registry import Evaluation
from recency.planned import Planned


def _lms(study: Planned, experiment: str) -> list[str]:
    """Return the pooled LMs, without duplicates for their seeds."""
    of, baseline = study.one_for_seeds(experiment), study.ranked_baseline(experiment)
    named = study.experiment(experiment)["pooled"].get("lms")
    return [
        lm for lm in dict.fromkeys(of.values()) if lm in (named or of.values()) and lm != baseline
    ]


def _datasets(study: Planned, experiment: str) -> list[dict]:
    """Return dataset, label and language of the experiment's datasets that can be run."""
    return [
        {
            "dataset": name,
            "label": study.config["datasets"][name]["label"],
            "language": languages.of_dataset(study.config, name),
        }
        for name in study.datasets_of(experiment)
    ]


def _problems(config, name) -> list[str]:
    """List pooled LMs that are not in the experiment, or are its baseline."""
    experiment = config["experiments"][name]
    wrong, where = [], f"experiments → {name} → pooled → lms"
    for lm in experiment.get("pooled", {}).get("lms", ()):
        if lm not in experiment["lms"]:
            wrong.append(f"{where}: {lm!r} is not among the experiment's `lms`")
        elif lm == experiment["baseline"]:
            wrong.append(
                f"{where}: {lm!r} is the baseline, which the others are compared with; remove it"
            )
    return wrong


EVALUATION = Evaluation(
    key="pooled",
    applies=lambda study, experiment: (
        "pooled" in study.experiment(experiment)
        and not set(study.all_datasets(experiment)) <= set(study.not_run)
    ),
    standalone=False,
    settings={
        "pooled_lms": _lms,
        "datasets": _datasets,
    },
    problems=_problems,
)
