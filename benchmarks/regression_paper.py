"""Time the paper's regressions as the workflow runs them: 19 LMs and a base on 13 responses.

    python benchmarks/regression_paper.py [--quick] [--cores 2] [--lms 19] [--out results/…json]

Words, surprisal and reading times are made up, with exactly as many observations as Clark et al.
(2025) have in Table 1 and about as many subjects, texts, sentences and words as their corpora
(`CORPORA`). Snakemake then makes the 247 full fits and 13 bases in a folder of its own, by the rules
`regression` and no other: every job starts Python, reads the tables of its responses, fits, and scores
their exploratory partitions. `minutes` is by the clock, `cpu_minutes` all that the run used, `jobs` how
many there are, `peak_memory_gib` the most that all processes held together (resident, so that what they
share counts several times). With `--lms` fewer LMs are taken, and `cpu_minutes_of_all` is what all 19
would use. `--quick` has a twentieth of the observations, three responses and two LMs. What follows
from the regressions, and the share of starting jobs, are study_cost.py's. The last line is one JSON object.
"""

import argparse
import contextlib
import csv
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import checkout
import numpy as np
import pandas as pd
import psutil
import yaml
from result import keep, processor

from regression import plain, say

ROOT = Path(__file__).resolve().parents[1]
checkout.use()

from readingtimes import files
from recency import config as configuration
from recency.reading.observations import partition
from recency.workflow.config import loading
from recency.workflow.plan import batches
from recency.workflow.plan.study import Study

PROJECT = (
    "Snakefile",
    "rules",
    "src",
    "packages",
    "workflow",
    "envs",
    "profiles",
    "studies",
    "config.yaml",
)
PROJECT += ("config.schema.yaml", "data/corpora", "data/published", "data/sources")
RESULTS = "results/paper/paper"
TARGETS = {"minutes": 4.0, "peak_memory_gib": 6.0}
PARTITIONS = ("fit", "exploratory", "held_out")
QUICK = ("ucl_spr.SPR", "ucl_eye_tracking.FP", "provo.FP")


@dataclass(frozen=True)
class Corpus:
    """How much a reading-time corpus has of what the table of observations does not tell."""

    subjects: int
    texts: int
    sentences: int
    words: int


# As their articles, or the files that the workflow reads, have them.
CORPORA = {
    "brown": Corpus(35, 13, 450, 7_188),
    "natural_stories": Corpus(181, 10, 485, 10_245),
    "ucl_spr": Corpus(117, 361, 361, 4_957),
    "ucl_eye_tracking": Corpus(43, 205, 205, 1_931),
    "geco": Corpus(14, 4, 5_031, 54_364),
    "dundee": Corpus(10, 20, 2_368, 51_501),
    "provo": Corpus(84, 55, 134, 2_689),
}


def lay_out(
    folder: Path,
    share: float,
    kept: tuple[str, ...],
    lms: list[str],
    seed: int,
    make_texts: Callable | None = None,
) -> dict:
    """Make the project and the regressions' inputs in `folder`; return response → its targets.

    `share` of Table 1's observations are made, of the responses `kept` (all if empty). `make_texts`
    writes what is asked of a dataset's words, in place of `made_up`, and returns what that does.
    """
    copy_project(folder)
    config = loading.load(ROOT)
    select(folder, kept, lms)
    table = ROOT / "data" / "published" / "clark2025_table1.csv"
    with table.open(newline="") as file:
        sizes = {row.pop("corpus_measure"): row for row in csv.DictReader(file)}
    random, targets, texts = np.random.default_rng(seed), {}, {}
    for response in configuration.responses(config, "exp3"):
        dataset, measure, design = (response[k] for k in ("dataset", "measure", "design"))
        if kept and f"{dataset}.{measure}" not in kept:
            continue
        if dataset not in texts:
            texts[dataset] = (make_texts or made_up)(folder, dataset, lms, config, random)
        size = sizes[f"{config['datasets'][dataset]['label']} {measure}"]
        rows = {name: round(share * int(size[name])) for name in PARTITIONS}
        where = folder / RESULTS / "observations" / f"{dataset}.{measure}"
        make_observations(where, CORPORA[dataset].subjects, texts[dataset], rows, random)
        fits = f"{RESULTS}/regression/{design}/{dataset}.{measure}"
        targets[f"{dataset}.{measure}"] = [
            f"{fits}/none.base.json",
            *(f"{fits}/{lm}.full.json" for lm in lms),
        ]
    return targets


