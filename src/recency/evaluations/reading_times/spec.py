"""Reading times: ΔLogLik of each LM on the exploratory partition, tests on the held-out one."""

from recency.evaluations.registry import Evaluation
from recency.figures import encoding


def _applies(study, experiment: str) -> bool:
    settings = study.experiment(experiment)
    asked = settings.get("responses") and not settings.keys() & {"sensitivity", "steps"}
    return bool(asked) and not study.all_fitted(experiment)


def _problems(config, name, known) -> list[str]:
    """Say which scales an experiment has seeds for that there are not."""
    seeds = config["experiments"][name].get("seeds", [])
    for scale in seeds if isinstance(seeds, dict) else []:
        known(f"experiments → {name} → seeds", scale, "scales")
    return []


def _beside(study, experiment: str) -> list[str]:
    """Return the verdict, and figures that set the effects found beside those that were put in."""
    where = f"<results>/experiments/{experiment}"
    responses = study.responses(experiment) if study.experiment(experiment).get("recovery") else []
    recovered = [f"{where}/recovery.{r['dataset']}.{r['measure']}.svg" for r in responses]
    return [f"{where}/verdict.json", *recovered]


EVALUATION = Evaluation(
    key="responses",
    applies=_applies,
    inputs={
        "counts": lambda study, experiment: [
            "<results>/observations/{dataset}.{measure}/counts.csv".format(**response)
            for response in study.responses(experiment)
        ]
    },
    settings={
        "lms": lambda study, experiment: study.ranked_lms(experiment),
        "baseline": lambda study, experiment: study.ranked_baseline(experiment),
        "seeds": lambda study, experiment: study.one_for_seeds(experiment),
        "lms_but_for_seed": lambda study, experiment: [
            study.described(lm)
            for lm in {study.but_for_seed(lm["lm"]): 0 for lm in study.lms_of(experiment)}
        ],
    },
    conditions={
        "slopes": lambda study, experiment: (
            sum(encoding.slope(lm["bias"]) is not None for lm in study.lms_of(experiment)) > 2
        ),
        "nested": lambda study, experiment: bool(study.experiment(experiment).get("nested")),
        "tested": lambda study, experiment: len(study.experiment(experiment)["lms"]) > 1,
        "seeds": lambda study, experiment: study.several_seeds(experiment),
        "bases": lambda study, experiment: bool(study.base(experiment, beside=True)),
    },
    also=_beside,
    problems=_problems,
)
