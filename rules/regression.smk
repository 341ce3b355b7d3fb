# Regression: predictors → one fit → ΔLogLik on the exploratory partition → permutation test on the
# held-out partition, which nothing else reads. A dataset without partitions is fitted whole. `_secondary` in
# a file name: relative to the design's second baseline model, which does not rank the LMs.


fitted_alone = batches.fitted_alone(study)


# One job fits all responses of an LM that occur in the same experiments.
for batch in batches.responses(study):

    rule:
        name:
            batch.rule("regression")
        input:
            unpack(
                lambda wildcards, batch=batch: regressions.files_of(
                    study, batch.of(wildcards), wildcards.lm
                )
            ),
        output:
            fits=[f"{path}.json" for path in batches.fits(batch)],
            observations=[f"{path}.parquet" for path in batches.fits(batch)],
        log:
            f"<logs>/regression/{batch.name}/{{lm}}.{{model}}.log",
        benchmark:
            f"<benchmarks>/regression/{batch.name}/{{lm}}.{{model}}.tsv"
        wildcard_constraints:
            design=fitted_alone,
            lm=any_of(batch.lms or [*config["lms"], batches.NO_LM]),
            model="full|base",
        conda:
            "../envs/stats.yaml"
        threads: batches.processes(study, batch, workflow.cores)
        params:
            main="regression.fits",
            lm="{lm}",
            model="{model}",
            responses=lambda wildcards, batch=batch: regressions.settings_of(
                study, batch.of(wildcards)
            ),
        script:
            "../workflow/scripts/run.py"


# Two LMs in one model: the contribution of each given the other.
rule nested_regression:
    "Fit regressions of some responses, with or without an LM's surprisal: one JSON file each."
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
    output:
        fits=["<results>/regression/{design}/{dataset}.{measure}/{lm}+{other}.full.json"],
        observations=["<results>/regression/{design}/{dataset}.{measure}/{lm}+{other}.full.parquet"],
    log:
        "<logs>/regression/{design}/{dataset}.{measure}/{lm}+{other}.log",
    wildcard_constraints:
        lm=any_of(config["lms"]),
        other=any_of(config["lms"]),
    conda:
        "../envs/stats.yaml"
    params:
        main="regression.fits",
        lm="{lm}",
        second_lm="{other}",
        model="full",
        responses=lambda wildcards: regressions.settings_of(
            study, [(wildcards.design, wildcards.dataset, wildcards.measure)]
        ),
    script:
        "../workflow/scripts/run.py"


rule nested:
    "Additional effect of an LM in a regression with another LM, from fits and held-out rows."
    input:
        unpack(lambda wildcards: regressions.nested_table_files(study, wildcards.experiment)),
    output:
        "<results>/experiments/{experiment}/nested.csv",
    log:
        "<logs>/nested/{experiment}.log",
    conda:
        "../envs/stats.yaml"
    params:
        main="evaluations.reading_times.nested",
        comparisons=lambda wildcards: regressions.named_pairs(
            regressions.nested_pairs(study, wildcards.experiment)
        ),
        named=lambda wildcards: regressions.named_lms(study, study.responses(wildcards.experiment)),
        permutations=10_000,
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/run.py"


# Subjects and sentences are resampled jointly; each draw is fitted and scored on the omitted ones.
for batch in batches.responses(study):

    rule:
        name:
            batch.rule("crossed_bootstrap")
        input:
            unpack(
                lambda wildcards, batch=batch: regressions.files_of(
                    study, batch.of(wildcards), wildcards.lm
                )
            ),
        output:
            scores=[f"{path}.parquet" for path in batches.fits(batch, "crossed/draws-{draws}")],
        log:
            f"<logs>/crossed/{batch.name}/draws-{{draws}}/{{lm}}.{{model}}.log",
        benchmark:
            f"<benchmarks>/crossed/{batch.name}/draws-{{draws}}/{{lm}}.{{model}}.tsv"
        wildcard_constraints:
            design=fitted_alone,
            lm=any_of(batch.lms or [*config["lms"], batches.NO_LM]),
            model="full|base",
            draws=r"\d+",
        conda:
            "../envs/stats.yaml"
        threads: batches.processes(study, batch, workflow.cores)
        params:
            main="regression.fits:crossed",
            lm="{lm}",
            model="{model}",
            responses=lambda wildcards, batch=batch: regressions.settings_of(
                study, batch.of(wildcards)
            ),
            draws=lambda wildcards: int(wildcards.draws),
            seed=study.scale["seed"],
        script:
            "../workflow/scripts/run.py"


