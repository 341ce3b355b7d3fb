"""A run looks for jobs that may start once at a time, not once for each job that has ended."""

import threading
import time
from types import SimpleNamespace

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


def test_snakemake_asks_for_it_by_this_name():
    assert callable(JobScheduler._schedule_reevalutation)
