# Which memory constraint, built into a language model's attention, brings its expectations closest to readers'?
#
#   text ──► tokens ──► language model ──► surprisal per word ─┐
#     └────► KenLM unigram ──────────────► unigram surprisal ──┤
#   reading-time corpus ──► words, responses ──► observations ─┴─► regression ──► ΔLogLik, permutation test
source = workflow.current_basedir.join("workflow/source.smk")
if not source.is_local:  # Snakemake prefixes paths in a remote repository with /
    source.path = source.path.lstrip("/")


include: source


from recency.evaluations import registry
from recency.workflow.config import lm_checks
from recency.workflow.engine import start
from recency.workflow.plan import batches, exports, methods, products, regressions
from recency.workflow.plan.batches import any_of


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


study.resolve = workflow.pathvars.apply
start.keep_jobs_offline(study, workflow)


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


for path in start.rule_files(HERE, config):

    include: path


# Refuse a run that would discard trained LMs or exceeds this machine; dry runs and cluster jobs are not
# checked.
onstart:
    start.begin(study, workflow, log)


onsuccess:
    start.end(study, workflow)


onerror:
    start.say(workflow, log)


# Without a target, make what `run` selects; rules/targets.smk has experiments and numbered figures.
rule all:
    default_target: True
    input:
        products.of_run(study),
    localrule: True


# Rules depend on the code of their scripts, record their times, and have unique names.
start.complete_rules(study, workflow, HERE)
