"""False positives of p values of mixed models, by their degrees of freedom.

python benchmarks/df_sizes.py [--sets 2000] [--processes N] [--out FILE]

Readers × items with one factor that varies within both (-0.5, 0.5) and has no effect; intercepts and slopes by reader
and by item vary and correlate; normal residuals. Each set is fitted with maximal random effects by REML, without R.
Size is the share of sets with p < .05: of the normal approximation (|t| > 1.96), Satterthwaite's and Kenward-Roger's
degrees of freedom. Slopes are small beside the residuals, so that many
fits have a variance at its bound, or large. The share varies by Monte Carlo by 1 % (95 %) at 2,000 sets.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import checkout
import numpy as np
import pandas as pd
from result import keep, processor

checkout.use()

from crosslmm import lmer

SETTINGS = [(12, 16), (24, 24), (24, 36)]
"""Readers and items."""
FORMULA = "rt ~ x + (1 + x | reader) + (1 + x | item)"
INTERCEPT, SLOPES, CORRELATION, RESIDUAL = 60.0, (30.0, 90.0), 0.3, 100.0
"""Standard deviations by reader and by item, their correlation, and of residuals, ms."""
METHODS = ("normal", "Satterthwaite", "Kenward-Roger")


def simulate(readers: int, items: int, slope: float, seed: int) -> pd.DataFrame:
    """Return a row per reader, item and condition (Latin square: half of the items in each)."""
    random = np.random.default_rng([readers, items, seed])
    reader, item = (each.ravel() for each in np.mgrid[:readers, :items])
    x = np.where((reader + item) % 2, 0.5, -0.5)
    covariance = CORRELATION * INTERCEPT * slope
    matrix = [[INTERCEPT**2, covariance], [covariance, slope**2]]
    rt = 500 + random.normal(0, RESIDUAL, len(x))
    for codes, levels in ((reader, readers), (item, items)):
        drawn = random.multivariate_normal([0, 0], matrix, levels)[codes]
        rt += drawn[:, 0] + drawn[:, 1] * x
    return pd.DataFrame({"rt": rt, "x": x, "reader": reader.astype(str), "item": item.astype(str)})


def reject(readers: int, items: int, slope: float, seed: int) -> list[bool]:
    """Return whether each of METHODS rejects the true null hypothesis."""
    data = simulate(readers, items, slope, seed)
    rejected = []
    for ddf in METHODS[1:]:
        fit = lmer(FORMULA, data, engine="search", reml=True, ddf=ddf)
        if not rejected:
            estimate, se = fit.fixed.loc["x", ["estimate", "se"]]
            rejected.append(abs(estimate / se) > 1.959964)
        rejected.append(fit.fixed.loc["x", "p"] < 0.05)
    return rejected


def main() -> None:
    """Simulate, and print or store the sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    metrics = {}
    with ProcessPoolExecutor(options.processes) as pool:
        for (readers, items), slope in product(SETTINGS, SLOPES):
            one = partial(reject, readers, items, slope)
            size = np.mean(list(pool.map(one, range(options.sets), chunksize=10)), axis=0)
            name = f"{readers} readers x {items} items, slopes {slope:g} ms"
            metrics[name] = dict(zip(METHODS, map(float, size.round(4)), strict=True))
            print(name, metrics[name], flush=True)
    used = f"{options.processes} processes"
    keep(
        "df_sizes", processor(used), metrics, {"size": [0.04, 0.06]}, options.out, sets=options.sets
    )


if __name__ == "__main__":
    main()
