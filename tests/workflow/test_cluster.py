"""What jobs ask of a cluster, and what becomes of jobs that a killed run left there."""

import os
import re
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import yaml

from project import ROOT, TINY, copy_project, environment, plan
from recency.workflow.engine import machine
from recency.workflow.engine.faults import ConfigError
from recency.workflow.plan import batches, cost_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("cluster") / "study")


def asked(folder, *words):
    """Return the resources of each kind of job in a plan: kind → (MB, minutes), None without any."""
    text = plan(folder, "--nolock", *words, configs=TINY).stdout
    found = {}
    for block in re.split(r"^(?:local)?rule ", text, flags=re.MULTILINE)[1:]:
        numbers = [re.search(rf"\b{name}=(\d+)", block) for name in ("mem_mb", "runtime")]
        kind = batches.kind_of(block.partition(":")[0])
        found[kind] = tuple(int(each[1]) if each else None for each in numbers)
    return found


@pytest.mark.merge
def test_jobs_ask_for_more_at_each_attempt(folder):
    first, third = asked(folder), asked(folder, "--attempt", "3")
    assert first["train"] == (16_000, cost_model.LEAST) and first["words"] == (4_000, 60)
    assert first.pop("all") == (None, None)  # it makes nothing
    assert len(first) > 20 and None not in sum(first.values(), ())
    for kind, numbers in first.items():
        if kind in cost_model.COSTS:
            assert third[kind] == tuple(3 * number for number in numbers), kind


@pytest.mark.merge
@pytest.mark.parametrize("profile", ["slurm", "generic"])
def test_a_cluster_s_profile_changes_no_request(folder, profile):
    settings = yaml.safe_load((ROOT / "profiles" / profile / "config.yaml").read_text())
    assert not settings["default-resources"].keys() & {"mem_mb", "runtime", "disk_mb"}
    defaults = [f"{name}={value}" for name, value in settings["default-resources"].items()]
    found = asked(folder, "--attempt", "2", "--default-resources", *defaults)
    assert found["words"] == (8_000, 120) and found["train"] == (32_000, 120)


@pytest.mark.merge
def test_the_command_line_overrides_a_rule(folder):
    found = asked(folder, "--attempt", "2", "--set-resources", "train:runtime=7")
    assert found["train"] == (32_000, 7)


def programs(folder, monkeypatch, **printed):
    """Put programs of Slurm on the PATH that print the given lines."""
    for name, lines in printed.items():
        (folder / name).write_text(f"#!/bin/sh\ncat <<'END'\n{lines}\nEND\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def submitted(executor="slurm", **resources):
    """Return a workflow with one job, submitted to a cluster."""
    job = SimpleNamespace(
        resources=resources, rule=SimpleNamespace(name="train"), wildcards="lm=MLM", is_local=False
    )
    dag = SimpleNamespace(needrun_jobs=lambda: [job])
    return SimpleNamespace(executor_plugin=SimpleNamespace(name=executor), dag=dag)


NODES = "main*|(null)\nbig|gpu:a100:4(S:0-1),gpu:t4:1\nold|gpu:2\nold|gpu:1,nvme:9"


@pytest.mark.parametrize(
    ("partition", "gpus", "said"),
    [
        ("big", 5, ""),
        ("big", 8, "asks for 8 GPUs, and the largest node of partition big has 5"),
        ("old", 3, "asks for 3 GPUs, and the largest node of partition old has 2"),
        ("main", 1, "asks for 1 GPUs, and the largest node of partition main has 0"),
        ("main", 0, ""),
        (None, 5, ""),
        (None, 6, "the largest node of this cluster has 5"),
        ("unknown", 9, ""),  # Slurm's to refuse
    ],
)
def test_more_gpus_than_a_node_of_the_cluster_has(tmp_path, monkeypatch, partition, gpus, said):
    programs(tmp_path, monkeypatch, sinfo=NODES, scontrol="")
    workflow = submitted(gpu=gpus, slurm_partition=partition)
    if not said:
        return machine.require_slurm(workflow)
    with pytest.raises(ConfigError, match=said) as error:
        machine.require_slurm(workflow)
    assert "\n" not in str(error.value)
    machine.require_slurm(submitted("cluster-generic", gpu=gpus, slurm_partition=partition))


@pytest.mark.parametrize(
    ("rules", "default", "account", "refused"),
    [
        ("associations,limits", "", None, True),
        ("associations,limits", "lab", None, False),
        ("associations,limits", "", "lab", False),
        ("none", "", None, False),
    ],
)
def test_a_cluster_that_takes_no_job_without_an_account(
    tmp_path, monkeypatch, rules, default, account, refused
):
    config = f"AccountingStorageBackupHost = (null)\nAccountingStorageEnforce = {rules}\n"
    programs(tmp_path, monkeypatch, sinfo="", scontrol=config, sacctmgr=default)
    workflow = submitted(slurm_account=account)
    if not refused:
        return machine.require_slurm(workflow)
    with pytest.raises(ConfigError, match="without an account.*set `slurm_account`"):
        machine.require_slurm(workflow)


SNAKEFILE = """
rule all:
    input: "a.txt", "b.txt"
rule a:
    output: "a.txt"
    resources: gpu=2, mem_mb=700, runtime=9
    shell: "touch {output}"
rule b:
    output: "b.txt"
    resources: mem_mb=700, runtime=9
    shell: "touch {output}"
"""


@pytest.mark.merge
def test_the_generic_profile_s_submit_command(tmp_path):
    """A stand-in for sbatch writes down what it is asked for; its jobs fail at once."""
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "sbatch").write_text('#!/bin/sh\necho "$@" >> asked; echo 7\n')
    (tmp_path / "profiles" / "generic" / "status.sh").write_text("#!/bin/sh\necho failed\n")
    (tmp_path / "sbatch").chmod(0o755)
    words = [sys.executable, "-m", "snakemake", "--workflow-profile", "profiles/generic"]
    words += ["--retries", "0", "--keep-going", "--seconds-between-status-checks", "1"]
    defaults = ["gpu=0", "account=lab", "partition=none"]
    path = f"{tmp_path}:{os.environ['PATH']}"
    for more in ([], ["--default-resources", *defaults]):
        subprocess.run(
            [*words, *more],
            cwd=tmp_path,
            env=environment() | {"PATH": path},
            capture_output=True,
            check=False,
            timeout=100,
        )
    lines = (tmp_path / "asked").read_text().splitlines()
    asked = sorted(line.partition(" --output")[0] for line in lines)
    assert asked == [
        "--parsable --cpus-per-task=1 --mem=700 --time=9",
        "--parsable --cpus-per-task=1 --mem=700 --time=9 --account=lab",
        "--parsable --cpus-per-task=1 --mem=700 --time=9 --gpus=2",
        "--parsable --cpus-per-task=1 --mem=700 --time=9 --gpus=2 --account=lab",
    ]


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """Stand in for Slurm: a file with a line a job at work, which scancel empties after a moment."""
    jobs = tmp_path / "jobs"
    tools = {
        "squeue": f"cat {jobs}",
        "scancel": f"echo $* > {tmp_path}/ended; (sleep 1; : > {jobs}) &",
    }
    for name, does in tools.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return jobs


