# Cross-validation: a regression fitted per fold → ΔLogLik on the omitted fold. The held-out partition
# is not used.


rule cross_validation:
    input:
        unpack(
            lambda wildcards: regressions.regression_files(
                study, wildcards.design, wildcards.dataset, wildcards.measure, wildcards.lm
            )
        ),
        fit="<results>/observations/{dataset}.{measure}/fit.parquet",
    output:
        "<results>/cross_validation/{design}/{dataset}.{measure}/{by}-{folds}-seed-{seed}/{lm}.{model}.json",
        observations="<results>/cross_validation/{design}/{dataset}.{measure}/{by}-{folds}-seed-{seed}/{lm}.{model}.parquet",
    log:
        "<logs>/cross_validation/{design}/{dataset}.{measure}/{by}-{folds}-seed-{seed}/{lm}.{model}.log",
    benchmark:
        "<benchmarks>/cross_validation/{design}/{dataset}.{measure}/{by}-{folds}-seed-{seed}/{lm}.{model}.tsv"
    wildcard_constraints:
        lm=any_of([*config["lms"], "none"]),
        model="full|base",
        by="subject|sentence|item",
        folds=r"\d+",
        seed=r"\d+",
    conda:
        "../envs/stats.yaml"
    params:
        lm="{lm}",
        design=lambda wildcards: config["designs"][wildcards.design],
        model="{model}",
        by="{by}",
        folds=lambda wildcards: int(wildcards.folds),
        seed=lambda wildcards: int(wildcards.seed),
        named=lambda wildcards: regressions.named_lms(study, [dict(wildcards.items())]),
    script:
        "../workflow/scripts/cross_validation/cross_validation.py"


rule cross_validated:
    input:
        full=lambda wildcards: products.inputs(study, "cross_validation", "full", wildcards),
        base=lambda wildcards: products.inputs(study, "cross_validation", "base", wildcards),
        full_observations=lambda wildcards: products.inputs(
            study, "cross_validation", "full_observations", wildcards
        ),
        base_observations=lambda wildcards: products.inputs(
            study, "cross_validation", "base_observations", wildcards
        ),
    output:
        "<results>/experiments/{experiment}/cross_validation.csv",
    log:
        "<logs>/cross_validated/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        cells=lambda wildcards: study.named_cells(wildcards.experiment, "label"),
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/cross_validation/delta_loglik.py"
