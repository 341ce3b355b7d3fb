# Exports: `./run export_<lm>` makes a folder that transformers opens without this package,
# `./run push_<lm>` uploads it to the Hugging Face Hub; `./run export_<dataset>` makes tables for other tools.


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
        lm=lambda wildcards: study.opening(wildcards.lm),
        about=lambda wildcards: exports.about(study, wildcards.lm),
    script:
        "../workflow/scripts/lms/export.py"


rule push:
    input:
        folder="<results>/exports/{lm}",
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
        **exports.parameters(study),
        dataset="{dataset}",
        texts_and_times=exports.texts_and_times(study),
    script:
        "../workflow/scripts/datasets/export_dataset.py"


for name in config["datasets"]:

    rule:
        name:
            f"export_{name}"
        input:
            f"<results>/exports/{name}",
        localrule: True


# On request by file name: the data of a regression, such as
# results/paper/paper/regression/spr/ucl_spr.SPR/Pythia.full.data.parquet.
rule fitted_data:
    input:
        unpack(
            lambda wildcards: regressions.regression_files(
                study, wildcards.design, wildcards.dataset, wildcards.measure, wildcards.lm
            )
        ),
        fit="<results>/observations/{dataset}.{measure}/fit.parquet",
        regression="<results>/regression/{design}/{dataset}.{measure}/{lm}.{model}.json",
    output:
        "<results>/regression/{design}/{dataset}.{measure}/{lm}.{model}.data.parquet",
        csv="<results>/regression/{design}/{dataset}.{measure}/{lm}.{model}.data.csv",
    log:
        "<logs>/fitted_data/{design}/{dataset}.{measure}/{lm}.{model}.log",
    wildcard_constraints:
        lm=any_of([*config["lms"], "none"]),
        model="full|base",
    conda:
        "../envs/stats.yaml"
    params:
        named=lambda wildcards: regressions.named_lms(study, [dict(wildcards.items())]),
    script:
        "../workflow/scripts/regression/fitted_data.py"


rule fitted_nested_data:
    input:
        unpack(
            lambda wildcards: regressions.nested_files(
                study,
                wildcards.design,
                wildcards.dataset,
                wildcards.measure,
                wildcards.lm,
                wildcards.other,
            )
        ),
        fit="<results>/observations/{dataset}.{measure}/fit.parquet",
        regression="<results>/regression/{design}/{dataset}.{measure}/{lm}+{other}.full.json",
    output:
        "<results>/regression/{design}/{dataset}.{measure}/{lm}+{other}.full.data.parquet",
        csv="<results>/regression/{design}/{dataset}.{measure}/{lm}+{other}.full.data.csv",
    log:
        "<logs>/fitted_data/{design}/{dataset}.{measure}/{lm}+{other}.log",
    wildcard_constraints:
        lm=any_of(config["lms"]),
        other=any_of(config["lms"]),
    conda:
        "../envs/stats.yaml"
    params:
        second_lm="{other}",
        named=lambda wildcards: regressions.named_lms(study, [dict(wildcards.items())]),
    script:
        "../workflow/scripts/regression/fitted_data.py"


# The run of `all` with its inputs, as an RO-Crate: recency.export.ro_crate.
rule rocrate:
    input:
        **exports.crate_corpora(study),
        results=products.of_run(study),
        report="<results>/report.html",
        summary="<results>/summary.txt",
    output:
        "<results>/rocrate.zip",
    log:
        "<logs>/rocrate.log",
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        settings=lambda wildcards: exports.crate_settings(study),
        project=HERE,
        system_r=not workflow.deployment_settings.deployment_method,
        texts_and_times=exports.texts_and_times(study),
    script:
        "../workflow/scripts/experiments/ro_crate.py"
