# Attention of every head within one sentence.


rule attention_map:
    "The attention of every head of every layer over one sentence."
    input:
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/attention_maps/{lm}/{sentence}.parquet",
    log:
        "<logs>/attention_map/{lm}/{sentence}.log",
    conda:
        "../envs/lm.yaml"
    params:
        main="evaluations.attention_maps.score",
        text=lambda wildcards: config["sentences"][wildcards.sentence],
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"
