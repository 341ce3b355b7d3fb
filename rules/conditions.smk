# Conditions of an experiment's items: means, effects of contrasts by item, and their prediction.


rule conditions:
    "Means by condition; effects of contrasts by item, partially pooled, and their prediction."
    input:
        words=lambda wildcards: products.inputs(study, "conditions", "words", wildcards),
        observations=lambda wildcards: products.inputs(
            study, "conditions", "observations", wildcards
        ),
        surprisals=lambda wildcards: products.inputs(study, "conditions", "surprisals", wildcards),
        fillers=lambda wildcards: products.inputs(study, "conditions", "fillers", wildcards),
    output:
        "<results>/experiments/{experiment}/conditions.csv",
        effects="<results>/experiments/{experiment}/effects.csv",
        by_item="<results>/experiments/{experiment}/effects_by_item.csv",
    log:
        "<logs>/conditions/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.conditions.compute",
        lms=lambda wildcards: study.lms_of(wildcards.experiment),
        by=lambda wildcards: products.setting_of(study, "conditions", "by", wildcards),
        levels=lambda wildcards: products.setting_of(study, "conditions", "levels", wildcards),
        stimulus=lambda wildcards: products.setting_of(study, "conditions", "stimulus", wildcards),
        regions=lambda wildcards: products.setting_of(study, "conditions", "regions", wildcards),
        contrasts=lambda wildcards: products.setting_of(study, "conditions", "contrasts", wildcards),
    script:
        "../workflow/scripts/run.py"
