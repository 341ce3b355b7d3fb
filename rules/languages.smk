# LMs and unigram models of several languages: each dataset is scored by the model of its language.


rule surprisal_by_language:
    "A dataset's surprisal by the LM of its language."
    input:
        surprisal=lambda wildcards: study.surprisal_in_language(
            "lms", wildcards.lm, wildcards.dataset, ".parquet"
        ),
        scores_ledger=lambda wildcards: study.surprisal_in_language(
            "lms", wildcards.lm, wildcards.dataset, ".ledger.csv"
        ),
    output:
        "<results>/surprisal/{lm}/{dataset}.parquet",
        ledger="<results>/surprisal/{lm}/{dataset}.ledger.csv",
    log:
        "<logs>/surprisal_by_language/{lm}/{dataset}.log",
    wildcard_constraints:
        lm=any_of(study.lms_that_are("by_language")),
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        main="scoring.results:copy_scores",
    script:
        "../workflow/scripts/run.py"


rule unigram_by_language:
    "A dataset's surprisal by the LM of its language."
    input:
        surprisal=lambda wildcards: study.surprisal_in_language(
            "unigrams", wildcards.unigram, wildcards.dataset, ".parquet"
        ),
        scores_ledger=lambda wildcards: study.surprisal_in_language(
            "unigrams", wildcards.unigram, wildcards.dataset, ".ledger.csv"
        ),
    output:
        "<results>/surprisal/{unigram}/{dataset}.parquet",
        ledger="<results>/surprisal/{unigram}/{dataset}.ledger.csv",
    log:
        "<logs>/unigram_by_language/{unigram}/{dataset}.log",
    wildcard_constraints:
        unigram=any_of(study.unigrams_with("languages")),
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        main="scoring.results:copy_scores",
    script:
        "../workflow/scripts/run.py"


rule wordfreq_surprisal:
    "Unigram surprisal of every word from the package wordfreq (contract 3)."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
    output:
        "<results>/surprisal/{unigram}/{dataset}.parquet",
        ledger="<results>/surprisal/{unigram}/{dataset}.ledger.csv",
    log:
        "<logs>/wordfreq_surprisal/{unigram}/{dataset}.log",
    wildcard_constraints:
        unigram=any_of(study.unigrams_with("wordfreq")),
    conda:
        "../envs/wordfreq.yaml"
    params:
        main="scoring.wordfreq_surprisal",
        language=lambda wildcards: config["unigrams"][wildcards.unigram]["wordfreq"],
        lm="{unigram}",
        dataset="{dataset}",
        accept=lambda wildcards: study.accepted(wildcards.dataset),
    script:
        "../workflow/scripts/run.py"
