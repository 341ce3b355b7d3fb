"""What Snakemake writes down of jobs: of those that failed, nothing.

Snakemake 9 keeps a failed job's parameters and the checksums of its input as if it were done (its
issue 3808), and removes its outputs. Where these had been made before, from something else, the next run finds nothing
changed, and takes what was made from them for up to date: stale, without a word. Without such a
record it compares with that of the last job that succeeded.
"""

import functools


@functools.cache
def keep_those_of_done_jobs() -> None:
    """Let Snakemake record the jobs of this process that succeed, and no others."""
    from snakemake.jobs import Job
    from snakemake.persistence import PersistenceBase

    postprocess, finished, failed = Job.postprocess, PersistenceBase.finished, set()

    async def noting(job, *words, error=False, **options):
        if error:
            failed.add(job)
        try:
            return await postprocess(job, *words, error=error, **options)
        finally:
            failed.discard(job)

    async def recording(persistence, job):
        if job in failed:
            for path in job.output:  # which are about to go
                persistence._unmark_incomplete(persistence._get_key(path))
        else:
            await finished(persistence, job)

    Job.postprocess, PersistenceBase.finished = noting, recording  # the names are Snakemake's
