# Effects of a word on responses to later words: lags and kernels in designs' formulas.


rule delays:
    input:
        full=lambda wildcards: products.inputs(study, "delays", "full", wildcards),
    output:
        "<results>/experiments/{experiment}/delays.csv",
        curves="<results>/experiments/{experiment}/delay_curves.csv",
    log:
        "<logs>/delays/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        cells=lambda wildcards: products.setting_of(study, "delays", "cells", wildcards),
    script:
        "../workflow/scripts/delays/delays.py"
