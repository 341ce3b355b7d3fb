"""Fail a run if no regression of an experiment could be fitted.

A single failed regression is a result, and the others are compared. If all failed there is no result.
"""

import json
from pathlib import Path

from recency.workflow import regressions
from recency.workflow.faults import ConfigError
from recency.workflow.study import Study


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
