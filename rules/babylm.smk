# The BabyLM challenge: log probabilities of candidates, and surprisal of words for ages of acquisition.


rule babylm_scores:
    "Log probabilities of all candidates of the zero-shot parts, and of words."
    input:
        lambda wildcards: sum(products.setting_of(study, "babylm", "files", wildcards).values(), []),
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/experiments/{experiment}/babylm.{lm}.parquet",
    log:
        "<logs>/babylm_scores/{experiment}/{lm}.log",
    benchmark:
        "<benchmarks>/babylm_scores/{experiment}/{lm}.tsv"
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.babylm.score",
        lm=lambda wildcards: study.opening(wildcards.lm),
        files=lambda wildcards: products.setting_of(study, "babylm", "files", wildcards),
    script:
        "../workflow/scripts/run.py"


rule babylm_words:
    "Surprisal of the challenge's child-directed words in their contexts."
    input:
        contexts=lambda wildcards: products.setting_of(study, "babylm", "contexts", wildcards)[0],
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/experiments/{experiment}/babylm_words.{lm}.csv",
    log:
        "<logs>/babylm_words/{experiment}/{lm}.log",
    benchmark:
        "<benchmarks>/babylm_words/{experiment}/{lm}.tsv"
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.babylm.score:score_words",
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"
