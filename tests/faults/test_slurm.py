"""The tiny study through profiles/slurm, on a Slurm of this machine alone: killed, drained, restarted, out of memory.

The daemons of Debian's packages (slurmctld, slurmd, slurm-client, munge) run on the loopback, as root; a
machine with a Slurm of its own is left alone.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from test_killed_jobs import ALONE

import faulty
from project import ROOT, TINY, copy_project, environment

pytestmark = pytest.mark.long

CONFIGURATION = Path("/etc/slurm")
SLURM = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/socket/munge
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdSpoolDir={folder}/spool
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
MinJobAge=600
SchedulerParameters=sched_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
GresTypes=gpu
NodeName=localhost NodeHostname={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=200000 Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
#: Devices that stand for two GPUs.
GPUS = "Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n"


def call(*words, check=True, **options):
    return subprocess.run(words, check=check, capture_output=True, text=True, timeout=60, **options)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """Bring Slurm up; return its folder, where its state and logs are."""
    missing = [
        name for name in ("slurmctld", "slurmd", "munged", "sbatch") if not shutil.which(name)
    ]
    if missing or os.getuid():
        pytest.skip(f"needs root and Debian's slurmctld, slurmd, slurm-client, munge: {missing}")
    if (CONFIGURATION / "slurm.conf").exists():
        pytest.skip("this machine has a Slurm of its own")
    folder = tmp_path_factory.mktemp("slurm")
    for path in (folder, *folder.parents[:2]):
        path.chmod(0o755)  # munge's socket has to be reached
    for name, mode in {"socket": 0o755, "munge": 0o700, "spool": 0o755, "state": 0o700}.items():
        (folder / name).mkdir(mode=mode)
        (folder / name).chmod(mode)
    (folder / "munge" / "key").write_bytes(os.urandom(1024))
    (folder / "munge" / "key").chmod(0o600)
    host = os.uname().nodename.partition(".")[0]
    CONFIGURATION.mkdir(exist_ok=True)
    (CONFIGURATION / "slurm.conf").write_text(SLURM.format(host=host, folder=folder))
    (CONFIGURATION / "gres.conf").write_text(GPUS)
    files = {"key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    options = [f"--{option}={folder / 'munge' / name}" for option, name in files.items()]
    try:
        call("munged", "--force", f"--socket={folder / 'socket' / 'munge'}", *options)
        call("slurmctld", "-c")
        call("slurmd", "-N", "localhost")
        wait_for(lambda: "idle" in call("sinfo", "-h", "-o", "%T", check=False).stdout, 60)
        yield folder
    finally:
        call("scontrol", "shutdown", check=False)
        time.sleep(2)
        for name in ("slurmd.pid", "slurmctld.pid", "munge/pid"):
            if (path := folder / name).exists() and path.read_text().strip():
                with_no_error(os.kill, int(path.read_text()), signal.SIGTERM)
        for name in ("slurm.conf", "gres.conf"):
            (CONFIGURATION / name).unlink()


def with_no_error(function, *arguments):
    try:
        function(*arguments)
    except ProcessLookupError:
        pass


def wait_for(reached, seconds, run=None):
    """Wait until `reached()`; fail after some seconds, or if the run has ended."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, "it took too long"
        assert run is None or run.poll() is None, "the run was over before"
        time.sleep(0.2)


def queue(*columns):
    """Return a row a job of Slurm's, the oldest first, with its comment, which is rule and wildcards, last."""
    listed = call(
        "squeue", "--states=all", "--noheader", "--sort=i", "-o", "|".join([*columns, "%k"])
    )
    return [line.split("|") for line in listed.stdout.splitlines()]


def ages():
    """Return how many seconds each running job has run."""
    begun = [start for state, start, _ in queue("%T", "%S") if state == "RUNNING"]
    return [time.time() - datetime.fromisoformat(start).timestamp() for start in begun]


