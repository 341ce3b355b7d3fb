# Contrasts between words: differences in responses and in surprisal, overall and by item.


rule contrasts:
    "Differences between words in responses and surprisal, by item and over items."
    input:
        words=lambda wildcards: products.inputs(study, "contrasts", "words", wildcards),
        observations=lambda wildcards: products.inputs(
            study, "contrasts", "observations", wildcards
        ),
        surprisals=lambda wildcards: products.inputs(study, "contrasts", "surprisals", wildcards),
    output:
        "<results>/experiments/{experiment}/contrasts.csv",
        effects="<results>/experiments/{experiment}/contrast_effects.csv",
    log:
        "<logs>/contrasts/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.contrasts.item_effects",
        lms=lambda wildcards: study.lms_of(wildcards.experiment),
        measures=lambda wildcards: products.setting_of(study, "contrasts", "measures", wildcards),
        by=lambda wildcards: products.setting_of(study, "contrasts", "by", wildcards),
        filter=lambda wildcards: products.setting_of(study, "contrasts", "filter", wildcards),
        contrasts=lambda wildcards: products.setting_of(study, "contrasts", "contrasts", wildcards),
    script:
        "../workflow/scripts/run.py"
