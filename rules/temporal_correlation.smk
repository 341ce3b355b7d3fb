# Correlation of a network's states by distance in words, in the texts of a dataset or in a corpus.


rule temporal_correlation:
    "Correlation of a network's states by distance in words."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/temporal_correlation/{lm}/{dataset}.reach-{reach}-seed-{seed}.csv",
    log:
        "<logs>/temporal_correlation/{lm}/{dataset}.reach-{reach}-seed-{seed}.log",
    benchmark:
        "<benchmarks>/temporal_correlation/{lm}/{dataset}.reach-{reach}-seed-{seed}.tsv"
    wildcard_constraints:
        reach=r"\d+",
        seed=r"\d+",
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.temporal_correlation.score",
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"


rule corpus_temporal_correlation:
    "Similarity of states by distance, of a corpus that is read as one text."

    "Correlation of a recurrent network's states by distance in words, in a corpus."
    input:
        tokens=lambda wildcards: study.tokens(wildcards.lm, wildcards.corpus)[0],
        info=lambda wildcards: study.tokens(wildcards.lm, wildcards.corpus)[1],
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/temporal_correlation/{lm}/corpus/{corpus}.reach-{reach}-seed-{seed}.csv",
    log:
        "<logs>/temporal_correlation/{lm}/corpus/{corpus}.reach-{reach}-seed-{seed}.log",
    benchmark:
        "<benchmarks>/temporal_correlation/{lm}/corpus/{corpus}.reach-{reach}-seed-{seed}.tsv"
    wildcard_constraints:
        reach=r"\d+",
        seed=r"\d+",
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.temporal_correlation.score:correlate_corpus",
        lm=lambda wildcards: study.opening(wildcards.lm),
        reset=lambda wildcards: config["recipes"][study.lms[wildcards.lm]["recipe"]].get(
            "reset", "never"
        ),
    script:
        "../workflow/scripts/run.py"
