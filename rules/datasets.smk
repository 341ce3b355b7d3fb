# Reading-time corpora: words, responses → observations, in three partitions or all to be fitted.

WHOLE = [name for name in config["datasets"] if not partitioned(name)]


rule words:
    input:
        files=lambda wildcards: list(dataset_files(wildcards.dataset, "words").values()),
    output:
        "<results>/datasets/{dataset}/words.parquet",
    log:
        "<logs>/words/{dataset}.log",
    priority: 50
    conda:
        "../envs/plot.yaml"
    params:
        roles=lambda wildcards: list(config["datasets"][wildcards.dataset]["words"]),
        parser=lambda wildcards: config["datasets"][wildcards.dataset]["parser"],
        options=lambda wildcards: config["datasets"][wildcards.dataset].get("options", {}),
    script:
        "../workflow/scripts/datasets/words.py"


rule responses:
    input:
        files=lambda wildcards: list(dataset_files(wildcards.dataset, "responses").values()),
        words="<results>/datasets/{dataset}/words.parquet",
    output:
        "<results>/datasets/{dataset}/responses.{measure}.parquet",
    log:
        "<logs>/responses/{dataset}.{measure}.log",
    priority: 50
    conda:
        "../envs/plot.yaml"
    params:
        roles=lambda wildcards: list(config["datasets"][wildcards.dataset]["responses"]),
        parser=lambda wildcards: config["datasets"][wildcards.dataset]["parser"],
        measure="{measure}",
        options=lambda wildcards: config["datasets"][wildcards.dataset].get("options", {}),
    script:
        "../workflow/scripts/datasets/responses.py"


rule observations:
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        responses="<results>/datasets/{dataset}/responses.{measure}.parquet",
    output:
        fit="<results>/observations/{dataset}.{measure}/fit.parquet",
        exploratory="<results>/observations/{dataset}.{measure}/exploratory.parquet",
        held_out="<results>/observations/{dataset}.{measure}/held_out.parquet",
        counts="<results>/observations/{dataset}.{measure}/counts.csv",
    log:
        "<logs>/observations/{dataset}.{measure}.log",
    wildcard_constraints:
        dataset=any_of(name for name in config["datasets"] if name not in WHOLE),
    priority: 50
    conda:
        "../envs/plot.yaml"
    params:
        filters=filter_steps,
    script:
        "../workflow/scripts/datasets/observations.py"


rule observations_whole:
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        responses="<results>/datasets/{dataset}/responses.{measure}.parquet",
    output:
        fit="<results>/observations/{dataset}.{measure}/fit.parquet",
        counts="<results>/observations/{dataset}.{measure}/counts.csv",
    log:
        "<logs>/observations/{dataset}.{measure}.log",
    wildcard_constraints:
        dataset=any_of(WHOLE),
    priority: 50
    conda:
        "../envs/plot.yaml"
    params:
        filters=filter_steps,
    script:
        "../workflow/scripts/datasets/observations.py"


rule not_run:
    output:
        "<results>/not_run.csv",
    log:
        "<logs>/not_run.log",
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        datasets=[
            {"dataset": name, "measure": measure, "reason": NOT_RUN[name]}
            for name in NOT_RUN
            if name in ASKED
            for measure in config["datasets"][name]["measures"]
        ]
        + [
            {"dataset": each["label"], "measure": each["kind"], "reason": each["reason"]}
            for each in config["materials"]
            if each["reason"]
        ],
    script:
        "../workflow/scripts/datasets/not_run.py"
