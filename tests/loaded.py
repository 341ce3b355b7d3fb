"""Which modules of the package the jobs of a run loaded (record_modules.py), and which are tracked."""

import json
import re
from types import SimpleNamespace

from project import ROOT

from recency.evaluations import registry
from recency.workflow import code, products
from recency.workflow.study import Study


def scripts():
    """Return rule → its script, as the rules' files name them, and of figures and tables."""
    found = {}
    for file in (ROOT / "rules").glob("*.smk"):
        for block in re.split(r"^(?=rule )", file.read_text(), flags=re.MULTILINE)[1:]:
            if script := re.search(r'^    script:\s+"([^"]+)"', block, re.MULTILINE):
                found[re.match(r"rule (\w+)", block)[1]] = (ROOT / "rules" / script[1]).resolve()
    draw = ROOT / "workflow" / "scripts" / "experiments" / "draw.py"
    return found | {product.rule: draw for product in registry.products()}


def study_of(config):
    """Return the study of a config as a dry run has it: everything that is asked for is there."""
    return Study(config, ROOT, [], True)


def closure(study, rule, wildcards):
    """Return module → fingerprint of what recency.workflow.code finds that a job depends on."""
    chosen = products.chosen(study, rule, SimpleNamespace(**wildcards))
    return code.fingerprints(scripts()[rule], chosen)


def jobs(folder):
    """Return (rule, wildcards) of the jobs that were run in a folder."""
    return [(job["rule"], job["wildcards"]) for job in _recorded(folder)]


def untracked(folder, config):
    """Return (rule, modules) of jobs of the runs in a folder that loaded more than is tracked."""
    study, found = study_of(config), []
    for job in _recorded(folder):
        known = closure(study, job["rule"], job["wildcards"]).keys() | code.EXEMPT.keys()
        if more := set(job["modules"]) - known:
            found.append((job["rule"], sorted(more)))
    return found


def _recorded(folder):
    lines = (folder / ".snakemake" / "loaded.jsonl").read_text().splitlines()
    assert lines, "no job wrote down what it loaded"
    return [json.loads(line) for line in lines]
