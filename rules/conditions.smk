# Mean response and mean surprisal of regions, by condition.


rule condition_means:
    "Mean response and mean surprisal by condition."
    input:
        words=lambda wildcards: products.inputs(study, "conditions", "words", wildcards),
        observations=lambda wildcards: products.inputs(
            study, "conditions", "observations", wildcards
        ),
        surprisals=lambda wildcards: products.inputs(study, "conditions", "surprisals", wildcards),
    output:
        "<results>/experiments/{experiment}/conditions.csv",
    log:
        "<logs>/condition_means/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.conditions.means",
        lms=lambda wildcards: study.lms_of(wildcards.experiment),
        by=lambda wildcards: products.setting_of(study, "conditions", "by", wildcards),
        stimulus=lambda wildcards: products.setting_of(study, "conditions", "stimulus", wildcards),
    script:
        "../workflow/scripts/run.py"
