# Measured memory: effect of a word on later surprisal by distance, in the texts of a dataset.


rule measured_memory:
    "The effect of replacing a word on the surprisal of each later word."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/measured_memory/{lm}/{dataset}.{replacements}-reach-{reach}-before-{before}-seed-{seed}.parquet",
    log:
        "<logs>/measured_memory/{lm}/{dataset}.{replacements}-reach-{reach}-before-{before}-seed-{seed}.log",
    benchmark:
        "<benchmarks>/measured_memory/{lm}/{dataset}.{replacements}-reach-{reach}-before-{before}-seed-{seed}.tsv"
    wildcard_constraints:
        replacements=r"\d+",
        reach=r"\d+",
        before=r"\d+",
        seed=r"\d+",
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.measured_memory.score",
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"
