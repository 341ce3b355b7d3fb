"""Checks of what experiments, searches, targets and power select: that it exists and goes together."""

import csv
from pathlib import Path

from recency import config as configuration
from recency.evaluations import registry
from recency.names import nearest
from recency.reading.response_names import RESPONSES
from recency.workflow import dataset_checks, lm_checks, maze_checks
from recency.workflow.schema_checks import short

PUBLISHED = Path("data", "published")
#: What the CSV of a paper's values must have, by the key of `published`.
COLUMNS = {
    "observations": ("corpus_measure", "fit", "exploratory", "held_out"),
    "delta_loglik": ("lm", "applied", "form", "parameters", "base", "endpoint"),
    "delta_aic": ("lm", "applied", "form", "parameters", "corpus_measure", "n_words", "delta_aic"),
    "dependencies": ("dependency", "count"),
    "glue": ("size", "model", "ppl"),
    "minimal_pairs": ("quantity", "training_words", "lm", "value"),
    "maze": ("quantity", "value", "p"),
    "families": ("lm_family",),
    "explained": ("more", "less", "t", "df"),
    "word_length": ("lm", "t", "p", "rho"),
    "rank_metrics": ("model", "perplexity", "mean_log_rank", "top_1", "score"),
    "rare_words": ("pairs", "label", "similarity", "spearman"),
    "perplexity": ("label", "ppl", "ppl_interpolated"),
    "rare_perplexity": ("text", "label", "ppl", "rw1ppl"),
}
#: Keys of an experiment that say more of its `responses`.
OF_RESPONSES = ("compare", "recovery", "sensitivity", "search")


def problems(config: dict, root: Path, known) -> list[str]:
    """List what is wrong with all that is selected."""
    found = [p for name in config["experiments"] for p in experiment_problems(config, name, known)]
    for name in config["experiments"]:
        found += _published(config, root, name)
    found += [f"run: {short(name)} stands twice" for name in _twice(config["run"])]
    for name, members in config.get("lm_groups", {}).items():
        for lm in members:
            known(f"lm_groups → {name}", lm, "lms")
        if name in config["lms"]:
            found.append(f"lm_groups → {name}: an LM has the same name")
    for name, target in config.get("targets", {}).items():
        known(f"targets → {name} → experiment", target["experiment"], "experiments")
        found += [f"targets → {name} → of: {each} stands twice" for each in _twice(target["of"])]
    return found + _names(config)


def _names(config: dict) -> list[str]:
    """List names that are a target twice: what is typed behind ./run makes one thing."""
    made = {name: f"experiments → {name}" for name in config["experiments"]}
    found = []
    others = {name: f"targets → {name}" for name in config.get("targets", {})}
    others |= {f"check_{name}": f"datasets → {name}" for name in config["datasets"]}
    others |= {f"export_{name}": f"lms → {name}" for name in config["lms"]}
    others |= {f"search_{name}": f"searches → {name}" for name in config.get("searches", {})}
    for name, place in others.items():
        if name in made:
            found.append(f"{made[name]}: `./run {name}` is of {place} already; call it otherwise")
    return found


def _twice(listed: list) -> list:
    """Return what stands more than once in a list."""
    return [each for each in dict.fromkeys(listed) if listed.count(each) > 1]


def experiment_problems(config: dict, name: str, known) -> list[str]:
    """List what an experiment selects that does not exist or does not go together."""
    found, experiment = [], config["experiments"][name]
    where = f"experiments → {name}"
    for lm in experiment["lms"]:
        known(f"{where} → lms", lm, "lms")
    known(f"{where} → baseline", experiment["baseline"], "lms")
    found += _pairs(config, where, experiment, known)
    if experiment["baseline"] not in experiment["lms"]:
        found.append(f"{where} → baseline: not among the experiment's `lms`")
    for key, kind in registry.data().items():
        for each in registry.named(experiment, key):
            known(f"{where} → {key}", each, kind.table)
    if "probe" in experiment and "probe" not in config:
        found.append(f"{where} → probe: the table `probe` is missing: how it is trained")
    found += configuration.response_problems(config, where, experiment, known)
    found += _responses(config, where, experiment)
    found += lm_checks.experiment_problems(config, name) + maze_checks.problems(config, name, known)
    for evaluation in registry.evaluations().values():
        found += evaluation.problems(config, name, known) if evaluation.problems else []
    return found


