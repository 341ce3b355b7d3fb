# Reading-time corpora: words, responses → observations, in three partitions or in one.


rule train_tagger:
    "Train a tagger on a treebank, for datasets that name one (contract 1's `pos`)."
    input:
        treebank="<results>/treebanks/{treebank}.parquet",
    output:
        tagger="<results>/taggers/{treebank}.json",
        quality="<results>/taggers/{treebank}.csv",
    log:
        "<logs>/train_tagger/{treebank}.log",
    benchmark:
        "<benchmarks>/train_tagger/{treebank}.tsv"
    priority: 50
    conda:
        "../envs/reading.yaml"
    params:
        main="reading.tagger:train",
    script:
        "../workflow/scripts/run.py"


rule words:
    input:
        files=lambda wildcards: list(files.dataset(wildcards.dataset, "words").values()),
        tagger=lambda wildcards: files.tagger(wildcards.dataset),
        predictors=lambda wildcards: list(files.predictors(wildcards.dataset).values()),
    output:
        "<results>/datasets/{dataset}/words.parquet",
    log:
        "<logs>/words/{dataset}.log",
    priority: 50
    conda:
        "../envs/reading.yaml"
    params:
        roles=lambda wildcards: list(files.with_words(wildcards.dataset)["words"]),
        parser=lambda wildcards: files.with_words(wildcards.dataset)["parser"],
        options=lambda wildcards: files.with_words(wildcards.dataset).get("options", {}),
        measures=lambda wildcards: list(files.with_words(wildcards.dataset)["measures"]),
        tables=lambda wildcards: files.predictor_settings(wildcards.dataset),
    script:
        "../workflow/scripts/datasets/words.py"


rule responses:
    input:
        files=lambda wildcards: list(files.dataset(wildcards.dataset, "responses").values()),
        words="<results>/datasets/{dataset}/words.parquet",
    output:
        "<results>/datasets/{dataset}/responses.{measure}.parquet",
    log:
        "<logs>/responses/{dataset}.{measure}.log",
    priority: 50
    conda:
        "../envs/reading.yaml"
    params:
        roles=lambda wildcards: list(config["datasets"][wildcards.dataset]["responses"]),
        parser=lambda wildcards: config["datasets"][wildcards.dataset]["parser"],
        measure="{measure}",
        options=lambda wildcards: config["datasets"][wildcards.dataset].get("options", {}),
    script:
        "../workflow/scripts/datasets/responses.py"


rule fixations:
    "Read the fixations of a corpus, for LMs with contexts of readers."
    input:
        files=lambda wildcards: list(files.dataset(wildcards.dataset, "fixations").values()),
        words="<results>/datasets/{dataset}/words.parquet",
        responses=lambda wildcards: study.responses_file(
            wildcards.dataset, study.first_pass(wildcards.dataset)
        ),
    output:
        "<results>/datasets/{dataset}/fixations.parquet",
    log:
        "<logs>/fixations/{dataset}.log",
    priority: 50
    conda:
        "../envs/reading.yaml"
    params:
        roles=lambda wildcards: list(files.dataset(wildcards.dataset, "fixations")),
        parser=lambda wildcards: config["datasets"][wildcards.dataset]["parser"],
        measure=lambda wildcards: study.first_pass(wildcards.dataset),
        options=lambda wildcards: config["datasets"][wildcards.dataset].get("options", {}),
    script:
        "../workflow/scripts/datasets/fixations.py"


