# The frequency baseline: KenLM n-grams (default order 1) or a list of counts; and n-grams of any order as
# language models.


rule estimate_ngrams:
    "Estimate an n-gram model of a corpus with KenLM (modified Kneser-Ney)."
    input:
        text=lambda wildcards: study.unigram_text(wildcards.unigram),
        passages=lambda wildcards: ancient(
            files.passages(config["unigrams"][wildcards.unigram]["corpus"])
        ),
    output:
        "<results>/unigrams/{unigram}.arpa",
    log:
        "<logs>/estimate_ngrams/{unigram}.log",
    wildcard_constraints:
        unigram=any_of(study.unigrams_with("corpus")),
    conda:
        "../envs/kenlm.yaml"
    params:
        main="scoring.estimated",
        memory=lambda wildcards: config["unigrams"][wildcards.unigram].get("memory", "1G"),
        order=lambda wildcards: config["unigrams"][wildcards.unigram].get("order", 1),
    script:
        "../workflow/scripts/run.py"


rule ngram_surprisal:
    "Surprisal of every word of a dataset under an n-gram model (contract 3)."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        arpa="<results>/unigrams/{unigram}.arpa",
    output:
        "<results>/surprisal/{unigram}/{dataset}.parquet",
        ledger="<results>/surprisal/{unigram}/{dataset}.ledger.csv",
    log:
        "<logs>/ngram_surprisal/{unigram}/{dataset}.log",
    wildcard_constraints:
        unigram=any_of(study.unigrams_with("corpus")),
    conda:
        "../envs/kenlm.yaml"
    params:
        main="scoring.ngram_surprisal",
        lm="{unigram}",
        dataset="{dataset}",
        accept=lambda wildcards: study.accepted(wildcards.dataset),
    script:
        "../workflow/scripts/run.py"


rule frequency_surprisal:
    "Unigram surprisal of every word from a list of counts (contract 3)."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        counts=lambda wildcards: files.counts(wildcards.unigram),
    output:
        "<results>/surprisal/{unigram}/{dataset}.parquet",
        ledger="<results>/surprisal/{unigram}/{dataset}.ledger.csv",
    log:
        "<logs>/frequency_surprisal/{unigram}/{dataset}.log",
    wildcard_constraints:
        unigram=any_of(study.unigrams_with("counts")),
    conda:
        "../envs/lm.yaml"
    params:
        main="scoring.frequency",
        columns=lambda wildcards: config["unigrams"][wildcards.unigram]["columns"],
        lm="{unigram}",
        dataset="{dataset}",
        accept=lambda wildcards: study.accepted(wildcards.dataset),
    script:
        "../workflow/scripts/run.py"


rule estimate_ngram_lm:
    "Estimate an n-gram model of a corpus with KenLM (modified Kneser-Ney)."
    input:
        text=lambda wildcards: study.ngram_text(wildcards.lm),
        passages=lambda wildcards: ancient(
            files.passages(study.lms[wildcards.lm]["ngram"]["corpus"])
        ),
    output:
        "<results>/lms/{lm}/ngrams.arpa",
    log:
        "<logs>/estimate_ngram_lm/{lm}.log",
    wildcard_constraints:
        lm=any_of(study.lms_that_are("ngram")),
    conda:
        "../envs/kenlm.yaml"
    params:
        **study.ngram_parameters("order", "memory", "prune", "text_rule", "distance"),
        main="scoring.estimated",
    script:
        "../workflow/scripts/run.py"


rule ngram_lm_surprisal:
    "Surprisal of every word of a dataset under an n-gram model (contract 3)."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        arpa=lambda wildcards: study.ngram_file(wildcards.lm),
    output:
        "<results>/surprisal/{lm}/{dataset}.parquet",
        ledger="<results>/surprisal/{lm}/{dataset}.ledger.csv",
    log:
        "<logs>/ngram_lm_surprisal/{lm}/{dataset}.log",
    wildcard_constraints:
        lm=any_of(study.lms_that_are("ngram")),
    conda:
        "../envs/kenlm.yaml"
    params:
        **study.ngram_parameters("context", "bos", "text_rule"),
        main="scoring.ngram_surprisal",
        lm="{lm}",
        dataset="{dataset}",
        accept=lambda wildcards: study.accepted(wildcards.dataset, wildcards.lm),
        require_unseen=True,
    script:
        "../workflow/scripts/run.py"


rule train_cdlm:
    "Train a combination of an n-gram model with longer-distance word effects."
    input:
        unpack(lambda wildcards: regressions.cdlm_files(study, wildcards.lm)),
        passages=lambda wildcards: ancient(regressions.cdlm_passages(study, wildcards.lm)),
    output:
        "<results>/lms/{lm}/cdlm.npz",
    log:
        "<logs>/train_cdlm/{lm}.log",
    benchmark:
        "<benchmarks>/train_cdlm/{lm}.tsv"
    wildcard_constraints:
        lm=any_of(regressions.cdlms(study)),
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["train"]
    params:
        main="scoring.train_cdlm",
        settings=lambda wildcards: regressions.cdlm_settings(study, wildcards.lm),
        text_rule="displayed",
    script:
        "../workflow/scripts/run.py"
