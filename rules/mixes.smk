# Interpolated LMs: weights by EM on held-out text, and surprisal of words and texts.


rule mix_shares:
    "Shares of interpolated LMs, by EM on held-out text."
    input:
        unpack(lambda wildcards: lm_checks.Mix(study, wildcards.lm).held_out()),
    output:
        "<results>/lms/{lm}/shares.json",
    log:
        "<logs>/mix_shares/{lm}.log",
    wildcard_constraints:
        lm=any_of(study.lms_that_are("mix")),
    conda:
        "../envs/plot.yaml"
    params:
        main="scoring.mix:shares",
        lms=lambda wildcards: lm_checks.Mix(study, wildcards.lm).lms,
        cache=lambda wildcards: study.lms[wildcards.lm].get("cache"),
        given=lambda wildcards: study.lms[wildcards.lm].get("shares"),
        unknown_as=lambda wildcards: lm_checks.Mix(study, wildcards.lm).unknown_as,
    script:
        "../workflow/scripts/run.py"


rule mix_surprisal:
    "Surprisal of every word of a dataset under a mixture of LMs (contract 3)."
    input:
        unpack(lambda wildcards: lm_checks.Mix(study, wildcards.lm).words(wildcards.dataset)),
        shares="<results>/lms/{lm}/shares.json",
    output:
        "<results>/surprisal/{lm}/{dataset}.parquet",
        ledger="<results>/surprisal/{lm}/{dataset}.ledger.csv",
    log:
        "<logs>/mix_surprisal/{lm}/{dataset}.log",
    wildcard_constraints:
        lm=any_of(study.lms_that_are("mix")),
    conda:
        "../envs/plot.yaml"
    params:
        main="scoring.mix:surprisal",
        lms=lambda wildcards: lm_checks.Mix(study, wildcards.lm).lms,
        cache=lambda wildcards: study.lms[wildcards.lm].get("cache"),
        lm="{lm}",
        dataset="{dataset}",
        accept=lambda wildcards: study.accepted(wildcards.dataset, wildcards.lm),
    script:
        "../workflow/scripts/run.py"


rule mix_text_perplexity:
    "Surprisal of every word of a corpus under a mixture of LMs."
    input:
        unpack(lambda wildcards: lm_checks.Mix(study, wildcards.lm).text(wildcards.corpus)),
        shares="<results>/lms/{lm}/shares.json",
    output:
        "<results>/text_perplexity/{lm}/{corpus}.parquet",
    log:
        "<logs>/mix_text_perplexity/{lm}/{corpus}.log",
    wildcard_constraints:
        lm=any_of(study.lms_that_are("mix")),
    conda:
        "../envs/lm.yaml"
    params:
        main="evaluations.text_perplexity.score:score_mix",
        lms=lambda wildcards: lm_checks.Mix(study, wildcards.lm).lms,
        cache=lambda wildcards: study.lms[wildcards.lm].get("cache"),
        unknown_as=lambda wildcards: lm_checks.Mix(study, wildcards.lm).unknown_as,
    script:
        "../workflow/scripts/run.py"


# Weights of LMs with different tokens are estimated on the words of a corpus, one text per document.
rule corpus_words:
    "A corpus's words in the format of a dataset."
    input:
        text="<results>/corpora/{corpus}/text.parquet",
    output:
        "<results>/mixes/{corpus}/words.parquet",
    log:
        "<logs>/corpus_words/{corpus}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="scoring.mix:write_words",
    script:
        "../workflow/scripts/run.py"


rule corpus_surprisal:
    "Surprisal of every word of some datasets under one language model (contract 3)."
    input:
        **batches.scoring_files(study),
        words=["<results>/mixes/{corpus}/words.parquet"],
    output:
        surprisal=["<results>/mixes/{corpus}/{lm}.parquet"],
        ledger=["<results>/mixes/{corpus}/{lm}.ledger.csv"],
    log:
        "<logs>/corpus_surprisal/{corpus}/{lm}.log",
    wildcard_constraints:
        lm=any_of(study.lms_that_are("network")),
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        **batches.scoring(study),
        main="scoring.scored",
        datasets=lambda wildcards: [wildcards.corpus],
    script:
        "../workflow/scripts/run.py"


rule corpus_ngram_surprisal:
    "Surprisal of every word of a dataset under an n-gram model (contract 3)."
    input:
        words="<results>/mixes/{corpus}/words.parquet",
        arpa=lambda wildcards: study.ngram_file(wildcards.lm),
    output:
        "<results>/mixes/{corpus}/{lm}.parquet",
        ledger="<results>/mixes/{corpus}/{lm}.ledger.csv",
    log:
        "<logs>/corpus_ngram_surprisal/{corpus}/{lm}.log",
    wildcard_constraints:
        lm=any_of(study.lms_that_are("ngram")),
    conda:
        "../envs/kenlm.yaml"
    params:
        **study.ngram_parameters("context", "bos", "text_rule"),
        main="scoring.ngram_surprisal",
    script:
        "../workflow/scripts/run.py"
