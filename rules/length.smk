# Perplexity of the same masked tokens in segments of several lengths.


rule length_perplexity:
    "Nats of the same masked tokens, read in segments of several lengths."
    input:
        text="<results>/corpora/{corpus}/text.parquet",
        model=lambda wildcards: batches.network(study, wildcards.lm),
    output:
        "<results>/length/{lm}/{corpus}.{lengths}.{documents}.{share}.{seed}.parquet",
    log:
        "<logs>/length_perplexity/{lm}/{corpus}.{lengths}.{documents}.{share}.{seed}.log",
    benchmark:
        "<benchmarks>/length_perplexity/{lm}/{corpus}.{lengths}.{documents}.{share}.{seed}.tsv"
    wildcard_constraints:
        lengths=r"\d+(-\d+)+",
        documents=r"\d+|all",
        share=r"0_\d+",
        seed=r"\d+",
    conda:
        "../envs/lm.yaml"
    threads: config["threads"]["surprisal"]
    params:
        main="evaluations.length.score:score_as_named",
        lm=lambda wildcards: study.opening(wildcards.lm),
    script:
        "../workflow/scripts/run.py"