def project(folder):
    """Copy the project as a user has it: ./run, and its tools."""
    copy_project(folder)
    (folder / "src" / "sitecustomize.py").unlink()
    shutil.copy(ROOT / "run", folder)
    for name in (".venv", ".tools"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture
def start(slurm):
    """Return what starts a run as README says, which asks Slurm more often than one would."""
    runs = []

    def starts(folder, *words, configs=TINY):
        often = [
            "--slurm-init-seconds-before-status-checks",
            "2",
            "--seconds-between-status-checks",
            "2",
        ]
        profile = [
            "--workflow-profile",
            "profiles/slurm",
            "--slurm-no-account",
            "--latency-wait",
            "10",
        ]
        words = ["./run", *words, *profile, *often, "--configfile", *configs]
        runs.append(faulty.started(folder, *words, environment=environment() | ALONE))
        return runs[-1]

    yield starts
    for run in runs:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
    call("scancel", "--user=root", check=False)


def test_the_study_through_all_of_it(slurm, start, finished, tmp_path):
    """One run: a training that needs more memory, a node drained, the controller restarted, the run killed."""
    folder = project(tmp_path / "study")
    small = ["--set-resources", "train:mem_mb=attempt**3*250"]
    run = start(folder, *small)

    # A training is ended for its memory, and gets more.
    wait_for(
        lambda: any(c.startswith("rule_train_w") and s != "PD" for s, c in queue("%t")), 300, run
    )
    wait_for(
        lambda: {"250M", "2000M"} <= {m for m, c in queue("%m") if "rule_train_w" in c}, 300, run
    )
    states = {
        state for state, memory, c in queue("%T", "%m") if "rule_train_w" in c and memory == "250M"
    }
    assert states & {"OUT_OF_MEMORY", "FAILED", "CANCELLED"}, states

    # A node that is drained takes no more; what is at work there ends.
    call("scontrol", "update", "NodeName=localhost", "State=DRAIN", "Reason=test")
    wait_for(lambda: not any(state == "RUNNING" for state, _ in queue("%T")), 200, run)
    call("scontrol", "update", "NodeName=localhost", "State=RESUME")

    # The controller is killed and started again with the state that it kept, as it does each 5 seconds: it
    # would start anew what it does not know to be running, and hold it for that.
    wait_for(lambda: min(ages(), default=0) > 8, 300, run)
    os.kill(int((slurm / "slurmctld.pid").read_text()), signal.SIGKILL)
    time.sleep(5)
    call("slurmctld")

    # The run is killed with jobs at work, which go on without it.
    surprisal = folder / "results" / "tiny" / "cores" / "logs" / "surprisal"
    wait_for(surprisal.exists, 600, run)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    left = [number for number, state, _ in queue("%i", "%T") if state in ("RUNNING", "PENDING")]
    assert left
    before = len(queue("%i"))

    # The same command ends them, and goes on.
    run = start(folder, *small)
    assert run.wait() == 0, faulty.printed(folder)[-4000:]
    assert "that a killed run left in the queue" in faulty.printed(folder)
    assert faulty.digests(folder) == faulty.digests(finished)
    ended = {number: state for number, state, _ in queue("%i", "%T")}
    assert all(ended[number] in ("CANCELLED", "FAILED", "COMPLETED") for number in left)

    # Nothing is done twice: what was complete when the run was killed is not in the queue again.
    jobs = queue("%T")
    done = {c for state, c in jobs[:before] if state == "COMPLETED"}
    again = Counter(c for state, c in jobs[before:] if state == "COMPLETED")
    assert not done & {c for _, c in jobs[before:]} - {c for n, c in queue("%i") if n in left}
    assert max(again.values()) == 1
    # What takes a second was never queued.
    assert not any(re.search("figure|table|verdict|report|summary", c) for _, c in queue("%i"))
    run = start(folder)
    assert run.wait() == 0 and "Nothing to be done" in faulty.printed(folder)


def test_a_training_that_its_time_ends_goes_on_at_the_next_attempt(start, tmp_path):
    """Slurm ends it after a minute; it saves its state, and the second attempt has two."""
    folder = project(tmp_path / "long")
    (folder / "long.yaml").write_text("recipes: {demo: {steps: 30000}}\n")
    weights = "results/tiny/cores/lms/Pythia/model.safetensors"
    limits = ["--set-resources", "train:runtime=1", "--retries", "1"]
    run = start(folder, weights, *limits, configs=[*TINY, "long.yaml"])
    assert run.wait() != 0  # both attempts have a minute here, for more than two minutes of work
    text = "".join(
        path.read_text() for path in (folder / ".snakemake" / "slurm_logs").rglob("*.log")
    )
    steps = [int(step) for step in re.findall(r"ended by SIGTERM after step (\d+) of 30000", text)]
    assert len(set(steps)) == 2 and 0 < min(steps) < max(steps), text[-3000:]


def test_lms_train_side_by_side_on_the_gpus_that_they_are_given(slurm, tmp_path):
    """Two jobs at once see a device each, of two."""
    (tmp_path / "Snakefile").write_text(
        "rule all:\n    input: 'a.txt', 'b.txt'\n\n\n"
        "rule train:\n    output: '{lm}.txt'\n    resources: gpu=1\n"
        "    shell: 'sleep 8; date +%s > {output}; echo $CUDA_VISIBLE_DEVICES >> {output}'\n"
    )
    words = "snakemake --executor slurm --jobs 4 --slurm-status-command squeue --slurm-no-account"
    words += " --slurm-init-seconds-before-status-checks 2 --seconds-between-status-checks 2"
    words += " --default-resources mem_mb=500 runtime=5 slurm_partition=main"
    run = faulty.started(tmp_path, *words.split(), environment=environment())
    assert run.wait() == 0, faulty.printed(tmp_path)[-3000:]
    (a, one), (b, other) = ((tmp_path / f"{lm}.txt").read_text().split() for lm in "ab")
    assert {one, other} == {"0", "1"} and abs(int(a) - int(b)) < 8


def test_the_profile_for_other_schedulers(slurm, tmp_path):
    """With Slurm's own programs as its example: from text to a tokenizer, and one that fails."""
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    folder = project(tmp_path / "study")
    tokenizer = "results/tiny/cores/tokenizers/simulated-1024/tokenizer.json"
    words = [sys.executable, "-m", "snakemake", tokenizer]
    words += ["--workflow-profile", "profiles/generic", "--latency-wait", "10"]
    words += ["--seconds-between-status-checks", "2", "--configfile", *TINY]
    run = faulty.started(folder, *words, environment=environment() | ALONE)
    assert run.wait() == 0, faulty.printed(folder)[-3000:]
    assert (folder / tokenizer).exists()
    submitted = list((folder / ".snakemake" / "generic_logs").glob("*.log"))
    assert len(submitted) == 2
    known = {"mem_mb": "16000M", "runtime": "1:00:00"}
    asked = [row for row in queue("%m", "%l") if row[0] == known["mem_mb"]]
    assert known["runtime"] in {limit for _, limit, *_ in asked}
    status = [str(folder / "profiles" / "generic" / "status.sh")]
    failed = call(
        "sbatch", "--parsable", "--mem=100", "--output=/dev/null", "--wrap=exit 3"
    ).stdout.strip()
    wait_for(lambda: call(*status, failed).stdout.strip() == "failed", 60)
    assert call(*status, "99999").stdout.strip() == "failed"
