# Explorer of an experiment's words, readers and LMs, a page that opens without a server: `./run explore_<experiment>`.


rule explore:
    "Write the page for exploring an experiment's words, readers and LMs."
    input:
        unpack(lambda wildcards: regressions.inputs(study, wildcards.experiment)),
        delta_loglik="<results>/experiments/{experiment}/delta_loglik.csv",
        intervals="<results>/experiments/{experiment}/delta_loglik_intervals.csv",
        not_run="<results>/not_run.csv",
    output:
        out="<results>/experiments/{experiment}/explore.html",
    log:
        "<logs>/explore/{experiment}.log",
    wildcard_constraints:
        experiment=any_of(regressions.experiments(study)),
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        **regressions.parameters(study),
        main="evaluations.explore.assemble",
        command=lambda wildcards: regressions.command(
            wildcards.experiment, workflow.overwrite_configfiles
        ),
        frequency="unigram surprisal (bits)",
    script:
        "../workflow/scripts/run.py"


for name in regressions.experiments(study):

    rule:
        name:
            f"explore_{name}"
        input:
            regressions.page(name),
        localrule: True
