"""When a run looks for jobs that may start, and what it says once it starts no more."""

import threading
import time
from types import SimpleNamespace

import pytest
from project import ROOT, snakemake
from snakemake.scheduling.job_scheduler import JobScheduler

from recency.workflow import scheduling


def test_however_often_it_is_asked_for_there_is_one_later_look():
    scheduler = SimpleNamespace(_open_jobs=threading.Semaphore(0))
    scheduling.look_once(SimpleNamespace(scheduler=scheduler))
    for _ in range(2):
        for _ in range(50):
            scheduler._schedule_reevalutation(0.2)
        assert scheduler._open_jobs.acquire(timeout=30)
        time.sleep(0.5)
        assert not scheduler._open_jobs.acquire(blocking=False)


def test_snakemake_has_these_names():
    assert callable(JobScheduler._schedule_reevalutation) and callable(JobScheduler._handle_error)


SNAKEFILE = """
import sys

sys.path.insert(0, "SRC")
from recency.workflow import scheduling

scheduling.AGAIN = 0.2

onstart:
    scheduling.say_when_it_ends(workflow)

rule all:
    input: "bad", "slow/mine", "late"

rule bad:
    output: "bad"
    shell: "timeout 60 bash -c 'until [ -e started ]; do sleep 0.1; done'; exit 1"

rule slow:
    output: "slow/{which}"
    shell: "touch started {output}; timeout 60 bash wait"

rule late:
    input: "slow/mine"
    output: "late"
    shell: "touch {output}"
"""
SAID = "bad failed (see above), so that nothing else is started; what runs goes on to its end: slow mine."


@pytest.mark.parametrize("arguments", [[], ["--keep-going"]], ids=["ends", "keeps going"])
def test_a_run_that_starts_no_more_jobs_says_so_until_it_ends(tmp_path, arguments):
    (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("SRC", str(ROOT / "src")))
    until_said = f"until [ $(grep -cF '{SAID}' .printed.txt) -ge 2 ]; do sleep 0.1; done"
    (tmp_path / "wait").write_text("sleep 1" if arguments else until_said)
    run = snakemake(tmp_path, "--nolock", *arguments)
    assert run.returncode == 1
    assert (run.stdout.count(SAID) >= 2) == (not arguments), run.stdout
    assert (tmp_path / "late").exists() == bool(arguments)
