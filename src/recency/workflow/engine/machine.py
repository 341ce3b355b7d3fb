"""Compare the resources that a run needs with those of this machine, before any job.

Nothing here imports torch.

Requests that a cluster cannot meet, and removal of queued jobs of a killed run.
"""

import getpass
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from snakemake.logging import logger

from recency import devices
from recency.errors import InputError
from recency.workflow.engine.faults import ConfigError

GIGABYTE = 1e9


@dataclass(frozen=True)
class Machine:
    """Resources of a machine: GPUs, free disk of the results (bytes), memory (bytes)."""

    gpus: int
    disk: float
    memory: float


@dataclass(frozen=True)
class Needs:
    """Resources that jobs need: LMs that train on a GPU, disk and memory in bytes with reasons.

    `gpus` is the largest number of GPUs of one job, of the LM `gpus_for`.
    """

    gpu: list[str] = field(default_factory=list)
    gpus: int = 0
    gpus_for: str = ""
    disk: float = 0.0
    disk_for: str = ""
    memory: float = 0.0
    memory_for: str = ""


def here(folder: str | Path, environment: Mapping[str, str] = os.environ) -> Machine:
    """Return this machine's resources; disk is that of `folder` or its nearest existing parent."""
    folder = Path(folder).absolute()
    folder = next(path for path in (folder, *folder.parents) if path.exists())
    return Machine(len(devices.visible(environment)), shutil.disk_usage(folder).free, memory())


def memory(limit: str | Path = "/sys/fs/cgroup/memory.max") -> float:
    """Return the memory in bytes, or a container's limit if it is smaller."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return float(min(whole, int(Path(limit).read_text())))
    except (OSError, ValueError):  # no such limit: "max"
        return float(whole)


def used(paths: Iterable[str | Path]) -> int:
    """Return the total bytes of existing files and of the files in folders."""
    total = 0
    for path in map(Path, paths):
        if path.is_dir():
            files = (Path(top, name) for top, _, names in os.walk(path) for name in names)
            total += sum(file.lstat().st_size for file in files if file.exists())
        elif path.exists():
            total += path.stat().st_size
    return total


def size(file: Mapping) -> int:
    """Return the bytes of a file to download, 0 if the config does not state them."""
    first, last = file.get("byte_range", (0, -1))
    return file.get("bytes") or last - first + 1


def needs(
    config: Mapping,
    trained: Mapping[str, str],
    unigrams: Iterable[str],
    downloads: Iterable[Mapping],
    present: int,
    ngram_lms: Iterable[str] = (),
) -> Needs:
    """Return the resources that the planned jobs need.

    `trained` are LMs to train, with their recipes; `unigrams` and `ngram_lms` models to estimate;
    `downloads` files to download; `present` the bytes of the study on disk, subtracted from `disk_gb`.
    """
    scale = config["scales"][config["scale"]]
    gpu = [lm for lm, name in trained.items() if config["recipes"][name]["device"] == "cuda"]
    fetched = sum(map(size, downloads))
    study = scale.get("disk_gb", 0) * GIGABYTE - present if trained else 0
    disk, disk_for = max((fetched, "downloads"), (study, "downloads, tokens and results"))
    estimated = {f"unigrams → {name}": config["unigrams"][name] for name in unigrams}
    estimated |= {f"lms → {name} → ngram": config["lms"][name]["ngram"] for name in ngram_lms}
    sorting = {where: parse_size(entry.get("memory", "1G")) for where, entry in estimated.items()}
    largest = max(sorting, key=sorting.get, default="")
    together = {lm: config["recipes"][trained[lm]].get("gpus", 1) for lm in gpu}
    most = max(together, key=together.get, default="")
    return Needs(
        gpu=gpu,
        gpus=together.get(most, 0),
        gpus_for=most,
        disk=max(0.0, disk),
        disk_for=disk_for,
        memory=sorting.get(largest, 0.0),
        memory_for=f"{largest} → memory" if largest else "",
    )


def parse_size(text: str) -> float:
    """Parse a size in the config's notation: 100M, 8G."""
    return float(text[:-1]) * {"M": 1e6, "G": 1e9}[text[-1]]


def shortages(needed: Needs, machine: Machine) -> list[str]:
    """Return one line per missing resource."""
    lacking = []
    if needed.gpu and not machine.gpus:
        some = ", ".join(needed.gpu[:3]) + (" …" if len(needed.gpu) > 3 else "")
        many = f"{len(needed.gpu)} trainings" if len(needed.gpu) > 1 else "a training"
        lacking.append(f"a GPU, for {many} with `device: cuda` ({some}): this machine has none")
    elif needed.gpus > machine.gpus:
        lacking.append(
            f"{needed.gpus} GPUs, for the recipe's `gpus` in the training of {needed.gpus_for}: this "
            f"machine has {machine.gpus}; a smaller number gives the same results but for rounding"
        )
    for what, need, there, reason in (
        ("of free disk", needed.disk, machine.disk, needed.disk_for),
        ("of memory", needed.memory, machine.memory, needed.memory_for),
    ):
        if need > there:
            lacking.append(f"{_gb(need)} {what}, for {reason}: this machine has {_gb(there)}")
    return lacking


def _gb(size: float) -> str:
    return f"{size / GIGABYTE:,.1f} GB".replace(".0 GB", " GB")


