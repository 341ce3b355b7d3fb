# Regression: predictors → one fit → ΔLogLik on the exploratory partition → permutation test on the
# held-out one, which nothing else reads. A dataset that is not partitioned is fitted whole.



rule regression:
    input:
        unpack(regression_files),
        fit="<results>/observations/{dataset}.{measure}/fit.parquet",
    output:
        "<results>/regression/{design}/{dataset}.{measure}/{lm}.{model}.json",
        observations="<results>/regression/{design}/{dataset}.{measure}/{lm}.{model}.parquet",
    log:
        "<logs>/regression/{design}/{dataset}.{measure}/{lm}.{model}.log",
    benchmark:
        "<benchmarks>/regression/{design}/{dataset}.{measure}/{lm}.{model}.tsv"
    wildcard_constraints:
        lm=any_of([*config["lms"], "none"]),
        model="full|base",
    conda:
        "../envs/stats.yaml"
    params:
        lm="{lm}",
        design=lambda wildcards: config["designs"][wildcards.design],
        model="{model}",
    script:
        "../workflow/scripts/regression/regression.py"


rule delta_loglik:
    input:
        full=lambda wildcards: [
            fit_file(r, lm["lm"], "full") for r, lm in cells(wildcards.experiment)
        ],
        base=lambda wildcards: [base_of(r, lm["lm"]) for r, lm in cells(wildcards.experiment)],
        full_observations=lambda wildcards: [
            observations_of(fit_file(r, lm["lm"], "full")) for r, lm in cells(wildcards.experiment)
        ],
        base_observations=lambda wildcards: [
            observations_of(base_of(r, lm["lm"])) for r, lm in cells(wildcards.experiment)
        ],
    output:
        "<results>/experiments/{experiment}/delta_loglik.csv",
        subjects="<results>/experiments/{experiment}/delta_loglik_by_subject.parquet",
    log:
        "<logs>/delta_loglik/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        cells=lambda wildcards: [
            {"lm": lm["lm"], "label": lm["label"]}
            | {k: r[k] for k in ("dataset", "measure", "design")}
            for r, lm in cells(wildcards.experiment)
        ],
        seed=lambda wildcards: SCALE["seed"],
    script:
        "../workflow/scripts/regression/delta_loglik.py"


# Asked for by name, such as results/paper/paper/random_effects/spr/ucl_spr.SPR/Pythia.html.
rule random_effects:
    input:
        unpack(lambda wildcards: predictor_files(wildcards.dataset, wildcards.lm)),
        fit="<results>/observations/{dataset}.{measure}/fit.parquet",
    output:
        table(
            "<results>/random_effects/{design}/{dataset}.{measure}/{lm}",
            caption="random_effects",
            category="Random effects",
            name="{dataset} {measure}: search for the structure",
        ),
    log:
        "<logs>/random_effects/{design}/{dataset}.{measure}/{lm}.log",
    conda:
        "../envs/stats.yaml"
    params:
        design=lambda wildcards: config["designs"][wildcards.design],
    script:
        "../workflow/scripts/regression/random_effects.py"


rule seeds:
    input:
        full_observations=lambda wildcards: [
            observations_of(fit_file(r, lm["lm"], "full")) for r, lm in cells(wildcards.experiment)
        ],
        base_observations=lambda wildcards: [
            observations_of(base_of(r, lm["lm"])) for r, lm in cells(wildcards.experiment)
        ],
    output:
        "<results>/experiments/{experiment}/seeds.csv",
    log:
        "<logs>/seeds/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        cells=lambda wildcards: [
            {"lm": lm["lm"], "seed": LMS[lm["lm"]]["seed"], "family": but_for_seed(lm["lm"])}
            | {k: r[k] for k in ("dataset", "measure", "design")}
            for r, lm in cells(wildcards.experiment)
        ],
    script:
        "../workflow/scripts/regression/seeds.py"


rule permutation:
    input:
        held_out=lambda wildcards: [
            "<results>/observations/{dataset}.{measure}/held_out.parquet".format(**r)
            for r, _, _ in comparisons(wildcards.experiment)
        ],
        words=lambda wildcards: [
            predictor_files(r["dataset"], "none")["words"]
            for r, _, _ in comparisons(wildcards.experiment)
        ],
        unigram=lambda wildcards: [
            predictor_files(r["dataset"], "none")["unigram"]
            for r, _, _ in comparisons(wildcards.experiment)
        ],
        surprisal_a=lambda wildcards: [
            predictor_files(r["dataset"], a)["surprisal"]
            for r, a, _ in comparisons(wildcards.experiment)
        ],
        surprisal_b=lambda wildcards: [
            predictor_files(r["dataset"], b)["surprisal"]
            for r, _, b in comparisons(wildcards.experiment)
        ],
        fit_a=lambda wildcards: [
            fit_file(r, a, "full") for r, a, _ in comparisons(wildcards.experiment)
        ],
        fit_b=lambda wildcards: [
            fit_file(r, b, "full") for r, _, b in comparisons(wildcards.experiment)
        ],
    output:
        "<results>/experiments/{experiment}/permutation.csv",
    log:
        "<logs>/permutation/{experiment}.log",
    conda:
        "../envs/stats.yaml"
    params:
        comparisons=lambda wildcards: [
            {"lm_a": a, "lm_b": b} | {k: r[k] for k in ("dataset", "measure", "design")}
            for r, a, b in comparisons(wildcards.experiment)
        ],
        permutations=10_000,
        seed=lambda wildcards: SCALE["seed"],
    script:
        "../workflow/scripts/regression/permutation.py"
