"""Call the function of a rule's script with the rule's files and parameters, matched by name."""

import inspect
from collections.abc import Callable
from typing import Any

from recency.workflow.job import code_of, logged


def run(function: Callable, job: Any, **others: Any) -> None:
    """Call a rule's function with the job's files and parameters, inside `logged`.

    Parameters
    ----------
    function
        Function whose parameters are named as the rule's inputs, outputs, params and wildcards.
    job
        The script's `snakemake`.
    others
        Further arguments, or replacements of the job's.
    """
    with logged(job.log[0]):
        function(**arguments(function, job) | others)


def arguments(function: Callable, job: Any) -> dict[str, Any]:
    """Return the arguments of a function from a job, by name.

    - Every named input, output and param of the rule is an argument, so that a name without a
      parameter is an error. An output `x` is passed as `out_x` if the function has that parameter;
      unnamed outputs as `out`.
    - A parameter whose annotation has `of_job`, such as `LMSpec`, is constructed from several of these.
    - A param `settings` without a parameter is unpacked to arguments; inputs without parameters are
      passed together as `files`, by name.
    - The param `main` names the function's module, and is none of its arguments.
    - Wildcards, `threads` (or `processes`), and `code`, the fingerprints of the rule's code, are
      passed if the function has these parameters.

    Raises
    ------
    TypeError
        If two files or params of the rule have the same name.
    """
    parameters = inspect.signature(function).parameters
    taken = {n: p for n, p in parameters.items() if p.kind is not p.VAR_KEYWORD}
    inputs, outputs, params = (dict(part.items()) for part in (job.input, job.output, job.params))
    params.pop("main", None)
    outputs = {f"out_{name}" if f"out_{name}" in taken else name: outputs[name] for name in outputs}
    if unnamed := list(job.output)[: len(job.output) - _count(outputs)]:
        outputs["out"] = unnamed[0] if len(unnamed) == 1 else unnamed
    given: dict[str, Any] = {}
    for part in (inputs, outputs, params):
        if twice := given.keys() & part.keys():
            raise TypeError(
                f"rule {job.rule}: two files or params are called {', '.join(sorted(twice))}"
            )
        given |= part
    if "settings" in params and "settings" not in taken:
        given |= given.pop("settings")
    for name, parameter in taken.items():
        if hasattr(parameter.annotation, "of_job"):
            given[name] = parameter.annotation.of_job(given, job.threads)
    if "files" in taken and "files" not in given:
        others = [name for name in inputs if name in given and name not in taken]
        given["files"] = {name: given.pop(name) for name in others}
    wildcards = dict(job.wildcards.items())
    for name in wildcards.keys() & taken.keys() - given.keys():
        kind = taken[name].annotation
        given[name] = kind(wildcards[name]) if kind in (int, float) else wildcards[name]
    also = {"threads": job.threads, "processes": job.threads, "code": code_of(job.params)}
    return given | {name: value for name, value in also.items() if name in taken}


def _count(named: dict[str, Any]) -> int:
    """Count named files; a name may have several."""
    return sum(1 if isinstance(files, str) else len(files) for files in named.values())
