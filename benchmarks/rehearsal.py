"""The papers' studies, walked at their size: `make rehearsal`. Two cores, 16 GB of disk, an hour.

python benchmarks/rehearsal.py [--folder DIR] [--cores N] [--quick] [--out FILE] [TARGET …]

1. Walk: all five studies from downloads to figures, in a copy of the project, by the workflow's own jobs.
   Stand-ins (stand_ins.py) replace inputs that are too large or licensed; networks are 8 wide per head and
   train for two steps, on the CPU. Downloads run first; all other jobs have no network (`unshare -n`).
2. Growth: processor time and memory of jobs on training text, at three sizes of the open study's English.
3. Inventory: each figure and table has the papers' rows, columns, panels and published values.
4. Table: for the largest job of each rule in the papers' studies its work, cost per unit as measured,
   extrapolated time, request and margin; memory beside its request. Costs of networks on a GPU are those of
   the cost model, since nothing here has one.

It ends with 1 if a job failed, a request has a margin below 1.5, or a job held more memory than it asked
for. The last line is one JSON object.
"""

import argparse
import contextlib
import csv
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import checkout
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
checkout.use("tests", "setup")

import stand_ins
from result import keep, processor

import inventory
from hub_server import serving
from project import copy_project, environment, load, sources
from recency.workflow.plan import cost_model

STUDIES = {
    "paper": ["all", "clark2025"],
    "thesis": ["maze", "maze_foils", "abusive_words", "ranks_and_continuations", "word_length",
               "part_of_speech", "no_part_of_speech", "theories", "serial_position"],
    "devarda_marelli": ["devarda_marelli"],
    "working_memory": ["working_memory", "working_memory_100M"],
    "masked": ["mlm_pile", "mlm_pile_large", "mlm_wikitext"],
}  # fmt: skip
OVERLAY = "rehearsal.yaml"
ENGLISH = "results/open/cores/corpora/open_english/text.parquet"
#: A request has at least this multiple of the extrapolated time.
MARGIN = 1.5
SIZES = [5_200_000, 20_800_000, 83_200_000]
#: Rules of training text, in the order in which one makes what the next reads.
TEXT = ("prepare_text", "passages", "train_tokenizer", "tokenize_text", "estimate_ngrams")


# Walk


def prepare(folder: Path) -> Path:
    """Copy the project, write stand-ins and what is laid over its config, once; return the copy."""
    project = folder / "project"
    if not (folder / "ready").exists():
        copy_project(project)
        stand_ins.write(project, folder / "mirror", english(folder, project))
        (project / OVERLAY).write_text(json.dumps(stand_ins.overlay(load())))
        (folder / "ready").touch()
    return project


def variables(folder: Path) -> dict[str, str]:
    """Return the environment of runs, whose first mirror has the stand-ins."""
    mirrors = [str(folder / "mirror"), os.environ.get("RECENCY_MIRROR", "")]
    absolute = [os.path.abspath(each) for part in mirrors for each in part.split(":") if each]
    return environment() | {"RECENCY_MIRROR": ":".join(absolute), "no_proxy": "127.0.0.1"}


def english(folder: Path, project: Path) -> Path:
    """Return the text of the open study, fetched and prepared by its jobs."""
    words = [sys.executable, "-m", "snakemake", "--cores", "1", "--nolock", ENGLISH]
    words += ["--configfile", "config.open.yaml"]
    subprocess.run(words, cwd=project, env=variables(folder), check=True)
    return project / ENGLISH


def command(targets: list[str], cores: int, *more: str) -> list[str]:
    """Return the command of a run, which goes on after a failure."""
    start = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--keep-going", "--nolock"]
    return [*start, *more, "--configfile", OVERLAY, "--", *targets]


def without_network() -> list[str]:
    """Return the start of a command without a network; nothing where the system permits none."""
    for words in (["unshare", "-rn"], ["unshare", "-n"]):
        with contextlib.suppress(OSError):
            if not subprocess.run([*words, "true"], check=False, capture_output=True).returncode:
                return words
    print("unshare is not permitted here: jobs have a network", file=sys.stderr)
    return []


