# Refits: a regression fitted to resampled subjects → uncertainty of the ranking of the LMs.


rule refits:
    "Refit a regression to resampled subjects: log-likelihood of their exploratory observations."
    input:
        unpack(
            lambda wildcards: regressions.regression_files(
                study, wildcards.design, wildcards.dataset, wildcards.measure, wildcards.lm
            )
        ),
        fit="<results>/observations/{dataset}.{measure}/fit.parquet",
    output:
        "<results>/refits/{design}/{dataset}.{measure}/{replicates}-seed-{seed}/{lm}.{model}.parquet",
    log:
        "<logs>/refits/{design}/{dataset}.{measure}/{replicates}-seed-{seed}/{lm}.{model}.log",
    benchmark:
        "<benchmarks>/refits/{design}/{dataset}.{measure}/{replicates}-seed-{seed}/{lm}.{model}.tsv"
    wildcard_constraints:
        lm=any_of([*config["lms"], "none"]),
        model="full|base",
        replicates=r"\d+",
        seed=r"\d+",
    conda:
        "../envs/stats.yaml"
    params:
        main="evaluations.ranks.refits",
        lm="{lm}",
        design=lambda wildcards: config["designs"][wildcards.design],
        model="{model}",
        dataset="{dataset}",
        replicates=lambda wildcards: int(wildcards.replicates),
        seed=lambda wildcards: int(wildcards.seed),
        named=lambda wildcards: regressions.named_lms(study, [dict(wildcards.items())]),
    script:
        "../workflow/scripts/run.py"
