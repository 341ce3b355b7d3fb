"""Regressions of several responses in one process or a few, of which R starts once at most."""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from recency.errors import InputError
from recency.regression.confirmation import drawn
from recency.workflow import kept
from recency.workflow.kept import Part

ROLES = ("words", "fit", "exploratory", "unigram", "surprisal")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main(
    files: Mapping[str, Any],
    out: Sequence[str],
    observations: Sequence[str],
    responses: Sequence[Mapping[str, Any]],
    lm: str,
    model: str,
    code: Mapping[str, str],
    processes: int = 1,
    beside: str | None = None,
) -> None:
    """Fit a model of each response that is not kept from before; the largest first.

    `files` are named `<role>_<number of the response>`, as recency.workflow.regressions.parted does;
    `others_<number>` are in the order of the response's `others`. A response has a `name`, its
    `design` and `others`, the LMs that its formula names. The rest is that of
    recency.regression.fit.main, whose `out` and `out_observations` these are.
    """
    work, parts = {}, []
    for number, (response, *outputs) in enumerate(zip(responses, out, observations, strict=True)):
        given = {role: files.get(f"{role}_{number}") for role in ROLES}
        others = dict(zip(response["others"], files.get(f"others_{number}", ()), strict=True))
        if beside is not None:
            others[beside] = files[f"beside_{number}"]
        design = dict(response["design"])
        asked = {"lm": lm, "model": model, "design": design, "beside": beside}
        asked["confirm"] = drawn(design, lm, model, beside or "")
        read = {**given, "others": list(others.values())}
        settings = asked | {"others": list(others)}
        part = Part(response["name"], tuple(map(Path, outputs)), kept.key(read, settings, code))
        parts.append(part)
        work[part] = {**given, **asked, "others": others}
    todo = sorted(kept.missing(parts), key=lambda part: -Path(work[part]["fit"]).stat().st_size)
    in_r = any(needs_r(**work[part]) for part in todo)
    if min(processes, len(todo)) <= 1:
        for part in todo:
            fitted(part, work[part])
        return
    for variable in THREADS:  # Snakemake has them at the job's threads, and each process is one
        os.environ[variable] = "1"
    load(in_r)
    forks = multiprocessing.get_context("fork")  # each has what is loaded here, R too
    with ProcessPoolExecutor(min(processes, len(todo)), forks) as pool:
        begun = {pool.submit(fitted, part, work[part]): part for part in todo}
        try:
            for done in as_completed(begun):
                done.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def fitted(part: Part, work: Mapping[str, Any]) -> None:
    """Fit one regression and keep it; an error names its response."""
    from recency.regression.fit import main as fit

    print(f"{part.name}", file=sys.stderr)
    results, rows = part.outputs
    try:
        kept.make(part, functools.partial(fit, **work, out=results, out_observations=rows))
    except InputError as error:
        raise InputError(f"{part.name}: {error}") from None


def needs_r(design: Mapping[str, Any], confirm: bool, **_: Any) -> bool:
    """Say whether R fits or reports a regression; what is only searched may yet need it."""
    engine = design["engine"]
    return engine in ("lme4", "gam") or (engine == "cross_products" and confirm)


def load(in_r: bool) -> None:
    """Import what fits a model, and start R, in the process that forks the others."""
    from recency.mixed import lme4
    from recency.regression import fit  # noqa: F401

    if in_r:
        lme4.start()
