# Recognition and free recall of word lists, by serial position.


rule remember_lists:
    "Recognition and free recall of lists of words."
    input:
        pool=lambda wildcards: products.inputs(study, "serial_position", "pool", wildcards),
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/serial_position/{experiment}/{lm}.parquet",
    log:
        "<logs>/remember_lists/{experiment}/{lm}.log",
    benchmark:
        "<benchmarks>/remember_lists/{experiment}/{lm}.tsv"
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.serial_position.remember",
        lm=lambda wildcards: study.opening(wildcards.lm),
        settings=lambda wildcards: products.setting_of(study, "serial_position", "drawn", wildcards),
    script:
        "../workflow/scripts/run.py"
