# Classification of abusive words: lexical features, LMs' word vectors, support vector machines.


rule abusive_features:
    "Features of a lexicon's entries."
    input:
        unpack(lambda wildcards: products.inputs(study, "abusive_words", "lexicon", wildcards)),
        files=lambda wildcards: products.inputs(study, "abusive_words", "files", wildcards),
    output:
        "<results>/experiments/{experiment}/abusive_words_features.parquet",
    log:
        "<logs>/abusive_features/{experiment}.log",
    conda:
        "../envs/lexicon.yaml"
    params:
        main="evaluations.abusive_words.features",
        resources=lambda wildcards: products.setting_of(
            study, "abusive_words", "resources", wildcards
        ),
    script:
        "../workflow/scripts/run.py"


rule abusive_vectors:
    "An LM's embeddings of a lexicon's words."
    input:
        base=lambda wildcards: files.data("abusive_words", wildcards.lexicon, "base"),
        expanded=lambda wildcards: files.data("abusive_words", wildcards.lexicon, "expanded"),
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/abusive_words/vectors/{lm}/{lexicon}.neighbours-{neighbours}-similarity-{similarity}.parquet",
    log:
        "<logs>/abusive_vectors/{lm}/{lexicon}.neighbours-{neighbours}-similarity-{similarity}.log",
    wildcard_constraints:
        neighbours=r"\d+",
        similarity=r"\w+",
    conda:
        "../envs/lm.yaml"
    params:
        main="evaluations.abusive_words.vectors",
        lm=lambda wildcards: study.opening(wildcards.lm),
        neighbours=lambda wildcards: int(wildcards.neighbours),
        similarity=lambda wildcards: wildcards.similarity,
    script:
        "../workflow/scripts/run.py"


rule classify_abusive_words:
    "Cross-validated classification, and the expanded lexicon."
    input:
        unpack(lambda wildcards: products.inputs(study, "abusive_words", "lexicon", wildcards)),
        features="<results>/experiments/{experiment}/abusive_words_features.parquet",
        vectors=lambda wildcards: products.inputs(study, "abusive_words", "vectors", wildcards),
    output:
        classification="<results>/experiments/{experiment}/abusive_words.csv",
        agreement="<results>/experiments/{experiment}/abusive_words_agreement.csv",
        expanded="<results>/experiments/{experiment}/abusive_words_expanded.parquet",
    log:
        "<logs>/classify_abusive_words/{experiment}.log",
    conda:
        "../envs/lexicon.yaml"
    params:
        main="evaluations.abusive_words.classify",
        folds=lambda wildcards: products.setting_of(study, "abusive_words", "folds", wildcards),
        seed=lambda wildcards: products.setting_of(study, "abusive_words", "seed", wildcards),
    script:
        "../workflow/scripts/run.py"
