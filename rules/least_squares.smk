# Least squares on words, whole datasets: AIC of each LM, and the search of a bias's parameters.


rule delta_aic:
    input:
        unpack(lambda wildcards: frequency_files(cells(wildcards.experiment))),
        fits=lambda wildcards: [
            fit_file(r, lm["lm"], "full") for r, lm in cells(wildcards.experiment)
        ],
        words=lambda wildcards: [
            predictor_files(r["dataset"], "none")["words"] for r, _ in cells(wildcards.experiment)
        ],
        observations=lambda wildcards: [
            fitted_observations(r) for r, _ in cells(wildcards.experiment)
        ],
        surprisal=lambda wildcards: [
            predictor_files(r["dataset"], lm["lm"])["surprisal"]
            for r, lm in cells(wildcards.experiment)
        ],
    output:
        "<results>/experiments/{experiment}/delta_aic.csv",
    log:
        "<logs>/delta_aic/{experiment}.log",
    conda:
        "../envs/stats.yaml"
    params:
        cells=lambda wildcards: [
            {"lm": lm["lm"]} | {k: r[k] for k in ("dataset", "measure", "design")}
            for r, lm in cells(wildcards.experiment)
        ],
        baseline=lambda wildcards: config["experiments"][wildcards.experiment]["baseline"],
    script:
        "../workflow/scripts/item_means/delta_aic.py"


rule table_delta_aic:
    input:
        unpack(lambda wildcards: published(wildcards.experiment, "delta_aic")),
        delta_aic="<results>/experiments/{experiment}/delta_aic.csv",
        not_run="<results>/not_run.csv",
    output:
        table(
            "<results>/experiments/{experiment}/table_delta_aic",
            caption="table_delta_aic",
            category="{experiment}",
            name="Table of ΔAIC",
        ),
    log:
        "<logs>/table_delta_aic/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
        responses=lambda wildcards: all_responses(wildcards.experiment),
        baseline=lambda wildcards: config["experiments"][wildcards.experiment]["baseline"],
    script:
        "../workflow/scripts/item_means/table_delta_aic.py"


rule figure_delta_aic:
    input:
        unpack(lambda wildcards: published(wildcards.experiment, "delta_aic")),
        delta_aic="<results>/experiments/{experiment}/delta_aic.csv",
        not_run="<results>/not_run.csv",
    output:
        figures(
            "<results>/experiments/{experiment}/figure_delta_aic",
            caption="figure_delta_aic",
            category="{experiment}",
            name="Surprisal, and ΔAIC of each LM",
        ),
    log:
        "<logs>/figure_delta_aic/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
        responses=lambda wildcards: all_responses(wildcards.experiment),
        baseline=lambda wildcards: config["experiments"][wildcards.experiment]["baseline"],
    script:
        "../workflow/scripts/item_means/figure_delta_aic.py"


SEARCHES = config.get("searches", {})


rule bias_search:
    input:
        unpack(
            lambda wildcards: frequency_files(
                (r, None) for r in search_responses(wildcards.search)
            )
        ),
        words=lambda wildcards: [
            predictor_files(r["dataset"], "none")["words"]
            for r in search_responses(wildcards.search)
        ],
        fit=lambda wildcards: [fitted_observations(r) for r in search_responses(wildcards.search)],
        model=lambda wildcards: weights_of(SEARCHES[wildcards.search]["lm"]),
    output:
        trials="<results>/searches/{search}/trials.csv",
        best="<results>/searches/{search}/best.json",
    log:
        "<logs>/bias_search/{search}.log",
    benchmark:
        "<benchmarks>/bias_search/{search}.tsv"
    conda:
        "../envs/search.yaml"
    threads: config["threads"]["surprisal"]
    params:
        lm=lambda wildcards: SEARCHES[wildcards.search]["lm"],
        checkpoint=lambda wildcards: LMS[SEARCHES[wildcards.search]["lm"]].get("checkpoint"),
        bos=lambda wildcards: LMS[SEARCHES[wildcards.search]["lm"]]["bos"],
        stride=lambda wildcards: LMS[SEARCHES[wildcards.search]["lm"]]["stride"],
        scoring=lambda wildcards: LMS[SEARCHES[wildcards.search]["lm"]].get("scoring", {}),
        responses=lambda wildcards: [
            {k: r[k] for k in ("dataset", "measure")} | {"design": config["designs"][r["design"]]}
            for r in search_responses(wildcards.search)
        ],
        search=lambda wildcards: {
            key: value
            for key, value in SEARCHES[wildcards.search].items()
            if key in ("form", "layers", "parameters", "trials", "seed")
        },
        mark=lambda wildcards: {
            name: config["biases"][name] for name in SEARCHES[wildcards.search].get("mark", [])
        },
    script:
        "../workflow/scripts/item_means/bias_search.py"


rule figure_bias_search:
    input:
        trials="<results>/searches/{search}/trials.csv",
        best="<results>/searches/{search}/best.json",
    output:
        figures(
            "<results>/searches/{search}/figure_bias_search",
            caption="figure_bias_search",
            category="Searches",
            name="{search}: what was tried",
        ),
    log:
        "<logs>/figure_bias_search/{search}.log",
    conda:
        "../envs/plot.yaml"
    script:
        "../workflow/scripts/item_means/figure_bias_search.py"


for name in SEARCHES:

    rule:
        name:
            f"search_{name}"
        input:
            f"<results>/searches/{name}/figure_bias_search.svg",
        localrule: True
