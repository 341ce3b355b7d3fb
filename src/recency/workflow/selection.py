"""Checks of what experiments and searches select: that it exists and goes together."""

from __future__ import annotations

import jsonschema

from recency.names import nearest
from recency.workflow.configuration import MATERIALS, bias_parameters, forms


def experiment_problems(config: dict, name: str, known) -> list[str]:
    """List what an experiment selects that does not exist or does not go together."""
    problems, experiment = [], config["experiments"][name]
    where = f"experiments → {name}"
    for lm in experiment["lms"]:
        known(f"{where} → lms", lm, "lms")
    known(f"{where} → baseline", experiment["baseline"], "lms")
    for pair in experiment.get("compare", []):
        for lm in pair:
            if known(f"{where} → compare", lm, "lms") and lm not in experiment["lms"]:
                problems.append(f"{where} → compare: {lm!r} is not among the experiment's `lms`")
    for other in ("compare", "published", "recovery", "minimal_pairs"):
        if "sensitivity" in experiment and other in experiment:
            problems.append(
                f"{where}: `sensitivity` goes without `{other}`; give each its experiment"
            )
    if experiment["baseline"] not in experiment["lms"]:
        problems.append(f"{where} → baseline: not among the experiment's `lms`")
    if "attention" in experiment:
        known(f"{where} → attention", experiment["attention"], "datasets")
    for key, (table, _) in MATERIALS.items():
        if key in experiment:
            known(f"{where} → {key}", experiment[key], table)
    if "attention_maps" in experiment:
        maps = experiment["attention_maps"]
        known(f"{where} → attention_maps → sentence", maps["sentence"], "sentences")
        for lm in maps["lms"]:
            if lm not in experiment["lms"]:
                options = nearest(lm, experiment["lms"])
                problems.append(
                    f"{where} → attention_maps → lms: not among the experiment's {options}"
                )
    if "search" in experiment:
        known(f"{where} → search", experiment["search"], "searches")
    problems += response_problems(config, where, experiment, known)
    return problems + whole_problems(config, where, experiment)


def response_problems(config: dict, where: str, entry: dict, known) -> list[str]:
    """List the designs, datasets and measures of `responses` that do not exist."""
    problems = []
    for design, responses in entry.get("responses", {}).items():
        known(f"{where} → responses", design, "designs")
        for response in responses:
            dataset, _, measure = response.partition(".")
            if known(f"{where} → responses → {design}", dataset, "datasets"):
                measures = config["datasets"][dataset]["measures"]
                if measure not in measures:
                    options = nearest(response, [f"{dataset}.{each}" for each in measures])
                    problems.append(f"{where} → responses → {design}: no measure {options}")
    return problems


def whole_problems(config: dict, where: str, experiment: dict) -> list[str]:
    """List what an experiment asks of datasets that are not partitioned, and they cannot give."""
    listed = [
        (design, response.partition(".")[0])
        for design, responses in experiment.get("responses", {}).items()
        for response in responses
    ]
    whole = {d for _, d in listed if not config["datasets"].get(d, {}).get("partitioned", True)}
    if not whole:
        return []
    problems, name = [], min(whole)
    for design in dict.fromkeys(design for design, dataset in listed if dataset in whole):
        if config["designs"].get(design, {}).get("engine", "ols") != "ols":
            problems.append(
                f"{where} → responses → {design}: all of {name!r} is fitted (`partitioned: false`), "
                "which is compared by AIC; take a design of `engine: ols`"
            )
    if others := sorted({dataset for _, dataset in listed} - whole):
        problems.append(
            f"{where} → responses: all of {name!r} is fitted (`partitioned: false`), {others[0]!r} "
            "is not; give each an experiment of its own"
        )
    for key in ("compare", "seeds", "sensitivity"):
        if key in experiment:
            problems.append(
                f"{where} → {key}: {name!r} has no partition beside the one that is fitted "
                f"(`partitioned: false`); leave `{key}` out"
            )
    return problems


def search_problems(config: dict, name: str, known) -> list[str]:
    """List what a search names that does not exist or does not go together."""
    search, where = config["searches"][name], f"searches → {name}"
    problems = response_problems(config, where, search, known)
    lm = search["lm"]
    if known(f"{where} → lm", lm, "lms") and config["lms"][lm].get("bias", "none") != "none":
        problems.append(f"{where} → lm: {lm!r} has a bias already; name an unbiased LM")
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
    if search["form"] not in forms():
        told = nearest(search["form"], forms())
        return [*problems, f"{where} → form: none is called {told}"]
    return problems + parameter_problems(f"{where} → parameters", search)


def parameter_problems(where: str, search: dict) -> list[str]:
    """List what of a search's `parameters` does not fit the form: [low, high], or a value that stays."""
    problems, form, parameters = [], search["form"], search["parameters"]
    known = bias_parameters(form)
    for name, value in parameters.items():
        if name not in known:
            told = nearest(name, known)
            problems.append(f"{where}: the form {form!r} has no parameter {told}")
            continue
        validator = jsonschema.Draft202012Validator(known[name])
        bounds = value if isinstance(value, list) else [value]
        if errors := [error for bound in bounds for error in validator.iter_errors(bound)]:
            said = f"{errors[0].message} ({known[name]['description']})"
            problems.append(f"{where} → {name}: {said}; a search varies numbers alone")
        elif isinstance(value, list) and not bounds[0] < bounds[1]:
            problems.append(f"{where} → {name}: the bounds {value} are not [low, high]")
    if not any(isinstance(value, list) for value in parameters.values()):
        problems.append(f"{where}: nothing is searched; give a parameter its bounds, [low, high]")
    for name, schema in known.items():
        if "default" not in schema and name not in parameters:
            problems.append(f"{where}: {name!r} is missing ({schema['description']})")
    return problems
