"""Requests that a cluster cannot meet, and removal of queued jobs of a killed run."""

import getpass
import re
import subprocess
import time

from snakemake.logging import logger

from recency.workflow.faults import ConfigError

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
