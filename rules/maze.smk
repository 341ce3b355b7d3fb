# Maze task: accuracy of LMs between word and foil, and contrasts between versions of items. Surprisal
# tables include the foils.


rule maze_choices:
    "Choices between words and foils, and contrasts between versions of items."
    input:
        unpack(lambda wildcards: products.inputs(study, "maze", "readers", wildcards)),
        words=lambda wildcards: products.inputs(study, "maze", "words", wildcards),
        surprisals=lambda wildcards: products.inputs(study, "maze", "surprisals", wildcards),
    output:
        choices="<results>/experiments/{experiment}/maze.csv",
        contrasts="<results>/experiments/{experiment}/maze_contrasts.csv",
    log:
        "<logs>/maze_choices/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.maze.choices",
        lms=lambda wildcards: study.lms_of(wildcards.experiment),
        baseline=lambda wildcards: config["experiments"][wildcards.experiment]["baseline"],
        by=lambda wildcards: products.setting_of(study, "maze", "by", wildcards),
        filter=lambda wildcards: products.setting_of(study, "maze", "filter", wildcards),
        condition=lambda wildcards: products.setting_of(study, "maze", "condition", wildcards),
        contrasts=lambda wildcards: products.setting_of(study, "maze", "contrasts", wildcards),
        seed=study.scale["seed"],
    script:
        "../workflow/scripts/run.py"
