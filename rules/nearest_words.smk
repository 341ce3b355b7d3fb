# Nearest words in a network's embedding matrices.


rule nearest_words:
    "Nearest neighbours of words by embedding and by memory."
    input:
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/experiments/{experiment}/nearest_words.{lm}.csv",
    log:
        "<logs>/nearest_words/{experiment}/{lm}.log",
    conda:
        "../envs/lm.yaml"
    params:
        main="evaluations.nearest_words.score",
        lm=lambda wildcards: study.opening(wildcards.lm),
        words=lambda wildcards: products.setting_of(study, "nearest_words", "words", wildcards),
        neighbours=lambda wildcards: products.setting_of(
            study, "nearest_words", "neighbours", wildcards
        ),
    script:
        "../workflow/scripts/run.py"
