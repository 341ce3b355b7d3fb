# Which memory constraint, built into a language model's attention, makes it expect words as people do?
#
#   text ──► tokens ──► language model ──► surprisal per word ─┐
#     └────► KenLM unigram ──────────────► unigram surprisal ──┤
#   reading-time corpus ──► words, responses ──► observations ─┴─► regression ──► ΔLogLik, permutation test
from snakemake.utils import min_version

min_version("9.27")


configfile: "config.yaml"


include: "rules/common.smk"
include: "rules/inputs.smk"
include: "rules/experiments.smk"


pathvars:
    results=f"results/{config['study']}/{config['scale']}",
    resources="data",
    logs="<results>/logs",
    benchmarks="<results>/benchmarks",


wildcard_constraints:
    corpus=any_of(config["corpora"]),
    tokenizer=any_of(config["tokenizers"]),
    lm=any_of(config["lms"]),
    unigram=any_of(config["unigrams"]),
    dataset=any_of(config["datasets"]),
    dependencies=any_of(config.get("dependencies", {})),
    pairs=any_of(config.get("minimal_pairs", {})),
    treebank=any_of(config.get("treebanks", {})),
    sentence=any_of(config.get("sentences", {})),
    measure=r"\w+",
    design=any_of(config["designs"]),
    experiment=any_of(config["experiments"]),
    search=any_of(config.get("searches", {})),


report: "workflow/report/workflow.rst"


include: "rules/corpora.smk"
include: "rules/simulation.smk"
include: "rules/datasets.smk"
include: "rules/lms.smk"
include: "rules/unigram.smk"
include: "rules/regression.smk"
include: "rules/least_squares.smk"
include: "rules/power.smk"
include: "rules/attention.smk"
include: "rules/minimal_pairs.smk"
include: "rules/probing.smk"
include: "rules/figures.smk"
include: "rules/checks.smk"


# A run that this machine cannot do ends here; a dry run and jobs on a cluster don't ask.
onstart:
    require_machine()


# `snakemake` makes what `run` selects; `snakemake exp1` makes one experiment, `snakemake figure2` one
# figure of the paper.
rule all:
    default_target: True
    input:
        "<results>/summary.txt",
        [experiment_outputs(name) for name in config["run"]],
        [target_files(name) for name in TARGETS if covered(name)],
        [check_pages(name) for name in config["run"]],
    localrule: True


for name in config["experiments"]:

    rule:
        name:
            name
        input:
            lambda wildcards, name=name: experiment_outputs(name),
        localrule: True


for name in TARGETS:

    rule:
        name:
            name
        input:
            lambda wildcards, name=name: target_files(name),
        localrule: True


code.track(
    workflow.rules,
    lambda rule, wildcards: configuration.chosen(config, wildcards, Path(workflow.basedir)),
)
