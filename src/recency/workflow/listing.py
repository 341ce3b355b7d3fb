"""`./run --list`: the targets of a study, one per line, with the remaining cost of each."""

import ast
import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from recency import config as configuration
from recency.errors import InputError
from recency.evaluations.registry import products
from recency.workflow import code, cost_model, costs, snakemake_patches
from recency.workflow.costs import Cost
from recency.workflow.targets import KINDS, Target, targets

WIDTH = 60
"""Maximum width of a padded column, characters."""


def lines(
    root: Path, configfiles: Sequence[str], entries: Sequence[str], cores: int, everything: bool
) -> list[str]:
    """Return the listing of the study defined by config files and `--config` entries.

    Paths of config files are relative to `root`. Times are for `cores` cores. `everything` lists
    every check, export and internal rule.
    """
    with opened(root, configfiles, entries) as workflow:
        study = workflow.globals["study"]
        config = study.config
        listed = targets(config)
        by_target = costs.costs(workflow, study, costs.listed(config, everything))
        absent = {name: _absent(study, name) for name in config["experiments"]}
        internal = _internal(workflow.rules, listed) if everything else []
    rows = _rows(listed, by_target, absent, cores, everything)
    head = f"study {config['study']}, scale {config['scale']}; remaining jobs, on {cores} cores"
    return [head, *_table(rows), *internal, *_notes(by_target.values(), everything)]


def plain_lines(config: Mapping) -> list[str]:
    """Return one line per target of a config, without costs, which require Snakemake."""
    listed = targets(config)
    kinds = {target.kind for target in listed}
    rows = [(target.name, target.line) for target in listed if not target.kind]
    return _table([*rows, *((kind, line) for kind, line in KINDS.items() if kind in kinds)])


def _rows(
    listed: Sequence[Target],
    estimates: Mapping[str, Cost],
    absent: Mapping[str, str],
    cores: int,
    everything: bool,
) -> list[tuple[str, str, str]]:
    """Return name, description and cost of each target, with one row per kind unless all are requested."""
    rows = []
    for target in listed:
        if target.name in estimates:
            cost = estimates[target.name].line(cores) + absent.get(target.name, "")
            rows.append((target.name, target.line, cost))
        elif everything:
            rows.append((target.name, target.line, ""))
    kinds = {target.kind for target in listed}
    if not everything:
        rows += [(kind, line, "") for kind, line in KINDS.items() if kind in kinds]
    return rows


def _notes(estimates: Iterable[Cost], everything: bool) -> list[str]:
    """Return notes on the times and on further listings."""
    notes = []
    if any(cost.left and not cost.measured for cost in estimates):
        on_gpu = f"those of {cost_model.GPU}" if cost_model.GPU else "estimated ones"
        notes.append(
            "estimated: from the jobs' work and measured costs (docs/scaling.md), on GPUs from "
            f"{on_gpu}; after the first finished jobs, from their times"
        )
    if not everything:
        notes.append("each check, export and internal rule: ./run --list all")
    return notes


def _internal(rules: Iterable, listed: Sequence[Target]) -> list[str]:
    """Return one line per rule that is not a target: its docstring, else its script's or module's."""
    shown = {target.name for target in listed}
    titles = {
        product.rule: ", ".join(t for _, t in product.makes.values()) for product in products()
    }
    rows = [
        (
            rule.name,
            titles.get(rule.name)
            or (rule.docstring or "").rstrip(".")
            or _docstring(
                code.starts_of(
                    Path(rule.basedir.get_path_or_uri(secret_free=True), rule.script),
                    rule.params.get("main"),
                )[-1]
            ),
        )
        for rule in rules
        if rule.name not in shown and rule.script
    ]
    return ["", "internal rules, on which targets depend", *_table(rows)]


def _docstring(path: Path) -> str:
    """Return the first line of a script's docstring, without the rule's name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    line = (ast.get_docstring(tree) or "").partition("\n")[0]
    line = re.sub(r"^Rules? [\w, ]+: ", "", line).rstrip(".")
    return line[:1].upper() + line[1:]


def _absent(study, experiment: str) -> str:
    """Return a note on the missing datasets of an experiment."""
    others = configuration.datasets_read(study.config, [experiment])
    names = dict.fromkeys([*study.all_datasets(experiment), *sorted(others)])
    labels = dict.fromkeys(
        study.config["datasets"][name]["label"] for name in names if name in study.absent
    )
    return f" (without {', '.join(labels)}: missing)" if labels else ""


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows with all but the last column padded, up to WIDTH."""
    widths = [min(WIDTH, max(map(len, column))) for column in zip(*rows, strict=True)][:-1]
    return [
        "  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths)), row[-1]]).rstrip()
        for row in rows
    ]


@contextlib.contextmanager
def opened(root: Path, configfiles: Sequence[str], entries: Sequence[str]) -> Iterator:
    """Read the Snakefile silently, as a dry run does, and yield Snakemake's workflow."""
    from snakemake.api import SnakemakeApi
    from snakemake.cli import parse_config
    from snakemake.exceptions import WorkflowError
    from snakemake.logging import logger
    from snakemake.settings import types

    try:
        settings = parse_config(entries)
    except ValueError as error:
        raise InputError(f"--config: {error}") from None
    output = types.OutputSettings(dryrun=True, quiet={types.Quietness.ALL})
    triggers = types.RerunTrigger.parse_choices_set(["mtime", "params", "input"])
    logger.disabled = True
    try:
        with contextlib.chdir(root), SnakemakeApi(output) as api:
            opened = api.workflow(
                resource_settings=types.ResourceSettings(cores=1),
                config_settings=types.ConfigSettings(
                    config=settings, configfiles=[Path(name) for name in configfiles]
                ),
                snakefile=Path("Snakefile"),
            )
            opened.dag(types.DAGSettings(rerun_triggers=triggers))
            yield snakemake_patches.opened_workflow(opened)
    except WorkflowError as error:
        raise InputError(str(error)) from None
    finally:
        logger.disabled = False
