"""Plan targets and print each job whose function does not take what its rule gives.

python tests/jobs_arguments.py CONFIG,CONFIG TARGET...
"""

import ast
import importlib
import inspect
import sys
from pathlib import Path

from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

from recency.workflow.engine import snakemake_patches
from recency.workflow.engine.job import arguments


def called(path, main=None):
    """Return the function that a rule's `main` names, or that its script runs and the arguments that it adds.

    None for a script without `run`.
    """
    if main:
        module, _, function = main.partition(":")
        return getattr(importlib.import_module(f"recency.{module}"), function or "main"), {}
    tree = ast.parse(path.read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    runs = [node for node in calls if getattr(node.func, "id", "") == "run"]
    if not runs:
        return None
    name = runs[0].args[0].id
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    (module,) = (node.module for node in imports if name in [each.name for each in node.names])
    added = {keyword.arg: None for keyword in runs[0].keywords}
    return getattr(importlib.import_module(module), name), added


def main(configs, targets):
    """Print a line for each rule, with the error of its first job that has one."""
    settings = ConfigSettings(configfiles=[Path(name) for name in configs.split(",") if name])
    with SnakemakeApi(OutputSettings(dryrun=True)) as api:
        opened = api.workflow(ResourceSettings(cores=2), settings, snakefile=Path("Snakefile"))
        workflow = snakemake_patches.opened_workflow(opened)
        workflow.dag_settings = DAGSettings()
        snakemake_patches.build_dag(workflow, targets)
        errors = {}
        for job in workflow.dag.jobs:
            if not job.rule.script or errors.get(job.rule.name):
                continue
            script_file = Path(str(job.rule.basedir), job.rule.script)
            errors[job.rule.name] = ""
            if (function := called(script_file, job.rule.params.get("main"))) is None:
                continue
            try:
                given = arguments(function[0], job)
                inspect.signature(function[0]).bind(**given | function[1])
            except TypeError as error:
                errors[job.rule.name] = str(error)
    for rule, error in errors.items():
        print(f"{rule}: {error or 'fits'}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
