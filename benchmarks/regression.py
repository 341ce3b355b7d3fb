"""Time mixed models, compared with R's lmer and the mixed models of PyPI: mixedlm, lme-python, mixedlm-rs, bambi.

    python benchmarks/regression.py [--quick] [--out results/regression.<hardware>.json]

Peers are paired in one run, on the same simulated data of corpora's shapes, one thread each; seconds
are of CPU time, so that other processes count little. `search`: cross-products
and the search for theta; `fit`: all that a regression does for a fit, from arrays to its figures;
`confirmed`: the same where lme4 sets the model up and reports it. `hard` is a corpus's shape of which
two slopes do not vary: a singular fit. `by_subject` has one grouping factor, all that mixedlm-rs
covers. lmer gets a ready data frame, REML = FALSE and its fastest settings, calc.derivs = FALSE.
`fastest` names the peer that took least and whose logLik is within 0.1 of the highest (lme4 stops
0.04 below it on the largest data), to which
`ratio_vs_fastest` of search and fit is. bambi samples (NUTS, two chains of 500 draws after 500); it
runs on `small` alone, and its posterior means are compared with the estimates.
Peers that are absent are left out, and said to be (`pip install mixedlm lme-python mixedlm-rs bambi`
in an environment of their own). Where a shape has several data sets, seconds and ratios are medians,
differences of logLik the worst.
The last line is one JSON object.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import math
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import checkout
import numpy as np

checkout.use()

from result import keep, processor

from crosslmm import lme4
from crosslmm.factors import Levels, crossed_factors
from crosslmm.fitting import fit_model
from crosslmm.formula import parse
from crosslmm.scaled_search import products_of
from crosslmm.theta_search import search

PREDICTORS = ("length", "position", "unigram", "surprisal", "previous_surprisal")
FIXED = "time_ms ~ " + " + ".join(PREDICTORS)


@dataclass(frozen=True)
class Shape:
    """A corpus's shape: rows, levels, and the columns that vary by subject."""

    rows: int
    subjects: int
    sentences: int
    slopes: tuple[str, ...]
    steady: int = 0
    """how many of the last slopes are the same for all subjects"""
    is_crossed: bool = True
    is_sampled: bool = False
    """whether bambi runs too"""

    fixed = FIXED

    @property
    def formula(self) -> str:
        """The paper's model of such a corpus, without sentences unless they are crossed."""
        by_subject = f"{self.fixed} + (1 + {' + '.join(self.slopes)} | subject)"
        return by_subject + (" + (1 | sentence)" if self.is_crossed else "")


SPR = ("position", "length", "surprisal", "previous_surprisal")
FULL = {
    "natural_stories": Shape(385_000, 181, 485, SPR),
    "provo": Shape(53_000, 84, 134, ("position", "surprisal")),
    "hard": Shape(139_000, 117, 361, SPR, 2),
    "by_subject": Shape(53_000, 84, 134, ("position", "surprisal"), is_crossed=False),
    "small": Shape(6_000, 24, 40, ("surprisal",), is_sampled=True),
}
QUICK = {
    "natural_stories": Shape(16_000, 40, 80, SPR),
    "provo": Shape(6_000, 24, 40, ("position", "surprisal")),
    "hard": Shape(6_000, 24, 40, SPR, 2),
    "by_subject": Shape(6_000, 24, 40, ("position", "surprisal"), is_crossed=False),
    "small": Shape(2_000, 12, 30, ("surprisal",), is_sampled=True),
}
TOLERANCE = 0.1  # nats of logLik
SEEDS = {"natural_stories": 1, "provo": 3, "hard": 1, "by_subject": 3, "small": 1}
"""Data sets of each shape: what is a matter of seconds is taken three times, as the median."""
TARGETS = {
    "natural_stories_search_ratio_vs_fastest": 3.0,
    "natural_stories_fit_ratio_vs_fastest": 3.0,
    "natural_stories_loglik_minus_lmer": -1e-3,
    "provo_search_ratio_vs_fastest": 3.0,
    "provo_fit_ratio_vs_fastest": 3.0,
    "provo_loglik_minus_lmer": -1e-3,
    "hard_fit_ratio_vs_fastest": 3.0,
    "hard_loglik_minus_lmer": -1e-3,
    "hard_evaluations": 30.0,
    "by_subject_fit_ratio_vs_fastest": 3.0,
    "by_subject_loglik_minus_lmer": -1e-3,
}
"""The evaluations are at most so many, all else at least."""


