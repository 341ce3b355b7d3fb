# Text: download → filter → tokenizer → tokens.


def placed_file(path):
    """Return the file that the user has placed for a path, if there is one."""
    local = FILES.get(path, {}).get("local", "")
    return [local] if os.path.exists(local) else []


rule download:
    input:
        lambda wildcards: placed_file(f"<resources>/downloads/{wildcards.file}"),
    output:
        "<resources>/downloads/{file}",
    log:
        "<logs>/download/{file}.log",
    wildcard_constraints:
        file=any_of(re.escape(path.removeprefix("<resources>/downloads/")) for path in FILES),
    priority: 100
    retries: 2
    localrule: True
    conda:
        "../envs/plot.yaml"
    params:
        file=lambda wildcards: FILES[f"<resources>/downloads/{wildcards.file}"],
    script:
        "../workflow/scripts/download.py"


def corpus_files(wildcards):
    """Return the originals that a corpus is made from."""
    corpus = config["corpora"][wildcards.corpus]
    if "sources" in corpus:
        return [downloaded(row["url"]) for row in sources(wildcards.corpus)]
    return sorted(path for pattern in corpus["files"] for path in glob_files(pattern))


rule prepare_text:
    input:
        files=corpus_files,
        sources=lambda wildcards: config["corpora"][wildcards.corpus].get("sources", []),
    output:
        "<results>/corpora/{corpus}/text.parquet",
    log:
        "<logs>/prepare_text/{corpus}.log",
    wildcard_constraints:
        corpus=any_of(corpora_with("sources", "files")),
    priority: 50
    conda:
        "../envs/lm.yaml"
    params:
        exclude=lambda wildcards: config["corpora"][wildcards.corpus].get("exclude", []),
        reader=lambda wildcards: config["corpora"][wildcards.corpus].get("reader"),
        options=lambda wildcards: config["corpora"][wildcards.corpus].get("options", {}),
    script:
        "../workflow/scripts/prepare_text.py"


rule train_tokenizer:
    input:
        text=lambda wildcards: f"<results>/corpora/{config['tokenizers'][wildcards.tokenizer]['corpus']}/text.parquet",
    output:
        "<results>/tokenizers/{tokenizer}/tokenizer.json",
    log:
        "<logs>/train_tokenizer/{tokenizer}.log",
    conda:
        "../envs/lm.yaml"
    threads: 2
    params:
        vocabulary=lambda wildcards: config["tokenizers"][wildcards.tokenizer]["vocabulary"],
    script:
        "../workflow/scripts/train_tokenizer.py"


def tokenizer_file(tokenizer):
    """Return the tokenizer.json of a tokenizer that was trained here or is given."""
    if "file" in config["tokenizers"][tokenizer]:
        return downloaded(config["tokenizers"][tokenizer]["file"]["url"])
    return f"<results>/tokenizers/{tokenizer}/tokenizer.json"


rule tokenize_text:
    input:
        text="<results>/corpora/{corpus}/text.parquet",
        tokenizer=lambda wildcards: tokenizer_file(wildcards.tokenizer),
    output:
        tokens="<results>/corpora/{corpus}/tokens/{tokenizer}.bin",
        info="<results>/corpora/{corpus}/tokens/{tokenizer}.json",
    log:
        "<logs>/tokenize_text/{corpus}.{tokenizer}.log",
    conda:
        "../envs/lm.yaml"
    threads: 2
    script:
        "../workflow/scripts/tokenize_text.py"


rule pretokenized:
    input:
        tokens=lambda wildcards: pretokenized_file(wildcards.corpus),
        tokenizer=lambda wildcards: tokenizer_file(wildcards.tokenizer),
    output:
        "<results>/corpora/{corpus}/pretokenized/{tokenizer}.json",
    log:
        "<logs>/pretokenized/{corpus}.{tokenizer}.log",
    conda:
        "../envs/lm.yaml"
    script:
        "../workflow/scripts/pretokenized.py"


def pretokenized_file(corpus):
    """Return the token file of a corpus that is published as tokens."""
    file = config["corpora"][corpus]["pretokenized"]
    return downloaded(file["url"], file.get("byte_range"))


def token_stream(corpus, tokenizer):
    """Return the token file and its description, tokenised here or published as tokens."""
    if "pretokenized" in config["corpora"][corpus]:
        return (
            pretokenized_file(corpus),
            f"<results>/corpora/{corpus}/pretokenized/{tokenizer}.json",
        )
    tokens = f"<results>/corpora/{corpus}/tokens/{tokenizer}"
    return f"{tokens}.bin", f"{tokens}.json"
