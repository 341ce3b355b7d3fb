"""Check the selections of experiments, groups, targets and unigrams, and that names are unique."""

from recency import config as configuration
from recency.evaluations import registry
from recency.reading import declared_columns
from recency.reading.response_names import RESPONSES


def problems(config: dict) -> list[str]:
    """List incompatible selections."""
    faults = [p for name in config["experiments"] for p in experiment_problems(config, name)]
    for table in registry.fitted_tables():
        for name, entry in config.get(table, {}).items() if table != "experiments" else ():
            faults += response_problems(config, f"{table} → {name}", entry)
    for table in ("lm_groups", "unigrams"):
        for name in config["lms"].keys() & config.get(table, {}).keys():
            faults.append(f"{table} → {name}: an LM has the same name")
    return faults + _names(config)


def _names(config: dict) -> list[str]:
    """List names of several targets: `./run <name>` must be unambiguous."""
    others = {name: f"targets → {name}" for name in config.get("targets", {})}
    others |= {f"check_{name}": f"datasets → {name}" for name in config["datasets"]}
    others |= {f"export_{name}": f"lms → {name}" for name in config["lms"]}
    for evaluation in registry.evaluations().values():
        named = evaluation.targets(config) if evaluation.targets else []
        others |= {name: f"the target {name}" for name, *_ in named}
    return [
        f"experiments → {name}: `./run {name}` is already {owner}; rename it"
        for name, owner in others.items()
        if name in config["experiments"]
    ]


def experiment_problems(config: dict, name: str) -> list[str]:
    """List incompatible selections of an experiment."""
    faults, experiment = [], config["experiments"][name]
    where = f"experiments → {name}"
    if experiment["baseline"] not in experiment["lms"]:
        faults.append(f"{where} → baseline: not among the experiment's `lms`")
    shared = {key for declared in registry.evaluations().values() for key in declared.shares}
    for key in sorted(shared & experiment.keys()):
        sharing = [
            declared.key for declared in registry.evaluations().values() if key in declared.shares
        ]
        keys = list(dict.fromkeys(sharing))
        if experiment[key] and not experiment.keys() & set(keys):
            required = " or ".join(f"`{declared}`" for declared in keys)
            faults.append(f"{where} → {key}: it requires {required}, and there are none")
    faults += response_problems(config, where, experiment)
    for evaluation in registry.evaluations().values():
        faults += evaluation.problems(config, name) if evaluation.problems else []
    return faults


def response_problems(config: dict, where: str, entry: dict) -> list[str]:
    """List responses of an experiment or search to which their design cannot be fitted."""
    faults = []
    for asked in configuration.responses({"of": {"it": entry}}, "it", "of"):
        design, measure = config["designs"][asked["design"]], asked["measure"]
        response, dataset = f"{asked['dataset']}.{measure}", config["datasets"][asked["dataset"]]
        path, is_event = (
            f"{where} → responses → {asked['design']}",
            "event" in dataset["measures"][measure],
        )
        family, value = (
            design.get("family", "gaussian"),
            design["formula"].partition("~")[0].strip(),
        )
        if (family == "binomial") != is_event:
            faults.append(
                f"{path}: {response!r} is {'an event' if is_event else 'no event'}, and the design's "
                f"family {family}; events, and only events, require `family: binomial`"
            )
        column = declared_columns.value_column(dataset, measure)
        if value in RESPONSES and not is_event and column != value:
            faults.append(f"{path}: {response} is {column}, and the formula begins {value} ~")
    return faults
