"""Check the whole config before anything runs.

Nothing here needs torch or R, so a mistake shows within seconds of typing `snakemake`. Types and keys
first (schema_checks), then names, files, options and filters, then sizes, which need them right.
"""

import os
from pathlib import Path

import yaml

from recency import config as configuration
from recency.config import bias_parameters, forms
from recency.errors import InputError
from recency.evaluations import registry
from recency.names import nearest
from recency.workflow import (
    dataset_checks,
    design_checks,
    file_checks,
    lm_checks,
    loading,
    masked_checks,
    memory_checks,
    schema_checks,
    selection,
    size_checks,
    strict_yaml,
    text_checks,
    training_text,
    vector_checks,
)
from recency.workflow.measure_checks import measure_problems

LONGEST = 295  # signs of a line
MOST = 40  # lines
#: What an LM may say otherwise than the one whose `weights` it has, beside a bias at inference.
SCORED = {"scoring", "bos", "stride", "measures", "context"}


def check(config: dict, schema: Path) -> None:
    """Check types, unknown keys and every name; raise InputError with all that is wrong."""
    root = Path(schema).parent
    text = Path(schema).read_text(encoding="utf-8")
    schema = registry.complete_schema(yaml.load(text, Loader=strict_yaml.LOADER))
    for key, known in schema["properties"].items():
        # Of `--config key=false` Snakemake makes text; it knows False alone.
        if known.get("type") == "boolean" and config.get(key) in ("true", "false"):
            config[key] = config[key] == "true"
    found = schema_checks.problems(config, schema)
    found = (found and _file_problems(root, schema)) or found  # what a file has is said of the file
    found = found or _problems(config, root, schema["properties"])
    if found:
        raise InputError(listed(found))


def listed(problems: list[str]) -> str:
    """Return what is wrong with a config as one message, a line each, cut where there are many."""
    found = [p if len(p) <= LONGEST else f"{p[: LONGEST - 1]}…" for p in dict.fromkeys(problems)]
    more = [f"… and {len(found) - MOST} more"] if len(found) > MOST else []
    lines = "\n".join(f"  {problem}" for problem in found[:MOST] + more)
    return f"the config (config.yaml and what was laid over it) is wrong:\n{lines}"


def _file_problems(root: Path, schema: dict) -> list[str]:
    """List the schema errors of each corpus file by itself, which the whole config would repeat."""
    part = schema | {"required": []}
    return [
        problem
        for path, content in loading.corpus_files(root).items()
        for problem in schema_checks.problems(content, part, f"{path}: ")
    ]


def _problems(config: dict, root: Path, tables: dict) -> list[str]:
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

    biases = _bias_problems(config) + memory_checks.memory_problems(config, known)
    found = _scale_problems(config, known) + _lm_problems(config, known)
    found += text_checks.problems(config, root, known) + dataset_checks.problems(config, known)
    found += _data_problems(config) + memory_checks.problems(config, known)
    found += masked_checks.problems(config) + vector_checks.problems(config, known)
    found += _design_problems(config) + selection.power_problems(config)
    found += design_checks.problems(config, root, known) + measure_problems(config)
    for evaluation in registry.evaluations().values():
        if evaluation.table_problems:
            found += evaluation.table_problems(config, root, known)
    found += selection.problems(config, root, known)
    found = unknown + biases + found
    if unknown or biases:
        return found
    return found + size_checks.problems(config) + training_text.problems(config)


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
    """List LMs whose bias, weights and time of use do not go together."""
    problems = lm_checks.problems(config, known)
    for name, lm in config["lms"].items():
        if "bias" in lm:
            known(f"lms → {name} → bias", lm["bias"], "biases")
        inference = lm.get("applied", "training") == "inference"
        otherwise = "weights" in lm and not {"bias", "applied"} & lm.keys() and SCORED & lm.keys()
        inference = inference or bool(otherwise)  # the same network, scored otherwise
        if inference != ("weights" in lm) and not {"checkpoint", "checkpoint_of"} & lm.keys():
            problems.append(
                f"lms → {name}: `applied: inference` and `weights: <the LM that is biased>` go together"
            )
        problems += _checkpoint(f"lms → {name} → checkpoint", lm.get("checkpoint"))
        if "allow_pickle" in lm and "checkpoint" not in lm:
            problems.append(f"lms → {name}: `allow_pickle` goes with `checkpoint`")
        if "weights" in lm and known(f"lms → {name} → weights", lm["weights"], "lms"):
            trained = config["lms"][lm["weights"]]
            own = config["lms"].get(trained.get("checkpoint_of"), trained)
            biased = own.get("bias") in config["biases"]
            biased = biased and configuration.bias_of(config, lm["weights"])["form"] != "none"
            if (biased and not otherwise) or "weights" in trained:
                problems.append(f"lms → {name} → weights: {lm['weights']!r} is itself a biased LM")
        problems += _unused(f"lms → {name}", lm)
    return problems


def _checkpoint(where: str, checkpoint: str | None) -> list[str]:
    """List what keeps a checkpoint from being a folder or a name on the Hub."""
    if checkpoint is None:
        return []
    if checkpoint.startswith(("/", "./", "../", "~")) and not os.path.isdir(checkpoint):
        return [f"{where}: no folder {schema_checks.short(checkpoint)}"]
    if not checkpoint.strip() or set(checkpoint) & set(" {}<>"):
        return [f"{where}: {schema_checks.short(checkpoint)} is no folder and no name on the Hub"]
    return []


def _unused(where: str, lm: dict) -> list[str]:
    """List settings of a training that is not done: the weights are there already."""
    of = next((key for key in lm_checks.ELSEWHERE if key in lm), None)
    kept = ("architecture", "memory", "corpus", "tokenizer", "recipe", "seed")
    return [
        f"{where} → {key}: with `{of}` nothing is trained, and this says nothing; leave it out"
        for key in kept
        if of and key in lm
    ]


def _data_problems(config: dict) -> list[str]:
    """List what is wrong with the files of treebanks, minimal pairs and the like."""
    return [
        problem
        for kind in registry.data().values()
        for name, entry in config.get(kind.table, {}).items()
        for role in kind.roles
        if role in entry
        for problem in file_checks.problems(f"{kind.table} → {name} → {role}", entry[role])
    ]


def _design_problems(config: dict) -> list[str]:
    """List designs whose response has no logarithm."""
    return [
        f"designs → {name} → response: amplitudes are below 0 as well and have no 'log'; write raw"
        for name, design in config["designs"].items()
        if design["response"] == "log" and design["formula"].startswith("amplitude_uv")
    ]


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
        for error in schema_checks.Validator(schema).iter_errors(settings):
            error.path.extendleft([name, "biases"])
            problems.append(schema_checks.message(error, schema))
    return problems
