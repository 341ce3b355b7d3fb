"""Degrees of freedom, standard errors and F tests by lmerTest and pbkrtest, stored for the tests.

    python packages/crosslmm/tests/reference_ddf.py    # needs R's lmerTest 3.1-3 and pbkrtest 0.5.2

writes ddf_by_lmertest.json next to this file. lme4's optimiser starts at the search's optimum, since
it may end at a bound, and stops late. pbkrtest ignores weights, so weighted designs have no
Kenward-Roger figures.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from crosslmm import lmer
from random_designs import draw
from test_lmer import CASES, in_r, reading

FILE = Path(__file__).with_name("ddf_by_lmertest.json")
SLOW = tuple(name for name, (make, _) in CASES.items() if make is reading and name != "crossed")
"""Designs of 900 rows, for which pbkrtest takes up to minutes."""
RANDOM = 88
"""Number of random designs, next to those of test_lmer.py."""
R = """function(formula, data, REML, ddf, start, w) {
  control <- lme4::lmerControl("bobyqa", optCtrl = list(rhobeg = 1e-3, rhoend = 1e-12, maxfun = 1e5),
                               check.nobs.vs.rankZ = "ignore")
  call <- list(as.formula(formula), data, REML = REML, control = control, start = start)
  if (w) call$weights <- data$w
  quiet <- function(code) suppressWarnings(suppressMessages(code))
  fit <- quiet(do.call(lmerTest::lmer, call))
  table <- quiet(coef(summary(fit, ddf = ddf)))
  tests <- lapply(c(2, 3), function(type) {
    a <- quiet(anova(fit, type = type, ddf = ddf))
    list(rownames(a), a$NumDF, a$DenDF, a[["F value"]])
  })
  list(rownames(table), table[, "Std. Error"], table[, "df"], tests)
}"""


def cases() -> dict[str, tuple[str, pd.DataFrame, dict[str, str]]]:
    """Return formula, data and options of each design by its name."""
    every = {name: (formula, make(), {}) for name, (make, formula) in CASES.items()}
    for seed in range(RANDOM):
        design = draw(seed, "gaussian")
        every[f"random {seed}"] = design.formula, design.data, design.options
    return every


def methods(name: str, options: dict[str, str]) -> list[tuple[bool, str]]:
    """Return REML or not, and the method, of each reference of a design."""
    both = [(True, "Satterthwaite"), (False, "Satterthwaite")]
    if "weights" in options or name in SLOW:
        return both
    return [*both, (True, "Kenward-Roger")]


def write() -> None:
    """Compute and write the references."""
    from rpy2 import robjects

    run = robjects.r(R)
    references: dict[str, dict[str, object]] = {}
    for name, (formula, data, options) in cases().items():
        added = " + offset(o)" if "offset" in options else ""
        for reml, ddf in methods(name, options):
            theta = lmer(formula, data, reml=reml, engine="search", **options).theta
            start = robjects.FloatVector(theta)
            weighted = "weights" in options
            names, se, df, tests = run(formula + added, in_r(data), reml, ddf, start, weighted)
            references.setdefault(name, {})[f"{ddf}, {'REML' if reml else 'ML'}"] = {
                "effects": {
                    n: [_short(s), _short(d)] for n, s, d in zip(names, se, df, strict=True)
                },
                **{
                    f"type {kind}": {n: list(map(_short, row)) for n, *row in zip(*of, strict=True)}
                    for kind, of in zip((2, 3), tests, strict=True)
                },
            }
        print(name, flush=True)
        FILE.write_text(
            json.dumps(references, separators=(",", ":")).replace('},"r', '},\n"r') + "\n"
        )


def _short(value: float) -> float | None:
    return float(f"{value:.8g}") if np.isfinite(value) else None


if __name__ == "__main__":
    write()
