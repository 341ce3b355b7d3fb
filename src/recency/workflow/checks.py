"""Check the whole config before anything runs.

Nothing here needs torch or R, so a mistake shows within seconds of typing `snakemake`.
"""

from __future__ import annotations

from pathlib import Path

import jsonschema
import yaml

from recency import config as configuration
from recency import sources
from recency.config import bias_parameters, forms
from recency.errors import InputError
from recency.evaluations import registry
from recency.names import nearest
from recency.workflow import design_checks, lm_checks, loading, selection
from recency.workflow.measure_checks import measure_problems


def check(config: dict, schema: Path) -> None:
    """Check types, unknown keys and every name; raise InputError with all that is wrong."""
    root = Path(schema).parent
    schema = registry.complete_schema(yaml.safe_load(Path(schema).read_text()))
    for key, known in schema["properties"].items():
        # Of `--config key=false` Snakemake makes text; it knows False alone.
        if known.get("type") == "boolean" and config.get(key) in ("true", "false"):
            config[key] = config[key] == "true"
    validator = jsonschema.Draft202012Validator(schema)
    errors = sorted(validator.iter_errors(config), key=lambda error: list(map(str, error.path)))
    problems = _file_problems(root, schema)
    problems = problems or [_message(error, schema) for error in errors]
    problems = problems or [
        *_name_problems(config, root, schema["properties"]),
        *_bias_problems(config),
    ]
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise InputError(f"the config (config.yaml and what was laid over it) is wrong:\n{listed}")


def _file_problems(root: Path, schema: dict) -> list[str]:
    """List the schema errors of each corpus file by itself, which the whole config would repeat."""
    part = jsonschema.Draft202012Validator(schema | {"required": []})
    return [
        f"{path}: {_message(error, schema)}"
        for path, content in loading.corpus_files(root).items()
        for error in part.iter_errors(content)
    ]


def _message(error: jsonschema.ValidationError, schema: dict) -> str:
    """Say where, what and the way out of one schema error."""
    where = " → ".join(map(str, error.path)) or "top level"
    if error.validator == "not":  # a key that has another name now
        return f"{where}: {error.schema['description']}"
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", ()))
        unknown = [key for key in error.instance if key not in known]
        return "; ".join(f"{where}: unknown key {nearest(key, known)}" for key in unknown)
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"{where}: {', '.join(map(repr, missing))} is missing"
    if error.validator in ("anyOf", "oneOf") and error.context:
        reasons = "; or ".join(dict.fromkeys(each.message for each in error.context))
        message = f"{error.instance!r} fits none of what it may be: {reasons}"
    else:
        message = error.message
    description = error.schema.get("description")
    return f"{where}: {message}" + (f" ({description})" if description else "")


def _name_problems(config: dict, root: Path, tables: dict) -> list[str]:
    """List the names that no table defines, and settings that do not go together.

    `tables` are the schema's: the title of one is what an entry is called, if not its name without s.
    """
    unknown: list[str] = []

    def known(where: str, name: object, table: str) -> bool:
        if name in config.get(table, {}):
            return True
        one = tables[table].get("title", table[:-1])
        unknown.append(f"{where}: no {one} is called {nearest(name, config.get(table, {}))}")
        return False

    checks = (_scale_problems, _lm_problems, _text_problems, _dataset_problems)
    problems = [problem for check in checks for problem in check(config, known)]
    problems += _local_file_problems(config) + _source_problems(config, root)
    problems += _design_problems(config, known) + design_checks.problems(config, root, known)
    problems += measure_problems(config)
    for evaluation in registry.evaluations().values():
        if evaluation.table_problems:
            problems += evaluation.table_problems(config, root, known)
    for name in config["experiments"]:
        problems += selection.experiment_problems(config, name, known)
    for name, target in config.get("targets", {}).items():
        known(f"targets → {name} → experiment", target["experiment"], "experiments")
    return unknown + problems


def _scale_problems(config: dict, known) -> list[str]:
    """Look up what `scale`, `run`, the scales and the LMs name."""
    known("scale", config["scale"], "scales")
    for name in config["run"]:
        known("run", name, "experiments")
    tables = {"architecture": "architectures", "corpus": "corpora", "recipe": "recipes"}
    tables |= {"tokenizer": "tokenizers", "unigram": "unigrams"}
    for where, entries in (("scales", config["scales"]), ("lms", config["lms"])):
        for name, entry in entries.items():
            for key in tables.keys() & entry.keys():
                known(f"{where} → {name} → {key}", entry[key], tables[key])
    return []


def _lm_problems(config: dict, known) -> list[str]:
    """List LMs whose bias, weights and time of use do not go together, and groups of LMs that are wrong."""
    problems = lm_checks.problems(config, known)
    for name, lm in config["lms"].items():
        if "bias" in lm:
            known(f"lms → {name} → bias", lm["bias"], "biases")
        inference = lm.get("applied", "training") == "inference"
        if inference != ("weights" in lm) and "checkpoint" not in lm:
            problems.append(
                f"lms → {name}: `applied: inference` and `weights: <the LM that is biased>` go together"
            )
        if "allow_pickle" in lm and "checkpoint" not in lm:
            problems.append(f"lms → {name}: `allow_pickle` goes with `checkpoint`")
        if "weights" in lm and known(f"lms → {name} → weights", lm["weights"], "lms"):
            trained = config["lms"][lm["weights"]]
            biased = trained.get("bias") in config["biases"]
            biased = biased and configuration.bias_of(config, lm["weights"])["form"] != "none"
            if biased or "weights" in trained:
                problems.append(f"lms → {name} → weights: {lm['weights']!r} is itself a biased LM")
    for name, members in config.get("lm_groups", {}).items():
        for lm in members:
            known(f"lm_groups → {name}", lm, "lms")
        if name in config["lms"]:
            problems.append(f"lm_groups → {name}: an LM has the same name")
    return problems


