"""Print the longest job of each rule of a study: its work, cost, extrapolated time and request.

.venv/bin/python setup/cost_table.py [--json | --jobs] [CONFIGFILE …]

Jobs are those of all targets, with all data there; `--jobs` prints each of them. `make rehearsal` adds what
it measured; docs/scaling.md has its table.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from recency.workflow.engine import snakemake_patches
from recency.workflow.plan import batches, cost_model, costs


def names(config: Mapping) -> list[str]:
    """Return the targets that are no kind, such as exports."""
    return [target.name for target in costs.targets(config) if not target.kind]


def jobs(configfiles: list[str]) -> list[dict]:
    """Return a row for each job of a rule with a script; the longest first."""
    rows = []
    with costs.opened(Path(), configfiles, []) as workflow:
        study = workflow.globals["study"]
        snakemake_patches.build_dag(workflow, names(study.config))
        model = cost_model.Model(study)
        for job in workflow.dag.jobs:
            if job.rule.norun or not job.rule.script:
                continue
            kind, cost = batches.kind_of(job.rule.name), cost_model.of_rule(job.rule.name)
            time = model.time(job.rule, job.wildcards, job.threads)
            rows.append({
                "rule": kind,
                "job": " ".join(map(str, job.wildcards)),
                "work": cost.work(model.loads, job.rule, job.wildcards),
                "unit": cost.unit,
                "measured": time.measured,
                "seconds": time.wall,
                "threads": job.threads,
                "shared_by": job.threads if cost.parallel else 1,
                "known": cost is not cost_model.OTHER,
                "benchmark": job.benchmark and str(job.benchmark),
                "asked": {
                    key: job.resources.get(key) for key in ("runtime", "mem_mb", "disk_mb", "gpu")
                },
            })  # fmt: skip
    return sorted(rows, key=lambda row: -row["seconds"])


def rows(configfiles: list[str]) -> list[dict]:
    """Return the row of the longest job of each rule."""
    longest: dict[str, dict] = {}
    for row in jobs(configfiles):
        longest.setdefault(row["rule"], row)
    return list(longest.values())


def markdown(row: dict) -> str:
    """Return a row of the table of docs/scaling.md."""
    asked, hours = row["asked"], row["seconds"] / 3600
    requested = asked["runtime"] / 60
    cells = [
        f"`{row['rule']}`",
        f"{row['work']:.1e} {row['unit']}",
        f"{asked['gpu']} × GPU" if asked["gpu"] else f"{row['threads']} × core",
        f"{hours:.1f} h{'' if row['measured'] else ' (estimate)'}",
        f"{requested:,.0f} h, {asked['mem_mb'] / 1000:.0f} GB",
        f"{requested / hours:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    files = [word for word in sys.argv[1:] if not word.startswith("--")]
    if "--jobs" in sys.argv:
        print(json.dumps(jobs(files)))
    elif "--json" in sys.argv:
        print(json.dumps(rows(files)))
    else:
        print("| rule | work of the longest job | on | extrapolation | request | margin |")
        print("|---|---|---|---|---|---|")
        print("\n".join(markdown(row) for row in rows(files) if row["seconds"] > 600))