def download(folder: Path, project: Path, targets: list[str], cores: int) -> int:
    """Fetch all files of the targets, with a Hub of this machine that has the stand-in for gpt2."""
    checkpoint = folder / "mirror" / "gpt2"
    revision = {"gpt2": {stand_ins.GPT2: stand_ins.GPT2}}
    with serving(revision, {("gpt2", stand_ins.GPT2): checkpoint}) as server:
        words = command(targets, cores, "--until", "download", "hub_checkpoint")
        hub = {"HF_ENDPOINT": server.url, "HF_HOME": str(folder / "no-cache")}
        return subprocess.run(
            words, cwd=project, env=variables(folder) | hub, check=False
        ).returncode


def walk(folder: Path, project: Path, targets: list[str], cores: int) -> int:
    """Run everything but the downloads, without a network."""
    words = [*without_network(), *command(targets, cores)]
    return subprocess.run(words, cwd=project, env=variables(folder), check=False).returncode


# Growth


def job(rule: str, folder: Path) -> None:
    """Do what a rule's job does to the text of a folder."""
    from recency import passages
    from recency.scoring import estimate_ngrams
    from recency.text import prepare, tokenizer, tokens

    text = folder / "text.parquet"
    if rule == "prepare_text":
        prepare.main([folder / "source.parquet"], text, reader="parquet")
    elif rule == "passages":
        passages.main(text, folder / "passages.npz")
    elif rule == "train_tokenizer":
        tokenizer.main(text, folder / "tokenizer.json", 16_384)
    elif rule == "tokenize_text":
        made = folder / "tokenizer.json"
        tokens.main(text, made, folder / "tokens.bin", folder / "tokens.json")
    else:
        estimate_ngrams.estimate(text, folder / "unigram.arpa")


def spent(rule: str, folder: Path) -> dict[str, float]:
    """Return the processor seconds and the peak memory, MB, of a job: the least of two runs.

    Differences of sizes are extrapolated a thousandfold, and other work only adds to them.
    """
    runs = [_run(rule, folder) for _ in range(2)]
    return {name: min(run[name] for run in runs) for name in runs[0]}


