# Attention of each head by distance, in the texts of a dataset.


rule attention_by_distance:
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
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/attention_by_distance/attention_by_distance.py"