def simulate(shape: Shape, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray, dict]:
    """Return scaled predictors, times in ms and groups; subjects read whole sentences at random."""
    random = np.random.default_rng(seed)
    lengths = random.integers(8, 35, shape.sentences)
    sentence_of = np.repeat(np.arange(shape.sentences), lengths)
    words = len(sentence_of)
    raw = random.multivariate_normal(np.zeros(4), 0.3 * np.ones((4, 4)) + 0.7 * np.eye(4), words)
    position = np.concatenate([np.arange(n) for n in lengths]).astype(float)
    columns = dict(zip(("length", "unigram", "surprisal", "previous_surprisal"), raw.T))
    columns["position"] = (position - position.mean()) / position.std()

    share = min(1.0, 1.03 * shape.rows / (shape.subjects * words))
    chance, word = random.random((shape.subjects, shape.sentences)), np.empty(0)
    while len(word) < shape.rows:
        if share >= 1.5:
            raise SystemExit(f"{shape.rows} rows are more than {shape.subjects} x {words}")
        subject, word = np.nonzero((chance < share)[:, sentence_of])
        share *= 1.02
    kept = np.sort(random.choice(len(word), shape.rows, replace=False))
    subject, word = subject[kept], word[kept]
    predictors = {name: np.ascontiguousarray(columns[name][word]) for name in PREDICTORS}
    k = len(shape.slopes)
    sds = np.array([60.0, 6.0, 4.0, 3.0, 2.0][: k + 1])
    sds[k + 1 - shape.steady :] = 0.0
    correlation = 0.3 * np.ones((k + 1, k + 1)) + 0.7 * np.eye(k + 1)
    effects = random.multivariate_normal(
        np.zeros(k + 1), correlation * np.outer(sds, sds), shape.subjects
    )
    time_ms = 340 + 8 * predictors["surprisal"] + 3 * predictors["previous_surprisal"]
    time_ms += 4 * predictors["length"] + effects[subject, 0]
    for column, name in enumerate(shape.slopes, 1):
        time_ms += effects[subject, column] * predictors[name]
    time_ms += random.normal(0, 15, shape.sentences)[sentence_of[word]]
    time_ms += random.normal(0, 120, shape.rows)
    groups = {
        "subject": Levels(subject, [f"s{code:03}" for code in range(shape.subjects)]),
        "sentence": Levels(sentence_of[word], [str(code) for code in range(shape.sentences)]),
    }
    return predictors, time_ms, groups


