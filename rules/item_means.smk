# Least squares on word means of whole datasets: AIC of each LM, and the search for bias parameters.


rule delta_aic:
    "Compare LMs by the AIC of full-data fits, and correlate their surprisal."
    input:
        unpack(lambda wildcards: regressions.delta_aic_files(study, wildcards.experiment)),
    output:
        "<results>/experiments/{experiment}/delta_aic.csv",
    log:
        "<logs>/delta_aic/{experiment}.log",
    conda:
        "../envs/stats.yaml"
    params:
        main="evaluations.item_means.delta_aic",
        cells=lambda wildcards: study.named_cells(wildcards.experiment),
        named=lambda wildcards: regressions.named_lms(study, study.responses(wildcards.experiment)),
        baseline=lambda wildcards: config["experiments"][wildcards.experiment]["baseline"],
    script:
        "../workflow/scripts/run.py"


rule bias_search:
    "Search a bias's parameters for the best fit to mean reading times (de Varda & Marelli 2024, 3.4)."
    input:
        unpack(lambda wildcards: regressions.search_files(study, wildcards.search)),
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
        main="evaluations.bias_search.search",
        settings=lambda wildcards: regressions.search_settings(study, wildcards.search),
    script:
        "../workflow/scripts/run.py"


rule figure_bias_search:
    "Trials of a bias search: their gain in log-likelihood over the unbiased LM."
    input:
        trials="<results>/searches/{search}/trials.csv",
        best="<results>/searches/{search}/best.json",
    output:
        products.files(
            study,
            "<results>/searches/{search}/figure_bias_search",
            f"{EVALUATIONS}/bias_search/figure_bias_search.rst",
            "{search}: what was tried",
            category="Searches",
        ),
    log:
        "<logs>/figure_bias_search/{search}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.bias_search.figure",
        labels=lambda wildcards: study.search_labels(wildcards.search),
    script:
        "../workflow/scripts/run.py"


for name in config.get("searches", {}):

    rule:
        name:
            f"search_{name}"
        input:
            f"<results>/searches/{name}/figure_bias_search.svg",
        localrule: True
