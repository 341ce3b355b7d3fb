# Exports: `./run export_<lm>` makes a folder that transformers opens without this package,
# `./run push_<lm>` uploads it to the Hugging Face Hub; `./run export_<dataset>` makes tables for other tools.


rule export:
    "Write a language model as a folder that transformers opens, including its bias."
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
        main="export.write",
        lm=lambda wildcards: study.opening(wildcards.lm),
        about=lambda wildcards: exports.about(study, wildcards.lm),
    script:
        "../workflow/scripts/run.py"


rule push:
    "Upload an exported language model to the Hugging Face Hub, given a token."
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
        main="export.push",
        repository=lambda wildcards: exports.repository(study, wildcards.lm),
        private=config.get("export", {}).get("private", True),
    script:
        "../workflow/scripts/run.py"


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
    "A dataset's words with all LMs' surprisals, its responses, and R code."
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
        main="export.dataset",
        dataset="{dataset}",
        texts_and_times=exports.texts_and_times(study),
    script:
        "../workflow/scripts/run.py"


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
    "Rules fitted_data, fitted_nested_data: the rows and columns of a regression as a table."
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
        main="regression.fitted",
        named=lambda wildcards: regressions.named_lms(study, [dict(wildcards.items())]),
    script:
        "../workflow/scripts/run.py"


rule fitted_nested_data:
    "Rules fitted_data, fitted_nested_data: the rows and columns of a regression as a table."
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
        main="regression.fitted",
        second_lm="{other}",
        named=lambda wildcards: regressions.named_lms(study, [dict(wildcards.items())]),
    script:
        "../workflow/scripts/run.py"


# The run of `all` with its inputs, as an RO-Crate: recency.export.ro_crate.
rule rocrate:
    "Package a finished run as an RO-Crate."
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
        main="export.ro_crate",
        settings=lambda wildcards: exports.crate_settings(study),
        project=HERE,
        system_r=not workflow.deployment_settings.deployment_method,
        texts_and_times=exports.texts_and_times(study),
    script:
        "../workflow/scripts/run.py"
