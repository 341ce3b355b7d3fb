# Language models: training → surprisal of every word; or a table of surprisals. Checkpoints of a training
# are LMs as well.

from recency.networks.hub import SUFFIX
from recency.workflow.plan.files import HUB


# A checkpoint of the Hub: the list of its files, which are next to it, is the input of jobs.
rule hub_checkpoint:
    output:
        f"{HUB}/{{checkpoint}}{SUFFIX}",
    log:
        "<logs>/hub_checkpoint/{checkpoint}.log",
    wildcard_constraints:
        checkpoint=any_of(
            path.removeprefix(f"{HUB}/").removesuffix(SUFFIX) for path in files.of_hub
        ),
    priority: 100
    retries: 2
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        checkpoint=lambda wildcards: files.of_hub[f"{HUB}/{wildcards.checkpoint}{SUFFIX}"][
            "checkpoint"
        ],
        allow_pickle=lambda wildcards: files.of_hub[f"{HUB}/{wildcards.checkpoint}{SUFFIX}"][
            "allow_pickle"
        ],
    script:
        "../workflow/scripts/lms/hub_checkpoint.py"


rule train:
    input:
        lambda wildcards: files.fetched(bias=study.lms[wildcards.lm]["bias"]),
        tokens=lambda wildcards: study.tokens(wildcards.lm)[0],
        info=lambda wildcards: study.tokens(wildcards.lm)[1],
        tokenizer=lambda wildcards: files.tokenizer(study.lms[wildcards.lm]["tokenizer"]),
        held_out=lambda wildcards: files.held_out(study.lms[wildcards.lm]),
        vectors=lambda wildcards: files.vectors(study.lms[wildcards.lm]),
        # They change no weight, so that new ones train no finished LM again.
        passages=lambda wildcards: ancient(files.passages(study.lms[wildcards.lm]["corpus"])),
        held_out_passages=lambda wildcards: ancient(
            files.passages(files.held_out_corpus(study.lms[wildcards.lm]))
        ),
    output:
        config="<results>/lms/{lm}/config.json",
        weights="<results>/lms/{lm}/model.safetensors",
        tokenizer="<results>/lms/{lm}/tokenizer.json",
        special_tokens="<results>/lms/{lm}/tokenizer_config.json",
        losses="<results>/lms/{lm}/training.csv",
    log:
        "<logs>/train/{lm}.log",
    benchmark:
        "<benchmarks>/train/{lm}.tsv"
    wildcard_constraints:
        lm=any_of(study.lms_that_are("trained")),
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["train"]
    params:
        lm="{lm}",
        architecture=lambda wildcards: study.architecture(wildcards.lm),
        bias=lambda wildcards: study.lms[wildcards.lm]["bias"],
        recipe=lambda wildcards: study.recipe(wildcards.lm),
        seed=lambda wildcards: study.lms[wildcards.lm]["seed"],
    script:
        "../workflow/scripts/lms/train.py"


rule checkpoint:
    input:
        model=lambda wildcards: study.weights(study.trained_as(wildcards.lm)),
        losses=lambda wildcards: f"<results>/lms/{study.trained_as(wildcards.lm)}/training.csv",
    output:
        config="<results>/lms/{lm}/config.json",
        weights="<results>/lms/{lm}/model.safetensors",
        tokenizer="<results>/lms/{lm}/tokenizer.json",
        special_tokens="<results>/lms/{lm}/tokenizer_config.json",
    log:
        "<logs>/checkpoint/{lm}.log",
    wildcard_constraints:
        lm=any_of(study.lms_that_are("kept")),
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        of=lambda wildcards: study.trained_as(wildcards.lm),
        step=lambda wildcards: study.lms[wildcards.lm]["step"],
    script:
        "../workflow/scripts/lms/checkpoint.py"


# One job, which opens the LM once, scores all datasets that occur in the same experiments.
for batch in batches.datasets(study):

    rule:
        name:
            batch.rule("surprisal")
        input:
            **batches.scoring_files(study),
            words=[f"<results>/datasets/{name}/words.parquet" for name in batch.members],
            unigram=batches.frequencies(study, batch),
            fixations=batches.fixations(study, batch),
            word_list=lambda wildcards: files.word_list(wildcards.lm),
        output:
            surprisal=[f"<results>/surprisal/{{lm}}/{name}.parquet" for name in batch.members],
            ledger=[f"<results>/surprisal/{{lm}}/{name}.ledger.csv" for name in batch.members],
        log:
            f"<logs>/surprisal/{{lm}}/{batch.name}.log",
        benchmark:
            f"<benchmarks>/surprisal/{{lm}}/{batch.name}.tsv"
        wildcard_constraints:
            lm=batches.scored_alone(study) if batch.is_single else any_of(batch.lms),
        conda:
            "../envs/lm.yaml"
        threads: config["threads"]["surprisal"]
        params:
            **batches.scoring(study),
            main="scoring.scored",
            datasets=list(batch.members),
            accept=batches.accepted(study, batch),
        script:
            "../workflow/scripts/run.py"


rule surprisal_table:
    "Surprisal of every word of a dataset from a table of surprisals (contract 3)."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        table=lambda wildcards: files.surprisals(wildcards.lm, wildcards.dataset),
    output:
        "<results>/surprisal/{lm}/{dataset}.parquet",
        ledger="<results>/surprisal/{lm}/{dataset}.ledger.csv",
    log:
        "<logs>/surprisal_table/{lm}/{dataset}.log",
    wildcard_constraints:
        lm=any_of(study.lms_that_are("table")),
    priority: 50
    conda:
        "../envs/reading.yaml"
    params:
        main="scoring.surprisal_table",
        settings=lambda wildcards: study.table_settings(wildcards.lm, wildcards.dataset),
        accept=lambda wildcards: study.accepted(wildcards.dataset, wildcards.lm),
    script:
        "../workflow/scripts/run.py"
