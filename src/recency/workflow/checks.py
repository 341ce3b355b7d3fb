"""Check the whole config before anything runs.

Nothing here needs torch or R, so mistakes are reported within seconds. The schema checks types and keys,
then looks up names of entries, modules, files and columns; then settings of several tables are compared.
"""

from pathlib import Path

import yaml

from recency.errors import InputError
from recency.evaluations import registry
from recency.workflow import (
    dataset_checks,
    design_checks,
    inside_checks,
    language_checks,
    lm_checks,
    loading,
    lossy_checks,
    network_checks,
    schema_checks,
    selection,
    strict_yaml,
    training_text,
    value_checks,
)

LONGEST = 295  # maximum characters per line
MOST = 40  # maximum number of lines


def check(config: dict, schema: Path) -> None:
    """Check types, keys and names; raise an InputError that lists all problems."""
    root = Path(schema).parent
    text = Path(schema).read_text(encoding="utf-8")
    schema = registry.complete_schema(yaml.load(text, Loader=strict_yaml.LOADER))
    for key, value in schema["properties"].items():
        # Snakemake reads `--config key=false` as text; only False is a boolean.
        if value.get("type") == "boolean" and config.get(key) in ("true", "false"):
            config[key] = config[key] == "true"
    look_up = value_checks.Lookup(config, schema, root)
    faults = schema_checks.problems(config, schema, look_up=look_up)
    faults = (faults and _of_files(root, schema)) or faults  # prefer errors that name the file
    if faults := faults or _problems(config, root):
        raise InputError(listed(faults))


def listed(problems: list[str]) -> str:
    """Return a message with one line per problem, truncated if there are many."""
    lines_cut = [
        p if len(p) <= LONGEST else f"{p[: LONGEST - 1]}…" for p in dict.fromkeys(problems)
    ]
    more = [f"… and {len(lines_cut) - MOST} more"] if len(lines_cut) > MOST else []
    lines = "\n".join(f"  {problem}" for problem in lines_cut[:MOST] + more)
    return f"the config (config.yaml and its overlays) has errors:\n{lines}"


def _of_files(root: Path, schema: dict) -> list[str]:
    """List the schema errors of each corpus file separately."""
    part = schema | {"required": []}
    return [
        problem
        for path, content in loading.corpus_files(root).items()
        for problem in schema_checks.problems(content, part, f"{path}: ")
    ]


def _problems(config: dict, root: Path) -> list[str]:
    """List incompatible settings of several tables; every name is defined."""
    faults = network_checks.problems(config) + lm_checks.problems(config)
    faults += lossy_checks.problems(config) + language_checks.problems(config)
    faults += inside_checks.problems(config, root)
    faults += dataset_checks.problems(config) + design_checks.problems(config, root)
    for evaluation in registry.evaluations().values():
        faults += evaluation.table_problems(config, root) if evaluation.table_problems else []
    return faults + selection.problems(config) + training_text.problems(config)