rule observations:
    "Filter responses as in the paper, count the removals, and partition them if requested."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        responses=lambda wildcards: study.responses_file(wildcards.dataset, wildcards.measure),
        surprisal=lambda wildcards: study.scored_by(wildcards.dataset),
    output:
        fit="<results>/observations/{dataset}.{measure}/fit.parquet",
        exploratory="<results>/observations/{dataset}.{measure}/exploratory.parquet",
        held_out="<results>/observations/{dataset}.{measure}/held_out.parquet",
        counts="<results>/observations/{dataset}.{measure}/counts.csv",
    log:
        "<logs>/observations/{dataset}.{measure}.log",
    wildcard_constraints:
        dataset=any_of(filter(study.partitioned, config["datasets"])),
    priority: 50
    conda:
        "../envs/plot.yaml"
    params:
        main="reading.observations",
        filters=lambda wildcards: study.filters(wildcards.dataset, wildcards.measure),
        event=lambda wildcards: study.event(wildcards.dataset, wildcards.measure),
        keep=lambda wildcards: regressions.own_columns(study, wildcards.dataset, wildcards.measure),
        response="{dataset}.{measure}",
        accept=lambda wildcards: study.accepted(wildcards.dataset),
        offset=lambda wildcards: study.offset(wildcards.dataset),
        language=lambda wildcards: study.language(wildcards.dataset),
    script:
        "../workflow/scripts/run.py"


rule observations_whole:
    "Filter responses as in the paper, count the removals, and partition them if requested."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        responses=lambda wildcards: study.responses_file(wildcards.dataset, wildcards.measure),
        surprisal=lambda wildcards: study.scored_by(wildcards.dataset),
    output:
        fit="<results>/observations/{dataset}.{measure}/fit.parquet",
        counts="<results>/observations/{dataset}.{measure}/counts.csv",
    log:
        "<logs>/observations/{dataset}.{measure}.log",
    wildcard_constraints:
        dataset=any_of(filterfalse(study.partitioned, config["datasets"])),
    priority: 50
    conda:
        "../envs/plot.yaml"
    params:
        main="reading.observations",
        filters=lambda wildcards: study.filters(wildcards.dataset, wildcards.measure),
        event=lambda wildcards: study.event(wildcards.dataset, wildcards.measure),
        keep=lambda wildcards: regressions.own_columns(study, wildcards.dataset, wildcards.measure),
        response="{dataset}.{measure}",
        accept=lambda wildcards: study.accepted(wildcards.dataset),
        offset=lambda wildcards: study.offset(wildcards.dataset),
        language=lambda wildcards: study.language(wildcards.dataset),
    script:
        "../workflow/scripts/run.py"


rule not_run:
    "List the datasets that were not run, with the reasons."
    output:
        "<results>/not_run.csv",
    log:
        "<logs>/not_run.log",
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.report.not_run",
        datasets=study.not_run_rows(),
    script:
        "../workflow/scripts/run.py"


# Quality report of a corpus: `./run check_<dataset>`.
rule check_dataset:
    "Write a quality report of a reading-time corpus, before anything is fitted to it."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        responses=lambda wildcards: study.responses_files(wildcards.dataset),
        unigram=lambda wildcards: regressions.check_unigram(
            study,
            wildcards.dataset,
            workflow.dag_settings.targets,
            workflow.is_main_process,
        ),
    output:
        products.in_report(
            study,
            "<results>/datasets/{dataset}/check.html",
            f"{EVALUATIONS}/dataset_check/page.rst",
            "{dataset}",
            category="Reading-time corpora",
        ),
        "<results>/datasets/{dataset}/check.csv",
        "<results>/datasets/{dataset}/check.svg",
        "<results>/datasets/{dataset}/check.png",
    log:
        "<logs>/check_dataset/{dataset}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.dataset_check.page",
        measures=lambda wildcards: study.read_measures(wildcards.dataset),
        dataset="{dataset}",
        label=lambda wildcards: config["datasets"][wildcards.dataset]["label"],
        about=lambda wildcards: files.about(wildcards.dataset),
        files=lambda wildcards: files.origins(wildcards.dataset),
        published=lambda wildcards: config["datasets"][wildcards.dataset].get(
            "published_counts", {}
        ),
    script:
        "../workflow/scripts/run.py"


for name in config["datasets"]:

    rule:
        name:
            f"check_{name}"
        input:
            f"<results>/datasets/{name}/check.html",
        localrule: True
