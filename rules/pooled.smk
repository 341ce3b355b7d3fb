# Meta-analyses of an experiment's corpora, by language and overall.


rule pooled_effects:
    "An LM's lead in each corpus, and a meta-analysis."
    input:
        unpack(lambda wildcards: regressions.scored_files(study, wildcards.experiment)),
        words=lambda wildcards: regressions.words_files(study, wildcards.experiment),
    output:
        effects="<results>/experiments/{experiment}/pooled_effects.csv",
        pooled="<results>/experiments/{experiment}/pooled.csv",
    log:
        "<logs>/pooled_effects/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.pooled.effects",
        cells=lambda wildcards: study.ranked_cells(wildcards.experiment),
        datasets=lambda wildcards: products.setting_of(study, "pooled", "datasets", wildcards),
        lms=lambda wildcards: products.setting_of(study, "pooled", "pooled_lms", wildcards),
        baseline=lambda wildcards: study.ranked_baseline(wildcards.experiment),
        endpoint=lambda wildcards: study.endpoint(wildcards.experiment),
        bootstrap=lambda wildcards: study.experiment(wildcards.experiment).get("bootstrap"),
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/run.py"
