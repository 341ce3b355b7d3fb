"""Time the demo's jobs as forks of a resident worker and as Pythons of their own.

    python benchmarks/resident.py [--quick] [--out results/…json]

Processor seconds of `./run` and all its processes, Snakemake's planning with them, on two copies of the
demo in turn: after its trainings, whose length is their own, all that follows (59 jobs). `share` is the
time with forks over that without (`--no-resident`). `differing` counts results whose bytes differ.
`--quick` makes one file alone. The last line is one JSON object.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import checkout

checkout.use("tests")

from regression_paper import copy_project
from result import ROOT, keep, processor

from faulty import digests

TARGETS = {"resident_seconds": 45.0, "differing": 0}
CONFIG = ("--configfile", "config/demo.yaml")
QUICK = ("results/demo/cores/not_run.csv",)


def main() -> None:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="make one file alone")
    parser.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="resident-") as name:
        first, second = Path(name, "own"), Path(name, "resident")
        copy_project(first)
        shutil.copy(ROOT / "run", first)
        shutil.copytree(ROOT / "config", first / "config")
        for tools in (".venv", ".tools"):
            (first / tools).symlink_to(ROOT / tools)
        targets = QUICK if arguments.quick else ()
        if not arguments.quick:
            cpu_of(first, "--until", "train")
        shutil.copytree(first, second, symlinks=True)
        own = cpu_of(first, *targets, "--no-resident")
        forks = cpu_of(second, *targets)
        made = [digests(folder) for folder in (first, second)]
    differing = {path for path in made[0] | made[1] if made[0].get(path) != made[1].get(path)}
    metrics = {
        "own_seconds": round(own, 1),
        "resident_seconds": round(forks, 1),
        "share": round(forks / own, 3),
        "results": len(made[0]),
        "differing": len(differing),
    }
    hardware = processor(f"2 of {os.cpu_count()} cores")
    keep("resident", hardware, metrics, TARGETS, arguments.out, quick=arguments.quick)


def cpu_of(folder: Path, *arguments: str) -> float:
    """Return the processor seconds of ./run and its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["./run", *arguments, "--cores", "2", *CONFIG]
    run = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise SystemExit(run.stdout[-3000:] + run.stderr[-3000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{' '.join(command)}: {seconds:.1f} s", file=sys.stderr)
    return seconds


if __name__ == "__main__":
    main()
