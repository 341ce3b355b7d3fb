"""The search of a bias's parameters for the best fit to mean reading times."""

import jsonschema

from recency import config as configuration
from recency.evaluations.registry import Evaluation
from recency.names import nearest


def _here(study, experiment: str) -> bool:
    """Say whether an experiment has a search, and its reading times are here."""
    search = study.experiment(experiment).get("search")
    asked = search and configuration.responses(study.config, search, "searches")
    return bool(search) and not any(r["dataset"] in study.not_run for r in asked)


def _problems(config, name, known) -> list[str]:
    experiment = config["experiments"][name]
    if "search" in experiment:
        known(f"experiments → {name} → search", experiment["search"], "searches")
    return []


def _problems_of_tables(config, root, known) -> list[str]:
    return [
        problem
        for name in config.get("searches", {})
        for problem in _search_problems(config, name, known)
    ]


def _search_problems(config: dict, name: str, known) -> list[str]:
    """List what a search names that does not exist or does not go together."""
    search, where = config["searches"][name], f"searches → {name}"
    problems = configuration.response_problems(config, where, search, known)
    lm = search["lm"]
    known(f"{where} → lm", lm, "lms")
    entry = config["lms"].get(lm, {})
    entry = config["lms"].get(entry.get("checkpoint_of"), entry)
    bias = config["biases"].get(entry.get("bias"), {"form": "none"})
    if bias["form"] != "none":
        problems.append(f"{where} → lm: {lm!r} has a bias already; name an unbiased LM")
    if configuration.kind_of(entry) != "network":
        problems.append(f"{where} → lm: {lm!r} is no network, and takes no bias; name one that is")
    for design in search["responses"]:
        if config["designs"].get(design, {}).get("engine", "ols") != "ols":
            problems.append(
                f"{where} → responses → {design}: a search fits least squares at every trial; take "
                "a design of `engine: ols`"
            )
    for mark in search.get("mark", []):
        if known(f"{where} → mark", mark, "biases"):
            form = config["biases"][mark]["form"]
            if form != search["form"]:
                problems.append(f"{where} → mark: {mark!r} is of another form, {form!r}")
    if search["form"] not in (forms := configuration.forms()):
        return [*problems, f"{where} → form: none is called {nearest(search['form'], forms)}"]
    return problems + _parameter_problems(f"{where} → parameters", search)


def _parameter_problems(where: str, search: dict) -> list[str]:
    """List what of a search's `parameters` does not fit the form: [low, high], or a value that stays."""
    problems, form, parameters = [], search["form"], search["parameters"]
    known = configuration.bias_parameters(form)
    for name, value in parameters.items():
        if name not in known:
            near = nearest(name, known)
            problems.append(f"{where}: the form {form!r} has no parameter {near}")
            continue
        validator = jsonschema.Draft202012Validator(known[name])
        bounds = value if isinstance(value, list) else [value]
        if errors := [error for bound in bounds for error in validator.iter_errors(bound)]:
            what = f"{errors[0].message} ({known[name]['description']})"
            problems.append(f"{where} → {name}: {what}; a search varies numbers alone")
        elif isinstance(value, list) and not bounds[0] < bounds[1]:
            problems.append(f"{where} → {name}: the bounds {value} are not [low, high]")
    if not any(isinstance(value, list) for value in parameters.values()):
        problems.append(f"{where}: nothing is searched; give a parameter its bounds, [low, high]")
    for name, schema in known.items():
        if "default" not in schema and name not in parameters:
            problems.append(f"{where}: {name!r} is missing ({schema['description']})")
    return problems


EVALUATION = Evaluation(
    key="search",
    applies=_here,
    alone=False,
    wildcards={"search": "searches"},
    also=lambda study, experiment: [
        f"<results>/searches/{study.experiment(experiment)['search']}/figure_bias_search.svg"
    ],
    problems=_problems,
    table_problems=_problems_of_tables,
)