rule delta_loglik:
    "Collect an experiment's fits into one table of ΔLogLik: full minus base, one row per response."
    input:
        unpack(
            lambda wildcards: regressions.ranked_files(
                study, wildcards.experiment, bool(wildcards.secondary)
            )
        ),
        words=lambda wildcards: regressions.words_files(study, wildcards.experiment),
    output:
        "<results>/experiments/{experiment}/delta_loglik{secondary}.csv",
        subjects="<results>/experiments/{experiment}/delta_loglik{secondary}_by_subject.parquet",
        intervals="<results>/experiments/{experiment}/delta_loglik{secondary}_intervals.csv",
        seeds="<results>/experiments/{experiment}/delta_loglik{secondary}_by_seed.csv",
    log:
        "<logs>/delta_loglik/{experiment}{secondary}.log",
    wildcard_constraints:
        secondary="(_secondary)?",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.reading_times.delta_loglik",
        cells=lambda wildcards: study.ranked_cells(wildcards.experiment),
        baselines=lambda wildcards: regressions.ranked_baselines(study, wildcards.experiment),
        baseline=lambda wildcards: study.ranked_baseline(wildcards.experiment),
        apart=lambda wildcards: regressions.settings_apart(study, wildcards.experiment),
        endpoint=lambda wildcards: study.endpoint(wildcards.experiment, bool(wildcards.secondary)),
        bootstrap=lambda wildcards: study.experiment(wildcards.experiment).get("bootstrap"),
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/run.py"


# On request by file name, such as results/paper/paper/random_effects/spr/ucl_spr.SPR/Pythia.html.
rule random_effects:
    "Search for the random-effects structure, as in Clark et al. (2025, Section 4.4)."
    input:
        unpack(
            lambda wildcards: regressions.random_effects_files(
                study, wildcards.design, wildcards.dataset, wildcards.measure, wildcards.lm
            )
        ),
        fit="<results>/observations/{dataset}.{measure}/fit.parquet",
    output:
        products.files(
            study,
            "<results>/random_effects/{design}/{dataset}.{measure}/{lm}",
            "../workflow/report/random_effects.rst",
            "{dataset} {measure}: search for the structure",
            category="Random effects",
        ),
    log:
        "<logs>/random_effects/{design}/{dataset}.{measure}/{lm}.log",
    conda:
        "../envs/stats.yaml"
    params:
        main="regression.random_effects",
        design=lambda wildcards: config["designs"][wildcards.design],
        named=lambda wildcards: regressions.named_lms(study, [dict(wildcards.items())]),
    script:
        "../workflow/scripts/run.py"


rule seeds:
    "ΔLogLik of LMs trained from several seeds: variance between seeds and between items."
    input:
        unpack(lambda wildcards: regressions.scored_files(study, wildcards.experiment)),
        words=lambda wildcards: regressions.words_files(study, wildcards.experiment),
    output:
        "<results>/experiments/{experiment}/seeds.csv",
    log:
        "<logs>/seeds/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.reading_times.seeds",
        cells=lambda wildcards: study.seeded_cells(wildcards.experiment),
        endpoint=lambda wildcards: study.endpoint(wildcards.experiment),
    script:
        "../workflow/scripts/run.py"


rule permutation:
    "Paired permutation tests between LMs on the held-out partition (Clark et al. 2025, Section 4)."
    input:
        unpack(lambda wildcards: regressions.permutation_files(study, wildcards.experiment)),
    output:
        "<results>/experiments/{experiment}/permutation.csv",
        kinds="<results>/experiments/{experiment}/permutation_kinds.csv",
    log:
        "<logs>/permutation/{experiment}.log",
    conda:
        "../envs/stats.yaml"
    params:
        main="evaluations.reading_times.permutation",
        comparisons=lambda wildcards: regressions.named_comparisons(study, wildcards.experiment),
        baselines=lambda wildcards: regressions.ranked_baselines(study, wildcards.experiment),
        kinds=lambda wildcards: regressions.memory_kinds(study, wildcards.experiment),
        named=lambda wildcards: regressions.named_lms(study, study.responses(wildcards.experiment)),
        permutations=10_000,
        seed=study.scale["seed"],
        statistic=lambda wildcards: study.experiment(wildcards.experiment).get(
            "test_statistic", "mean"
        ),
    script:
        "../workflow/scripts/run.py"
