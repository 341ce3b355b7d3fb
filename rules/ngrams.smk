# The frequency baseline: n-grams by KenLM (order 1 unless the config says more), or a list of counts.


rule estimate_ngrams:
    input:
        text=lambda wildcards: study.unigram_text(wildcards.unigram),
    output:
        "<results>/unigrams/{unigram}.arpa",
    log:
        "<logs>/estimate_ngrams/{unigram}.log",
    wildcard_constraints:
        unigram=any_of(study.unigrams_with("corpus")),
    conda:
        "../envs/kenlm.yaml"
    params:
        memory=lambda wildcards: config["unigrams"][wildcards.unigram].get("memory", "1G"),
        order=lambda wildcards: config["unigrams"][wildcards.unigram].get("order", 1),
    script:
        "../workflow/scripts/ngrams/estimate_ngrams.py"


rule ngram_surprisal:
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
    script:
        "../workflow/scripts/ngrams/ngram_surprisal.py"


rule frequency_surprisal:
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
        columns=lambda wildcards: config["unigrams"][wildcards.unigram]["columns"],
    script:
        "../workflow/scripts/ngrams/frequency_surprisal.py"
