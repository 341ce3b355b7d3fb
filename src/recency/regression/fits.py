"""Fit regressions of several responses in a few processes that share one start of R."""

import functools
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from recency import stored_parts
from recency.errors import REFUSALS, InputError
from recency.regression.confirmation import is_confirmed
from recency.regression.inputs import ROLES, Inputs
from recency.stored_parts import Part

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main(
    files: Mapping[str, Any],
    fits: Sequence[str],
    observations: Sequence[str],
    responses: Sequence[Mapping[str, Any]],
    lm: str,
    model: str,
    code: Mapping[str, str],
    processes: int = 1,
    second_lm: str | None = None,
) -> None:
    """Fit a model to each response without a stored fit; the largest first.

    `files` are named `<role>_<number of the response>`, as in recency.workflow.plan.regressions.parted;
    `others_<number>` are in the order of the response's `others`. A response has a `name`, its
    `design`, the LMs that its formula names (`others`), and `in_sample` if log-likelihoods of the
    fitted observations are written too. Other parameters are those of recency.regression.fit.main,
    whose `out` and `out_observations` are `fits` and `observations`.
    """
    work: dict[Part, dict[str, Any]] = {}
    for response, read, *outputs in zip(
        responses, _files(files, responses), fits, observations, strict=True
    ):
        design, others = dict(response["design"]), read.pop("others")
        if second_lm is not None:
            others[second_lm] = files[f"second_{len(work)}"]
        asked = {"lm": lm, "model": model, "design": design, "second_lm": second_lm}
        asked["confirm"] = is_confirmed(design, lm, model, second_lm or "")
        asked |= {"in_sample": True} if response.get("in_sample") else {}
        part = _part(response["name"], outputs, read, others, asked, code)
        inputs = Inputs(**read, others=others, second_lm=asked.pop("second_lm"))
        work[part] = {"inputs": inputs, **asked}

    def prepare(todo: Sequence[Part]) -> None:
        load(any(needs_r(**work[part]) for part in todo))

    _compute_parts(work, fitted, processes, prepare)


def crossed(
    files: Mapping[str, Any],
    scores: Sequence[str],
    responses: Sequence[Mapping[str, Any]],
    lm: str,
    model: str,
    draws: int,
    seed: int,
    code: Mapping[str, str],
    processes: int = 1,
) -> None:
    """Score a model of each response by the crossed bootstrap; parameters as for `main`."""
    work: dict[Part, dict[str, Any]] = {}
    for response, read, output in zip(responses, _files(files, responses), scores, strict=True):
        others = read.pop("others")
        asked = {"lm": lm, "model": model, "design": dict(response["design"])}
        asked |= {"dataset": response["dataset"], "draws": draws, "seed": seed}
        part = _part(response["name"], [output], read, others, asked, code)
        work[part] = {"inputs": Inputs(**read, others=others), **asked}
    _compute_parts(work, scored, processes, lambda todo: load(in_r=False))


def _files(
    files: Mapping[str, Any], responses: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield role → file of each response, and LM → file of the other LMs."""
    for number, response in enumerate(responses):
        given = {role: files.get(f"{role}_{number}") for role in ROLES}
        others = dict(zip(response["others"], files.get(f"others_{number}", ()), strict=True))
        yield given | {"others": others}


def _part(
    name: str,
    outputs: Sequence[str],
    files: Mapping[str, Any],
    others: Mapping[str, Any],
    settings: Mapping[str, Any],
    code: Mapping[str, str],
) -> Part:
    read = {**files, "others": list(others.values())}
    key = stored_parts.key(read, {**settings, "others": list(others)}, code)
    return Part(name, tuple(map(Path, outputs)), key)


def _compute_parts(
    work: Mapping[Part, Mapping[str, Any]],
    make: Callable[[Part, Mapping[str, Any]], None],
    processes: int,
    prepare: Callable[[Sequence[Part]], None],
) -> None:
    """Compute the parts that are not stored, the largest first."""
    todo = sorted(
        stored_parts.missing(list(work)),
        key=lambda part: -Path(work[part]["inputs"].fit).stat().st_size,
    )
    for variable in THREADS:  # Snakemake has them at the job's threads, and each process is one
        os.environ[variable] = "1"
    if min(processes, len(todo)) <= 1:
        for part in todo:
            make(part, work[part])
        return
    prepare(todo)
    forks = multiprocessing.get_context("fork")  # children inherit loaded modules and R
    with ProcessPoolExecutor(min(processes, len(todo)), forks) as pool:
        begun = {pool.submit(make, part, work[part]): part for part in todo}
        try:
            for done in as_completed(begun):
                done.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def fitted(part: Part, work: Mapping[str, Any]) -> None:
    """Fit and store one regression; errors name its response."""
    from recency.regression.fit import main as fit

    results, rows = part.outputs
    _store(part, functools.partial(fit, **work, out=results, out_observations=rows))


def scored(part: Part, work: Mapping[str, Any]) -> None:
    """Score one model by the crossed bootstrap and store the result; errors name its response."""
    from recency.regression.crossed import main as score

    _store(part, functools.partial(score, **work, out=part.outputs[0]))


def _store(part: Part, make: Callable[[], None]) -> None:
    print(f"{part.name}", file=sys.stderr)
    try:
        stored_parts.make(part, make)
    except REFUSALS as error:
        raise InputError(f"{part.name}: {error}") from None


def needs_r(design: Mapping[str, Any], confirm: bool, **_: Any) -> bool:
    """Return whether a regression is fitted or reported by R."""
    engine = design["engine"]
    return engine == "lme4" or (engine == "cross_products" and confirm)


def load(in_r: bool) -> None:
    """Import the modules for fitting, and start R, in the parent of the forked processes."""
    from crosslmm import lme4
    from recency.regression import fit  # noqa: F401

    if in_r:
        lme4.start()
