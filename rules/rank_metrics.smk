# Ranks of the words of sentences after their first words, and LMs' continuations of the first words.


rule rank_metrics:
    "An LM's ranks of the observed words, and its continuations."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        ranks="<results>/rank_metrics/{lm}/{dataset}.sentences-{sentences}-min_words-{min_words}-prompt-{prompt}-longest-{longest}-temperature-{temperature}-seed-{seed}.parquet",
        continuations="<results>/rank_metrics/{lm}/{dataset}.sentences-{sentences}-min_words-{min_words}-prompt-{prompt}-longest-{longest}-temperature-{temperature}-seed-{seed}.csv",
    log:
        "<logs>/rank_metrics/{lm}/{dataset}.sentences-{sentences}-min_words-{min_words}-prompt-{prompt}-longest-{longest}-temperature-{temperature}-seed-{seed}.log",
    benchmark:
        "<benchmarks>/rank_metrics/{lm}/{dataset}.sentences-{sentences}-min_words-{min_words}-prompt-{prompt}-longest-{longest}-temperature-{temperature}-seed-{seed}.tsv"
    wildcard_constraints:
        lm=any_of(study.lms_that_are("network")),
        sentences=r"\d+",
        min_words=r"\d+",
        prompt=r"\d+",
        longest=r"\d+",
        temperature=r"[\d.]+",
        seed=r"\d+",
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.rank_metrics.score",
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"


rule ngram_rank_metrics:
    "An LM's ranks of the observed words, and its continuations."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        model=lambda wildcards: study.ngram_file(wildcards.lm),
    output:
        ranks="<results>/rank_metrics/{lm}/{dataset}.sentences-{sentences}-min_words-{min_words}-prompt-{prompt}-longest-{longest}-temperature-{temperature}-seed-{seed}.parquet",
        continuations="<results>/rank_metrics/{lm}/{dataset}.sentences-{sentences}-min_words-{min_words}-prompt-{prompt}-longest-{longest}-temperature-{temperature}-seed-{seed}.csv",
    log:
        "<logs>/ngram_rank_metrics/{lm}/{dataset}.sentences-{sentences}-min_words-{min_words}-prompt-{prompt}-longest-{longest}-temperature-{temperature}-seed-{seed}.log",
    benchmark:
        "<benchmarks>/ngram_rank_metrics/{lm}/{dataset}.sentences-{sentences}-min_words-{min_words}-prompt-{prompt}-longest-{longest}-temperature-{temperature}-seed-{seed}.tsv"
    wildcard_constraints:
        lm=any_of(study.lms_that_are("ngram")),
        sentences=r"\d+",
        min_words=r"\d+",
        prompt=r"\d+",
        longest=r"\d+",
        temperature=r"[\d.]+",
        seed=r"\d+",
    conda:
        "../envs/lm.yaml"
    params:
        **study.ngram_parameters("text_rule"),
        main="evaluations.rank_metrics.score",
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"


rule continuations:
    "LMs' continuations, shuffled with the originals, for human judges."
    input:
        continuations=lambda wildcards: products.inputs(
            study, "rank_metrics", "continuations", wildcards
        ),
    output:
        blind="<results>/experiments/{experiment}/continuations.csv",
        key="<results>/experiments/{experiment}/continuations_key.csv",
    log:
        "<logs>/continuations/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.rank_metrics.judges",
        lms=lambda wildcards: study.lms_of(wildcards.experiment),
        seed=lambda wildcards: products.setting_of(study, "rank_metrics", "seed", wildcards),
    script:
        "../workflow/scripts/run.py"
