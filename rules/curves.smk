# Learning curves: results of an experiment's LMs after given training steps.


rule learning_curves:
    "ΔLogLik, perplexity, minimal pairs and attention at training steps."
    input:
        unpack(lambda wildcards: regressions.delta_loglik_files(study, wildcards.experiment)),
        unpack(lambda wildcards: products.inputs(study, "curves", "others", wildcards)),
        surprisal=lambda wildcards: regressions.surprisals(study, wildcards.experiment),
    output:
        "<results>/experiments/{experiment}/curves.csv",
        matched="<results>/experiments/{experiment}/curves_matched.csv",
    log:
        "<logs>/learning_curves/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.curves.points",
        points=lambda wildcards: products.setting_of(study, "curves", "points", wildcards),
        cells=lambda wildcards: study.named_cells(wildcards.experiment),
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/run.py"
