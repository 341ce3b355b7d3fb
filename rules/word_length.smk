# Mean surprisal of word types by length and frequency.


rule type_lengths:
    "Average surprisal of word types, with their length and frequency."
    input:
        words=lambda wildcards: products.inputs(study, "word_length", "words", wildcards),
        surprisals=lambda wildcards: products.inputs(study, "word_length", "surprisals", wildcards),
        frequency=lambda wildcards: products.inputs(study, "word_length", "frequency", wildcards),
    output:
        "<results>/experiments/{experiment}/word_length.csv",
    log:
        "<logs>/type_lengths/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.word_length.types",
        lms=lambda wildcards: study.lms_of(wildcards.experiment),
        common=lambda wildcards: products.setting_of(study, "word_length", "common", wildcards),
    script:
        "../workflow/scripts/run.py"
