"""The search of a bias's parameters for the best fit to mean reading times."""

import jsonschema

from readingtimes.names import nearest
from recency import config as configuration
from recency.evaluations.registry import Evaluation
from recency.planned import Planned
from recency.regression import designs
from recency.regression import predictor_names as names


def _here(study: Planned, experiment: str) -> bool:
    """Return whether an experiment has a search and its reading times exist."""
    search = study.experiment(experiment).get("search")
    if not search:
        return False
    asked = configuration.responses(study.config, search, "searches")
    return not any(response["dataset"] in study.not_run for response in asked)


def _problems_of_tables(config, root) -> list[str]:
    """List incompatible LMs, designs, marks and parameters of the searches."""
    return [
        problem
        for name in config.get("searches", {})
        for problem in (*_search_problems(config, name), *_network_problems(config, name))
    ]


def _search_problems(config: dict, name: str) -> list[str]:
    """List incompatible designs, marks and parameters of a search."""
    search, where, problems = config["searches"][name], f"searches → {name}", []
    for design in search["responses"]:
        location, engine = f"{where} → responses → {design}", config["designs"][design]["engine"]
        if engine != "ols":
            problems.append(
                f"{location}: a search fits least squares at every trial; take a design of `engine: ols`"
            )
            continue
        for column in names.used(designs.read(config["designs"][design])):
            parts = names.split(column)
            of_others = names.measure_of(parts.stem) not in ("surprisal", "corrected")
            if parts.of_lm and (parts.lm or of_others):
                problems.append(
                    f"{location}: a search has no {column}, only the surprisal of the LM that it varies"
                )
                break
    for mark in search.get("mark", []):
        if (form := config["biases"][mark]["form"]) != search["form"]:
            problems.append(f"{where} → mark: {mark!r} is of another form, {form!r}")
    return problems + _parameter_problems(f"{where} → parameters", search)


def _network_problems(config: dict, name: str) -> list[str]:
    """List reasons why no bias can be applied to a search's LM, or not to these layers."""
    search, where = config["searches"][name], f"searches → {name}"
    lm, layers = search["lm"], search.get("layers")
    if configuration.kind_of(config["lms"][lm]) != "network":
        return [f"{where} → lm: {lm!r} is not a network and takes no bias; name a network"]
    settings = configuration.language_model(config, lm)
    if settings["bias"]["form"] != "none":
        return [f"{where} → lm: {lm!r} has a bias already; name an unbiased LM"]
    architecture = config["architectures"][settings["architecture"]]
    if "checkpoint" in settings:
        return []
    if architecture["family"] == "recurrent":
        return [f"{where} → lm: {lm!r} is recurrent, and takes no attention bias"]
    there = architecture["layers"]
    beyond = [index for index in layers if index >= there] if isinstance(layers, list) else []
    return [
        f"{where} → layers: {layer} is not a layer of {lm}, which has {there}, from 0"
        for layer in beyond[:1]
    ]


def _parameter_problems(where: str, search: dict) -> list[str]:
    """List entries of a search's `parameters` that do not fit the form: [low, high], or a value."""
    problems, form, parameters = [], search["form"], search["parameters"]
    declared = configuration.bias_parameters(form)
    for name, value in parameters.items():
        if name not in declared:
            near = nearest(name, declared)
            problems.append(f"{where}: the form {form!r} has no parameter {near}")
            continue
        validator = jsonschema.Draft202012Validator(declared[name])
        bounds = value if isinstance(value, list) else [value]
        if errors := [error for bound in bounds for error in validator.iter_errors(bound)]:
            what = f"{errors[0].message} ({declared[name]['description']})"
            problems.append(f"{where} → {name}: {what}; a search varies only numbers")
        elif isinstance(value, list) and not bounds[0] < bounds[1]:
            problems.append(f"{where} → {name}: the bounds {value} are not [low, high]")
    if not any(isinstance(value, list) for value in parameters.values()):
        problems.append(f"{where}: nothing is searched; give a parameter its bounds, [low, high]")
    for name, schema in declared.items():
        if "default" not in schema and name not in parameters:
            problems.append(f"{where}: {name!r} is missing ({schema['description']})")
    return problems


def _modules(config, wildcards) -> dict[str, list[str]]:
    """Return the bias form that a search varies."""
    search = config.get("searches", {}).get(getattr(wildcards, "search", None))
    if search is None:
        return {}
    return {configuration.BIASES: [search["form"], "none"], configuration.MEMORIES: []}


EVALUATION = Evaluation(
    key="search",
    applies=_here,
    standalone=False,
    wildcards={"search": "searches"},
    also=lambda study, experiment: [
        f"<results>/searches/{study.experiment(experiment)['search']}/figure_bias_search.svg"
    ],
    table_problems=_problems_of_tables,
    fitted="searches",
    targets=lambda config: [
        (f"search_{name}", entry.get("label", ""))
        for name, entry in config.get("searches", {}).items()
    ],
    chooses=_modules,
)
