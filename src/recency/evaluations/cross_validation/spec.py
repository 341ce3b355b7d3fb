"""Cross-validation: ΔLogLik of each LM on held-out folds."""

from recency.evaluations.registry import Evaluation
from recency.regression import designs


def name(settings) -> str:
    """Return the name of an experiment's folds in file names: `sentence-10-seed-1`."""
    return f"{settings['by']}-{settings['folds']}-seed-{settings.get('seed', 1)}"


def _files(study, experiment: str, model: str, ending: str = "json") -> list[str]:
    """Return the file of every cell's full or base model, in the order of the cells."""
    where = name(study.experiment(experiment)["cross_validation"])
    paths = []
    for response, lm in study.cells(experiment):
        design = study.config["designs"][response["design"]]
        shared = model == "base" and designs.bases(design)[0] == "all"
        folder = "<results>/cross_validation/{design}/{dataset}.{measure}".format(**response)
        paths.append(f"{folder}/{where}/{'none' if shared else lm['lm']}.{model}.{ending}")
    return paths


def _problems(config, name) -> list[str]:
    """List settings that are incompatible with cross-validation."""
    experiment, where = config["experiments"][name], f"experiments → {name} → cross_validation"
    if "cross_validation" not in experiment:
        return []
    problems = []
    if experiment["cross_validation"]["by"] == "subject":
        problems += [
            f"{where}: {design!r} fits words' means over subjects (`engine: ols`), which have no "
            "folds by subject; take sentence or item"
            for design in experiment["responses"]
            if config["designs"][design]["engine"] == "ols"
        ]
    problems += [
        f"{where}: {design!r} has `engine: brms`, whose models are not refitted for each fold: "
        "PSIS-LOO leaves each observation out (table_loo)"
        for design in experiment["responses"]
        if config["designs"][design]["engine"] == "brms"
    ]
    return problems + _folds_beyond(config, experiment, where)


def _folds_beyond(config, experiment, where) -> list[str]:
    """List simulated datasets that have fewer levels than there are folds."""
    by, folds = experiment["cross_validation"]["by"], experiment["cross_validation"]["folds"]
    responses = (name for listed in experiment["responses"].values() for name in listed)
    problems = []
    for dataset in dict.fromkeys(name.partition(".")[0] for name in responses):
        simulated = config["datasets"][dataset].get("simulate", {})
        levels = {
            "subject": simulated.get("readers", {}).get("subjects"),
            "item": simulated.get("stories"),
        }
        if (many := levels.get(by)) and many < folds:
            problems.append(
                f"{where} → folds: {folds} folds by {by} need at least {folds} of them, and {dataset} has "
                f"{many}; write {many} or fewer"
            )
    return problems


EVALUATION = Evaluation(
    key="cross_validation",
    applies=lambda study, experiment: "cross_validation" in study.experiment(experiment),
    standalone=False,
    inputs={
        "full": lambda study, experiment: _files(study, experiment, "full"),
        "base": lambda study, experiment: _files(study, experiment, "base"),
        "full_observations": lambda study, experiment: _files(study, experiment, "full", "parquet"),
        "base_observations": lambda study, experiment: _files(study, experiment, "base", "parquet"),
    },
    problems=_problems,
)
