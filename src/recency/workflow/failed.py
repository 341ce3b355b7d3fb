"""What a run could not make, by failed jobs or by regressions of which none could be fitted.

A failed job costs what depends on it. A single failed regression is a result, and the others are compared;
if all failed there is no result.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from snakemake.logging import logger

from recency.workflow import regressions
from recency.workflow.faults import ConfigError
from recency.workflow.study import Study

#: Signal → the most likely reason that a job was killed.
SIGNALS = {
    "SIGKILL": "memory ran out, or a user killed it; use fewer --cores to run fewer jobs in parallel",
    "SIGABRT": "a library aborted, most often for lack of memory; see its last message above",
    "SIGBUS": "the disk is full, or a file was changed while it was read",
    "": "a user or the system killed it, or a library crashed; see its log, named above",
}
GO_ON = "Completed jobs are kept; repeat the command to continue"
MOST = 10  # maximum number of failed jobs that a line names


def require_fits(study: Study, workflow) -> None:
    """Raise ConfigError if all regressions of one of the run's experiments failed."""
    asked = dict.fromkeys(job.wildcards_dict.get("experiment") for job in workflow.dag.jobs)
    failed = {name: reason for name in asked if name and (reason := reason_of(study, name))}
    if failed:
        listed = "; ".join(f"experiments → {name}: {reason}" for name, reason in failed.items())
        raise ConfigError(f"all regressions failed in {listed}")


def reason_of(study: Study, experiment: str) -> str:
    """Return the first regression's error if all of an experiment failed, else ""."""
    if not study.all_responses(experiment):
        return ""
    paths = map(Path, map(study.resolve, regressions.fits(study, experiment)))
    first = ""
    for path in dict.fromkeys(paths):
        if not path.exists():
            continue
        fit = json.loads(path.read_text())
        if fit["loglik"]["fit"] is not None:
            return ""
        first = first or fit["note"] or "unknown reason"
    return first


def say(workflow, logs: Iterable[str]) -> None:
    """Log what a failed run has not made, why, and how to continue; `logs` are Snakemake's."""
    say_why(logs)
    for line in lines(workflow):
        logger.error(line)


def say_why(logs: Iterable[str]) -> None:
    """Log why jobs were probably killed, which they cannot log, and how to continue."""
    text = "".join(Path(log).read_text(errors="replace") for log in logs if Path(log).exists())
    for name in sorted(set(re.findall(r"died with <Signals\.(\w+)", text))):
        logger.error(f"A job was killed by {name}: {SIGNALS.get(name, SIGNALS[''])}. {GO_ON}")


def lines(workflow) -> list[str]:
    """Return what finally failed jobs cost: experiments and targets that lack files because of them.

    Where only datasets' files can be at fault, a second line names the setting that goes on without them.
    """
    if workflow.scheduler is None:  # the run ended before its first job
        return []
    failed = sorted(workflow.scheduler.failed, key=str)
    above = [[job, *_dependent(workflow.dag, job)] for job in failed]
    if not failed:
        return []
    jobs = {job for some in above for job in some}
    lost = {job.wildcards_dict.get("experiment") for job in jobs} - {None}
    lost |= {job.rule.name for job in jobs} & set(workflow.dag_settings.targets)
    names = [" ".join([job.rule.name, *map(str, job.wildcards)]) for job in failed]
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    costs = f". Not all is made of: {', '.join(sorted(lost))}" if lost else ""
    result = [f"Failed: {', '.join(names[:MOST])}{more}{costs}"]
    if datasets := sorted(filter(None, set(map(_dataset, above)))):
        result.append(
            f"To make the rest without {' and '.join(datasets)}, named as not run in the results, repeat the "
            f"command with --config leave_out=[{','.join(datasets)}]"
        )
    return result


def _dependent(dag, job) -> list:
    """Return the jobs that depend on a job, the nearest first."""
    found, seen = [job], {job}
    for one in found:
        new = [other for other in dag.depending[one] if other not in seen]
        seen.update(new)
        found += sorted(new, key=str)
    return found[1:]


def _dataset(jobs: list) -> str | None:
    """Return the dataset of the first job that has one; None if that is a job on an LM."""
    of = next((j.wildcards_dict for j in jobs if j.wildcards_dict.keys() & {"dataset", "lm"}), {})
    return None if "lm" in of else of.get("dataset")
