# Word triggering by distance, from counts in a training text.


rule triggering:
    "Probability of a word after another one relative to chance, by distance."
    input:
        text=lambda wildcards: products.inputs(study, "triggering", "text", wildcards),
    output:
        "<results>/experiments/{experiment}/triggering.csv",
    log:
        "<logs>/triggering/{experiment}.log",
    benchmark:
        "<benchmarks>/triggering/{experiment}.tsv"
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.triggering.count",
        pairs=lambda wildcards: products.setting_of(study, "triggering", "pairs", wildcards),
        reach=lambda wildcards: products.setting_of(study, "triggering", "reach", wildcards),
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/run.py"
