# Language models: train → surprisal of every word.


rule train:
    input:
        tokens=lambda wildcards: token_stream(
            LMS[wildcards.lm]["corpus"], LMS[wildcards.lm]["tokenizer"]
        )[0],
        info=lambda wildcards: token_stream(
            LMS[wildcards.lm]["corpus"], LMS[wildcards.lm]["tokenizer"]
        )[1],
        tokenizer=lambda wildcards: tokenizer_file(LMS[wildcards.lm]["tokenizer"]),
    output:
        config="<results>/lms/{lm}/config.json",
        weights="<results>/lms/{lm}/model.safetensors",
        tokenizer="<results>/lms/{lm}/tokenizer.json",
        losses="<results>/lms/{lm}/training.csv",
    log:
        "<logs>/train/{lm}.log",
    benchmark:
        "<benchmarks>/train/{lm}.tsv"
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["train"]
    resources:
        gpu=lambda wildcards: uses_gpu(wildcards.lm),
    params:
        lm="{lm}",
        architecture=lambda wildcards: config["architectures"][LMS[wildcards.lm]["architecture"]],
        bias=lambda wildcards: LMS[wildcards.lm]["bias"],
        recipe=lambda wildcards: config["recipes"][LMS[wildcards.lm]["recipe"]],
        seed=lambda wildcards: LMS[wildcards.lm]["seed"],
    script:
        "../workflow/scripts/lms/train.py"


rule surprisal:
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        model=trained,
    output:
        "<results>/surprisal/{lm}/{dataset}.parquet",
        ledger="<results>/surprisal/{lm}/{dataset}.ledger.csv",
    log:
        "<logs>/surprisal/{lm}/{dataset}.log",
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
        "../workflow/scripts/lms/surprisal.py"
