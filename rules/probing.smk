# The structural probe: treebank → a probe for each layer of each LM → figure and table.



rule treebank:
    input:
        train=lambda wildcards: material_file("probe", wildcards.treebank, "train"),
        dev=lambda wildcards: material_file("probe", wildcards.treebank, "dev"),
        test=lambda wildcards: material_file("probe", wildcards.treebank, "test"),
    output:
        "<results>/treebanks/{treebank}.parquet",
    log:
        "<logs>/treebank/{treebank}.log",
    conda:
        "../envs/plot.yaml"
    script:
        "../workflow/scripts/probe/treebank.py"


rule structural_probe:
    input:
        treebank="<results>/treebanks/{treebank}.parquet",
        model=trained,
    output:
        "<results>/probe/{lm}/{treebank}.csv",
    log:
        "<logs>/structural_probe/{lm}/{treebank}.log",
    benchmark:
        "<benchmarks>/structural_probe/{lm}/{treebank}.tsv"
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    resources:
        mem_mb=round(1000 * config["probe"]["memory_gb"]),
    params:
        settings={
            key: value
            for key, value in config["probe"].items()
            if key not in ("relations", "memory_gb")
        },
        checkpoint=lambda wildcards: LMS[wildcards.lm].get("checkpoint"),
        architecture=lambda wildcards: (
            None
            if "checkpoint" in LMS[wildcards.lm]
            else config["architectures"][LMS[wildcards.lm]["architecture"]]
        ),
        bias=lambda wildcards: inference_bias(wildcards.lm),
        bos=lambda wildcards: LMS[wildcards.lm]["bos"],
        stride=lambda wildcards: LMS[wildcards.lm]["stride"],
        seed=lambda wildcards: LMS[wildcards.lm]["seed"],
    script:
        "../workflow/scripts/probe/structural_probe.py"


rule figure_probe:
    input:
        probes=lambda wildcards: probe_files(wildcards.experiment),
    output:
        figures(
            "<results>/experiments/{experiment}/figure_probe",
            caption="figure_probe",
            category="{experiment}",
            name="Trees in the layers",
        ),
    log:
        "<logs>/figure_probe/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
        baseline=lambda wildcards: config["experiments"][wildcards.experiment]["baseline"],
        relations=config["probe"]["relations"],
    script:
        "../workflow/scripts/probe/figure_probe.py"


rule table_probe:
    input:
        probes=lambda wildcards: probe_files(wildcards.experiment),
    output:
        table(
            "<results>/experiments/{experiment}/table_probe",
            caption="table_probe",
            category="{experiment}",
            name="Table of trees in the layers",
        ),
    log:
        "<logs>/table_probe/{experiment}.log",
    conda:
        "../envs/plot.yaml"
    params:
        lms=lambda wildcards: lms_of(wildcards.experiment),
        relations=config["probe"]["relations"],
    script:
        "../workflow/scripts/probe/table_probe.py"
