# The frequency baseline: a unigram model by KenLM.


rule estimate_unigrams:
    input:
        text=lambda wildcards: f"<results>/corpora/{config['unigrams'][wildcards.unigram]['corpus']}/text.parquet",
    output:
        "<results>/unigrams/{unigram}.arpa",
    log:
        "<logs>/estimate_unigrams/{unigram}.log",
    conda:
        "../envs/kenlm.yaml"
    params:
        memory=lambda wildcards: config["unigrams"][wildcards.unigram].get("memory", "1G"),
    script:
        "../workflow/scripts/estimate_unigrams.py"


rule unigram_surprisal:
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        arpa="<results>/unigrams/{unigram}.arpa",
    output:
        "<results>/surprisal/{unigram}/{dataset}.parquet",
    log:
        "<logs>/unigram_surprisal/{unigram}/{dataset}.log",
    conda:
        "../envs/plot.yaml"
    script:
        "../workflow/scripts/unigram_surprisal.py"
