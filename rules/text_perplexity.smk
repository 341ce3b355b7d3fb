# Perplexity of a text, including ends of sentences: networks on tokens, n-grams on words.


rule text_perplexity:
    "Surprisal of every token of a corpus under one network."
    input:
        tokens=lambda wildcards: study.tokens(wildcards.lm, wildcards.corpus)[0],
        info=lambda wildcards: study.tokens(wildcards.lm, wildcards.corpus)[1],
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/text_perplexity/{lm}/{corpus}.parquet",
    log:
        "<logs>/text_perplexity/{lm}/{corpus}.log",
    benchmark:
        "<benchmarks>/text_perplexity/{lm}/{corpus}.tsv"
    wildcard_constraints:
        lm=any_of(study.lms_that_are("network")),
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.text_perplexity.score",
        lm=lambda wildcards: study.opening(wildcards.lm),
        reset=lambda wildcards: config["recipes"][study.lms[wildcards.lm]["recipe"]].get(
            "reset", "never"
        ),
    script:
        "../workflow/scripts/run.py"


rule ngram_text_perplexity:
    "Surprisal of every word of a corpus under an n-gram model."
    input:
        text="<results>/corpora/{corpus}/text.parquet",
        arpa=lambda wildcards: study.ngram_file(wildcards.lm),
    output:
        "<results>/text_perplexity/{lm}/{corpus}.parquet",
    log:
        "<logs>/ngram_text_perplexity/{lm}/{corpus}.log",
    wildcard_constraints:
        lm=any_of(study.lms_that_are("ngram")),
    conda:
        "../envs/lm.yaml"
    params:
        main="evaluations.text_perplexity.score:score_ngrams",
    script:
        "../workflow/scripts/run.py"
