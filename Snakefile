# Which memory constraint, built into a language model's attention, makes it expect words as people do?
#
#   text ──► tokens ──► language model ──► surprisal per word ─┐
#     └────► KenLM unigram ──────────────► unigram surprisal ──┤
#   reading-time corpus ──► words, responses ──► observations ─┴─► regression ──► ΔLogLik, permutation test
import atexit
import gc
import os
import subprocess
import sys
from itertools import filterfalse
from pathlib import Path

from snakemake.utils import min_version

min_version("9.27")

# A plan makes millions of objects and drops next to none: Python's search for cycles among them, at
# its usual pace, is a quarter of the time, and at its end, when the memory is given back anyhow, a tenth.
gc.freeze()
gc.set_threshold(1_000_000, 100, 100)
atexit.register(gc.freeze)

# This folder or, where another workflow has this one from a repository, a checkout of that version.
source = workflow.current_basedir
HERE = os.path.abspath(str(source))
if not os.path.isdir(HERE):
    repository = source.repo_path if hasattr(source, "repo_path") else source.hosted_repo.repo_clone
    named = ["git", "-C", repository, "rev-parse", "--verify", f"{source.ref}^{{commit}}"]
    commit = subprocess.run(named, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    HERE = os.path.abspath(f".snakemake/recency/{commit}")
    if not os.path.isdir(HERE):
        part = f"{HERE}.{os.getpid()}"
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", repository, part], check=True)
        subprocess.run(["git", "-C", part, "checkout", "--quiet", commit], check=True)
        os.rename(part, HERE)

# Jobs find the package here too, in a conda environment and on a cluster.
sys.path.insert(0, os.path.join(HERE, "src"))
os.environ["PYTHONPATH"] = sys.path[0]

from recency.workflow import beside

beside.require()

from recency.evaluations import registry
from recency.workflow import (
    asked_once,
    batches,
    cluster,
    code,
    exports,
    mixes,
    ngrams,
    products,
    records,
    regressions,
    reporting,
    searches,
    start,
    timings,
)
from recency.workflow.constraints import any_of


configfile: "config.yaml"


study = start.study(config, workflow, HERE)
files = study.files
EVALUATIONS = f"{HERE}/src/recency/evaluations"


envvars:
    "PYTHONPATH",
    "RECENCY_MIRROR",


pathvars:
    results=f"results/{config['study']}/{config['scale']}",
    resources="data",
    logs="<results>/logs",
    benchmarks="<results>/benchmarks",


study.place = workflow.pathvars.apply


wildcard_constraints:
    **start.wildcards(config),
    corpus=any_of(config["corpora"]),
    tokenizer=any_of(config["tokenizers"]),
    lm=any_of(config["lms"]),
    unigram=any_of(config["unigrams"]),
    dataset=any_of(config["datasets"]),
    measure=r"\w+",
    design=any_of(config["designs"]),
    experiment=any_of(config["experiments"]),


report: "workflow/report/workflow.rst"


for path in start.rule_files(HERE):

    include: path


# A run that would throw trained LMs away, or that this machine cannot do, ends here; a dry run and
# jobs on a cluster don't ask.
onstart:
    start.begin(study, workflow)


onsuccess:
    start.end(study, workflow)


onerror:
    start.say_why(log)


start.keep_handlers(study, workflow)
start.require_free_names(study, workflow)


# `snakemake` makes what `run` selects; `snakemake exp1` makes one experiment, `snakemake figure2` one
# figure of the paper.
rule all:
    default_target: True
    input:
        products.of_run(study),
    localrule: True


for name in config["experiments"]:

    rule:
        name:
            name
        input:
            lambda wildcards, name=name: products.outputs(study, name),
        localrule: True


for name in study.targets:

    rule:
        name:
            name
        input:
            lambda wildcards, name=name: products.target_files(study, name),
        localrule: True


own = start.own_rules(workflow, HERE)

# What a rule's code is, its parameters say: an edit of it reruns the rule.
code.track(
    own,
    lambda rule, wildcards: products.chosen(study, rule, wildcards),
    memory=Path(".snakemake", "recency-code.json"),
)

# A plan asks much of each job that is the same for all.
asked_once.ask_once()

# What a job that fails would have been made of is not kept.
records.keep_those_of_done_jobs()

# How long each job takes is kept, for `./run timings` and the report.
timings.track(own)

# On a cluster a job asks for memory and time by what it does; what takes a second is made here.
cluster.asks(own, workflow.resource_settings._parsed_overwrite_resources)
workflow.localrules(*cluster.seconds_long(own))

# A name that no rule has is refused here, with the nearest one.
start.require_targets(study, workflow)
