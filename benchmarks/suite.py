"""Time a tier of the tests: how long it takes, how busy it keeps the cores, and what takes the time.

    python benchmarks/suite.py [--target test-merge] [--cores N] [--out results/…json] [-- TEST …]

`seconds` are of the clock, and `processor_seconds` of all processes, by what they do: `tests` are
pytest's workers, `snakemake` the runs that tests start, `jobs` those runs' jobs, `compilers` what
torch.compile starts, `other` the rest. They are read from /proc five times a second; what a process
does after its last reading is in `processor_seconds_of_all` alone, which is the machine's: let it
be idle. `share_busy` is that over cores × clock, and `seconds_at_full_use` the clock of cores that
are never idle: what no order of the same tests can pass. `of_<folder>` are seconds that a folder's
tests take, waiting with them. What torch.compile kept of earlier runs is not found. Named tests are
run instead of all. The last line is one JSON object.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]

from result import keep, processor

#: Target of make → seconds on two cores.
TARGETS = {"test": 180.0, "test-merge": 900.0}
COMMANDS = {target: ["make", target] for target in TARGETS}
TICKS = os.sysconf("SC_CLK_TCK")
#: What a command line has that is of a kind: the first that fits.
KINDS = {
    "jobs": ("job_server.py", ".snakemake/scripts/"),
    "snakemake": ("multiprocessing.forkserver", "-m snakemake", "bin/snakemake"),
    "compilers": ("cc1plus", "g++", "compile_worker"),
    "tests": ("pytest", "exec(eval(sys.stdin.readline()))"),
}


def main() -> None:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", choices=TARGETS, default="test", help="of make: test")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    parser.add_argument("tests", nargs="*", help="files of tests, instead of the tier's")
    arguments = parser.parse_args()
    cores = arguments.cores
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    with tempfile.TemporaryDirectory(prefix="suite-") as folder:
        report = Path(folder) / "tests.xml"
        options = [f"--junitxml={report}", "-o", "junit_family=xunit1", *arguments.tests]
        variables = {"CORES": str(cores), "PYTEST_ADDOPTS": " ".join(options), "TMPDIR": folder}
        metrics = measured(COMMANDS[arguments.target], cores, variables)
        metrics |= tested(report)
    hardware = processor(f"{cores} of {os.cpu_count()} cores")
    targets = {"seconds": TARGETS[arguments.target]} if cores == 2 else {}
    described = {"target": arguments.target, "named": arguments.tests}
    keep("suite", hardware, metrics, targets, arguments.out, **described)


def measured(command: list[str], cores: int, variables: dict[str, str]) -> dict[str, float]:
    """Run a command; return its seconds and what its processes and the machine did."""
    start, before, seen = time.monotonic(), busy(), {}
    run = subprocess.Popen(command, cwd=ROOT, env=os.environ | variables, stdout=sys.stderr)
    first, _ = life(Path(f"/proc/{run.pid}"))
    while run.poll() is None:
        look(first, seen)
        time.sleep(0.2)
    seconds, spent = time.monotonic() - start, busy() - before
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {run.returncode}")
    kinds = Counter()
    for name, used in seen.values():
        kinds[name] += used / TICKS
    figures = {"seconds": seconds, "processor_seconds_of_all": spent}
    figures |= {f"processor_seconds.{name}": kinds[name] for name in (*KINDS, "other")}
    figures |= {"share_busy": spent / cores / seconds, "seconds_at_full_use": spent / cores}
    return {key: round(value, 2) for key, value in figures.items()}


def busy() -> float:
    """Return the processor seconds of the machine since it started."""
    user, nice, system, _, _, interrupts, soft, *_ = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    )
    return (user + nice + system + interrupts + soft) / TICKS


def look(since: int, seen: dict[tuple[str, int], tuple[str, int]]) -> None:
    """Note the kind and the ticks of every process born `since`, by number and birth."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            born, ticks = life(path)
        except OSError:  # it has ended
            continue
        before, _ = seen.get((path.name, born), ("other", 0))
        if born >= since:  # one that has just ended has no words any more
            seen[path.name, born] = (kind(words) if words else before, ticks)


def life(process: Path) -> tuple[int, int]:
    """Return when a process of /proc was born and what it has used, both in ticks."""
    after = (process / "stat").read_text().rpartition(")")[2].split()
    return int(after[19]), int(after[11]) + int(after[12])


def kind(words: str) -> str:
    """Say of what kind a process is by its command line."""
    fits = (name for name, marks in KINDS.items() if any(mark in words for mark in marks))
    return next(fits, "other")


def tested(report: Path) -> dict[str, float]:
    """Return how many tests were run, the longest's seconds, and those of each folder."""
    tests = list(ElementTree.parse(report).iter("testcase"))
    folders = Counter()
    for test in tests:
        folders["/".join(test.get("file").split("/")[1:-1]) or "tests"] += float(test.get("time"))
    figures = {"tests": len(tests), "longest_test": max(float(test.get("time")) for test in tests)}
    figures |= {f"of_{folder}": seconds for folder, seconds in folders.most_common()}
    return {key: round(value, 2) for key, value in figures.items()}


if __name__ == "__main__":
    main()
