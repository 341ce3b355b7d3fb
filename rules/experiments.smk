# Figures, tables and summaries of experiments: one rule per module of an evaluation, whose `PRODUCT`
# declares its inputs and outputs (recency.evaluations.registry).

for product in registry.products():

    rule:
        name:
            product.rule
        input:
            unpack(
                lambda wildcards, product=product: products.read_by(
                    study, product, wildcards.experiment
                )
            ),
        output:
            **products.flagged(study, product),
        log:
            f"<logs>/{product.rule}/{{experiment}}.log",
        wildcard_constraints:
            experiment=any_of(products.experiments_of(study, product)),
        localrule: True
        conda:
            "../envs/plot.yaml"
        params:
            **products.parameters(study, product),
        script:
            "../workflow/scripts/experiments/draw.py"


rule perplexity:
    input:
        surprisal=lambda wildcards: regressions.surprisals(study, wildcards.experiment),
    output:
        "<results>/experiments/{experiment}/perplexity.csv",
    log:
        "<logs>/perplexity/{experiment}.log",
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: study.lms_of(wildcards.experiment),
    script:
        "../workflow/scripts/experiments/perplexity.py"


rule verdict:
    input:
        unpack(lambda wildcards: products.verdict_files(study, wildcards.experiment)),
    output:
        "<results>/experiments/{experiment}/verdict.json",
    log:
        "<logs>/verdict/{experiment}.log",
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        **products.verdict_settings(study),
    script:
        "../workflow/scripts/experiments/verdict.py"


rule summary:
    input:
        **products.summarised_files(study),
    output:
        text="<results>/summary.txt",
        html=products.in_report(
            study,
            "<results>/summary.html",
            "../workflow/report/summary.rst",
            "What was found",
            category="Summary",
        ),
    log:
        "<logs>/summary.log",
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        **products.summary_parameters(study),
    script:
        "../workflow/scripts/experiments/summary.py"


# The report page: recency.evaluations.report.
rule report_page:
    input:
        unpack(lambda wildcards: reporting.inputs(study)),
    output:
        out="<results>/report.html",
    log:
        "<logs>/report_page.log",
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        **reporting.parameters(study),
    script:
        "../workflow/scripts/experiments/report.py"
