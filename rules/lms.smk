# Language models: train → surprisal of every word.

# Files that decide what a network computes. They are inputs, compared by content, so that a change
# reruns what it changes and a mere touch nothing.
NETWORK = collect(
    f"{SCRIPTS}/{{file}}.py",
    file=["biases/__init__", "lm/attention", "lm/network"],
)
TRAINING = collect(f"{SCRIPTS}/lm/{{file}}.py", file=["training", "loss", "schedule", "stream"])
SCORING = collect(
    f"{SCRIPTS}/lm/{{file}}.py", file=["alignment", "masked", "results", "scoring", "whitespace"]
)


rule train:
    input:
        tokens=lambda wildcards: token_stream(
            LMS[wildcards.lm]["corpus"], LMS[wildcards.lm]["tokenizer"]
        )[0],
        info=lambda wildcards: token_stream(
            LMS[wildcards.lm]["corpus"], LMS[wildcards.lm]["tokenizer"]
        )[1],
        tokenizer=lambda wildcards: tokenizer_file(LMS[wildcards.lm]["tokenizer"]),
        code=[*NETWORK, *TRAINING],
        bias=lambda wildcards: bias_files(wildcards.lm),
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
        "../workflow/scripts/train.py"


rule surprisal:
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        model=trained,
        code=[*NETWORK, *SCORING],
        bias=lambda wildcards: bias_files(wildcards.lm),
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
        "../workflow/scripts/surprisal.py"
