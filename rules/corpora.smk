# Text: download → filter → tokenizer → tokens.


rule download:
    output:
        "<resources>/downloads/{file}",
    log:
        "<logs>/download/{file}.log",
    wildcard_constraints:
        file=start.named_files(study),
    priority: 100
    retries: 2
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        file=lambda wildcards: files.described[f"<resources>/downloads/{wildcards.file}"],
    script:
        "../workflow/scripts/corpora/download.py"


rule prepare_text:
    "Convert a corpus's original files to text, one row per document."
    input:
        files=lambda wildcards: study.files.of_corpus(wildcards.corpus),
        sources=lambda wildcards: files.table_of_sources(wildcards.corpus),
    output:
        "<results>/corpora/{corpus}/text.parquet",
    log:
        "<logs>/prepare_text/{corpus}.log",
    wildcard_constraints:
        corpus=any_of(study.corpora_with("sources", "files", "file")),
    priority: 50
    conda:
        "../envs/lm.yaml"
    params:
        main="text.prepare",
        exclude=lambda wildcards: config["corpora"][wildcards.corpus].get("exclude", []),
        reader=lambda wildcards: config["corpora"][wildcards.corpus].get("reader"),
        options=lambda wildcards: config["corpora"][wildcards.corpus].get("options", {}),
        documents=lambda wildcards: config["corpora"][wildcards.corpus].get("documents"),
    script:
        "../workflow/scripts/run.py"


# Hashes that tell whether a text was trained on, once per text (recency.passages).
rule passages:
    "Hash the passages of a text, to compare evaluated texts with it."
    input:
        text="<results>/corpora/{corpus}/text.parquet",
    output:
        "<results>/corpora/{corpus}/passages.npz",
    log:
        "<logs>/passages/{corpus}.log",
    conda:
        "../envs/lm.yaml"
    params:
        main="passages",
    script:
        "../workflow/scripts/run.py"


rule train_tokenizer:
    "Train a tokenizer on a corpus's text: byte-level BPE, or words."
    input:
        text=lambda wildcards: f"<results>/corpora/{config['tokenizers'][wildcards.tokenizer]['corpus']}/text.parquet",
        also=lambda wildcards: files.also_of(wildcards.tokenizer),
    output:
        "<results>/tokenizers/{tokenizer}/tokenizer.json",
    log:
        "<logs>/train_tokenizer/{tokenizer}.log",
    conda:
        "../envs/lm.yaml"
    threads: 2
    params:
        main="text.tokenizer",
        settings=lambda wildcards: files.tokenizer_settings(wildcards.tokenizer),
    script:
        "../workflow/scripts/run.py"


rule tokenize_text:
    "Tokenize a corpus into one stream of tokens, which training reads through a memory map."
    input:
        text="<results>/corpora/{corpus}/text.parquet",
        tokenizer=lambda wildcards: files.tokenizer(wildcards.tokenizer),
    output:
        tokens="<results>/corpora/{corpus}/tokens/{tokenizer}.bin",
        info="<results>/corpora/{corpus}/tokens/{tokenizer}.json",
    log:
        "<logs>/tokenize_text/{corpus}.{tokenizer}.log",
    conda:
        "../envs/lm.yaml"
    threads: 2
    params:
        main="text.tokens",
    script:
        "../workflow/scripts/run.py"


rule pretokenized:
    "Check a tokenized corpus, such as the pre-shuffled Pile (Biderman et al. 2023)."
    input:
        tokens=lambda wildcards: files.pretokenized(wildcards.corpus),
        tokenizer=lambda wildcards: files.tokenizer(wildcards.tokenizer),
    output:
        "<results>/corpora/{corpus}/pretokenized/{tokenizer}.json",
    log:
        "<logs>/pretokenized/{corpus}.{tokenizer}.log",
    conda:
        "../envs/lm.yaml"
    params:
        main="text.pretokenized",
    script:
        "../workflow/scripts/run.py"