def _pairs(config: dict, where: str, experiment: dict, known) -> list[str]:
    """List pairs of LMs that cannot be compared."""
    found, pairs = [], experiment.get("compare", [])
    for pair in pairs:
        for lm in dict.fromkeys(pair):
            if known(f"{where} → compare", lm, "lms") and lm not in experiment["lms"]:
                found.append(f"{where} → compare: {lm!r} is not among the experiment's `lms`")
        if pair[0] == pair[1]:
            found.append(f"{where} → compare: {pair[0]!r} is compared with itself; name two LMs")
    for pair in _twice([tuple(sorted(pair)) for pair in pairs]):
        found.append(f"{where} → compare: {pair[0]!r} and {pair[1]!r} are compared twice")
    return found


def _responses(config: dict, where: str, experiment: dict) -> list[str]:
    """List what is wrong with the responses of an experiment, and what needs some."""
    asked = experiment.get("responses", {})
    found = (
        [] if asked or "responses" not in experiment else [f"{where} → responses: there are none"]
    )
    if not asked:
        for key in filter(experiment.get, OF_RESPONSES):
            others = [each.key for each in registry.evaluations().values() if key in each.shares]
            if not experiment.keys() & set(others):
                goes_with = " or ".join(f"`{each}`" for each in ("responses", *others))
                found.append(f"{where} → {key}: it goes with {goes_with}, and there are none")
    for design, listed in asked.items():
        place = f"{where} → responses → {design}"
        found += [f"{place}: {short(each)} stands twice" for each in _twice(listed)]
        formula = config["designs"].get(design, {}).get("formula", "")
        value = formula.partition("~")[0].strip()
        for response in listed:
            dataset, _, measure = response.partition(".")
            entry = config["datasets"].get(dataset)
            if entry is None or measure not in entry["measures"]:
                continue
            own = dataset_checks.value_column(entry, measure)
            plain = value in RESPONSES and "of" not in entry["measures"][measure]
            if plain and own != value:
                found.append(f"{place}: {response} is {own}, and the formula begins {value} ~")
            if experiment.get("recovery") and "simulate" not in entry:
                found.append(f"{where} → recovery: the readers of {dataset} are not simulated")
    return found


def _published(config: dict, root: Path, name: str) -> list[str]:
    """List the papers' values that an experiment names and that are not there, or others."""
    found = []
    for key, table in config["experiments"][name].get("published", {}).items():
        where = f"experiments → {name} → published → {key}"
        there = sorted(path.stem for path in (root / PUBLISHED).glob("*.csv"))
        if table not in there:
            found.append(f"{where}: {PUBLISHED} has no table {nearest(table[:60], there)}")
            continue
        with open(root / PUBLISHED / f"{table}.csv", encoding="utf-8", newline="") as file:
            header = next(csv.reader(file), [])
        if lost := [column for column in COLUMNS.get(key, ()) if column not in header]:
            found.append(f"{where}: {table}.csv has no column {nearest(lost[0], header)}")
    return found


def power_problems(config: dict) -> list[str]:
    """List impossible settings of the simulations of power and of endpoints."""
    found = []
    for name, settings in config.get("power", {}).items():
        where = f"power → {name}"
        found += [
            f"{where} → {key}: {each} stands twice"
            for key in ("subjects", "sentences", "seeds")
            for each in _twice(settings[key])
        ]
        found += [
            f"{where} → readers → {key}: `{where} → {key}` sets it; remove it from `readers`"
            for key in ("subjects", "sentences", "seeds", "responses")
            if key in settings.get("readers", {})
        ]
    simulation = config.get("endpoint_simulation", {})
    varied = [
        f"{key}={value:g}" for key, values in simulation.get("vary", {}).items() for value in values
    ]
    return found + [f"endpoint_simulation → vary: {each} stands twice" for each in _twice(varied)]
