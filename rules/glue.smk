# GLUE: files of a task → a masked LM fine-tuned from several seeds, evaluated after each epoch.


rule fine_tune:
    "Fine-tune a masked LM on a GLUE task from several seeds."
    input:
        unpack(lambda wildcards: files.parts("glue", wildcards.task)),
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/glue/{lm}/{task}.csv",
    log:
        "<logs>/fine_tune/{lm}/{task}.log",
    benchmark:
        "<benchmarks>/fine_tune/{lm}/{task}.tsv"
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.glue.fine_tune",
        name="{task}",
        task=lambda wildcards: products.entry(study, "glue", wildcards.task),
        settings=products.setting(study, "glue", "training"),
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"
