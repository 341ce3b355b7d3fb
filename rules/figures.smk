# Figures and tables of an experiment, with the papers' values beside them, and the summary.


rule figure_delta_loglik:
    input:
        delta_loglik="<results>/experiments/{experiment}/delta_loglik.csv",
        not_run="<results>/not_run.csv",
    output:
        total=figures(
            "<results>/experiments/{experiment}/figure_delta_loglik",
            caption="figure_delta_loglik",
            category="{experiment}",
            name="ΔLogLik of each LM",
        ),
        by_response=figures(
            "<results>/experiments/{experiment}/figure_delta_loglik_by_response",
            caption="figure_delta_loglik_by_response",
            category="{experiment}",
            name="ΔLogLik of each LM, by response",
        ),
    log:
        "<logs>/figure_delta_loglik/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
        responses=lambda wildcards: all_responses(wildcards.experiment),
        baseline=lambda wildcards: config["experiments"][wildcards.experiment]["baseline"],
    script:
        "../workflow/scripts/reading_times/figure_delta_loglik.py"


rule figure_slopes:
    input:
        delta_loglik="<results>/experiments/{experiment}/delta_loglik.csv",
        not_run="<results>/not_run.csv",
    output:
        figures(
            "<results>/experiments/{experiment}/figure_slopes",
            caption="figure_slopes",
            category="{experiment}",
            name="ΔLogLik by slope",
        ),
    log:
        "<logs>/figure_slopes/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: sloped(wildcards.experiment),
        responses=lambda wildcards: all_responses(wildcards.experiment),
    script:
        "../workflow/scripts/reading_times/figure_slopes.py"


rule perplexity:
    input:
        surprisal=lambda wildcards: [
            f"<results>/surprisal/{lm}/{dataset}.parquet"
            for lm in config["experiments"][wildcards.experiment]["lms"]
            for dataset in dict.fromkeys(r["dataset"] for r in responses(wildcards.experiment))
        ],
    output:
        "<results>/experiments/{experiment}/perplexity.csv",
    log:
        "<logs>/perplexity/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
    script:
        "../workflow/scripts/reading_times/perplexity.py"


rule figure_perplexity:
    input:
        delta_loglik="<results>/experiments/{experiment}/delta_loglik.csv",
        perplexity="<results>/experiments/{experiment}/perplexity.csv",
        not_run="<results>/not_run.csv",
    output:
        figures(
            "<results>/experiments/{experiment}/figure_perplexity",
            caption="figure_perplexity",
            category="{experiment}",
            name="ΔLogLik against perplexity",
        ),
    log:
        "<logs>/figure_perplexity/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
        responses=lambda wildcards: all_responses(wildcards.experiment),
    script:
        "../workflow/scripts/reading_times/figure_perplexity.py"


rule table_delta_loglik:
    input:
        unpack(lambda wildcards: published(wildcards.experiment, "delta_loglik")),
        delta_loglik="<results>/experiments/{experiment}/delta_loglik.csv",
        not_run="<results>/not_run.csv",
    output:
        table(
            "<results>/experiments/{experiment}/table_delta_loglik",
            caption="table_delta_loglik",
            category="{experiment}",
            name="Table of ΔLogLik",
        ),
    log:
        "<logs>/table_delta_loglik/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
        responses=lambda wildcards: all_responses(wildcards.experiment),
    script:
        "../workflow/scripts/reading_times/table_delta_loglik.py"


rule table_observations:
    input:
        unpack(lambda wildcards: published(wildcards.experiment, "observations")),
        counts=lambda wildcards: response_counts(wildcards.experiment),
        not_run="<results>/not_run.csv",
    output:
        table(
            "<results>/experiments/{experiment}/table_observations",
            caption="table_observations",
            category="{experiment}",
            name="Observations",
        ),
    log:
        "<logs>/table_observations/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        responses=lambda wildcards: all_responses(wildcards.experiment),
    script:
        "../workflow/scripts/reading_times/table_observations.py"


rule table_significance:
    input:
        permutation="<results>/experiments/{experiment}/permutation.csv",
        not_run="<results>/not_run.csv",
    output:
        table(
            "<results>/experiments/{experiment}/table_significance",
            caption="table_significance",
            category="{experiment}",
            name="Permutation tests",
        ),
    log:
        "<logs>/table_significance/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
        responses=lambda wildcards: all_responses(wildcards.experiment),
    script:
        "../workflow/scripts/reading_times/table_significance.py"


