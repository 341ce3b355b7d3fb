# Partially pooled effects of contrasts by item, and the effects that surprisal predicts.


rule effects_by_item:
    "Effects of contrasts by item, partially pooled, and their prediction."
    input:
        words=lambda wildcards: products.inputs(study, "effects_by_item", "words", wildcards),
        observations=lambda wildcards: products.inputs(
            study, "effects_by_item", "observations", wildcards
        ),
        surprisals=lambda wildcards: products.inputs(
            study, "effects_by_item", "surprisals", wildcards
        ),
        fillers=lambda wildcards: products.inputs(study, "effects_by_item", "fillers", wildcards),
    output:
        "<results>/experiments/{experiment}/effects.csv",
        by_item="<results>/experiments/{experiment}/effects_by_item.csv",
    log:
        "<logs>/effects_by_item/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.effects_by_item.observed_and_predicted",
        lms=lambda wildcards: study.lms_of(wildcards.experiment),
        by=lambda wildcards: products.setting_of(study, "effects_by_item", "by", wildcards),
        regions=lambda wildcards: products.setting_of(
            study, "effects_by_item", "regions", wildcards
        ),
        contrasts=lambda wildcards: products.setting_of(
            study, "effects_by_item", "contrasts", wildcards
        ),
    script:
        "../workflow/scripts/run.py"
