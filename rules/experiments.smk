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
    "Perplexity of each LM on the reading-time corpora, from its surprisal (Clark et al. 2025, Figure 6)."
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
        main="evaluations.reading_times.perplexity",
        lms=lambda wildcards: study.lms_of(wildcards.experiment),
    script:
        "../workflow/scripts/run.py"


rule verdict:
    "The verdict of an experiment: which LM predicts best, and with what certainty."
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
        main="evaluations.reading_times.verdict",
    script:
        "../workflow/scripts/run.py"


rule methods:
    "The methods section of an experiment, from the files of its run."
    input:
        unpack(lambda wildcards: methods.inputs(study, wildcards.experiment)),
    output:
        "<results>/experiments/{experiment}/methods.md",
        "<results>/experiments/{experiment}/methods.tex",
        "<results>/experiments/{experiment}/methods.bib",
        "<results>/experiments/{experiment}/paper.qmd",
        "<results>/experiments/{experiment}/figures.R",
    log:
        "<logs>/methods/{experiment}.log",
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        **methods.settings(study),
        main="evaluations.report.methods",
    script:
        "../workflow/scripts/run.py"


rule summary:
    "Summary of a run for the terminal and the report: ranking, observations, missing results."
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
        main="evaluations.summary",
    script:
        "../workflow/scripts/run.py"


# The report page: recency.evaluations.report.
rule report_page:
    "The report: one page that begins with the answer."
    input:
        unpack(lambda wildcards: products.report_inputs(study)),
    output:
        out="<results>/report.html",
    log:
        "<logs>/report_page.log",
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        **products.report_parameters(study),
        main="evaluations.report.page",
    script:
        "../workflow/scripts/run.py"
