# Dependencies in annotated stories → attention of each head to them.


rule dependencies:
    "Dependencies between the words of a dataset, from its annotated trees."
    input:
        trees=lambda wildcards: files.data("dependencies", wildcards.dependencies, "trees"),
        leaves=lambda wildcards: files.data("dependencies", wildcards.dependencies, "leaves"),
        words=lambda wildcards: study.annotated_words(wildcards.dependencies),
    output:
        "<results>/dependencies/{dependencies}.parquet",
        counts="<results>/dependencies/{dependencies}.counts.csv",
    log:
        "<logs>/dependencies/{dependencies}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.dependencies.extract",
        options=lambda wildcards: config["dependencies"][wildcards.dependencies].get("options", {}),
    script:
        "../workflow/scripts/run.py"


rule attention_heads:
    "Attention from head words to their dependents (Clark et al. 2025, 7.1)."
    input:
        words=lambda wildcards: study.annotated_words(wildcards.dependencies),
        dependencies="<results>/dependencies/{dependencies}.parquet",
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/attention/{lm}/{dependencies}.dependencies.parquet",
        summary="<results>/attention/{lm}/{dependencies}.heads.csv",
    log:
        "<logs>/attention_heads/{lm}/{dependencies}.log",
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.dependencies.score",
        lm=lambda wildcards: study.opening(wildcards.lm),
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/run.py"
