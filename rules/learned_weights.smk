# Learned weights by distance: of a network's window, and of a CDLM.


rule learned_windows:
    "Histograms of the weights with which a network reads a window of states."
    input:
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/experiments/{experiment}/windows.{lm}.csv",
    log:
        "<logs>/learned_windows/{experiment}/{lm}.log",
    conda:
        "../envs/lm.yaml"
    params:
        main="evaluations.learned_weights.compute:count_weights",
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"


rule learned_sparseness:
    "Shares of a CDLM's transformed words below thresholds."
    input:
        cdlm=lambda wildcards: study.ngram_file(wildcards.lm),
    output:
        "<results>/experiments/{experiment}/sparseness.{lm}.csv",
    log:
        "<logs>/learned_sparseness/{experiment}/{lm}.log",
    conda:
        "../envs/lm.yaml"
    params:
        main="evaluations.learned_weights.compute:measure_sparseness",
        thresholds=lambda wildcards: products.setting_of(
            study, "learned_weights", "thresholds", wildcards
        ),
    script:
        "../workflow/scripts/run.py"
