# Minimal pairs of sentences: pairs → surprisal of each sentence → accuracy by paradigm and phenomenon.


rule minimal_pairs:
    "Pairs of an acceptable and an unacceptable sentence, from their files."
    input:
        files=lambda wildcards: files.originals("minimal_pairs", wildcards.pairs),
    output:
        "<results>/minimal_pairs/{pairs}.parquet",
    log:
        "<logs>/minimal_pairs/{pairs}.log",
    priority: 50
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.minimal_pairs.pairs",
        labels=lambda wildcards: config["minimal_pairs"][wildcards.pairs].get("labels", {}),
    script:
        "../workflow/scripts/run.py"


rule score_pairs:
    "Surprisal of each sentence of minimal pairs under one language model."
    input:
        pairs="<results>/minimal_pairs/{pairs}.parquet",
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/minimal_pairs/{lm}/{pairs}.parquet",
    log:
        "<logs>/score_pairs/{lm}/{pairs}.log",
    benchmark:
        "<benchmarks>/score_pairs/{lm}/{pairs}.tsv"
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.minimal_pairs.score",
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"


rule pair_accuracy:
    "Accuracy of each LM on minimal pairs, with intervals and tests against the baseline."
    input:
        pairs=lambda wildcards: products.inputs(study, "minimal_pairs", "pairs", wildcards),
        scores=lambda wildcards: products.inputs(study, "minimal_pairs", "scores", wildcards),
    output:
        "<results>/experiments/{experiment}/pair_accuracy.csv",
    log:
        "<logs>/pair_accuracy/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.minimal_pairs.pairs:compare_accuracy",
        lms=lambda wildcards: study.lms_of(wildcards.experiment),
        baseline=lambda wildcards: config["experiments"][wildcards.experiment]["baseline"],
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/run.py"