def _run(rule: str, folder: Path) -> dict[str, float]:
    """Return the processor seconds and the peak memory, MB, of a job in a process of its own."""
    words = [sys.executable, __file__, "--job", rule, "--folder", str(folder)]
    single = {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    done = subprocess.run(
        words, env=environment() | single, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def first(text: Path, words: int) -> Iterator[str]:
    """Yield documents until they have so many words, again in another order of words if they are too few."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(text) as file:
        for step in count(1):
            for batch in file.iter_batches(columns=["text"], batch_size=100):
                for document in batch.column("text").to_pylist():
                    found = document.split()
                    words -= len(found)
                    yield (
                        document
                        if step == 1
                        else " ".join(word for start in range(step) for word in found[start::step])
                    )
                    if words <= 0:
                        return


def growth(folder: Path, text: Path, sizes: list[int]) -> dict[str, dict[int, dict[str, float]]]:
    """Return rule → words → seconds and memory of its job on so many words of a text."""
    found: dict[str, dict[int, dict[str, float]]] = {rule: {} for rule in TEXT}
    for size in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            stand_ins.parquet(Path(name, "source.parquet"), first(text, size))
            for rule in TEXT:
                found[rule][size] = spent(rule, Path(name))
                print(f"{rule}, {size:,} words: {found[rule][size]}", flush=True)
    return found


def extrapolated(sizes: list[int], values: list[float], to: float, least: float = 0.0) -> float:
    """Return the value at a size, of a + c N^p through those at three sizes a constant factor apart.

    p is at least `least` and at most 1.2: values that grow faster are no noise, and the largest two
    are then taken by that power.
    """
    first, second = values[1] - values[0], values[2] - values[1]
    power = least
    if first > 0 and second > 0:
        power = math.log(second / first) / math.log(sizes[2] / sizes[1])
        power = min(max(least, power), 1.2)
    if power <= 0.05 or second <= 0:
        return max(values)
    slope = second / (sizes[2] ** power - sizes[1] ** power)
    return values[2] + slope * (to**power - sizes[2] ** power)


# Table


def planned(project: Path, *overlays: str) -> list[dict]:
    """Return all jobs of the studies' targets, as setup/cost_table.py has them."""
    words = [sys.executable, str(ROOT / "setup" / "cost_table.py"), "--jobs", *overlays]
    paths = environment() | {"PYTHONPATH": sources(project)}
    done = subprocess.run(
        words, cwd=project, env=paths, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def measured(project: Path) -> dict[str, dict]:
    """Return rule → the walk's longest job, its work, seconds and memory, and how many there were."""
    found: dict[str, dict] = {}
    for row in planned(project, OVERLAY):
        path = project / (row["benchmark"] or "none")
        if not path.is_file():
            continue
        with path.open(newline="") as file:
            last = list(csv.DictReader(file, delimiter="\t"))[-1]
        seconds, memory = undisturbed(last), _number(last["max_rss"])
        known = found.setdefault(
            row["rule"], {"jobs": 0, "memory": 0.0, "seconds": 0.0, "work": 0.0, "asked_memory": 0}
        )
        known["jobs"] += 1
        if memory > known["memory"]:
            known |= {"memory": memory, "asked_memory": row["asked"]["mem_mb"]}
        if seconds > known["seconds"]:
            known |= {"seconds": seconds, "work": row["work"]}
    return found


def undisturbed(row: dict[str, str]) -> float:
    """Return the seconds of a job had nothing else run: at most its processor time and what was not sampled.

    Snakemake samples each half second at first, then each 30.
    """
    wall, cpu = float(row["s"]), _number(row["cpu_time"])
    return min(wall, cpu + (30.0 if wall > 15 else 0.5)) if cpu else wall


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def table(project: Path, walked: dict[str, dict], grown: dict[str, dict]) -> list[dict]:
    """Return a row per rule of the papers' studies, of its longest job at their scale."""
    longest: dict[str, dict] = {}
    for row in planned(project):  # the longest first
        longest.setdefault(row["rule"], row)
    rows = []
    for rule, row in longest.items():
        work, asked = row["work"], row["asked"]
        # By the cost model, unless measured.
        how, seconds, memory = "estimate", row["seconds"], None
        if rule in grown:
            sizes = sorted(grown[rule])
            each = [[grown[rule][size][key] for size in sizes] for key in ("seconds", "memory")]
            seconds = extrapolated(sizes, each[0], work, 1.0) / row["shared_by"]
            memory = extrapolated(sizes, each[1], work)
            how = "three sizes"
        elif rule in walked and not asked["gpu"]:
            of = walked[rule]
            ratio = work / of["work"] if of["work"] else 1.0
            start = min(cost_model.START, of["seconds"])
            seconds = start + (of["seconds"] - start) * max(1.0, ratio)
            how, memory = "walk", of["memory"]
        rows.append({
            "rule": rule, "job": row["job"], "work": work, "unit": row["unit"], "how": how,
            "seconds": round(seconds, 1), "per_unit": seconds / work if work else None,
            "minutes_asked": asked["runtime"], "margin": round(60 * asked["runtime"] / seconds, 1),
            "memory": memory and round(memory), "memory_asked": asked["mem_mb"],
            "gpu": asked["gpu"], "threads": row["threads"],
        })  # fmt: skip
    return sorted(rows, key=lambda row: -row["seconds"])


def faults(rows: list[dict], walked: dict[str, dict]) -> list[str]:
    """Return what is wrong: margins that are too small, memory that was not asked for."""
    wrong = [
        f"{row['rule']}: asks for {row['minutes_asked']} minutes, needs {row['seconds'] / 60:.0f}"
        for row in rows
        if row["margin"] < MARGIN
    ]
    wrong += [
        f"{row['rule']}: asks for {row['memory_asked']} MB, needs {row['memory']}"
        for row in rows
        if (row["memory"] or 0) > row["memory_asked"]
    ]
    wrong += [
        f"{rule}: held {of['memory']:.0f} MB, had asked for {of['asked_memory']}"
        for rule, of in walked.items()
        if of["memory"] > of["asked_memory"]
    ]
    return wrong


def unlike_the_papers(project: Path, whole: bool) -> list[str]:
    """Return what figures and tables lack of what the inventory says; all have to be there in a `whole` walk."""
    made = {}
    for entry in inventory.module().read():
        for output in entry.get("outputs", {}):
            path = project / "results" / "rehearsal" / "paper" / "experiments" / f"{output}.csv"
            if path.exists():
                made[output] = pd.read_csv(path)
    return [
        problem
        for entry in inventory.module().read()
        for problem in inventory.problems(entry, made)
        if whole or entry.get("outputs", {}).keys() <= made.keys()
    ]


def markdown(rows: list[dict]) -> str:
    """Return the table of docs/scaling.md: rules with jobs of over ten minutes at the papers' scale."""
    lines = [
        "| rule | work of the longest job | on | seconds per million units | extrapolation | request | margin |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row["seconds"] > 600:
            on = f"{row['gpu']} × GPU" if row["gpu"] else f"{row['threads']} × core"
            cells = [
                f"`{row['rule']}`",
                f"{row['work']:.1e} {row['unit']}",
                on,
                f"{1e6 * row['per_unit']:.2g} ({row['how']})",
                f"{row['seconds'] / 3600:.1f} h",
                f"{row['minutes_asked'] / 60:,.0f} h, {row['memory_asked'] / 1000:.0f} GB",
                f"{row['margin']}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """Walk, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", help="walk these alone; default: all studies")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "rehearsal")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument(
        "--quick", action="store_true", help="one study, in ten minutes; times are not judged"
    )
    parser.add_argument("--out", type=Path, help="file that also gets the JSON object")
    parser.add_argument("--job", choices=TEXT, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    if arguments.job:
        job(arguments.job, folder)
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        seconds = sum(each.ru_utime + each.ru_stime for each in used)
        status = Path("/proc/self/status").read_text()
        own = float(status.split("VmHWM:")[1].split()[0])  # ru_maxrss counts the parent's as well
        memory = (own + used[1].ru_maxrss) / 1000
        print(json.dumps({"seconds": round(seconds, 2), "memory": round(memory)}))
        return 0
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    studies = {"devarda_marelli": STUDIES["devarda_marelli"]} if arguments.quick else STUDIES
    targets = arguments.targets or [name for names in studies.values() for name in names]
    sizes = [size // 10 for size in SIZES] if arguments.quick else SIZES
    project = prepare(folder)
    failed = download(folder, project, targets, arguments.cores)
    failed = failed or walk(folder, project, targets, arguments.cores)
    walked, grown = measured(project), growth(folder, project / ENGLISH, sizes)
    rows = table(project, walked, grown)
    wrong = faults([] if arguments.quick else rows, walked)
    wrong += unlike_the_papers(project, not (arguments.quick or arguments.targets))
    print(markdown(rows), *wrong, sep="\n")
    metrics = {
        "minutes": round((time.monotonic() - began) / 60),
        "failed": failed,
        "faults": wrong,
        "least_margin": min(row["margin"] for row in rows),
        "rules": rows,
        "growth": grown,
    }
    targets_met = {"failed": 0, "least_margin": MARGIN}
    keep("rehearsal", processor(f"{arguments.cores} cores"), metrics, targets_met, arguments.out)
    return 1 if failed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
