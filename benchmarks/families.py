"""Time mixed models of skewed and heteroscedastic times next to glmmTMB.

    python benchmarks/families.py [--quick] [--out results/families.<hardware>.json]

Gamma and location-scale models of the same simulated data in one run, one thread each, in CPU seconds;
`loglik_minus_glmmtmb` is the difference of the maximised log-likelihoods (the same approximation).
Lognormal is timed against Gaussian by the search on cross-products. glmmTMB (Debian's r-cran-glmmtmb)
is left out, and reported so, where it is absent. The last line is one JSON object.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import checkout
import numpy as np
import pandas as pd

checkout.use()

from result import keep, processor

from crosslmm.factors import Levels
from crosslmm.fitting import fit_model
from crosslmm.formula import parse
from crosslmm.generalised import fit_generalised

FORMULA = "y ~ x + w + (1 + x | subject) + (1 | sentence)"
MODELS = {
    "gamma": ("gamma", "log", None, 'family = Gamma("log")'),
    "location_scale": ("gaussian", "identity", "sigma ~ x", "dispformula = ~ x"),
}
TARGETS = {
    "gamma_ratio_vs_glmmtmb": 1.0,
    "location_scale_ratio_vs_glmmtmb": 1.0,
    "location_scale_by_subject_s": 60.0,
    "lognormal_over_gaussian": 1.2,
}
"""Ratios vs glmmTMB are at least, all else at most."""
SCRIPT = """
suppressMessages(library(glmmTMB))
d <- read.csv("{data}", stringsAsFactors = TRUE)
d$subject <- factor(d$subject); d$sentence <- factor(d$sentence)
started <- proc.time()
m <- glmmTMB({formula}, d, {options})
took <- proc.time() - started
cat(sprintf("%.6f %.9f", took[[1]] + took[[2]], logLik(m)))
"""


def simulate(n: int, subjects: int, sentences: int) -> pd.DataFrame:
    """Return rows with gamma times `gamma` and heteroscedastic times `location_scale`."""
    random = np.random.default_rng(0)
    a, b = random.integers(0, subjects, n), random.integers(0, sentences, n)
    x, w = random.normal(size=(2, n))
    eta = 5.6 + 0.06 * x + 0.03 * w + 0.15 * random.normal(size=subjects)[a]
    eta += 0.03 * random.normal(size=subjects)[a] * x + 0.05 * random.normal(size=sentences)[b]
    mu = np.exp(eta)
    sigma = np.exp(4 + 0.1 * x + 0.2 * random.normal(size=subjects)[a])
    columns = {"subject": a, "sentence": b, "x": x, "w": w}
    columns["gamma"] = random.gamma(1 / 0.09, 0.09 * mu)
    columns["location_scale"] = mu + sigma * random.normal(size=n)
    return pd.DataFrame(columns)


def timed(function: Callable[[], object], times: int) -> tuple[float, object]:
    """Return the median CPU seconds of some calls, and the last value."""
    seconds = []
    for _ in range(times):
        started = time.process_time()
        value = function()
        seconds.append(time.process_time() - started)
    return statistics.median(seconds), value


def glmmtmb(data: pd.DataFrame, response: str, options: str) -> tuple[float, float] | None:
    """Return the seconds and log-likelihood of glmmTMB; None where it is not installed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        data.assign(y=data[response]).to_csv(path, index=False)
        script = SCRIPT.format(data=path, formula=FORMULA, options=options)
        run = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=False)
    if run.returncode:
        print(f"glmmTMB: {run.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    seconds, loglik = run.stdout.split()
    return float(seconds), float(loglik)


def main() -> None:
    """Run and print the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rows: under a minute")
    parser.add_argument("--out", type=Path, help="keep the result in this file")
    arguments = parser.parse_args()
    shape = (5_000, 30, 60) if arguments.quick else (50_000, 84, 134)
    data = simulate(*shape)
    groups = {
        name: Levels(data[name].to_numpy(), [str(i) for i in range(levels)])
        for name, levels in zip(("subject", "sentence"), shape[1:], strict=True)
    }
    columns = {name: data[name].to_numpy() for name in ("x", "w")}
    formula, metrics = parse(FORMULA), {}
    for name, (density, link, scale, options) in MODELS.items():
        model = replace(formula, scale=scale and parse(scale))
        y = data[name].to_numpy()
        seconds, fit = timed(
            lambda: fit_generalised(density, link, model, columns, y, groups),  # noqa: B023
            3,
        )
        metrics[f"{name}_s"] = seconds
        peer = glmmtmb(data, name, options)
        if peer is not None:
            metrics[f"{name}_glmmtmb_s"] = peer[0]
            metrics[f"{name}_ratio_vs_glmmtmb"] = peer[0] / seconds
            metrics[f"{name}_loglik_minus_glmmtmb"] = fit.location.loglik - peer[1]
        print(name, {key: round(value, 4) for key, value in metrics.items()}, flush=True)
    y = data["location_scale"].to_numpy()
    model = replace(formula, scale=parse("sigma ~ x + (1 | subject)"))
    metrics["location_scale_by_subject_s"], _ = timed(
        lambda: fit_generalised("gaussian", "identity", model, columns, y, groups), 3
    )
    for name in ("exgaussian", "inverse_gaussian"):
        link = "identity" if name == "exgaussian" else "log"
        metrics[f"{name}_s"], _ = timed(
            lambda: fit_generalised(name, link, formula, columns, data["gamma"].to_numpy(), groups),  # noqa: B023
            1,
        )
    response, pairs = data["gamma"].to_numpy(), []

    def fit(y: np.ndarray) -> object:
        return fit_model(formula, columns, y, groups, "cross_products", confirm=False)

    for _ in range(5):
        gaussian, _ = timed(lambda: fit(response), 1)
        lognormal, _ = timed(lambda: fit(np.log(response)), 1)
        pairs.append(lognormal / gaussian)
    metrics["lognormal_over_gaussian"] = statistics.median(pairs)
    keep("families", processor("1 thread"), metrics, TARGETS, arguments.out)


if __name__ == "__main__":
    main()
