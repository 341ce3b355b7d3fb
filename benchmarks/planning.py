"""Time what Snakemake needs before the first job: plans, and a run of a study that is finished.

    python benchmarks/planning.py [--quick] [--out results/…json]

Processor seconds of Snakemake, its start-up with them, on three studies: a dry run of the paper's
(`paper`); the run of the paper's when all its files are there, which says that nothing is to be done
(`finished`); a dry run of one with so many seeds that it has 10,000 jobs (`large`). Beside each, in
the same run, stands the floor: a plain Snakefile without this project, of as many jobs and rules,
each job with as many inputs and outputs as the study's have in the mean, in a chain of rules whose
first file all of a chain's jobs share. `over_plain` is a study's time over that: what is above 1 is
this project's own. Each figure is the least of three. `--quick` takes 600 jobs for 10,000 and each
figure once. The last line is one JSON object.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import checkout
import yaml

checkout.use()

from regression_paper import copy_project, place
from result import keep, processor

TARGETS = {"paper_seconds": 5.0, "finished_seconds": 3.0, "large_seconds": 30.0}
LMS = ["Pythia", "ALiBi-mix-TI", "ALiBi-1_256-TI", "ALiBi-1_64-TI", "ALiBi-1_16-TI"]
RESPONSES = {
    "spr": ["natural_stories.SPR", "ucl_spr.SPR"],
    "eye_tracking": ["provo.FP", "ucl_eye_tracking.FP"],
}
JOBS = {"train": 1, "surprisal": 1, "regression": 2}
"""What each LM of each seed adds to a plan: both regressions are batches of all responses."""
LARGE, QUICK = 10_000, 600
FITTED = '{"loglik": {"fit": 0}}'


def main() -> None:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="600 jobs for 10,000, each plan once")
    parser.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    arguments = parser.parse_args()
    times = 1 if arguments.quick else 3
    metrics = {}
    with tempfile.TemporaryDirectory(prefix="planning-") as name:
        folder, plain = Path(name) / "study", Path(name) / "plain"
        copy_project(folder)
        place(folder)
        many_seeds(folder / "large.yaml", QUICK if arguments.quick else LARGE)
        for study, more in (("large", ("--configfile", "large.yaml")), ("paper", ())):
            plan = snakemake(folder, "-n", *more)  # what is found of the code is kept for the next
            metrics[f"{study}_jobs"] = write_plain(plain, plan)
            metrics |= compared(study, times, (folder, "-n", *more), (plain, "-n"))
        finish(folder, "--config", "adopt=true")
        finish(plain)
        metrics |= compared("finished", times, (folder,), (plain,))
    hardware = processor(f"1 of {os.cpu_count()} cores")
    keep("planning", hardware, metrics, TARGETS, arguments.out, quick=arguments.quick)


def many_seeds(path: Path, jobs: int) -> None:
    """Write the overlay of a study of at least so many jobs: some LMs from many seeds."""
    experiment = {"title": "Many", "lms": LMS, "baseline": LMS[0], "responses": RESPONSES}
    experiment["seeds"] = list(range(1, 1 + -(-jobs // (len(LMS) * sum(JOBS.values())))))
    path.write_text(yaml.safe_dump({"run": ["many"], "experiments": {"many": experiment}}))


def compared(study: str, times: int, asked: tuple, plain: tuple) -> dict[str, float]:
    """Time a study's run and the plain one's, in turns; return seconds of both and their ratio."""
    found = [(cpu_of(*asked), cpu_of(*plain)) for _ in range(times)]
    seconds, floor = (min(each) for each in zip(*found, strict=True))
    print(f"{study}: {seconds:.2f} s, plain {floor:.2f} s", file=sys.stderr)
    figures = {"seconds": seconds, "plain_seconds": floor, "over_plain": seconds / floor}
    return {f"{study}_{key}": round(value, 3) for key, value in figures.items()}


def cpu_of(folder: Path, *arguments: str) -> float:
    """Return the processor seconds of a run of Snakemake."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    snakemake(folder, *arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def snakemake(folder: Path, *arguments: str) -> str:
    """Run Snakemake in a folder, as ./run does; return what it printed."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--nolock", *arguments]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(run.stdout[-3000:])
    return run.stdout


def paths(plan: str, kind: str) -> list[str]:
    """Return the `input` or `output` paths of all jobs of a printed plan."""
    return [
        path
        for line in re.findall(rf"^    {kind}: (.+)$", plan, re.MULTILINE)
        for path in line.split(", ")
    ]


def write_plain(folder: Path, plan: str) -> int:
    """Write a Snakefile of a printed plan's size, without its Python; return its jobs."""
    table = plan.split("Job stats:")[1].split("\n\n")[0]
    counts = [int(number) for number in re.findall(r"^\w+ +(\d+)$", table, re.MULTILINE)][:-1]
    jobs, rules = sum(counts), len(counts)
    chains = max(1, round(jobs / rules))
    outputs, inputs = (max(1, round(len(paths(plan, kind)) / jobs)) for kind in ("output", "input"))
    lines = [f"rule all:\n    input: [f'out/last/{{n}}.0' for n in range({chains})]"]
    for number in range(rules):
        name = f"r{number}" if number < rules - 1 else "last"
        made = ", ".join(f"'out/{name}/{{n}}.{each}'" for each in range(outputs))
        used = ["'start'"] * (inputs - 1)
        if number:
            used = [f"'out/r{number - 1}/{{n}}.{each % outputs}'" for each in range(inputs)]
        lines.append(f"rule {name}:\n    input: {', '.join(used) or '[]'}\n    output: {made}")
        lines.append(f"    log: 'logs/{name}/{{n}}.log'\n    shell: 'true'")
    folder.mkdir(exist_ok=True)
    (folder / "start").touch()
    (folder / "Snakefile").write_text("\n".join(lines) + "\n")
    return jobs


def finish(folder: Path, *adopt: str) -> None:
    """Make stand-ins of all files that a plan makes, and have Snakemake record them as made.

    `adopt` are arguments with which a study takes over files that it did not make.
    """
    for path in paths(snakemake(folder, "-n"), "output"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        # What a run reads at its end: that a regression has not failed.
        (folder / path).write_text(FITTED if path.endswith(".json") else "")
    snakemake(folder, "--touch", "--forceall", *adopt)  # else there is no run that could adopt
    if "Nothing to be done" not in (said := snakemake(folder)):
        raise SystemExit(f"{folder.name} is not finished:\n{said[-3000:]}")


if __name__ == "__main__":
    main()
