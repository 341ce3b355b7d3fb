# Power: the smallest difference between LMs that a study detects (`./run power`).

# Name of a power study → its sizes and simulated readers.
POWER = config.get("power", {})


rule power:
    input:
        [f"<results>/power/{name}.svg" for name in POWER],
    localrule: True


rule simulate_power:
    output:
        "<results>/power/{power}.sizes.csv",
    log:
        "<logs>/simulate_power/{power}.log",
    benchmark:
        "<benchmarks>/simulate_power/{power}.tsv"
    wildcard_constraints:
        power=any_of(POWER),
    conda:
        "../envs/stats.yaml"
    threads: 2
    params:
        settings=lambda wildcards: POWER[wildcards.power],
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/power/simulate_power.py"


rule figure_power:
    "The smallest detectable lead by subjects, sentences and training seeds."
    input:
        sizes="<results>/power/{power}.sizes.csv",
    output:
        products.files(
            study,
            "<results>/power/{power}",
            f"{EVALUATIONS}/power/figure_power.rst",
            "{power}: smallest detectable lead",
            category="Power",
        ),
    log:
        "<logs>/figure_power/{power}.log",
    wildcard_constraints:
        power=any_of(POWER),
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.power.figure",
    script:
        "../workflow/scripts/run.py"
