"""Learning curves: an experiment's LMs after some steps of their training, against tokens seen."""

from recency import grids
from recency.evaluations.minimal_pairs.spec import pairs
from recency.evaluations.registry import Evaluation

#: Keys that an experiment of learning curves may have beside `steps`.
BESIDE = {"title", "lms", "baseline", "steps", "seeds", "responses", "minimal_pairs", "attention"}


def _problems(config, name, known) -> list[str]:
    experiment, where = config["experiments"][name], f"experiments → {name} → steps"
    if "steps" not in experiment:
        return []
    found = [
        f"{where}: goes without `{other}`; give each its experiment"
        for other in experiment
        if other not in BESIDE
    ]
    for design, listed in experiment.get("responses", {}).items():
        whole = [r for r in listed if not _partitioned(config, r)]
        found += [
            f"{where}: all of {response} is fitted (`partitioned: false`, {design}), and curves are of "
            "text that the fits have not seen; leave it out"
            for response in whole
        ]
    return found


def _partitioned(config, response: str) -> bool:
    dataset = config["datasets"].get(response.partition(".")[0], {})
    return dataset.get("partitioned", True)


def points(study, experiment: str) -> list[dict]:
    """Return each LM of the experiment as a point: lm, of, step, tokens, seed and its baseline.

    `of` is the LM that the config names, of all its steps and seeds.
    """
    grid = study.grids[experiment]["lms"]
    baselines = grids.baselines(grid, study.experiment(experiment)["baseline"])
    found = []
    for name, about in grid.items():
        recipe = study.config["recipes"][study.lms[name]["recipe"]]
        found.append(
            {"lm": name, "of": about["lm"], "step": about["step"], "seed": about["seed"]}
            | {"tokens": about["step"] * recipe["batch_sequences"] * recipe["sequence_length"]}
            | {"baseline": baselines[name]}
        )
    return found


def plain_lms(study, experiment: str) -> list[dict]:
    """Return the LMs that the config names in the experiment, described."""
    grid = study.grids[experiment]["lms"]
    return [study.described(lm) for lm in dict.fromkeys(each["lm"] for each in grid.values())]


def beside(study, experiment: str) -> dict[str, list[str] | str]:
    """Return keyword → files of minimal pairs and of attention, as the experiment has them."""
    settings, lms = study.experiment(experiment), study.experiment(experiment)["lms"]
    found = {}
    if study.data_here(experiment, "minimal_pairs"):
        found["pairs"] = pairs(study, experiment)
        found["scores"] = [pairs(study, experiment, lm) for lm in lms]
    if settings.get("attention") not in (None, *study.not_run):
        where = "<results>/attention/{}/{}.by_head.csv".format
        found["attention"] = [where(lm, settings["attention"]) for lm in lms]
    return found


def _applies(study, experiment: str) -> bool:
    settings = study.experiment(experiment)
    return "steps" in settings and bool(settings.get("responses") or beside(study, experiment))


EVALUATION = Evaluation(
    key="steps",
    alone=False,
    applies=_applies,
    inputs={"beside": beside},
    settings={
        "points": points,
        "plain_lms": plain_lms,
        "plain_baseline": lambda study, experiment: study.grids[experiment]["lms"][
            study.experiment(experiment)["baseline"]
        ]["lm"],
    },
    conditions={
        "fitted": lambda study, experiment: bool(study.experiment(experiment).get("responses"))
    },
    problems=_problems,
)
