"""The GPUs that a process may use, and the lock on each that a job holds; without a GPU."""

import os
import signal
import subprocess
import sys
import time

import pytest

from project import SOURCES, environment
from recency import devices

A, B = "GPU-aaaa1111-22", "GPU-bbbb3333-44"
TWO = f"GPU 0: NVIDIA A100 (UUID: {A})\nGPU 1: NVIDIA A100 (UUID: {B})\n"
#: The first GPU is divided.
MIG = f"GPU 0: NVIDIA A100 (UUID: {A})\n  MIG 1g.5gb     Device  0: (UUID: MIG-1)\n"
MIG += f"  MIG 2g.10gb    Device  1: (UUID: MIG-2)\nGPU 1: NVIDIA A100 (UUID: {B})\n"
EIGHT = {"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7", "PATH": ""}


def tool(folder, printed, status=0):
    """Put a program called nvidia-smi on a PATH of its own."""
    folder.mkdir()
    (folder / "printed").write_text(printed)
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\ncat {folder}/printed\nexit {status}\n")
    (folder / "nvidia-smi").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_the_gpus_of_a_machine(tmp_path):
    two = tool(tmp_path / "two", TWO)
    broken = tool(tmp_path / "broken", "GPU 0: no driver\n", 9)
    assert devices.visible(two, tmp_path) == [A, B]
    assert devices.visible(tool(tmp_path / "mig", MIG), tmp_path) == ["MIG-1", "MIG-2", B]
    assert devices.visible(broken, tmp_path) == []
    assert devices.visible({"PATH": str(tmp_path)}, tmp_path) == []
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "dev" / name).touch()
    assert devices.visible({"PATH": str(tmp_path)}, tmp_path) == ["0", "1"]
    assert devices.visible(broken, tmp_path) == ["0", "1"]


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, []),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, []),
        ({"CUDA_VISIBLE_DEVICES": "1"}, ["1"]),
        ({"CUDA_VISIBLE_DEVICES": "3, 5"}, ["3", "5"]),
        ({"CUDA_VISIBLE_DEVICES": "0,-1,1"}, ["0"]),  # as CUDA reads it
        ({"CUDA_VISIBLE_DEVICES": f"{B},MIG-1"}, [B, "MIG-1"]),
        # Slurm: what it assigned, and nothing where it assigned nothing.
        ({"SLURM_JOB_ID": "7"}, []),
        ({"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "2,3"}, ["2", "3"]),
        ({"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "2,3", "SLURM_STEP_GPUS": "3"}, ["3"]),
        ({"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "3", "CUDA_VISIBLE_DEVICES": "0"}, ["0"]),
    ],
)
def test_the_environment_says_which(tmp_path, variables, names):
    assert devices.visible(tool(tmp_path / "two", TWO) | variables) == names


def test_a_gpu_has_one_lock_under_all_its_names(tmp_path):
    two = tool(tmp_path / "two", TWO)
    for name in ("1", B, "GPU-bbbb"):
        assert devices._keys([name], two) == {name: B}
    # Inside a job Slurm may number its devices from 0, whichever they are.
    assert devices._keys(["0"], two | {"SLURM_JOB_ID": "7"}) == {"0": "SLURM_JOB_ID=7-0"}


def test_eight_jobs_have_a_gpu_each(tmp_path):
    held, own = [], []
    for _ in range(8):
        own.append(dict(EIGHT))
        held.append(devices.reserved(1, own[-1], tmp_path))
        held[-1].__enter__()
    assert sorted(each["CUDA_VISIBLE_DEVICES"] for each in own) == list("01234567")
    assert devices._lock(tmp_path, {str(n): str(n) for n in range(8)}, 1) == {}
    held[5].__exit__(None, None, None)
    assert own[5] == EIGHT
    with devices.reserved(1, own[5], tmp_path) as names:
        assert names == ["5"]
    for each in (*held[:5], *held[6:]):
        each.__exit__(None, None, None)


def test_a_job_for_several_holds_none_while_it_waits(tmp_path):
    keys = {str(number): str(number) for number in range(3)}
    one = devices._lock(tmp_path, keys, 1)
    assert devices._lock(tmp_path, keys, 3) == {}
    two = devices._lock(tmp_path, keys, 2)
    assert (list(one), list(two)) == (["0"], ["1", "2"])
    devices._release(one | two)


def test_a_job_that_asks_for_none_sees_none(tmp_path):
    for count, given in (
        (0, dict(EIGHT)),
        (0, {"PATH": ""}),
        (1, {"PATH": "", "SLURM_JOB_ID": "7"}),
    ):
        before = dict(given)
        with devices.reserved(count, given, tmp_path) as names:
            assert names == [] and given["CUDA_VISIBLE_DEVICES"] == ""
        assert given == before
    with devices.reserved(3, given := {"CUDA_VISIBLE_DEVICES": "4,6"}, tmp_path):
        assert given["CUDA_VISIBLE_DEVICES"] == "4,6"  # all there are: the job says what it lacks


HOLD = """
import sys, time
from pathlib import Path
from recency import devices
with devices.reserved(1, folder=Path(sys.argv[1])) as names:
    print(*names, flush=True)
    time.sleep(60)
"""


def test_the_gpu_of_a_killed_job_is_free_again(tmp_path):
    words = [sys.executable, "-c", HOLD, str(tmp_path)]
    seen = {"PYTHONPATH": SOURCES, "CUDA_VISIBLE_DEVICES": "0", "PATH": ""}
    jobs = [subprocess.Popen(words, env=seen, stdout=subprocess.PIPE, text=True)]
    try:
        assert jobs[0].stdout.readline() == "0\n"
        assert devices._lock(tmp_path, {"0": "0"}, 1) == {}
        jobs.append(subprocess.Popen(words, env=seen, stdout=subprocess.PIPE, text=True))
        os.kill(jobs[0].pid, signal.SIGKILL)
        assert jobs[1].stdout.readline() == "0\n"
    finally:
        for job in jobs:
            job.kill()
            job.wait()
            job.stdout.close()


SNAKEFILE = """
from recency.workflow.engine import machine
onstart:
    machine.limit_gpus(workflow, 2)
rule all:
    input: expand("{i}.txt", i=range(4))
rule train:
    output: "{i}.txt"
    log: "{i}.log"
    resources: gpu=1
    script: "job.py"
"""
JOB = """
import os, time
from pathlib import Path
from recency import devices
with devices.reserved(snakemake.resources.gpu, folder=Path("locks")):
    began = time.time()
    time.sleep(0.5)
    Path(snakemake.output[0]).write_text(f"{os.environ['CUDA_VISIBLE_DEVICES']} {began} {time.time()}")
"""


@pytest.mark.merge
@pytest.mark.parametrize("limit", [None, 1])
def test_jobs_side_by_side_have_a_gpu_each_of_those_there_are(tmp_path, limit):
    """Four jobs, four cores, two GPUs: two at once, on one each."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "job.py").write_text(JOB)
    words = [sys.executable, "-m", "snakemake", "--cores", "4"]
    words += ["--resources", f"gpu={limit}"] if limit else []
    seen = environment() | {"PYTHONPATH": SOURCES, "CUDA_VISIBLE_DEVICES": "0,1"}
    began = time.monotonic()
    run = subprocess.run(words, cwd=tmp_path, env=seen, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and time.monotonic() - began < 120, run.stderr[-2000:]
    assert "waiting for" not in run.stderr
    jobs = [path.read_text().split() for path in tmp_path.glob("*.txt")]
    spans = [(float(start), float(end)) for _, start, end in jobs]
    most = max(sum(start <= at < end for start, end in spans) for at, _ in spans)
    assert (len(jobs), most) == (4, limit or 2)
    assert {name for name, *_ in jobs} <= {"0", "1"} and (limit or len({n for n, *_ in jobs}) == 2)
