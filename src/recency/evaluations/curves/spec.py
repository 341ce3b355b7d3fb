"""Learning curves: an experiment's LMs at several training steps, against tokens seen."""

from recency import config as configuration
from recency import grids
from recency.evaluations.minimal_pairs.spec import pairs
from recency.evaluations.registry import Evaluation
from recency.planned import Planned


def _problems(config, name) -> list[str]:
    """List LMs without these training steps, and responses that do not allow curves."""
    experiment, where = config["experiments"][name], f"experiments → {name} → steps"
    if "steps" not in experiment:
        return []
    problems, sizes = [], {}
    for response in configuration.responses(config, name):
        if not config["datasets"][response["dataset"]].get("partitioned", True):
            problems.append(
                f"{where}: all of {response['dataset']}.{response['measure']} is fitted (`partitioned: "
                f"false`, {response['design']}), and curves need a partition that the fits have not seen; remove it"
            )
    for lm in experiment["lms"]:
        of = config["lms"][lm].get("weights", lm)
        if problem := configuration.not_trained(config, of):
            problems.append(f"{where}: {problem}")
            continue
        called = configuration.language_model(config, of)["recipe"]
        recipe = config["recipes"][called]
        sizes[lm] = recipe["batch_sequences"] * recipe["sequence_length"]
        if experiment["steps"] != "all":
            for step in experiment["steps"]:
                kept = configuration.not_kept(config, of, step, last=True)
                problems += [f"{where}: {problem}" for problem in kept]
        elif name in config["run"] and not recipe["checkpoints"]:  # else not requested
            problems.append(
                f"{where}: the training of {of!r} stores no checkpoints; list some in recipes → {called} "
                "→ checkpoints"
            )
    if len(set(sizes.values())) > 1:
        (a, one), *rest = sizes.items()
        b, other = next((lm, size) for lm, size in rest if size != one)
        problems.append(
            f"{where}: a step is {one:,} tokens to {a!r} and {other:,} to {b!r}; give each recipe an "
            "experiment of its own"
        )
    return list(dict.fromkeys(problems))


def points(study: Planned, experiment: str) -> list[dict]:
    """Return each LM of the experiment as a point: lm, of, step, tokens, seed and baseline.

    `of` is the LM's name in the config, for all its steps and seeds.
    """
    grid = study.grids[experiment]["lms"]
    baselines = grids.baselines(grid, study.experiment(experiment)["baseline"])
    records = []
    for name, about in grid.items():
        recipe = study.config["recipes"][study.lms[name]["recipe"]]
        records.append(
            {"lm": name, "of": about["lm"], "step": about["step"], "seed": about["seed"]}
            | {"tokens": about["step"] * recipe["batch_sequences"] * recipe["sequence_length"]}
            | {"baseline": baselines[name]}
        )
    return records


def others(study: Planned, experiment: str) -> dict[str, list[str] | str]:
    """Return keyword → files of minimal pairs and of attention, if the experiment has them."""
    settings, lms = study.experiment(experiment), study.experiment(experiment)["lms"]
    inputs: dict[str, list[str] | str] = {}
    if study.data_here(experiment, "minimal_pairs"):
        inputs["pairs"] = pairs(study, experiment)
        inputs["scores"] = [pairs(study, experiment, lm) for lm in lms]
    if settings.get("attention") not in (None, *study.not_run):
        where = "<results>/attention/{}/{}.by_head.csv".format
        inputs["attention"] = [where(lm, settings["attention"]) for lm in lms]
    return inputs


def _applies(study: Planned, experiment: str) -> bool:
    settings = study.experiment(experiment)
    return "steps" in settings and bool(settings.get("responses") or others(study, experiment))


EVALUATION = Evaluation(
    key="steps",
    standalone=False,
    applies=_applies,
    inputs={"others": others},
    settings={
        "points": points,
        "plain_baseline": lambda study, experiment: study.plain_baseline(experiment),
    },
    conditions={
        "fitted": lambda study, experiment: bool(study.experiment(experiment).get("responses"))
    },
    problems=_problems,
)
