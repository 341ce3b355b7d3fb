# Minimal pairs of sentences: pairs → each one's surprisal → accuracy by paradigm and phenomenon.


rule minimal_pairs:
    input:
        files=lambda wildcards: pairs_files(wildcards.pairs),
    output:
        "<results>/minimal_pairs/{pairs}.parquet",
    log:
        "<logs>/minimal_pairs/{pairs}.log",
    priority: 50
    conda:
        "../envs/plot.yaml"
    params:
        labels=lambda wildcards: config["minimal_pairs"][wildcards.pairs].get("labels", {}),
    script:
        "../workflow/scripts/minimal_pairs/minimal_pairs.py"


rule score_pairs:
    input:
        pairs="<results>/minimal_pairs/{pairs}.parquet",
        model=trained,
    output:
        "<results>/minimal_pairs/{lm}/{pairs}.parquet",
    log:
        "<logs>/score_pairs/{lm}/{pairs}.log",
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        checkpoint=lambda wildcards: LMS[wildcards.lm].get("checkpoint"),
        bias=lambda wildcards: inference_bias(wildcards.lm),
        bos=lambda wildcards: LMS[wildcards.lm]["bos"],
        stride=lambda wildcards: LMS[wildcards.lm]["stride"],
        scoring=lambda wildcards: LMS[wildcards.lm].get("scoring", {}),
    script:
        "../workflow/scripts/minimal_pairs/score_pairs.py"


rule pair_accuracy:
    input:
        pairs=lambda wildcards: pairs_of(wildcards.experiment),
        scores=lambda wildcards: [
            pairs_of(wildcards.experiment, lm)
            for lm in config["experiments"][wildcards.experiment]["lms"]
        ],
    output:
        "<results>/experiments/{experiment}/pair_accuracy.csv",
    log:
        "<logs>/pair_accuracy/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
        baseline=lambda wildcards: config["experiments"][wildcards.experiment]["baseline"],
        seed=SCALE["seed"],
    script:
        "../workflow/scripts/minimal_pairs/pair_accuracy.py"


rule table_minimal_pairs:
    input:
        unpack(lambda wildcards: published(wildcards.experiment, "minimal_pairs")),
        accuracy="<results>/experiments/{experiment}/pair_accuracy.csv",
    output:
        table(
            "<results>/experiments/{experiment}/table_minimal_pairs",
            caption="table_minimal_pairs",
            category="{experiment}",
            name="Accuracy on minimal pairs",
        ),
    log:
        "<logs>/table_minimal_pairs/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
        baseline=lambda wildcards: config["experiments"][wildcards.experiment]["baseline"],
        training_words=lambda wildcards: training_words(wildcards.experiment),
    script:
        "../workflow/scripts/minimal_pairs/table_minimal_pairs.py"


rule figure_minimal_pairs:
    input:
        accuracy="<results>/experiments/{experiment}/pair_accuracy.csv",
    output:
        total=figures(
            "<results>/experiments/{experiment}/figure_minimal_pairs",
            caption="figure_minimal_pairs",
            category="{experiment}",
            name="Accuracy on minimal pairs, by LM",
        ),
        by_phenomenon=figures(
            "<results>/experiments/{experiment}/figure_minimal_pairs_by_phenomenon",
            caption="figure_minimal_pairs_by_phenomenon",
            category="{experiment}",
            name="Accuracy on minimal pairs, by phenomenon",
        ),
    log:
        "<logs>/figure_minimal_pairs/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
        baseline=lambda wildcards: config["experiments"][wildcards.experiment]["baseline"],
    script:
        "../workflow/scripts/minimal_pairs/figure_minimal_pairs.py"
