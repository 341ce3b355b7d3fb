"""Print the largest job of each rule of a study: its work, cost, extrapolated time and request.

PYTHONPATH=src python setup/cost_table.py [--json] [CONFIGFILE …]

Jobs are those of all targets, with all data there. docs/scaling.md has the paper's largest.
"""

import json
import sys
from pathlib import Path

from recency.workflow import batches, cost_model, costs, listing, snakemake_patches


def rows(configfiles: list[str]) -> list[dict]:
    """Return a row for each rule with a script, of its longest job; the longest first."""
    with listing.opened(Path(), configfiles, []) as workflow:
        study = workflow.globals["study"]
        snakemake_patches.build_dag(workflow, costs.listed(study.config, False))
        model, longest = cost_model.Model(study), {}
        for job in workflow.dag.jobs:
            if job.rule.norun or not job.rule.script:
                continue
            kind, cost = batches.kind_of(job.rule.name), cost_model.of_rule(job.rule.name)
            time = model.time(job.rule, job.wildcards, job.threads)
            if kind in longest and time.wall <= longest[kind]["seconds"]:
                continue
            longest[kind] = {
                "rule": kind,
                "job": " ".join(map(str, job.wildcards)),
                "work": cost.work(model.loads, job.rule, job.wildcards),
                "unit": cost.unit,
                "measured": time.measured,
                "seconds": time.wall,
                "threads": job.threads,
                "known": cost is not cost_model.OTHER,
                "asked": {
                    key: job.resources.get(key) for key in ("runtime", "mem_mb", "disk_mb", "gpu")
                },
            }
    return sorted(longest.values(), key=lambda row: -row["seconds"])


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
    found = rows([word for word in sys.argv[1:] if word != "--json"])
    if "--json" in sys.argv:
        print(json.dumps(found))
    else:
        print("| rule | work of the largest job | on | extrapolation | request | margin |")
        print("|---|---|---|---|---|---|")
        print("\n".join(markdown(row) for row in found if row["seconds"] > 600))
