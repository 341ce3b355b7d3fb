"""Time profile intervals of six fixed effects next to lme4's confint().

    python benchmarks/profile_intervals.py [--quick] [--out results/profile_intervals.<hardware>.json]

Data of Provo's shape are simulated as in benchmarks/regression.py. Both start from a fitted model; the
search of recency includes reading the rows. One thread each, in CPU seconds; ours is the median of three
runs. `largest_difference` is between the ends of the intervals, as a share of their widths. The last line
is one JSON object.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
from pathlib import Path

import checkout
import numpy as np
import pandas as pd

checkout.use()

from result import keep, processor

import recency
from crosslmm import lme4
from regression import FULL, QUICK, simulate, timed

TARGETS = {"seconds": 2.0, "ratio_vs_lme4": 100.0, "largest_difference": 0.01}
"""The ratio is at least, all else at most."""
CONFINT = """function(formula, data) {
  fit <- lmer(as.formula(formula), data, REML = FALSE,
              control = lmerControl("bobyqa", calc.derivs = FALSE))
  started <- proc.time()
  table <- suppressWarnings(suppressMessages(confint(fit, parm = "beta_", quiet = TRUE)))
  took <- proc.time() - started
  list(took[[1]] + took[[2]], table, rownames(table))
}"""


def main() -> None:
    """Run and print the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rows: under a minute")
    parser.add_argument("--out", type=Path, help="keep the result in this file")
    arguments = parser.parse_args()
    shape = (QUICK if arguments.quick else FULL)["provo"]
    predictors, y, groups = simulate(shape, 1)
    data = pd.DataFrame({"time_ms": y, **predictors})
    for name, group in groups.items():
        data[name] = np.array(group.names)[group.codes]
    fit = recency.lmer(shape.formula, data, engine="search")
    fit.confint("(Intercept)")  # modules are imported
    seconds, ours = timed(lambda: fit.confint("fixed"), 3)
    every, _ = timed(lambda: fit.confint("all"), 1)
    boot, _ = timed(lambda: fit.confint(method="boot", draws=50), 1)
    metrics = {"seconds": seconds, "all_parameters_s": every, "bootstrap_draw_s": boot / 50}
    print({key: round(value, 3) for key, value in metrics.items()}, flush=True)
    frame = lme4.data_frame({"time_ms": y, **predictors, **groups})
    from rpy2 import robjects

    took, table, names = robjects.r(CONFINT)(shape.formula, frame)
    theirs = pd.DataFrame(np.array(table), list(names)).loc[ours.index].to_numpy()
    difference = np.abs(ours.to_numpy() - theirs) / np.ptp(theirs, axis=1)[:, None]
    metrics |= {"lme4_seconds": took[0], "ratio_vs_lme4": took[0] / seconds}
    metrics["largest_difference"] = float(difference.max())
    keep("profile_intervals", processor("1 thread"), metrics, TARGETS, arguments.out)


if __name__ == "__main__":
    main()
