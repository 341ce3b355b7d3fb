"""Time the crossed bootstrap: draws of two LMs and their baseline, next to R's lmer.

    python benchmarks/crossed.py [--quick] [--processes 2] [--out results/crossed.<hardware>.json]

Synthetic data have the shapes of reading-time corpora. Each draw resamples subjects and sentences,
refits the model and scores the subjects and sentences that were left out.

`pair_seconds`: by the clock, LM A, LM B and their baseline on two partitions of Provo's first-pass
durations, 500 draws each. `ratio_vs_lmer`: CPU seconds of one refit by lmer over those of one of our
draws, which include scoring; both on one thread. lmer gets a ready data frame of the repeated rows,
REML = FALSE and calc.derivs = FALSE, and starts from the full fit where that is faster
(`lmer_start`). `loglik_minus_lmer` is the smallest difference over the draws. `study_minutes`: 19 LMs
and a baseline on the seven responses of the open study, 500 draws each, extrapolated from the times
of fewer draws on as many processes. `peak_memory_gib`: all processes together.
The last line is one JSON object.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import multiprocessing
import resource
import time
from dataclasses import dataclass
from pathlib import Path

import checkout
import numpy as np
from result import keep, processor

from regression import PREDICTORS, Shape, plain, say, simulate, timed

checkout.use()

from crosslmm import lme4
from crosslmm.cells import Cells
from crosslmm.factors import Levels, crossed_factors
from crosslmm.formula import Formula, parse
from recency.regression import crossed
from recency.regression.predictors import Rows

DRAWS = 500
LMS = 19
TIMED = (100, 200)
"""Draws whose times are extrapolated: the difference is of draws alone, without the set-up."""
TARGETS = {
    "pair_seconds": 60.0,
    "ratio_vs_lmer": 50.0,
    "loglik_minus_lmer": -1e-3,
    "study_minutes": 15.0,
    "peak_memory_gib": 4.0,
}
"""Seconds, minutes and memory are at most so much, all else at least."""
SPR = ("position", "length", "surprisal", "previous_surprisal")
EYE_TRACKING = ("position", "surprisal")
OF_LM = ("surprisal", "previous_surprisal")


@dataclass(frozen=True)
class Sizes:
    """What is timed: the partitions of the pair of LMs, refits by lmer, responses of the study."""

    partitions: tuple[Shape, ...]
    draws: int
    lmer_draws: int
    study: dict[str, tuple[int, Shape]]
    """number of responses of a shape, and the shape"""


PROVO = Shape(80_000, 84, 134, EYE_TRACKING)
FULL = Sizes(
    partitions=(Shape(53_000, 84, 134, EYE_TRACKING), Shape(27_000, 84, 134, EYE_TRACKING)),
    draws=DRAWS,
    lmer_draws=4,
    study={
        "ucl_spr": (1, Shape(150_000, 117, 361, SPR)),
        "natural_stories": (1, Shape(210_000, 98, 230, SPR)),
        "ucl_eye_tracking": (2, Shape(30_000, 43, 205, EYE_TRACKING)),
        "provo": (3, PROVO),
    },
)
SMALL = Shape(6_000, 24, 40, EYE_TRACKING)
QUICK = Sizes((SMALL,), 100, 2, {"provo": (3, SMALL)})


def formula_of(shape: Shape, with_lm: bool) -> Formula:
    """Return the model of a shape, or its baseline, without any predictor of the LM."""

    def kept(names: tuple[str, ...]) -> str:
        return " + ".join(("1", *(name for name in names if with_lm or name not in OF_LM)))

    fixed = (*PREDICTORS, *(("fixated",) if shape.slopes == EYE_TRACKING else ()))
    return parse(f"time_ms ~ {kept(fixed)} + ({kept(shape.slopes)} | subject) + (1 | sentence)")


def synthetic(shape: Shape, seed: int) -> Rows:
    """Return observations of a shape."""
    predictors, time_ms, groups = simulate(shape, seed)
    predictors["fixated"] = np.random.default_rng(seed).integers(0, 2, len(time_ms)).astype(float)
    return Rows(predictors, time_ms, groups, np.zeros(len(time_ms), dtype=int))


def of_another_lm(rows: Rows, seed: int) -> Rows:
    """Return the observations with the surprisal of another LM, which correlates with the first."""
    random, predictors = np.random.default_rng([seed, 1]), dict(rows.predictors)
    for name in OF_LM:
        predictors[name] = predictors[name] + random.normal(0, 0.5, len(rows.y))
    return Rows(predictors, rows.y, rows.groups, rows.word)


def score(model: tuple[Formula, Rows, int]) -> None:
    """Score a model by so many draws."""
    formula, rows, draws = model
    crossed.scores(formula, rows, rows.predictors, draws, seed=1, name="synthetic", label="model")


def seconds_of(models: list[tuple[Formula, Rows, int]], processes: int) -> float:
    """Score models on several processes; return seconds by the clock."""
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        pool.map(abs, range(processes))  # starting the processes is not timed
        started = time.perf_counter()
        pool.map(score, models, chunksize=1)
        return time.perf_counter() - started


def pair(sizes: Sizes, seed: int, processes: int) -> dict[str, float]:
    """Time two LMs and their baseline on each partition."""
    models = []
    for number, shape in enumerate(sizes.partitions):
        rows = synthetic(shape, seed + number)
        full, base = formula_of(shape, True), formula_of(shape, False)
        other = of_another_lm(rows, seed)
        models += [(full, rows, sizes.draws), (full, other, sizes.draws), (base, rows, sizes.draws)]
    seconds = seconds_of(models, processes)
    say(f"two LMs and a baseline, {len(models)} models, {sizes.draws} draws each: {seconds:.1f} s")
    return {"pair_seconds": seconds}


def study(sizes: Sizes, seed: int, processes: int) -> dict[str, float]:
    """Extrapolate to the open study from as many equal models as there are processes."""
    metrics, total = {}, 0.0
    for name, (responses, shape) in sizes.study.items():
        rows = synthetic(shape, seed)
        for which, with_lm in (("lm", True), ("baseline", False)):
            formula = formula_of(shape, with_lm)
            fewer, more = (
                seconds_of([(formula, rows, draws)] * processes, processes) for draws in TIMED
            )
            by_draw = (more - fewer) / (TIMED[1] - TIMED[0])
            model = fewer + by_draw * (DRAWS - TIMED[0])  # as many at once as processes
            total += responses * (LMS if with_lm else 1) * model / processes
            metrics[f"{name}_{which}_ms_per_draw"] = 1000 * by_draw
            say(f"{name}, {which}: {1000 * by_draw:.1f} ms per draw, {model:.1f} s per model")
    return metrics | {"study_minutes": total / 60}


def repeated(rows: Rows, times: dict[str, np.ndarray]) -> Rows:
    """Repeat rows as often as their levels occur in a draw; copies of a level are new levels."""
    codes = {name: rows.groups[name].codes for name in times}
    counts = np.prod([times[name][codes[name]] for name in times], axis=0)
    index = np.repeat(np.arange(len(rows.y)), counts)
    copy = np.arange(len(index)) - np.repeat(np.cumsum(counts) - counts, counts)
    groups = {}
    for name, count in times.items():
        level = codes[name][index]
        copy, number = np.divmod(copy, count[level])
        cells, new = np.unique(level * count.max() + number, return_inverse=True)
        groups[name] = Levels(new, [str(cell) for cell in cells])
    predictors = {name: values[index] for name, values in rows.predictors.items()}
    return Rows(predictors, rows.y[index], groups, rows.word[index])


THETA = """function(fit) {
  theta <- getME(fit, "theta")
  ifelse(getME(fit, "lower") == 0, pmax(theta, 0.05), theta)
}"""
"""Where lmer starts; from a variance at its bound it is slow."""
LMER = """function(formula, data, start) {
  suppressWarnings(suppressMessages(lmer(as.formula(formula), data, REML = FALSE,
    start = if (length(start)) start else NULL, control = lmerControl(calc.derivs = FALSE))))
}"""


def next_to_lmer(sizes: Sizes, seed: int) -> dict[str, float | str]:
    """Compare refits of a few draws with lmer's: CPU seconds and log-likelihoods."""
    shape = sizes.partitions[0]
    rows, formula = synthetic(shape, seed), formula_of(shape, True)
    seconds = [timed(lambda draws=draws: score((formula, rows, draws)))[0] for draws in TIMED]
    ours = (seconds[1] - seconds[0]) / (TIMED[1] - TIMED[0])
    factors = {factor.group: factor for factor in crossed_factors(formula)}
    axes = {name: rows.groups[name] for name in ("subject", "sentence")}
    cells = Cells(
        formula, *(factors[name] for name in axes), rows.predictors, rows.y,
        *(axis.codes for axis in axes.values()), tuple(len(axis.names) for axis in axes.values()),
    )  # fmt: skip
    start = cells.warm_start()
    lme4.start()
    from rpy2 import robjects
    from rpy2.rinterface import FloatSexpVector

    lmer, theta = robjects.r(LMER), robjects.r(THETA)
    loglik = robjects.r("function(fit) as.numeric(logLik(fit))")
    names = formula.predictors

    def fitted(sample: Rows, begin: list[float]) -> tuple[float, object]:
        columns = {"time_ms": sample.y, **{name: sample.predictors[name] for name in names}}
        data = lme4.data_frame(columns | {name: sample.groups[name] for name in axes})
        return timed(lambda: lmer(str(formula), data, FloatSexpVector(begin)))

    _, full = fitted(rows, [])
    spent, differences = {"default": [], "full fit": []}, []
    for draw in range(sizes.lmer_draws):
        times = {
            name: crossed.resampled(axis.names, (1, "synthetic", draw))
            for name, axis in axes.items()
        }
        sample = repeated(rows, times)
        fit, best = cells.fit(*times.values(), start, crossed.ENOUGH), -np.inf
        for kind, begin in (("default", []), ("full fit", list(theta(full)))):
            took, model = fitted(sample, begin)
            spent[kind].append(took)
            best = max(best, loglik(model)[0])
        differences.append(fit.loglik - best)
        say(
            f"draw {draw}: lmer {', '.join(f'{kind} {s[-1]:.1f} s' for kind, s in spent.items())}; "
            f"our logLik - lmer's {differences[-1]:.1e}"
        )
    means = {kind: float(np.mean(values)) for kind, values in spent.items()}
    fastest = min(means, key=means.get)
    return {
        "ratio_vs_lmer": means[fastest] / ours,
        "loglik_minus_lmer": float(min(differences)),
        "largest_loglik_difference": float(np.abs(differences).max()),
        "ms_per_draw": 1000 * ours,
        "lmer_seconds_per_draw": means[fastest],
        "lmer_start": fastest,
        "lmer_hours_for_the_pair": means[fastest] * 3 * len(sizes.partitions) * DRAWS / 3600,
    }


def main() -> None:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, under a minute")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    arguments = parser.parse_args()
    sizes, processes = QUICK if arguments.quick else FULL, arguments.processes
    metrics: dict[str, float | str] = {"processes": processes}
    metrics |= pair(sizes, arguments.seed, processes)
    metrics |= study(sizes, arguments.seed, processes)
    parent, child = (
        resource.getrusage(who).ru_maxrss / 2**20
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    metrics["peak_memory_gib"] = parent + processes * child
    metrics |= next_to_lmer(sizes, arguments.seed)
    metrics = {name: plain(value) for name, value in metrics.items()}
    hardware = processor(f"{len(os.sched_getaffinity(0))} cores, {processes} used")
    keep("crossed", hardware, metrics, TARGETS, arguments.out, quick=arguments.quick)


if __name__ == "__main__":
    main()
