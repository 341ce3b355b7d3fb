# Attention of each head by distance, in the texts of a dataset.


rule attention_by_distance:
    "The attention of each head by distance, and its entropy."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/attention/{lm}/{dataset}.by_distance.parquet",
        summary="<results>/attention/{lm}/{dataset}.by_head.csv",
    log:
        "<logs>/attention_by_distance/{lm}/{dataset}.log",
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.attention_by_distance.score",
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"
