"""Time a mixed model with three grouping factors next to lme4.

    python benchmarks/several_factors.py [--quick] [--out results/several_factors.<hardware>.json]

Simulated self-paced reading: subjects, sentences, and words nested in sentences, with intercepts
alone, and with slopes by subject. The search on cross-products is timed on all rows; lme4 (REML =
FALSE, calc.derivs = FALSE) on the same data, one thread each, in CPU seconds. The last line is one
JSON object.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import resource
import time
from pathlib import Path

import checkout
import numpy as np

checkout.use()

from result import keep, processor

from crosslmm.factors import Levels
from crosslmm.fitting import fit_model
from crosslmm.formula import parse

FORMULAS = {
    "": parse("y ~ x + w + (1 | subject) + (1 | sentence) + (1 | word)"),
    "slopes_": parse("y ~ x + w + (1 + x + w | subject) + (1 | sentence) + (1 | word)"),
}
TARGETS = {"seconds": 20.0, "memory_gb": 2.0, "ratio_vs_lme4": 20.0, "loglik_minus_lme4": -1e-3}
TARGETS |= {"slopes_seconds": 20.0, "slopes_ratio_vs_lme4": 20.0}
"""Seconds and memory are at most, the others at least."""


def simulate(n: int, subjects: int, sentences: int, words: int) -> tuple[dict, np.ndarray, dict]:
    """Return predictors, times and groups."""
    random = np.random.default_rng(0)
    a, c = random.integers(0, subjects, n), random.integers(0, words, n)
    b = c * sentences // words
    x, w = random.normal(size=(2, n))
    slopes = random.normal(size=(2, subjects))
    y = (
        300
        + (10 + 4 * slopes[0][a]) * x
        + (4 + 2 * slopes[1][a]) * w
        + 30 * random.normal(size=subjects)[a]
    )
    y += 15 * random.normal(size=sentences)[b] + 12 * random.normal(size=words)[c]
    y += 60 * random.normal(size=n)
    codes = {"subject": a, "sentence": b, "word": c}
    counts = {"subject": subjects, "sentence": sentences, "word": words}
    groups = {k: Levels(v, [str(i) for i in range(counts[k])]) for k, v in codes.items()}
    return {"x": x, "w": w}, y, groups


def main() -> None:
    """Run and print the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rows: under a minute")
    parser.add_argument("--out", type=Path, help="keep the result in this file")
    arguments = parser.parse_args()
    shape = (12_000, 30, 60, 600) if arguments.quick else (385_000, 181, 485, 10_256)
    data = simulate(*shape)
    metrics, fits = {}, {}
    for kind, formula in FORMULAS.items():
        started = time.process_time()
        fits[kind] = fit_model(formula, *data, "cross_products", confirm=False)
        metrics[f"{kind}seconds"] = time.process_time() - started
    metrics["memory_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print("search", {key: round(value, 3) for key, value in metrics.items()}, flush=True)
    fit_model(FORMULAS[""], *simulate(500, 8, 9, 20), "lme4")  # starts R
    for kind, formula in FORMULAS.items():
        started = time.process_time()
        theirs = fit_model(formula, *data, "lme4")
        seconds = metrics[f"{kind}lme4_seconds"] = time.process_time() - started
        metrics[f"{kind}ratio_vs_lme4"] = seconds / metrics[f"{kind}seconds"]
        difference = fits[kind].summary.loglik - theirs.summary.loglik
        metrics[f"{kind}loglik_minus_lme4"] = difference
        print(f"{kind or 'intercepts_'}lme4", round(seconds, 1), flush=True)
    keep("several_factors", processor("1 thread"), metrics, TARGETS, arguments.out)


if __name__ == "__main__":
    main()