def smaller_studies(config: Mapping, root: str | Path) -> list[tuple[str, str]]:
    """List command and label of scales and studies (config/<study>.yaml) that run without a GPU."""
    root, studies = Path(root), []

    def small(scale: Mapping, recipes: Mapping) -> bool:
        return recipes.get(scale.get("recipe"), {}).get("device", "cuda") != "cuda"

    for name, scale in config["scales"].items():
        if name != config["scale"] and small(scale, config["recipes"]):
            studies.append((f"--config scale={name}", scale.get("label", name)))
    makefile = root / "Makefile"
    targets = makefile.read_text() if makefile.exists() else ""
    for path in sorted(root.glob("config/*.yaml")):
        study = path.stem
        overlay = yaml.safe_load(path.read_text()) or {}
        scale = overlay.get("scales", {}).get(overlay.get("scale"), {})
        if study != config["study"] and small(scale, overlay.get("recipes", {})):
            has_target = re.search(rf"^{study}:", targets, re.MULTILINE)
            command = (
                f"make {study}"
                if has_target
                else f"./run --cores all --configfile config/{path.name}"
            )
            studies.append((command, scale.get("label", study)))
    return studies


def check(config: Mapping, needed: Needs, machine: Machine, root: str | Path) -> None:
    """Raise InputError if the machine lacks resources, with the ways out."""
    lacking = shortages(needed, machine)
    if not lacking:
        return
    lines = [
        f"study {config['study']}, scale {config['scale']}: nothing was started, because this machine lacks",
        *(f"  - {text}" for text in lacking),
    ]
    if smaller := smaller_studies(config, root):
        width = max(len(command) for command, _ in smaller)
        lines.append("Smaller, without a GPU:")
        lines += [f"  {command:{width}}  {label}" for command, label in smaller]
    lines += [
        "On a cluster: ./run --workflow-profile profiles/slurm",
        "To start anyway: --config check_machine=false",
    ]
    raise InputError("\n".join(lines))


#: Seconds for a job to save its state and exit, in addition to Slurm's KillWait (default 30).
PATIENCE = 120.0
#: States in which a Slurm job may still write.
ALIVE = "PENDING,RUNNING,SUSPENDED,COMPLETING,CONFIGURING,STOPPED,REQUEUED,RESIZING"


def require_slurm(workflow) -> None:
    """Refuse a run on Slurm with a job for more GPUs than a node has, or without a required account."""
    if getattr(workflow.executor_plugin, "name", "") != "slurm":
        return
    jobs = list(workflow.dag.needrun_jobs())
    most: dict[str, int] = {}
    for line in _lines("sinfo", "-h", "-N", "-o", "%P|%G"):
        partition, _, gres = line.partition("|")
        counts = re.findall(r"\bgpu(?::[^:,(]+)?:(\d+)", gres)
        for name in (partition.rstrip("*"), ""):
            most[name] = max(most.get(name, 0), sum(map(int, counts)))
    for job in jobs:
        asked, partition = job.resources.get("gpu") or 0, job.resources.get("slurm_partition") or ""
        if asked > most.get(partition, asked):
            where = f"of partition {partition}" if partition else "of this cluster"
            raise ConfigError(
                f"nothing was started: {job.rule.name} {job.wildcards} asks for {asked} GPUs, and the largest "
                f"node {where} has {most[partition]}; set `gpus` of its recipe to that, or another partition"
            )
    if any(not job.resources.get("slurm_account") for job in jobs if not job.is_local) and (
        _needs_account()
    ):
        raise ConfigError(
            "nothing was started: this cluster takes no jobs without an account, and you have no default "
            "one; set `slurm_account` in profiles/slurm/config.yaml (`sacctmgr show associations user=$USER` "
            "lists yours)"
        )


def _needs_account() -> bool:
    """Return whether Slurm refuses jobs without an account, and the user has no default account."""
    lines = _lines("scontrol", "show", "config")
    rules = next((line for line in lines if line.startswith("AccountingStorageEnforce ")), "")
    if not re.search(r"\b(associations|limits|qos|safe|all)\b", rules):
        return False
    words = ("sacctmgr", "-n", "-P", "show", "user", getpass.getuser(), "format=DefaultAccount")
    return not any(map(str.strip, _lines(*words)))


def _lines(*words: str) -> list[str]:
    """Return the lines that a program prints; none if it is missing or fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def end_orphans(workflow) -> None:
    """Cancel jobs in Slurm's queue that a killed run of this folder left.

    They would write the same files as this run's jobs. Trainings save their state first.
    """
    jobs = list(workflow.dag.needrun_jobs())
    recorded = {id for job in jobs for id in workflow.persistence.external_jobids(job)}
    left = _alive(recorded)
    if not left:
        return
    logger.info(
        f"Cancelling {len(left)} jobs that a killed run left in the queue: {', '.join(left)}"
    )
    subprocess.run(["scancel", *left], check=False)
    deadline = time.monotonic() + PATIENCE
    while _alive(left) and time.monotonic() < deadline:
        time.sleep(1)


def _alive(jobs) -> list[str]:
    """Return the Slurm jobs that are pending or running."""
    if not jobs:
        return []
    words = ["squeue", "--noheader", "--format=%i", f"--states={ALIVE}"]
    try:
        listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return []
    return sorted(set(listed.split()) & {str(job_id) for job_id in jobs})


def limit_gpus(workflow, count: int) -> None:
    """Limit a run's parallel jobs to the GPUs of this machine, unless `--resources gpu=N` does."""
    if count and "gpu" not in workflow.global_resources:
        workflow.register_resource("gpu", count)
        workflow.scheduler.global_resources["gpu"] = count