def select(folder: Path, kept: tuple[str, ...], lms: list[str]) -> None:
    """Leave one experiment in the project's config, of these LMs and responses (all if empty)."""
    path = folder / "config.yaml"
    config = yaml.safe_load(path.read_text())
    responses = {
        design: [each for each in listed if not kept or each in kept]
        for design, listed in config["experiments"]["exp1"]["responses"].items()
    }
    only = {"title": "All", "lms": lms, "baseline": lms[0]}
    only["responses"] = {design: listed for design, listed in responses.items() if listed}
    config |= {"experiments": {"only": only}, "run": ["only"], "targets": {}}
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    place(folder)


def copy_project(folder: Path) -> None:
    """Copy what a run needs of the project, without results."""
    for name in PROJECT:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)


def place(folder: Path) -> None:
    """Make empty files of the reading times that a user is to place, as if they were there."""
    for dataset in loading.load(folder)["datasets"].values():
        for file in (*dataset.get("words", {}).values(), *dataset.get("responses", {}).values()):
            if "local" in file:
                path = folder / file["local"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()


def rules_of(folder: Path, what: str = "regression") -> list[str]:
    """Return the rules that do `what`, surprisal or regression: one a batch."""
    with contextlib.chdir(folder):
        study = Study(loading.load(folder), folder)
        of = {"surprisal": batches.datasets, "regression": batches.responses}[what]
        return [batch.rule(what) for batch in of(study)]


def sentences(corpus: Corpus, random) -> pd.DataFrame:
    """Return the table of a corpus's words, without the words."""
    ends = np.sort(random.choice(np.arange(3, corpus.words), corpus.sentences - 1, replace=False))
    sentence = np.searchsorted(ends, np.arange(corpus.words), side="right").astype(np.int32)
    starts = np.flatnonzero(np.append(True, np.diff(sentence) > 0))
    word_id = np.arange(corpus.words, dtype=np.int32)
    return pd.DataFrame(
        {
            "item": (sentence * corpus.texts // corpus.sentences).astype(str),
            "sentence": sentence,
            "position": word_id - starts[sentence] + 1,
            "word_id": word_id,
        }
    )


def made_up(folder: Path, dataset: str, lms: list[str], config: dict, random) -> pd.DataFrame:
    """Write a dataset's words and surprisal; return the words with what readers follow of them."""
    frame = sentences(CORPORA[dataset], random)
    frame["word"] = ["x" * n for n in random.poisson(4, len(frame)) + 1]
    write(frame, folder / RESULTS / "datasets" / dataset / "words.parquet")
    unigram = random.gamma(6, 2, len(frame))
    followed = np.abs(0.5 * unigram + random.normal(0, 3, len(frame)))

    def surprisal(name: str, bits: np.ndarray) -> None:
        columns = {"word_id": frame["word_id"], "surprisal_bits": bits, "corrected_bits": bits}
        write(pd.DataFrame(columns), folder / RESULTS / "surprisal" / name / f"{dataset}.parquet")

    surprisal(config["scales"][config["scale"]]["unigram"], unigram)
    for index, lm in enumerate(lms):
        surprisal(lm, np.abs(followed + random.normal(0, 0.5 + 0.1 * index, len(frame))))
    return frame.assign(bits=followed)


def make_observations(
    where: Path, subjects: int, words: pd.DataFrame, rows: dict[str, int], random
) -> None:
    """Write each partition with exactly so many `rows`."""
    grid = subjects * len(words)
    cell = np.arange(grid)
    frame = pd.DataFrame({"subject": cell // len(words), "word_id": cell % len(words)})
    frame["sentence"] = words["sentence"].to_numpy()[frame["word_id"]]
    parts = partition(frame).to_numpy()
    effects = random.normal(size=(subjects, 3)) * [60, 6, 3]
    of_sentence = random.normal(0, 15, words["sentence"].max() + 1)
    position = words["position"].to_numpy() / words["position"].std()
    for name, many in rows.items():
        those = np.flatnonzero(parts == name)
        if many > len(those):
            raise SystemExit(f"{where.name}: {many} observations are more than {len(those)} cells")
        part = frame.iloc[np.sort(random.choice(those, many, replace=False))]
        subject, word = part["subject"].to_numpy(), part["word_id"].to_numpy()
        time_ms = 340 + effects[subject, 0] + of_sentence[part["sentence"]]
        time_ms += (4 + effects[subject, 1]) * position[word]
        time_ms += (2 + effects[subject, 2]) * words["bits"].to_numpy()[word]
        time_ms += random.normal(0, 120, many)
        columns = {
            "subject": np.char.add("s", subject.astype(str)),
            "word_id": word.astype(np.int32),
            "time_ms": np.maximum(time_ms, 1).astype(np.float32),
            "previous_fixated": pd.array(random.random(many) < 0.7, dtype="boolean"),
            "partition": name,
        }
        write(pd.DataFrame(columns), where / f"{name}.parquet")


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table, and its folder."""
    files.write_parquet(frame, path)


def snakemake(
    folder: Path, targets: list[str], cores: int, rules: list[str], **more: str
) -> dict[str, float]:
    """Make the targets by these rules; return wall and CPU seconds and the peak of resident memory, GiB.

    `more` are variables of the environment.
    """
    tools = [ROOT / ".venv" / "bin", ROOT / ".tools" / "bin"]
    path = ":".join([str(Path(sys.executable).parent), *map(str, tools), os.environ["PATH"]])
    variables = {"PATH": path, "RPY2_CFFI_MODE": "ABI", "OPENBLAS_NUM_THREADS": "1", **more}
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--nolock", "--quiet"]
    command += ["all", "--allowed-rules", *rules, "--config", "adopt=true", "--", *targets]
    used = cpu_of_children()
    started = time.perf_counter()
    with (folder / "log.txt").open("w") as log:
        run = subprocess.Popen(
            command, cwd=folder, env=os.environ | variables, stdout=log, stderr=log
        )
        peak = [0]
        watch = threading.Thread(target=watch_memory, args=(run, peak))
        watch.start()
        failed = run.wait()
        watch.join()
    if failed:
        raise SystemExit((folder / "log.txt").read_text()[-3000:])
    return {
        "wall": time.perf_counter() - started,
        "cpu": cpu_of_children() - used,
        "peak": peak[0] / 2**30,
    }


def watch_memory(run: subprocess.Popen, peak: list[int]) -> None:
    """Keep in peak[0] the most bytes that a process and all its descendants held at once."""
    while run.poll() is None:
        held = 0
        try:
            for process in (top := psutil.Process(run.pid), *top.children(recursive=True)):
                held += process.memory_info().rss
        except psutil.NoSuchProcess:  # ended between being listed and being looked at
            pass
        peak[0] = max(peak[0], held)
        time.sleep(0.2)


def cpu_of_children() -> float:
    """Return the CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fits_in(folder: Path, targets: list[str]) -> list[dict]:
    """Read the fits that were made."""
    return [json.loads((folder / target).read_text()) for target in targets]


def main() -> None:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a part of it, under a minute")
    parser.add_argument("--cores", type=int, default=2, help="jobs at a time")
    parser.add_argument("--lms", type=int, help="take the first so many LMs alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    arguments = parser.parse_args()
    every = loading.load(ROOT)["experiments"]["clark2025"]["lms"]
    share, kept = (0.05, QUICK) if arguments.quick else (1.0, ())
    lms = every[: 2 if arguments.quick else arguments.lms]
    with tempfile.TemporaryDirectory(prefix="regression-paper-") as name:
        folder = Path(name)
        made = lay_out(folder, share, kept, lms, arguments.seed)
        targets = [target for fits in made.values() for target in fits]
        say(f"{len(targets)} fits of {len(made)} responses, {arguments.cores} at a time")
        bases = [target for target in targets if "/none." in target]
        first, rest = (
            snakemake(folder, asked, arguments.cores, rules_of(folder))
            for asked in (bases, targets)
        )
        fits = fits_in(folder, targets)
        jobs = len(list((folder / RESULTS / "benchmarks").rglob("*.tsv")))
    if any(fit["sigma"] is None for fit in fits):
        raise SystemExit("a model was not fitted")
    metrics = {
        "minutes": (first["wall"] + rest["wall"]) / 60,
        "cpu_minutes": (first["cpu"] + rest["cpu"]) / 60,
        "cpu_minutes_of_all": (first["cpu"] + rest["cpu"] * len(every) / len(lms)) / 60,
        "peak_memory_gib": max(first["peak"], rest["peak"]),
        "fits": len(fits),
        "fits_converged": sum(fit["converged"] for fit in fits),
        "fits_by_lme4_alone": sum("lme4's optimiser was used" in fit["note"] for fit in fits),
        "fits_confirmed": sum("difference_from_lme4" in fit for fit in fits),
        "largest_difference_from_lme4": max(fit.get("difference_from_lme4", 0.0) for fit in fits),
        "observations_fitted": sum(fit["n"]["fit"] for fit in fits),
        "jobs": jobs,
        "cores": arguments.cores,
    }
    metrics = {key: plain(value) for key, value in metrics.items()}
    hardware = processor(f"{arguments.cores} jobs at a time on {os.cpu_count()} cores")
    keep("regression_paper", hardware, metrics, TARGETS, arguments.out, quick=arguments.quick)


if __name__ == "__main__":
    main()
