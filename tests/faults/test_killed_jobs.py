"""Jobs and runs of the tiny study, killed again and again: it ends with the bytes of an undisturbed run."""

import os
import random
import shutil
import signal
import subprocess
import time

import pytest

import faulty
import job_server
from loaded import logs
from project import ROOT, TINY, command, copy_project, environment, plan, planned, sources
from recency.workflow.engine import start

pytestmark = pytest.mark.long

#: Each job in a Python of its own, as the users' jobs are; else a fork that has the libraries, at a third of the cost.
ALONE = {job_server.NAME: ""}
DOOM = (
    "import job_server\n\njob_server.ask()\n\nimport faulty\n\nfaulty.doom()\nfaulty.doom_forks()\n"
)
#: Jobs as forks of the run's resident worker, as ./run has them.
RESIDENT = ["--executor", "recency"]


def project(folder):
    """Copy the project, with jobs that may die."""
    return doomed(copy_project(folder))


def doomed(folder):
    """Let the jobs of a project die where a run's variables say so."""
    shutil.copy(ROOT / "tests" / "faulty.py", folder / "src")
    (folder / "src" / "sitecustomize.py").write_text(DOOM)
    return folder


def with_plugin(folder, words):
    """Return the variables by which Snakemake itself finds the executor that it is asked for."""
    return {"PYTHONPATH": sources(folder)} if "--executor" in words else {}


def run(folder, *words, configs=TINY, **variables):
    """Run a study; return how it ended and what it printed."""
    process = faulty.started(
        folder,
        *command("--nolock", *words, configs=configs),
        environment=environment() | with_plugin(folder, words) | variables,
    )
    return process.wait(), faulty.printed(folder)


def parts(folder):
    """Return the files that killed jobs left half written."""
    return list(start._find_partial_files([folder / "results"]))


def due(folder, *words, configs=TINY):
    """Return the rules whose jobs a run would start, by the folder of their logs."""
    known = logs()
    rules = planned(plan(folder, "--nolock", *words, configs=configs).stdout)
    return {known[rule] for rule in rules if rule in known}


def killed_until_done(folder, *words, configs=TINY, by=signal.SIGKILL, executor=(), **variables):
    """Run a study until it is done, each of its rules' jobs killed once.

    At a change of a file or a time that its name draws; `--keep-going` lets many die in a run.
    """
    rules, code, runs, said = due(folder, *words, configs=configs), 1, 0, 0
    while code and runs < 30:
        doom = variables | {faulty.DOOMED: f"1:{by.value}"}
        code, text = run(folder, "--keep-going", *executor, *words, configs=configs, **doom)
        runs += 1
        said += f"A job was killed by {by.name}" in text or f"ended by {by.name} after step" in text
    assert code == 0, text[-4000:]
    assert runs > 3 and said >= runs - 2, (runs, said)
    died = folder / ".doomed"
    assert {path.name for path in died.iterdir()} == rules


@pytest.mark.parametrize(
    ("by", "executor", "jobs"),
    [
        (signal.SIGKILL, [], {}),
        (signal.SIGTERM, [], ALONE),
        (signal.SIGKILL, RESIDENT, ALONE),
    ],
)
def test_every_rule_killed_once(finished, tmp_path, by, executor, jobs):
    """Of a fork all that is killed is its own work; alone, its imports are killed too."""
    folder = project(tmp_path / "killed")
    killed_until_done(folder, by=by, executor=executor, **jobs)
    assert faulty.digests(folder) == faulty.digests(finished)
    assert parts(folder) == []


@pytest.mark.parametrize("executor", [[], RESIDENT], ids=["local", "resident"])
def test_the_run_killed_at_any_time(finished, tmp_path, executor):
    folder, draw, kills = project(tmp_path / "killed"), random.Random(1), 0
    while True:
        process = faulty.started(
            folder,
            *command("--nolock", *executor, configs=TINY),
            environment=environment() | ALONE | with_plugin(folder, executor),
        )
        try:
            code = process.wait(draw.uniform(3, 20) if kills < 8 else None)
            break
        except subprocess.TimeoutExpired:
            by = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[kills % 3]
            os.killpg(process.pid, by)
            process.wait()
            kills += 1
    # How many it meets depends on the machine.
    assert code == 0 and kills > 1, faulty.printed(folder)[-4000:]
    assert faulty.digests(folder) == faulty.digests(finished) and parts(folder) == []


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_lmplz_is_said_and_counted_anew(finished, tmp_path, by):
    folder = project(tmp_path / "killed")
    tools = folder / "tools"
    tools.mkdir()
    (tools / "lmplz").write_text(f"#!/bin/sh\nread line\nkill -{by.value} $$\n")
    (tools / "lmplz").chmod(0o755)
    arpa = "results/tiny/cores/unigrams/simulated.arpa"
    path = environment()["PATH"]
    code, text = run(folder, arpa, PATH=f"{tools}:{path}")
    assert code and "lmplz failed on" in text and f"(status {-by.value})" in text, text[-3000:]
    assert not (folder / arpa).exists()
    code, text = run(folder, arpa)
    assert code == 0, text[-3000:]
    made, expected = faulty.digests(folder), faulty.digests(finished)
    assert arpa in made and made == {name: expected.get(name) for name in made}
    assert parts(folder) == []


def test_a_second_run_waits_for_the_first(finished, tmp_path):
    """As users start them, by ./run: the second finds all done."""
    folder = project(tmp_path / "twice")
    shutil.copy(ROOT / "run", folder)
    for name in (".venv", ".tools"):
        (folder / name).symlink_to(ROOT / name)
    words = ["./run", "--cores", "2", "--configfile", *TINY]
    first = faulty.started(folder, *words, environment=environment())
    time.sleep(3)
    with open(folder / "second.txt", "w") as text:
        second = subprocess.run(
            words, check=False, cwd=folder, env=environment(), stdout=text, stderr=text
        )
    assert first.wait() == 0 and second.returncode == 0
    text = (folder / "second.txt").read_text()
    assert "another run, or a job that a stopped run left, is at work here" in text
    assert "Nothing to be done" in text
    assert faulty.digests(folder) == faulty.digests(finished)
