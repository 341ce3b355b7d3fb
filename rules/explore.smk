# Explorer of an experiment's words, readers and LMs, a page that opens without a server: `./run explore_<experiment>`.


rule explore:
    "Write the page for exploring an experiment's words, readers and LMs."
    input:
        unpack(lambda wildcards: explored.inputs(study, wildcards.experiment)),
        delta_loglik="<results>/experiments/{experiment}/delta_loglik.csv",
        intervals="<results>/experiments/{experiment}/delta_loglik_intervals.csv",
        not_run="<results>/not_run.csv",
    output:
        out="<results>/experiments/{experiment}/explore.html",
    log:
        "<logs>/explore/{experiment}.log",
    wildcard_constraints:
        experiment=any_of(explored.experiments(study)),
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.explore.assemble",
        **explored.parameters(study),
        command=lambda wildcards: explored.command(
            wildcards.experiment, workflow.overwrite_configfiles
        ),
        frequency="unigram surprisal (bits)",
    script:
        "../workflow/scripts/run.py"


for name in explored.experiments(study):

    rule:
        name:
            f"explore_{name}"
        input:
            explored.page(name),
        localrule: True
