# Correlation of word-vector similarity with ratings; vectors of rare words are made by SWordSS.


rule rare_words_by_lm:
    "An LM's embedding table compared with human ratings of word pairs."
    input:
        pairs=lambda wildcards: files.data("rare_words", wildcards.word_pairs, "pairs"),
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/rare_words/{word_pairs}/lms/{lm}.csv",
    log:
        "<logs>/rare_words/{word_pairs}/lms/{lm}.log",
    conda:
        "../envs/lm.yaml"
    params:
        main="evaluations.rare_words.score:score_network",
        lm=lambda wildcards: study.opening(wildcards.lm),
        neighbours=lambda wildcards: config["word_pairs"][wildcards.word_pairs].get(
            "neighbours", 10
        ),
        marks=lambda wildcards: config["word_pairs"][wildcards.word_pairs].get("marks", False),
    script:
        "../workflow/scripts/run.py"


rule rare_words_by_vectors:
    "A .vec file compared with human ratings of word pairs."
    input:
        pairs=lambda wildcards: files.data("rare_words", wildcards.word_pairs, "pairs"),
        vectors=lambda wildcards: config["word_pairs"][wildcards.word_pairs]["vectors"][
            wildcards.vectors
        ]["local"],
    output:
        "<results>/rare_words/{word_pairs}/vectors/{vectors}.csv",
    log:
        "<logs>/rare_words/{word_pairs}/vectors/{vectors}.log",
    wildcard_constraints:
        vectors=r"[\w.-]+",
    conda:
        "../envs/lm.yaml"
    params:
        main="evaluations.rare_words.score:score_vectors",
        neighbours=lambda wildcards: config["word_pairs"][wildcards.word_pairs].get(
            "neighbours", 10
        ),
        marks=lambda wildcards: config["word_pairs"][wildcards.word_pairs].get("marks", False),
    script:
        "../workflow/scripts/run.py"
