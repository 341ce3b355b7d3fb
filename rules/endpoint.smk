# The endpoint simulation: size and power of candidate endpoints of ΔLogLik (`./run endpoint`).

ENDPOINT = config.get("endpoint_simulation")


rule endpoint:
    input:
        ["<results>/endpoint/figure_endpoint.svg", "<results>/endpoint/table_endpoint.html"]
        if ENDPOINT
        else [],
    localrule: True


rule simulate_endpoint:
    output:
        candidates="<results>/endpoint/candidates.csv",
        tests="<results>/endpoint/tests.csv",
    log:
        "<logs>/simulate_endpoint.log",
    benchmark:
        "<benchmarks>/simulate_endpoint.tsv"
    conda:
        "../envs/stats.yaml"
    threads: 2
    params:
        settings=ENDPOINT,
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/endpoint/simulate_endpoint.py"


rule figure_endpoint:
    "Size and power of candidate endpoints of ΔLogLik."
    input:
        candidates="<results>/endpoint/candidates.csv",
    output:
        products.files(
            study,
            "<results>/endpoint/figure_endpoint",
            f"{EVALUATIONS}/endpoint/figure_endpoint.rst",
            "Size and power of candidate endpoints",
            category="Endpoint simulation",
        ),
    log:
        "<logs>/figure_endpoint.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.endpoint.figure",
    script:
        "../workflow/scripts/run.py"


rule table_endpoint:
    "Size and power of candidate endpoints of ΔLogLik."
    input:
        candidates="<results>/endpoint/candidates.csv",
        tests="<results>/endpoint/tests.csv",
    output:
        products.files(
            study,
            "<results>/endpoint/table_endpoint",
            f"{EVALUATIONS}/endpoint/table_endpoint.rst",
            "Bias, size, power and coverage of candidate endpoints",
            category="Endpoint simulation",
        ),
    log:
        "<logs>/table_endpoint.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.endpoint.table",
    script:
        "../workflow/scripts/run.py"