rule sensitivity_grid:
    input:
        delta_loglik="<results>/experiments/{experiment}/delta_loglik.csv",
        not_run="<results>/not_run.csv",
    output:
        figure=figures(
            "<results>/experiments/{experiment}/figure_sensitivity",
            caption="sensitivity",
            category="{experiment}",
            name="ΔLogLik under other settings",
        ),
        table=table(
            "<results>/experiments/{experiment}/table_sensitivity",
            caption="sensitivity",
            category="{experiment}",
            name="Table of ΔLogLik under other settings",
        ),
    log:
        "<logs>/sensitivity_grid/{experiment}.log",
    wildcard_constraints:
        experiment=any_of(GRIDS),
    conda:
        "../envs/plot.yaml"
    params:
        grid=lambda wildcards: GRIDS[wildcards.experiment],
        lms=lambda wildcards: [
            described(lm)
            for lm in dict.fromkeys(
                cell["lm"] for cell in GRIDS[wildcards.experiment]["lms"].values()
            )
        ],
        responses=lambda wildcards: all_responses(wildcards.experiment),
        baseline=lambda wildcards: GRIDS[wildcards.experiment]["lms"][
            config["experiments"][wildcards.experiment]["baseline"]
        ]["lm"],
        title=lambda wildcards: config["experiments"][wildcards.experiment]["title"],
    script:
        "../workflow/scripts/reading_times/sensitivity_grid.py"


rule table_seeds:
    input:
        seeds="<results>/experiments/{experiment}/seeds.csv",
    output:
        table(
            "<results>/experiments/{experiment}/table_seeds",
            caption="table_seeds",
            category="{experiment}",
            name="ΔLogLik by seed",
        ),
    log:
        "<logs>/table_seeds/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: [
            described(lm)
            for lm in {but_for_seed(lm["lm"]): 0 for lm in lms_of(wildcards.experiment)}
        ],
        responses=lambda wildcards: all_responses(wildcards.experiment),
    script:
        "../workflow/scripts/reading_times/table_seeds.py"


# A grid of settings has no ranking: its table has one row a cell.
RANKED = [
    name
    for name in READING_TIMES
    if "sensitivity" not in config["experiments"][name] and not whole(name)
]
BY_AIC = [name for name in READING_TIMES if whole(name)]
TESTED = [name for name in RANKED if config["experiments"][name].get("compare")]


rule summary:
    input:
        delta_loglik=[f"<results>/experiments/{name}/delta_loglik.csv" for name in RANKED],
        permutation=[f"<results>/experiments/{name}/permutation.csv" for name in TESTED],
        delta_aic=[f"<results>/experiments/{name}/table_delta_aic.csv" for name in BY_AIC],
        counts=sorted({path for name in READING_TIMES for path in response_counts(name)}),
        heads=[
            f"<results>/experiments/{name}/figure_attention_heads.csv"
            for name in config["run"]
            if has_material(name, "dependencies")
        ],
        pairs=[
            f"<results>/experiments/{name}/table_minimal_pairs.csv"
            for name in config["run"]
            if has_material(name, "minimal_pairs")
        ],
        not_run="<results>/not_run.csv",
    output:
        text="<results>/summary.txt",
        html=in_report(
            "<results>/summary.html", caption="summary", category="Summary", name="What was found"
        ),
    log:
        "<logs>/summary.log",
    conda:
        "../envs/plot.yaml"
    params:
        study=f"{config['study']} ({SCALE['label']})" if "label" in SCALE else config["study"],
        experiments=[
            {
                "experiment": name,
                "title": config["experiments"][name]["title"],
                "lms": lms_of(name),
                "responses": all_responses(name),
                "baseline": config["experiments"][name]["baseline"],
            }
            for name in RANKED
        ],
        titles={name: config["experiments"][name]["title"] for name in config["run"]},
        files={"figures and tables": f"results/{config['study']}/{config['scale']}/experiments/"},
        notes=sorted(
            {
                f"The reading times of the corpus {config['datasets'][name]['label']!r} are simulated."
                for name in ASKED
                if "simulate" in config["datasets"][name]
            }
        ),
    script:
        "../workflow/scripts/reading_times/summary.py"