def _text_problems(config: dict, known) -> list[str]:
    """List unigrams and tokenizers that are made of no corpus, or share an LM's name."""
    for table in ("unigrams", "tokenizers"):
        for name, entry in config[table].items():
            if "corpus" in entry:
                known(f"{table} → {name} → corpus", entry["corpus"], "corpora")
    return [
        f"unigrams → {name}: an LM has the same name"
        for name in config["unigrams"]
        if name in config["lms"]
    ]


def _source_problems(config: dict, root: Path) -> list[str]:
    """List corpora of text whose table of files cannot be read, or lacks a part that they exclude."""
    problems = []
    for name, corpus in config["corpora"].items():
        if "sources" in corpus:
            try:
                sources.read(root / corpus["sources"], corpus.get("exclude", []))
            except InputError as error:
                problems.append(f"corpora → {name} → sources: {error}")
    return problems


def _dataset_problems(config: dict, known) -> list[str]:
    """List datasets whose parser, filters or readers do not exist."""
    problems, parsers = [], configuration.parsers()
    for name, dataset in config["datasets"].items():
        where = f"datasets → {name}"
        if dataset["parser"] not in parsers:
            options = nearest(dataset["parser"], parsers)
            problems.append(f"{where} → parser: none is called {options}")
        if "dataset" in dataset["words"]:
            problems += _shared_words_problems(config, name, known)
        steps = dataset.get("filters", {})
        for measure, settings in dataset["measures"].items():
            problems += [
                f"{where} → measures → {measure}: no filter is called {nearest(step, steps)}"
                for step in settings["filters"]
                if step not in steps
            ]
            problems += _event_problems(f"{where} → measures → {measure}", settings, dataset)
        for lm in dataset.get("scored_by", []):
            known(f"{where} → scored_by", lm, "lms")
        if "simulate" in dataset:
            known(f"{where} → simulate → reader", dataset["simulate"]["reader"], "lms")
    return problems


def _shared_words_problems(config: dict, name: str, known) -> list[str]:
    """List what keeps a dataset from having another's words."""
    dataset, where = config["datasets"][name], f"datasets → {name} → words → dataset"
    owner = dataset["words"]["dataset"]
    if not known(where, owner, "datasets"):
        return []
    other, problems = config["datasets"][owner], []
    if "dataset" in other["words"]:
        problems.append(f"{where}: {owner!r} has no words of its own; name the dataset that has")
    if "simulate" in dataset or "simulate" in other:
        problems.append(f"{where}: {owner!r} is made with its readers; name a dataset with files")
    return problems


def _event_problems(where: str, settings: dict, dataset: dict) -> list[str]:
    """List what is wrong with a measure that is an event of another one."""
    if ("of" in settings) != ("event" in settings):
        return [f"{where}: `of: <measure>` and `event: <query>` go together"]
    others = [name for name, each in dataset["measures"].items() if "of" not in each]
    if "of" in settings and settings["of"] not in others:
        return [f"{where} → of: no measure is called {nearest(settings['of'], others)}"]
    return []


def _local_file_problems(config: dict) -> list[str]:
    """List local files that are named and not there, where nothing says how to place them."""
    problems = []
    for name, dataset in config["datasets"].items():
        for part in ("words", "responses"):
            for role, file in dataset[part].items():
                if (
                    isinstance(file, dict)
                    and "url" in file
                    and "local" in file
                    and not Path(file["local"]).exists()
                ):
                    where = f"datasets → {name} → {part} → {role} → local"
                    problems.append(f"{where}: no file {file['local']!r}")
    for kind in registry.data().values():
        for name, entry in config.get(kind.table, {}).items():
            for role in (role for role in kind.roles if role in entry):
                local = entry[role].get("local")
                if local and "placed" not in entry[role] and not Path(local).exists():
                    where = f"{kind.table} → {name} → {role} → local"
                    problems.append(f"{where}: no file {local!r}")
    return problems


def _design_problems(config: dict, known) -> list[str]:
    """List designs whose response has no logarithm, and studies of power that cannot be."""
    problems = [
        f"designs → {name} → response: amplitudes are below 0 as well and have no 'log'; write raw"
        for name, design in config["designs"].items()
        if design["response"] == "log" and design["formula"].startswith("amplitude_uv")
    ]
    for name, settings in config.get("power", {}).items():
        if known("power", name, "datasets") and "simulate" not in config["datasets"][name]:
            problems.append(f"power → {name}: its readers are not simulated")
        known(f"power → {name} → design", settings["design"], "designs")
    return problems


def _bias_problems(config: dict) -> list[str]:
    """List biases whose form has no file, or whose parameters its file does not allow."""
    problems = []
    for name, bias in config["biases"].items():
        if bias["form"] not in forms():
            problems.append(
                f"biases → {name} → form: none is called {nearest(bias['form'], forms())}"
            )
            continue
        properties = bias_parameters(bias["form"])
        schema = {"properties": properties, "additionalProperties": False}
        schema["required"] = [k for k, v in properties.items() if "default" not in v]
        settings = {key: value for key, value in bias.items() if key not in ("form", "layers")}
        for error in jsonschema.Draft202012Validator(schema).iter_errors(settings):
            error.path.extendleft([name, "biases"])
            problems.append(_message(error, schema))
    return problems