def of(ids):
    """Return a workflow whose planned jobs were submitted before, under these numbers."""
    persistence = SimpleNamespace(external_jobids=lambda job: [ids[job]] if job in ids else [])
    dag = SimpleNamespace(needrun_jobs=lambda: ["one", "two", "new"])
    return SimpleNamespace(persistence=persistence, dag=dag)


def test_jobs_that_a_killed_run_left_are_ended_and_waited_for(queue, tmp_path):
    queue.write_text("17\n99\n")  # 18 is over, 99 is another's
    began = time.monotonic()
    machine.end_orphans(of({"one": "17", "two": "18"}))
    assert (tmp_path / "ended").read_text().split() == ["17"]
    assert queue.read_text() == "" and time.monotonic() - began < 30


def test_nobody_elses_jobs_are_ended(queue, tmp_path):
    queue.write_text("99\n")
    machine.end_orphans(of({"one": "17"}))
    machine.end_orphans(of({}))
    assert not (tmp_path / "ended").exists()


@pytest.mark.parametrize(("host", "stays"), [("here", False), ("elsewhere", True), ("", True)])
def test_the_lock_of_a_killed_run_goes_and_another_nodes_stays(tmp_path, host, stays):
    """`./run` asks Snakemake, here a stand-in, which finds the lock or does not."""
    (tmp_path / "run").write_bytes((ROOT / "run").read_bytes())
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name, does in {
        "snakemake": 'ls .snakemake/locks 2>/dev/null; echo "$@"',
        "python": "",
    }.items():
        tool = tmp_path / ".venv" / "bin" / name
        tool.write_text(f"#!/bin/sh\n{does}\n")
        tool.chmod(0o755)
    locks = tmp_path / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").touch()
    known = os.uname().nodename if host == "here" else host
    (tmp_path / ".snakemake" / "run.host").write_text(f"{known}\n")
    words = ["bash", str(tmp_path / "run"), "--workflow-profile", "profiles/slurm"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ("input.lock" in done.stdout) == stays and "--nolock" not in done.stdout
    local = subprocess.run([*words[:2], "--cores", "1"], capture_output=True, text=True, check=True)
    assert "--nolock" in local.stdout


def test_an_account_without_a_folder_gets_one_here(tmp_path):
    (tmp_path / "run").write_bytes((ROOT / "run").read_bytes())
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name, does in {"snakemake": 'echo "home $HOME"', "python": ""}.items():
        tool = tmp_path / ".venv" / "bin" / name
        tool.write_text(f"#!/bin/sh\n{does}\n")
        tool.chmod(0o755)
    bare = {"PATH": os.environ["PATH"]}
    words = ["bash", str(tmp_path / "run"), "--cores", "1"]
    for home, expected in (
        ({}, tmp_path / ".snakemake" / "home"),
        ({"HOME": str(tmp_path)}, tmp_path),
    ):
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=bare | home)
        assert f"home {expected}\n" in done.stdout
    assert (tmp_path / ".snakemake" / "home").is_dir()
