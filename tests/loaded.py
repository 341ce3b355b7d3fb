"""Which modules of the package the jobs of a run loaded (record_modules.py), and which are tracked."""

import json
import re
from types import SimpleNamespace

from project import ROOT
from recency.evaluations import registry
from recency.workflow.plan import batches, code, products
from recency.workflow.plan.study import Study


def scripts():
    """Return rule → its script and, or None, its `main`, as the rules' files name them, and of figures and tables."""
    found = {}
    for file in (ROOT / "rules").glob("*.smk"):
        for block in re.split(r"^(?= *rule\b)", file.read_text(), flags=re.MULTILINE)[1:]:
            name = re.search(r'^rule (\w+)|batch\.rule\("(\w+)"\)', block)
            if name and (script := re.search(r'^ +script:\s+"([^"]+)"', block, re.MULTILINE)):
                main = re.search(r'^ +main="([\w.:]+)"', block, re.MULTILINE)
                path = ROOT / "rules" / script[1]
                found[name[1] or name[2]] = (path, main and main[1])
    draw = (ROOT / "workflow" / "scripts" / "experiments" / "draw.py", None)
    return found | {product.rule: draw for product in registry.products()}


def logs():
    """Return rule → the folder of its jobs' logs, or their file's stem."""
    found = {}
    for file in (ROOT / "rules").glob("*.smk"):
        for block in re.split(r"^(?= *rule\b)", file.read_text(), flags=re.MULTILINE)[1:]:
            name = re.search(r'^rule (\w+)|batch\.rule\("(\w+)"\)', block)
            if name and (log := re.search(r'log:\s+f?"<logs>/(\w+)', block)):
                found[name[1] or name[2]] = log[1]
    return found | {product.rule: product.rule for product in registry.products()}


def study_of(config):
    """Return the study of a config as a dry run has it: everything that is asked for is there."""
    return Study(config, ROOT, [], True)


def closure(study, rule, wildcards):
    """Return module → fingerprint of what recency.workflow.plan.code finds that a job depends on."""
    chosen = products.chosen(study, rule, SimpleNamespace(**wildcards))
    return code.fingerprints(code.starts_of(*scripts()[batches.kind_of(rule)]), chosen)


LINE = re.compile(r"\S+ [0-9a-f]{12}")


def recorded(folder):
    """Return what jobs in a folder wrote down: rule, wildcards, outputs, modules, code.

    `modules` are those that were loaded, `code` is module → fingerprint as the job's parameters are.
    """
    lines = (folder / ".snakemake" / "loaded.jsonl").read_text().splitlines()
    assert lines, "no job wrote down what it loaded"
    jobs = [json.loads(line) for line in lines]
    return [
        job | {"code": dict(each.split() for each in job["params"] if LINE.fullmatch(each))}
        for job in jobs
    ]


def untracked(folder):
    """Return (rule, modules) of jobs of the runs in a folder that loaded more than is tracked."""
    found = [
        (job["rule"], sorted(set(job["modules"]) - job["code"].keys() - code.EXEMPT.keys()))
        for job in recorded(folder)
    ]
    return [(rule, modules) for rule, modules in found if modules]
