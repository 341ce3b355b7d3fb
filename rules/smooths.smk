# Additive models compared with linear ones: is the effect of surprisal linear?


rule smooths:
    input:
        full=lambda wildcards: products.inputs(study, "smooths", "full", wildcards),
        linear=lambda wildcards: products.inputs(study, "smooths", "linear", wildcards),
        base=lambda wildcards: products.inputs(study, "smooths", "base", wildcards),
        full_observations=lambda wildcards: products.inputs(
            study, "smooths", "full_observations", wildcards
        ),
        linear_observations=lambda wildcards: products.inputs(
            study, "smooths", "linear_observations", wildcards
        ),
    output:
        "<results>/experiments/{experiment}/smooths.csv",
        curves="<results>/experiments/{experiment}/smooth_curves.csv",
    log:
        "<logs>/smooths/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        cells=lambda wildcards: products.setting_of(study, "smooths", "cells", wildcards),
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/smooths/smooths.py"
