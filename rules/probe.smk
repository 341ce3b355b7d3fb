# The structural probe: treebank → a probe for each layer of each LM → figure and table.


rule treebank:
    "The syntactic words of a treebank in CoNLL-U, with their heads and relations."
    input:
        train=lambda wildcards: files.data("probe", wildcards.treebank, "train"),
        dev=lambda wildcards: files.data("probe", wildcards.treebank, "dev"),
        test=lambda wildcards: files.data("probe", wildcards.treebank, "test"),
    output:
        "<results>/treebanks/{treebank}.parquet",
    log:
        "<logs>/treebank/{treebank}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.probe.treebank",
    script:
        "../workflow/scripts/run.py"


rule structural_probe:
    "Dependency trees decoded from each layer of an LM."
    input:
        treebank="<results>/treebanks/{treebank}.parquet",
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/probe/{lm}/{treebank}.csv",
    log:
        "<logs>/structural_probe/{lm}/{treebank}.log",
    benchmark:
        "<benchmarks>/structural_probe/{lm}/{treebank}.tsv"
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.probe.score",
        settings=products.setting(study, "probe", "training"),
        lm=lambda wildcards: study.opening(wildcards.lm),
        architecture=lambda wildcards: study.architecture(wildcards.lm),
        seed=lambda wildcards: study.lms[wildcards.lm]["seed"],
    script:
        "../workflow/scripts/run.py"
