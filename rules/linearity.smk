# Linearity: linking functions of a sensitivity grid, relative to the linear effect.


rule linearity:
    "Compare an experiment's linking functions with the linear effect, on held-out observations."
    input:
        unpack(lambda wildcards: regressions.scored_files(study, wildcards.experiment)),
        words=lambda wildcards: regressions.words_files(study, wildcards.experiment),
    output:
        "<results>/experiments/{experiment}/linearity.csv",
    log:
        "<logs>/linearity/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.linearity.differences",
        cells=lambda wildcards: products.setting_of(study, "linearity", "cells", wildcards),
        endpoint=lambda wildcards: study.endpoint(wildcards.experiment),
        bootstrap=lambda wildcards: study.experiment(wildcards.experiment).get("bootstrap"),
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/run.py"
