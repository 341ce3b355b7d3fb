# GLUE: a task's files → a masked LM fine-tuned from several seeds, measured after each epoch.


rule fine_tune:
    input:
        unpack(lambda wildcards: files.parts("glue", wildcards.task)),
        model=lambda wildcards: study.weights(wildcards.lm),
    output:
        "<results>/glue/{lm}/{task}.csv",
    log:
        "<logs>/fine_tune/{lm}/{task}.log",
    benchmark:
        "<benchmarks>/fine_tune/{lm}/{task}.tsv"
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    resources:
        **cluster.growing(mem_mb=16_000, runtime=24 * 60),
    params:
        task=lambda wildcards: products.entry(study, "glue", wildcards.task),
        settings=products.setting(study, "glue", "training"),
        checkpoint=lambda wildcards: study.lms[wildcards.lm].get("checkpoint"),
        allow_pickle=lambda wildcards: study.lms[wildcards.lm].get("allow_pickle", False),
        bias=lambda wildcards: study.inference_bias(wildcards.lm),
    script:
        "../workflow/scripts/glue/fine_tune.py"
