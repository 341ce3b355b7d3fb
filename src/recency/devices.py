"""GPUs of this machine: those that a process may use, and a lock on each that a job holds.

Nothing here imports torch: CUDA reads `CUDA_VISIBLE_DEVICES` once, at its first call in a process.
"""

import fcntl
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path

VISIBLE = "CUDA_VISIBLE_DEVICES"
#: Variables that hold the job's number under Slurm, PBS, LSF and Grid Engine.
JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")
#: Slurm's lists of the GPUs that it assigned to a job.
ASSIGNED = ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS")
#: Values after which CUDA ignores the rest of `CUDA_VISIBLE_DEVICES`.
ENDS = ("", "-1", "NoDevFiles")
WAIT = 0.5  # seconds between attempts to lock


def visible(environment: Mapping[str, str] = os.environ, root: str | Path = "/") -> list[str]:
    """Return the GPUs that this process may use, as `CUDA_VISIBLE_DEVICES` names them.

    Those named there (indices, UUIDs, MIG instances), or assigned by Slurm inside its jobs; else
    all of the machine, by nvidia-smi or the system's device files.
    """
    shown = environment.get(VISIBLE)
    if shown is None and "SLURM_JOB_ID" in environment:
        shown = next(filter(None, map(environment.get, ASSIGNED)), "")
    if shown is None:
        # /dev/kfd: AMD's, which PyTorch calls cuda as well.
        files = glob.glob(f"{root}/dev/nvidia[0-9]*") or glob.glob(f"{root}/dev/kfd")
        return _list_devices(environment.get("PATH", ""))[1] or [
            str(number) for number in range(len(files))
        ]
    names: list[str] = []
    for name in map(str.strip, shown.split(",")):
        if name in ENDS:
            break
        names.append(name)
    return names


@functools.cache
def _list_devices(path: str) -> tuple[list[str], list[str]]:
    """Return the UUIDs of nvidia-smi's GPUs in its order, and of the devices for CUDA.

    The latter has a GPU's MIG instances in place of the GPU. nvidia-smi is searched on `path`.
    """
    tool = shutil.which("nvidia-smi", path=path)
    if not tool:
        return [], []
    try:
        done = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return [], []
    gpus: list[str] = []
    instances: list[list[str]] = []
    for line in done.stdout.splitlines() if done.returncode == 0 else ():
        uuid = re.search(r"\(UUID: ([^)]+)\)", line)
        if number := re.match(r"GPU (\d+)", line):
            gpus.append(uuid[1] if uuid else number[1])
            instances.append([])
        elif instances and uuid and re.match(r"\s+MIG ", line):
            instances[-1].append(uuid[1])
    pairs = zip(gpus, instances, strict=True)
    return gpus, [name for gpu, parts in pairs for name in parts or [gpu]]


def _keys(names: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return device → name of its lock, the same for an index, a UUID and its beginning.

    Inside a scheduler's job, whose devices may be numbered from 0 again, locks are the job's own.
    """
    if job := next((f"{key}={environment[key]}" for key in JOBS if environment.get(key)), ""):
        return {name: f"{job}-{name}" for name in names}
    gpus, devices = _list_devices(environment.get("PATH", ""))
    keys = {}
    for name in names:
        alike = [uuid for uuid in (*gpus, *devices) if uuid.startswith(name)]
        indexed = [gpus[int(name)]] if name.isdecimal() and int(name) < len(gpus) else []
        keys[name] = (indexed or alike or [name])[0]
    return keys


def locks() -> Path:
    """Return the folder of the locks, which all accounts of the machine share."""
    top = "/tmp" if os.access("/tmp", os.W_OK) else tempfile.gettempdir()
    return Path(top, "recency-gpus")


def _open(path: Path) -> int:
    """Open a lock's file, of whatever account; write permission is not needed to lock it."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CREAT, 0o644)


def _lock(folder: Path, keys: Mapping[str, str], count: int) -> dict[str, int]:
    """Lock `count` free devices; return device → open file, {} if fewer are free."""
    held: dict[str, int] = {}
    for name, key in keys.items():
        if len(held) == count:
            break
        file = _open(folder / re.sub(r"[^\w.=-]", "_", key))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held[name] = file
        except BlockingIOError:
            os.close(file)
    if len(held) < count:  # holding some while waiting for others could block both jobs
        _release(held)
        return {}
    return held


def _release(held: Mapping[str, int]) -> None:
    for file in held.values():
        os.close(file)


@contextmanager
def reserved(
    count: int,
    environment: MutableMapping[str, str] = os.environ,
    folder: Path | None = None,
) -> Iterator[list[str]]:
    """Reserve `count` of the visible GPUs, or all if there are fewer, and hide the others.

    Waits while other jobs hold them. The kernel releases the locks when the process ends, however
    it does. Without GPUs, or with `count` 0, the process sees none.
    """
    names = visible(environment) if count else []
    keys, held = _keys(names, environment), {}
    if count := min(count, len(names)):
        folder = folder or locks()
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o1777)
        if not (held := _lock(folder, keys, count)):
            print(
                f"waiting for {count} of {len(names)} GPUs: other jobs hold them", file=sys.stderr
            )
        while not held:
            time.sleep(WAIT)
            held = _lock(folder, keys, count)
    before = environment.get(VISIBLE)
    environment[VISIBLE] = ",".join(held)
    try:
        yield list(held)
    finally:
        _release(held)
        if before is None:
            environment.pop(VISIBLE, None)
        else:
            environment[VISIBLE] = before
