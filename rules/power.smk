# Power: the chance of finding a ΔLogLik with n subjects and m sentences (`snakemake power`).

# Dataset → design and sizes; the dataset's readers are simulated.
POWER = config.get("power", {})


rule power:
    input:
        study.power_figures(),
    localrule: True


rule simulate_power:
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        surprisal=lambda wildcards: study.readers_surprisal(wildcards.dataset),
        unigram=f"<results>/surprisal/{study.scale['unigram']}/{{dataset}}.parquet",
    output:
        "<results>/power/{dataset}.{design}.chances.csv",
    log:
        "<logs>/simulate_power/{dataset}.{design}.log",
    benchmark:
        "<benchmarks>/simulate_power/{dataset}.{design}.tsv"
    wildcard_constraints:
        dataset=any_of(POWER),
    conda:
        "../envs/stats.yaml"
    params:
        readers=lambda wildcards: study.simulated(wildcards.dataset)["readers"],
        design=lambda wildcards: config["designs"][wildcards.design],
        sizes=lambda wildcards: study.power_sizes(wildcards.dataset),
        seed=lambda wildcards: study.scale["seed"],
    script:
        "../workflow/scripts/power/simulate_power.py"


rule figure_power:
    input:
        chances="<results>/power/{dataset}.{design}.chances.csv",
    output:
        products.files(
            study,
            "<results>/power/{dataset}.{design}",
            f"{EVALUATIONS}/power/figure_power.rst",
            "{dataset}: chance of finding ΔLogLik",
            category="Power",
        ),
    log:
        "<logs>/figure_power/{dataset}.{design}.log",
    wildcard_constraints:
        dataset=any_of(POWER),
    conda:
        "../envs/plot.yaml"
    script:
        "../workflow/scripts/power/figure_power.py"
