"""Fit random designs of mixed models until time is up, and store those whose fits are wrong.

    python benchmarks/fuzz_fits.py [--minutes 10] [--start SEED] [--out results/fuzz_fits.<hardware>.json]
    python benchmarks/fuzz_fits.py --replay build/fuzz-fits/SEED

Each design (tests/random_designs.py) is fitted, changed in ways that leave the model the same, and
compared with lme4. A failing design is stored in `build/fuzz-fits/<seed>`: its rows as CSV, and its
formula, options and problems as JSON. The exit status is 1 if one fails. Without `--start` the seeds
are new in each run. The last line is one JSON object.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import checkout
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
checkout.use("packages/crosslmm/tests")

from result import keep, processor

from random_designs import ERRORS, LOGLIK, Design, draw, problems

FOLDER = ROOT / "build" / "fuzz-fits"
TARGETS = {"designs": 250, "failed": 0}
"""Designs are at least, failed ones at most."""
ALL = 100
"""More changes than a design has: all are tried."""


def main() -> None:
    """Draw designs, or fit a stored one again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--start", type=int, help="the first seed; by default from the clock")
    parser.add_argument("--replay", type=Path, help="a folder that an earlier run stored")
    parser.add_argument("--out", type=Path, help="where the result is written")
    arguments = parser.parse_args()
    if arguments.replay:
        design = read(arguments.replay)
        print(design.formula, design.options)
        wrong = problems_of(design)
        print("\n".join(wrong) or "no problem")
        raise SystemExit(bool(wrong))
    start = int(time.time()) if arguments.start is None else arguments.start
    began, drawn, failed = time.monotonic(), Counter(), []
    while time.monotonic() - began < 60 * arguments.minutes:
        seed = start + drawn.total()
        design = draw(seed)
        wrong = problems_of(design)
        drawn[design.family] += 1
        if wrong:
            failed.append(seed)
            store(design, wrong)
            print(f"{FOLDER.relative_to(ROOT) / str(seed)}: {design.formula}: {wrong[0]}")
        if drawn.total() % 25 == 0:
            minutes = (time.monotonic() - began) / 60
            print(f"{minutes:.1f} min: {drawn.total()} designs, {len(failed)} failed", flush=True)
    minutes = (time.monotonic() - began) / 60
    print(f"{drawn.total()} designs in {minutes:.1f} minutes, {len(failed)} failed")
    metrics = {"designs": drawn.total(), "failed": len(failed), "minutes": round(minutes, 2)}
    metrics |= {f"designs_{family}": count for family, count in sorted(drawn.items())}
    metrics |= {"loglik_per_row": LOGLIK, "standard_errors": ERRORS}
    keep(
        "fuzz_fits",
        processor("1 thread"),
        metrics,
        TARGETS,
        arguments.out,
        start=start,
        seeds=failed,
    )
    raise SystemExit(bool(failed))


def problems_of(design: Design) -> list[str]:
    """Return what is wrong with a design's fits; an error of the design itself is a problem, too."""
    try:
        return list(problems(design, ALL if design.is_linear else None))
    except Exception as error:  # noqa: BLE001, any error is a finding
        return [f"{type(error).__name__}: {error}"]


def store(design: Design, wrong: list[str]) -> None:
    """Store a failing design."""
    folder = FOLDER / str(design.seed)
    folder.mkdir(parents=True, exist_ok=True)
    design.data.to_csv(folder / "data.csv", index=False, float_format="%.17g")
    record = {"seed": design.seed, "formula": design.formula, "options": design.options}
    record |= {"shifts": design.shifts, "problems": wrong}
    (folder / "design.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def read(folder: Path) -> Design:
    """Read a stored design."""
    record = json.loads((folder / "design.json").read_text(encoding="utf-8"))
    data = pd.read_csv(folder / "data.csv")
    return Design(record["seed"], record["formula"], data, record["options"], record["shifts"])


if __name__ == "__main__":
    main()
