"""End a run with an error where no regression of an experiment could be fitted.

A regression that cannot be fitted is a result, so that the others are compared all the same. Where
every one failed nothing was found, and a run that succeeded in that is none.
"""

import json
from pathlib import Path

from recency.workflow import regressions
from recency.workflow.faults import ConfigError
from recency.workflow.study import Study


def require_fits(study: Study, workflow) -> None:
    """Raise a ConfigError if all regressions of an experiment that the run was about failed."""
    asked = dict.fromkeys(job.wildcards_dict.get("experiment") for job in workflow.dag.jobs)
    failed = {name: reason for name in asked if name and (reason := reason_of(study, name))}
    if failed:
        listed = "; ".join(f"experiments → {name}: {reason}" for name, reason in failed.items())
        raise ConfigError(f"every regression failed of {listed}")


def reason_of(study: Study, experiment: str) -> str:
    """Return why the first regression of an experiment failed if all did; "" if any was fitted."""
    if not study.all_responses(experiment):
        return ""
    paths = map(Path, map(study.place, regressions.fits(study, experiment)))
    first = ""
    for path in dict.fromkeys(paths):
        if not path.exists():
            continue
        fit = json.loads(path.read_text())
        if fit["loglik"]["fit"] is not None:
            return ""
        first = first or fit["note"] or "no reason is known"
    return first
