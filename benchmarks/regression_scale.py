"""Time and memory of a mixed model from 10^4 to 10^7 observations, of 10^2 to 10^4 subjects and items.

    python benchmarks/regression_scale.py [--quick] [--most-levels 10000] [--out results/….json]
    python benchmarks/regression_scale.py --draw results/regression_scale.<hardware>.json docs/….png

Each point is a process of its own, one thread: simulated rows of random subjects and items, as many
of either, `y ~ x1 + x2 + x3 + x4 + (1 + x1 + … | subject) + (1 | item)`. `easy` has slopes of x1 and x2,
which vary; `hard` has four, of which two do not: a singular fit. `seconds` are of CPU time from arrays to
the fit's figures, which are its own (lme4 holds all rows, in nearly 2 kB each); `mib` is the most memory that the process held, the data
(80 bytes a row) included. Points whose levels would have fewer than ten rows each are left out. With 10,000
levels it takes an hour, without them (`--most-levels 3200`) seven minutes. The last line is one JSON object.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import checkout
import numpy as np

checkout.use()

from result import keep, processor

from crosslmm.factors import Levels
from crosslmm.fitting import fit_model
from crosslmm.formula import parse

ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
LEVELS = (100, 1_000, 3_200, 10_000)
SLOPES = {"easy": (6.0, 4.0), "hard": (6.0, 4.0, 0.0, 0.0)}
"""Standard deviations between subjects, ms; the intercept's is 60, the items' 15, the rest's 120."""
TARGETS = {"largest_mib": 8192.0, "most_evaluations": 40.0}
"""At most."""


def simulate(rows: int, levels: int, kind: str) -> tuple[str, dict, np.ndarray, dict]:
    """Return formula, predictors (n,), times in ms and groups."""
    random = np.random.default_rng(rows + levels)
    names = [f"x{n}" for n in range(1, 5)]
    predictors = {name: random.normal(size=rows) for name in names}
    subject, item = (random.integers(0, levels, rows) for _ in range(2))
    y = random.normal(300, 120, rows)
    y += random.normal(0, 60, levels)[subject]
    y += random.normal(0, 15, levels)[item]
    y += 8 * predictors["x1"]
    slopes = SLOPES[kind]
    for name, sd in zip(names, slopes, strict=False):
        if sd:
            y += random.normal(0, sd, levels)[subject] * predictors[name]
    groups = {
        name: Levels(codes, [str(code) for code in range(levels)])
        for name, codes in (("subject", subject), ("item", item))
    }
    varying = " + ".join(names[: len(slopes)])
    formula = f"y ~ {' + '.join(names)} + (1 + {varying} | subject) + (1 | item)"
    return formula, predictors, y, groups


def point(rows: int, levels: int, kind: str) -> dict[str, float | bool]:
    """Fit one data set and return its figures."""
    formula, predictors, y, groups = simulate(rows, levels, kind)
    started = time.process_time()
    result = fit_model(parse(formula), predictors, y, groups, "cross_products", confirm=False)
    seconds = time.process_time() - started
    if result.by != "search":
        raise SystemExit(f"{rows} x {levels}, {kind}: {result.note}")
    return {
        "seconds": round(seconds, 3),
        "mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "evaluations": result.optimum.evaluations,
        "converged": result.converged,
    }


def apart(rows: int, levels: int, kind: str) -> dict[str, float | bool]:
    """Fit one data set in a process of its own."""
    command = [sys.executable, __file__, "--point", str(rows), str(levels), kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def draw(kept: Path, figure: Path) -> None:
    """Draw a kept run: seconds and memory by the number of observations."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    result = json.loads(kept.read_text(encoding="utf-8"))
    points = result["metrics"]["points"]
    drawn, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    for number, levels in enumerate(LEVELS):
        for kind, line in (("easy", "-"), ("hard", "--")):
            those = [p for p in points if (p["levels"], p["kind"]) == (levels, kind)]
            if not those:
                continue
            for ax, key in zip(axes, ("seconds", "mib"), strict=True):
                label = f"{levels:,}" if kind == "easy" else None
                values = [p[key] / (1024 if key == "mib" else 1) for p in those]
                rows = [p["rows"] for p in those]
                ax.loglog(rows, values, line, marker="o", ms=3, color=f"C{number}", label=label)
    for ax, name in zip(axes, ("CPU time of a fit, s", "memory, GiB"), strict=True):
        ax.set(xlabel="observations", ylabel=name)
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("")
        ax.spines[["top", "right"]].set_visible(False)
    axes[1].set_yticks([0.125, 0.25, 0.5, 1, 2, 4])
    axes[1].set_ylim(0.1)
    axes[0].legend(title="subjects, and items", frameon=False, fontsize=8, title_fontsize=8)
    axes[1].set_title("solid: easy; dashed: singular", fontsize=8, loc="left")
    drawn.suptitle(result["hardware"], fontsize=8)
    drawn.savefig(figure, dpi=160)


def main() -> None:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 10^5 rows, under a minute")
    parser.add_argument("--most-levels", type=int, default=LEVELS[-1])
    parser.add_argument("--point", nargs=3, metavar=("ROWS", "LEVELS", "KIND"), help="one of them")
    parser.add_argument("--draw", nargs=2, type=Path, metavar=("RESULT", "FIGURE"))
    parser.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    arguments = parser.parse_args()
    if arguments.draw:
        return draw(*arguments.draw)
    if arguments.point:
        rows, levels, kind = arguments.point
        return print(json.dumps(point(int(rows), int(levels), kind)))
    points = []
    for rows in ROWS[: 2 if arguments.quick else None]:
        for levels in LEVELS:
            if levels > min(arguments.most_levels, rows // 10):
                continue
            for kind in SLOPES:
                found = apart(rows, levels, kind)
                points.append({"rows": rows, "levels": levels, "kind": kind} | found)
                print(points[-1], flush=True)
    metrics = {
        "points": points,
        "largest_mib": max(p["mib"] for p in points),
        "most_evaluations": max(p["evaluations"] for p in points),
        "converged": all(p["converged"] for p in points),
    }
    hardware = processor("one thread")
    return keep(
        "regression_scale", hardware, metrics, TARGETS, arguments.out, quick=arguments.quick
    )


if __name__ == "__main__":
    main()
