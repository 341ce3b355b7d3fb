# Information of the context: surprisal of words after their whole context and after its last words.


rule context_information:
    "Surprisal of words after their whole context, and after its last k words."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/context_information/{lm}/{dataset}.{number}-context-{context}-seed-{seed}.parquet",
    log:
        "<logs>/context_information/{lm}/{dataset}.{number}-context-{context}-seed-{seed}.log",
    benchmark:
        "<benchmarks>/context_information/{lm}/{dataset}.{number}-context-{context}-seed-{seed}.tsv"
    wildcard_constraints:
        number=r"\d+",
        context=r"\d+",
        seed=r"\d+",
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.context_information.score",
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"
