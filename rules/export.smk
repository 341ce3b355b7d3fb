# What leaves the house: `./run export_<lm>` makes a folder that transformers opens by itself,
# `./run push_<lm>` puts it on the Hugging Face Hub; `./run export_<dataset>` makes tables for others.


rule export:
    input:
        unpack(lambda wildcards: exports.files(study, wildcards.lm)),
    output:
        directory("<results>/exports/{lm}"),
    log:
        "<logs>/export/{lm}.log",
    wildcard_constraints:
        lm=any_of(exports.lms(study)),
    conda:
        "../envs/lm.yaml"
    params:
        lm="{lm}",
        checkpoint=lambda wildcards: study.lms[wildcards.lm].get("checkpoint"),
        allow_pickle=lambda wildcards: study.lms[wildcards.lm].get("allow_pickle", False),
        bias=lambda wildcards: study.inference_bias(wildcards.lm),
        about=lambda wildcards: exports.about(study, wildcards.lm),
    script:
        "../workflow/scripts/lms/export.py"


rule push:
    input:
        "<results>/exports/{lm}",
    output:
        "<results>/exports/{lm}.pushed.json",
    log:
        "<logs>/push/{lm}.log",
    localrule: True
    conda:
        "../envs/hub.yaml"
    params:
        repository=lambda wildcards: exports.repository(study, wildcards.lm),
        private=config.get("export", {}).get("private", True),
    script:
        "../workflow/scripts/lms/push.py"


for name in exports.lms(study):

    rule:
        name:
            f"export_{name}"
        input:
            f"<results>/exports/{name}",
        localrule: True

    rule:
        name:
            f"push_{name}"
        input:
            f"<results>/exports/{name}.pushed.json",
        localrule: True


rule export_dataset:
    input:
        unpack(lambda wildcards: exports.dataset_files(study, wildcards.dataset)),
    output:
        directory("<results>/exports/{dataset}"),
    log:
        "<logs>/export_dataset/{dataset}.log",
    conda:
        "../envs/stats.yaml"
    params:
        dataset="{dataset}",
        **exports.parameters(study),
    script:
        "../workflow/scripts/datasets/export_dataset.py"


for name in config["datasets"]:

    rule:
        name:
            f"export_{name}"
        input:
            f"<results>/exports/{name}",
        localrule: True
