"""Time mixed models of a million rows: many small groups, and subjects and items that differ in number.

    python benchmarks/large_models.py [--quick] [--limit 300] [--out results/large_models.<hardware>.json]

`many_groups` has 200,000 subjects of five rows, `y ~ x1 + x2 + (1 + x1 | subject)`; `unequal` 1,000
subjects and 10,000 items, `larger` 5,000 and 50,000, `… + (1 | item)`. Each fit is a process of its
own, one thread: `seconds` are of CPU time from a data frame (ours: arrays) to the optimum, `mib` the
most memory that the process held, `loglik_minus_…` the logLik here minus a peer's. `…_absent` says why
a peer has no figures; one that takes more than `--limit` seconds is stopped, and has the least ratio
that this leaves (`…_at_least`). The last line is one JSON object.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import checkout
import numpy as np

checkout.use()

from result import keep, processor

from crosslmm.factors import Levels
from crosslmm.fitting import fit_model
from crosslmm.formula import parse
from regression import PEERS


@dataclass(frozen=True)
class Shape:
    """Rows, subjects, items (0: no such factor), and the peers that fit such a model."""

    rows: int
    subjects: int
    items: int
    peers: tuple[str, ...]

    fixed = "y ~ x1 + x2"
    slopes = ("x1",)

    @property
    def is_crossed(self) -> bool:
        """Whether items are a second factor."""
        return bool(self.items)

    @property
    def formula(self) -> str:
        """The model: an intercept and a slope by subject, an intercept by item."""
        return f"{self.fixed} + (1 + x1 | subject)" + " + (1 | item)" * self.is_crossed


SHAPES = {
    "many_groups": Shape(1_000_000, 200_000, 0, ("mixedlm", "mixedlm_rs")),
    "unequal": Shape(1_000_000, 1_000, 10_000, ("mixedlm",)),
    "larger": Shape(1_000_000, 5_000, 50_000, ()),
}
QUICK = {
    "many_groups": Shape(10_000, 2_000, 0, ("mixedlm", "mixedlm_rs")),
    "unequal": Shape(5_000, 50, 200, ("mixedlm",)),
    "larger": Shape(5_000, 100, 500, ()),
}
TARGETS = {
    "many_groups_ratio_vs_mixedlm_rs": 1.5,
    "many_groups_loglik_minus_mixedlm_rs": -1e-3,
    "unequal_seconds": 10.0,
    "larger_mib": 4096.0,
}
"""Ratios and logLiks at least, seconds and memory at most."""


def simulate(shape: Shape) -> tuple[dict, np.ndarray, dict]:
    """Return predictors (n,), times in ms, and groups."""
    random = np.random.default_rng(shape.rows + shape.subjects)
    predictors = {name: random.normal(size=shape.rows) for name in ("x1", "x2")}
    counts = {"subject": shape.subjects, "item": shape.items}
    codes = {name: random.integers(0, n, shape.rows) for name, n in counts.items() if n}
    y = random.normal(300, 120, shape.rows) + 8 * predictors["x1"]
    y += random.normal(0, 60, shape.subjects)[codes["subject"]]
    y += random.normal(0, 6, shape.subjects)[codes["subject"]] * predictors["x1"]
    if shape.is_crossed:
        y += random.normal(0, 15, shape.items)[codes["item"]]
    groups = {
        name: Levels(code, list(map(str, range(counts[name])))) for name, code in codes.items()
    }
    return predictors, y, groups


def fit_here(shape: Shape, predictors: dict, y: np.ndarray, groups: dict) -> tuple[float, float]:
    """Return seconds and logLik of this project."""
    started = time.process_time()
    result = fit_model(parse(shape.formula), predictors, y, groups, "cross_products", confirm=False)
    seconds = time.process_time() - started
    if result.by != "search" or not result.converged:
        raise SystemExit(f"{shape}: {result.note}")
    return seconds, float(result.summary.loglik)


def fit_by_peer(peer: str, shape: Shape, predictors: dict, y, groups: dict) -> tuple[float, float]:
    """Return seconds and logLik of a peer."""
    import pandas as pd

    codes = {name: levels.codes for name, levels in groups.items()}
    return PEERS[peer](shape, pd.DataFrame({"y": y, **predictors, **codes}))


def fit_one(shape: Shape, who: str) -> dict[str, float]:
    """Return seconds, logLik and memory of one fit, in this process."""
    data = simulate(shape)
    fitted = fit_here(shape, *data) if who == "ours" else fit_by_peer(who, shape, *data)
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": fitted[0], "loglik": fitted[1], "mib": round(mib)}


def fit_apart(name: str, who: str, quick: bool, limit: float | None) -> dict[str, float] | str:
    """Return one fit's figures from a process of its own, or why there are none."""
    command = [sys.executable, __file__, "--fit", name, who, *["--quick"] * quick]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return "stopped"
    if done.returncode:
        if who == "ours":
            raise SystemExit(done.stderr[-2000:])
        return done.stderr.strip().splitlines()[-1][:200]
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows: under a minute")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a peer")
    parser.add_argument("--fit", nargs=2, metavar=("SHAPE", "WHO"), help="one fit, here")
    parser.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    arguments = parser.parse_args()
    shapes = QUICK if arguments.quick else SHAPES
    if arguments.fit:
        name, who = arguments.fit
        print(json.dumps(fit_one(shapes[name], who)))
        return
    metrics: dict[str, float | str | None] = {}
    for name, shape in shapes.items():
        ours = fit_apart(name, "ours", arguments.quick, None)
        metrics |= {f"{name}_seconds": round(ours["seconds"], 3), f"{name}_mib": ours["mib"]}
        for peer in shape.peers:
            theirs = fit_apart(name, peer, arguments.quick, arguments.limit)
            if isinstance(theirs, str):
                metrics[f"{name}_{peer}_absent"] = theirs
                if theirs == "stopped":
                    ratio = arguments.limit / ours["seconds"]
                    metrics[f"{name}_ratio_vs_{peer}_at_least"] = round(ratio, 2)
                continue
            metrics |= {
                f"{name}_{peer}_seconds": round(theirs["seconds"], 3),
                f"{name}_{peer}_mib": theirs["mib"],
                f"{name}_ratio_vs_{peer}": round(theirs["seconds"] / ours["seconds"], 2),
                f"{name}_loglik_minus_{peer}": round(ours["loglik"] - theirs["loglik"], 6),
            }
        print(name, {k: v for k, v in metrics.items() if k.startswith(name)}, flush=True)
    hardware = processor("one thread")
    keep("large_models", hardware, metrics, TARGETS, arguments.out, quick=arguments.quick)


if __name__ == "__main__":
    main()
