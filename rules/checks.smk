# A look at a reading-time corpus before anything is fitted to it: `snakemake check_<dataset>`.


rule check_dataset:
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        responses=lambda wildcards: [
            f"<results>/datasets/{wildcards.dataset}/responses.{measure}.parquet"
            for measure in config["datasets"][wildcards.dataset]["measures"]
        ],
        unigram=check_unigram,
    output:
        in_report(
            "<results>/datasets/{dataset}/check.html",
            caption="check_dataset",
            category="Reading-time corpora",
            name="{dataset}",
        ),
        "<results>/datasets/{dataset}/check.csv",
        "<results>/datasets/{dataset}/check.svg",
        "<results>/datasets/{dataset}/check.png",
    log:
        "<logs>/check_dataset/{dataset}.log",
    conda:
        "../envs/plot.yaml"
    params:
        measures=lambda wildcards: list(config["datasets"][wildcards.dataset]["measures"]),
        dataset="{dataset}",
        label=lambda wildcards: config["datasets"][wildcards.dataset]["label"],
        about=lambda wildcards: origin_of(wildcards.dataset),
        files=lambda wildcards: origins_of_files(wildcards.dataset),
    script:
        "../workflow/scripts/datasets/check_dataset.py"


for name in config["datasets"]:

    rule:
        name:
            f"check_{name}"
        input:
            f"<results>/datasets/{name}/check.html",
        localrule: True