def timed(what: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the median of the CPU seconds that `what` takes, and what it returned last."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        result = what()
        seconds.append(time.process_time() - started)
    return statistics.median(seconds), result


def lmer(formula: str, predictors: dict, y: np.ndarray, groups: dict) -> tuple[float, float, str]:
    """Time lmer at its fastest settings; return seconds, logLik and its warnings."""
    data = lme4.data_frame({"time_ms": y, **predictors, **groups})
    from rpy2 import robjects

    fitted = robjects.r(
        """function(f, d) {
          said <- character()
          fit <- withCallingHandlers(
            lmer(as.formula(f), d, REML = FALSE, control = lmerControl(calc.derivs = FALSE)),
            warning = function(w) { said <<- c(said, conditionMessage(w)); invokeRestart("muffleWarning") },
            message = function(m) { said <<- c(said, conditionMessage(m)); invokeRestart("muffleMessage") })
          list(as.numeric(logLik(fit)), said)
        }"""
    )
    seconds, (loglik, said) = timed(lambda: fitted(formula, data))
    return seconds, loglik[0], "; ".join(" ".join(line.split()) for line in said)


def with_mixedlm(shape: Shape, frame: Any) -> tuple[float, float]:
    """Time mixedlm's lmer; return seconds and logLik."""
    import mixedlm

    seconds, fit = timed(lambda: mixedlm.lmer(shape.formula, frame, REML=False))
    loglik = fit.logLik()
    return seconds, float(getattr(loglik, "value", loglik))


def with_lme_python(shape: Shape, frame: Any) -> tuple[float, float]:
    """Time lme-python's lmer, from a ready data frame of polars; return seconds and logLik."""
    import lme_python
    import polars

    data = polars.DataFrame({name: frame[name].to_numpy() for name in frame})
    seconds, fit = timed(lambda: lme_python.lmer(shape.formula, data, reml=False))
    return seconds, float(fit.log_likelihood)


def with_mixedlm_rs(shape: Shape, frame: Any) -> tuple[float, float]:
    """Time mixedlm-rs, which has one grouping factor; return seconds and logLik."""
    import mixedlm_rs

    if shape.is_crossed:
        return math.nan, math.nan
    slopes = f"~{' + '.join(shape.slopes)}"
    asked = {"groups": "subject", "re_formula": slopes}
    seconds, fit = timed(lambda: mixedlm_rs.mixedlm(shape.fixed, frame, **asked).fit(reml=False))
    return seconds, float(fit.llf)


PEERS = {
    "mixedlm": with_mixedlm,
    "lme_python": with_lme_python,
    "mixedlm_rs": with_mixedlm_rs,
}
"""Peers that maximise the likelihood, besides lmer: functions of a shape and its data frame."""


def with_peers(name: str, shape: Shape, frame: Any) -> dict[str, tuple[float, float]]:
    """Return peer → seconds and logLik; NaN of one that is absent, fails or does not cover the model."""
    found = {}
    for peer, fitted in PEERS.items():
        try:
            found[peer] = fitted(shape, frame)
        except ImportError:
            say(f"{peer} is not installed: left out (see this file's head)")
            found[peer] = math.nan, math.nan
        except (RuntimeError, ValueError) as error:  # a finding
            say(f"{name}: {peer} failed: {error}")
            found[peer] = math.nan, math.nan
        else:
            say(f"{name}: {peer} {found[peer][0]:.2f} s, logLik {found[peer][1]:.4f}")
    return found


def with_bambi(shape: Shape, frame: Any, estimates: dict[str, float]) -> dict[str, float]:
    """Time bambi; return seconds and the largest difference of posterior means, in posterior sds."""
    try:
        import bambi
    except ImportError:
        say("bambi is not installed: left out (see this file's head)")
        return {"bambi_seconds": math.nan, "bambi_difference_in_sds": math.nan}
    model = bambi.Model(shape.formula, frame)
    asked = {"draws": 500, "tune": 500, "chains": 2, "cores": 1, "progressbar": False}
    seconds, fit = timed(lambda: model.fit(random_seed=1, **asked))
    away = [
        abs(float(fit.posterior[term].mean()) - estimates[term]) / float(fit.posterior[term].std())
        for term in PREDICTORS
    ]
    return {"bambi_seconds": seconds, "bambi_difference_in_sds": max(away)}


def compare(name: str, shape: Shape, seed: int) -> dict[str, float | str]:
    """Return the figures of one data set."""
    import pandas as pd

    predictors, y, groups = simulate(shape, seed)
    formula = parse(shape.formula)
    data = {column: predictors[column] for column in formula.predictors}
    groups = {group: groups[group] for group in ("subject", "sentence")[: 1 + shape.is_crossed]}
    lme4._r()  # R's start is nobody's fit
    figures: dict[str, float | str] = {}
    if shape.is_crossed:
        crossed = crossed_factors(formula)
        crossed.sort(key=lambda factor: -len(factor.columns) * len(groups[factor.group].names))

        def searched() -> Any:
            products = products_of(formula, crossed, data, y, groups)
            return search(products, crossed[0].free, crossed[1].free)

        figures["search_seconds"], optimum = timed(searched, 3)
        figures["evaluations"] = optimum.evaluations
    asked = (formula, data, y, groups, "cross_products")
    fit_s, result = timed(lambda: fit_model(*asked, confirm=False), 3)
    confirmed_s, confirmed = timed(lambda: fit_model(*asked))
    if result.by != "search" or confirmed.difference is None:
        raise SystemExit(f"{name}: lme4's optimiser was used: {result.note} {confirmed.note}")
    loglik = result.summary.loglik
    say(f"{name}: fit {fit_s:.2f} s, logLik {loglik:.4f}")
    frame = pd.DataFrame({"time_ms": y, **data})
    for group, levels in groups.items():
        frame[group] = np.array(levels.names)[levels.codes]
    peers = with_peers(name, shape, frame)
    lmer_s, lmer_loglik, said = lmer(shape.formula, data, y, groups)
    say(f"{name}: lmer {lmer_s:.1f} s, logLik {lmer_loglik:.4f}; {said or 'no warning'}")
    exact = {
        peer: seconds
        for peer, (seconds, its) in (peers | {"lmer": (lmer_s, lmer_loglik)}).items()
        if its > max(loglik, lmer_loglik) - TOLERANCE
    }
    fastest = min(exact, key=exact.get)
    figures |= {"fastest": fastest, "fit_ratio_vs_fastest": exact[fastest] / fit_s}
    if shape.is_crossed:
        search_s = figures["search_seconds"]
        figures["search_ratio_vs_fastest"] = exact[fastest] / search_s
        figures["search_ratio_vs_lmer"] = lmer_s / search_s
    if shape.is_sampled:
        figures |= with_bambi(shape, frame, result.summary.fixed)
    for peer, (seconds, its) in peers.items():
        figures |= {f"{peer}_seconds": seconds, f"loglik_minus_{peer}": loglik - its}
    return figures | {
        "fit_ratio_vs_lmer": lmer_s / fit_s,
        "confirmed_ratio_vs_lmer": lmer_s / confirmed_s,
        "loglik_minus_lmer": loglik - lmer_loglik,
        "difference_from_lme4": confirmed.difference,
        "fit_seconds": fit_s,
        "confirmed_seconds": confirmed_s,
        "lmer_seconds": lmer_s,
        "singular": str(result.summary.singular),
        "lmer_says": said,
    }


def together(found: list[dict[str, float | str]]) -> dict[str, float | str]:
    """Sum up the figures of several data sets: medians, but the worst of what compares results."""
    figures = {}
    for key in found[0]:
        values = [each[key] for each in found]
        if key.startswith("loglik"):
            figures[key] = min(values)
        elif key.startswith("difference"):
            figures[key] = max(values)
        elif isinstance(values[0], str):
            figures[key] = " | ".join(dict.fromkeys(values))
        else:
            figures[key] = float(statistics.median(values))
    return figures


def plain(value: float | str) -> float | str | None:
    """Round a figure for the record; NaN, of what was left out, becomes null."""
    if not isinstance(value, float):
        return value
    return None if math.isnan(value) else float(f"{value:.6g}")


def say(line: str) -> None:
    """Say on the terminal how far the run is."""
    print(line, flush=True)


def main() -> None:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, under a minute")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    arguments = parser.parse_args()
    metrics: dict[str, float | str | None] = {}
    for name, shape in (QUICK if arguments.quick else FULL).items():
        seeds = range(arguments.seed, arguments.seed + SEEDS[name])
        figures = together([compare(name, shape, seed) for seed in seeds])
        metrics |= {f"{name}_{key}": plain(value) for key, value in figures.items()}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    metrics["peak_memory_mib"] = plain(float(memory))
    hardware = processor(f"{len(os.sched_getaffinity(0))} cores, one used")
    keep("regression", hardware, metrics, TARGETS, arguments.out, quick=arguments.quick)


if __name__ == "__main__":
    main()
