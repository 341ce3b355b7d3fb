# Attention: dependencies in annotated stories, what heads give them, attention by distance, and maps
# of it over one sentence.



rule dependencies:
    input:
        trees=lambda wildcards: material_file("dependencies", wildcards.dependencies, "trees"),
        leaves=lambda wildcards: material_file("dependencies", wildcards.dependencies, "leaves"),
        words=lambda wildcards: (
            f"<results>/datasets/{config['dependencies'][wildcards.dependencies]['dataset']}/words.parquet"
        ),
    output:
        "<results>/dependencies/{dependencies}.parquet",
        counts="<results>/dependencies/{dependencies}.counts.csv",
    log:
        "<logs>/dependencies/{dependencies}.log",
    conda:
        "../envs/plot.yaml"
    params:
        options=lambda wildcards: config["dependencies"][wildcards.dependencies].get("options", {}),
    script:
        "../workflow/scripts/dependencies/dependencies.py"


rule attention_heads:
    input:
        words=lambda wildcards: (
            f"<results>/datasets/{config['dependencies'][wildcards.dependencies]['dataset']}/words.parquet"
        ),
        dependencies="<results>/dependencies/{dependencies}.parquet",
        model=trained,
    output:
        "<results>/attention/{lm}/{dependencies}.dependencies.parquet",
        summary="<results>/attention/{lm}/{dependencies}.heads.csv",
    log:
        "<logs>/attention_heads/{lm}/{dependencies}.log",
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        checkpoint=lambda wildcards: LMS[wildcards.lm].get("checkpoint"),
        bias=lambda wildcards: inference_bias(wildcards.lm),
        bos=lambda wildcards: LMS[wildcards.lm]["bos"],
        stride=lambda wildcards: LMS[wildcards.lm]["stride"],
        seed=SCALE["seed"],
    script:
        "../workflow/scripts/dependencies/attention_heads.py"


rule attention_by_distance:
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        model=trained,
    output:
        "<results>/attention/{lm}/{dataset}.by_distance.parquet",
        summary="<results>/attention/{lm}/{dataset}.by_head.csv",
    log:
        "<logs>/attention_by_distance/{lm}/{dataset}.log",
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        checkpoint=lambda wildcards: LMS[wildcards.lm].get("checkpoint"),
        bias=lambda wildcards: inference_bias(wildcards.lm),
        bos=lambda wildcards: LMS[wildcards.lm]["bos"],
        stride=lambda wildcards: LMS[wildcards.lm]["stride"],
    script:
        "../workflow/scripts/attention_by_distance/attention_by_distance.py"


rule attention_map:
    input:
        model=trained,
    output:
        "<results>/attention_maps/{lm}/{sentence}.parquet",
    log:
        "<logs>/attention_map/{lm}/{sentence}.log",
    conda:
        "../envs/lm.yaml"
    params:
        text=lambda wildcards: config["sentences"][wildcards.sentence],
        checkpoint=lambda wildcards: LMS[wildcards.lm].get("checkpoint"),
        bias=lambda wildcards: inference_bias(wildcards.lm),
        bos=lambda wildcards: LMS[wildcards.lm]["bos"],
    script:
        "../workflow/scripts/attention_maps/attention_map.py"


rule figure_attention_heads:
    input:
        unpack(lambda wildcards: published(wildcards.experiment, "dependencies")),
        heads=lambda wildcards: [
            f"<results>/attention/{lm}/{config['experiments'][wildcards.experiment]['dependencies']}.heads.csv"
            for lm in config["experiments"][wildcards.experiment]["lms"]
        ],
    output:
        figures(
            "<results>/experiments/{experiment}/figure_attention_heads",
            caption="figure_attention_heads",
            category="{experiment}",
            name="Attention from heads to dependents",
        ),
    log:
        "<logs>/figure_attention_heads/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
    script:
        "../workflow/scripts/dependencies/figure_attention_heads.py"


rule figure_attention_by_distance:
    input:
        by_distance=lambda wildcards: attention_files(wildcards.experiment, "by_distance.parquet"),
        by_head=lambda wildcards: attention_files(wildcards.experiment, "by_head.csv"),
    output:
        figures(
            "<results>/experiments/{experiment}/figure_attention_by_distance",
            caption="figure_attention_by_distance",
            category="{experiment}",
            name="Attention by distance",
        ),
    log:
        "<logs>/figure_attention_by_distance/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
    script:
        "../workflow/scripts/attention_by_distance/figure_attention_by_distance.py"


rule figure_attention_maps:
    input:
        maps=lambda wildcards: attention_map_files(
            config["experiments"][wildcards.experiment]["attention_maps"]["lms"],
            wildcards.experiment,
        ),
    output:
        figures(
            "<results>/experiments/{experiment}/figure_attention_maps",
            caption="figure_attention_maps",
            category="{experiment}",
            name="Attention over a sentence",
        ),
    log:
        "<logs>/figure_attention_maps/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: [
            described(lm)
            for lm in config["experiments"][wildcards.experiment]["attention_maps"]["lms"]
        ],
        layers=lambda wildcards: config["experiments"][wildcards.experiment]["attention_maps"][
            "layers"
        ],
    script:
        "../workflow/scripts/attention_maps/figure_attention_maps.py"


rule table_dependencies:
    input:
        unpack(lambda wildcards: published(wildcards.experiment, "dependencies")),
        counts=lambda wildcards: (
            f"<results>/dependencies/{config['experiments'][wildcards.experiment]['dependencies']}.counts.csv"
        ),
    output:
        table(
            "<results>/experiments/{experiment}/table_dependencies",
            caption="table_dependencies",
            category="{experiment}",
            name="Dependencies",
        ),
    log:
        "<logs>/table_dependencies/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    script:
        "../workflow/scripts/dependencies/table_dependencies.py"
