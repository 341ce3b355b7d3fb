"""Stand-ins for what the papers' studies read and cannot be had here: true shapes, small networks.

Files have the names, layouts and columns of their originals, and the open study's English as their text. The
tokens of the Pile have their true size (4.2 GB) and reading times their true numbers of readers and words;
texts are shorter, since costs of long ones are measured on their own (rehearsal.py).
"""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import checkout
import numpy as np

checkout.use("tests")

GPT2 = "607a30d783dfa663caf39e06633721c8d4cfcd7e"
PILE = (
    "huggingface.co/datasets/EleutherAI/pile-standard-pythia-preshuffled/resolve/"
    "bac79b6820adb34e451f9a02cc1dc7cd920febf0/document-00000-of-00020.bin"
)
ROBERTA = (
    "huggingface.co/FacebookAI/roberta-base/resolve/"
    "e2da8e2f811d1448a5b465c236feacd80ffbac7b/tokenizer.json"
)


# Text


def pieces(text: Path, words: int = 800) -> Iterator[str]:
    """Yield the documents of a prepared text in pieces of so many words, over and over."""
    import pyarrow.parquet as pq

    while True:
        with pq.ParquetFile(text) as file:
            for batch in file.iter_batches(columns=["text"], batch_size=100):
                for document in batch.column("text").to_pylist():
                    split = document.split()
                    for at in range(0, len(split), words):
                        yield " ".join(split[at : at + words])


def parquet(path: Path, texts: Iterable[str]) -> Path:
    """Write documents as a Parquet file with a column `text`, as those of the Hub are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema({"text": pa.string()})
    with pq.ParquetWriter(path, schema, compression="snappy") as sink:
        held: list[str] = []
        for text in texts:
            held.append(text)
            if len(held) == 1000:
                sink.write_table(pa.table({"text": held}, schema=schema), row_group_size=1000)
                held.clear()
        if held:
            sink.write_table(pa.table({"text": held}, schema=schema))
    return path


def token_file(path: Path, size: int, vocabulary: int = 50_277) -> Path:
    """Write this many bytes of tokens of two bytes; id 0 ends documents."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(1)
    with path.open("wb") as file:
        for start in range(0, size // 2, 1 << 24):
            many = min(1 << 24, size // 2 - start)
            ids = vocabulary * draw.random(many, dtype=np.float32) ** 4
            file.write(np.minimum(ids, vocabulary - 1).astype("<u2").tobytes())
    return path


# Other files


def articles(texts: Iterator[str], many: int, words: int = 3_600) -> Iterator[str]:
    """Yield lines of articles as WikiText has them: a title between blank lines, then paragraphs.

    They have at least `words` words, the mean of its validation set's.
    """
    for number in range(many):
        yield from ("", f" = Article {number} = ", "")
        left = words
        while left > 0:
            text = next(texts)
            yield f" {text}"
            left -= len(text.split())


def babylm(path: Path, texts: Iterator[str]) -> Path:
    """Write the archive of 2023: a folder for each track, a file for each source."""
    sources = "aochildes bnc_spoken cbt children_stories gutenberg open_subtitles qed simple_wikipedia switchboard wikipedia"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for track, many in (("10M", 12), ("100M", 24)):
            for source in sources.split():
                name = f"babylm_data/babylm_{track}/{source}.train"
                archive.writestr(name, "\n".join(islice(texts, many)) + "\n")
    return path


def roberta_tokenizer(path: Path, texts: Iterator[str]) -> Path:
    """Write a byte-level BPE with RoBERTa's special tokens and template, of 8,000 entries."""
    from tokenizers import ByteLevelBPETokenizer, processors

    path.parent.mkdir(parents=True, exist_ok=True)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(islice(texts, 500), 8_000, special_tokens=special)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.save(str(path))
    return path


def glue(folder: Path, texts: Iterator[str]) -> None:
    """Write the tasks that have no file here, in GLUE's layout."""
    sentences = [" ".join(text.split()[:20]) for text in islice(texts, 120)]
    columns = {
        "MNLI": (
            "sentence1",
            "sentence2",
            "gold_label",
            ["contradiction", "neutral", "entailment"],
        ),
        "QNLI": ("question", "sentence", "label", ["not_entailment", "entailment"]),
        "QQP": ("question1", "question2", "is_duplicate", ["0", "1"]),
    }
    for task, (first, second, label, labels) in columns.items():
        (folder / task).mkdir(parents=True, exist_ok=True)
        for file, rows in (("train", 120), ("dev_matched" if task == "MNLI" else "dev", 40)):
            lines = [f"index\t{first}\t{second}\t{label}"]
            for row in range(rows):
                pair = f"{sentences[row]}\t{sentences[(row * 7) % rows]}"
                lines.append(f"{row}\t{pair}\t{labels[row % len(labels)]}")
            (folder / task / f"{file}.tsv").write_text("\n".join(lines) + "\n")


def gpt2(folder: Path, texts: Iterator[str]) -> None:
    """Write a checkpoint in the form of `gpt2`'s: byte-level BPE, its context, a narrow network."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    torch.manual_seed(1)
    end = "<|endoftext|>"
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(islice(texts, 500), 8_000, special_tokens=[end])
    special = {"bos_token": end, "eos_token": end, "unk_token": end}
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer._tokenizer, **special)
    made.save_pretrained(folder)
    shape = {"n_layer": 4, "n_head": 12, "n_embd": 96, "n_positions": 1024}
    ends = {"bos_token_id": made.bos_token_id, "eos_token_id": made.eos_token_id}
    config = GPT2Config(vocab_size=len(made), **shape, **ends)
    GPT2LMHeadModel(config).save_pretrained(folder)


# The study


def write(project: Path, mirror: Path, text: Path) -> None:
    """Write all stand-ins: to a folder by URL, to the project's `data/supplied`; and set their checksums."""
    import corpora_as_published

    texts = pieces(text)
    supplied = project / "data" / "supplied"
    supplied.mkdir(parents=True, exist_ok=True)
    for corpus in (
        corpora_as_published.brown,
        corpora_as_published.geco,
        corpora_as_published.dundee,
    ):
        corpus(supplied)
    parquet(supplied / "pile" / "text.parquet", islice(texts, 250))
    parquet(supplied / "pile" / "validation.parquet", islice(texts, 60))
    glue(supplied / "glue", texts)
    sources = project / "data" / "sources"
    for url in _urls(sources / "openwebtext.tsv"):
        made = parquet(mirror / url, islice(texts, 150))
        _pin(sources / "openwebtext.tsv", url, made)
    for url in _urls(sources / "babylm.tsv"):
        _pin(sources / "babylm.tsv", url, babylm(mirror / url, texts))
    for url in _urls(sources / "wikitext103.tsv"):
        _pin(sources / "wikitext103.tsv", url, parquet(mirror / url, articles(texts, 60)))
    roberta_tokenizer(mirror / ROBERTA, texts)
    gpt2(mirror / "gpt2", texts)
    token_file(mirror / PILE, 1_024_000 * 2_049 * 2)


def _urls(table: Path) -> list[str]:
    rows = table.read_text().splitlines()[1:]
    return [row.split("\t")[0].removeprefix("https://") for row in rows]


def _pin(table: Path, url: str, path: Path) -> None:
    """Replace a file's SHA-256 and size in a table of sources, where it has them."""
    lines = table.read_text().splitlines()
    for number, line in enumerate(lines):
        address, digest, size, *rest = line.split("\t")
        if address == f"https://{url}":
            digest = digest and hashlib.sha256(path.read_bytes()).hexdigest()
            size = size and str(path.stat().st_size)
            lines[number] = "\t".join([address, digest, size, *rest])
    table.write_text("\n".join(lines) + "\n")


#: Tokens that a masked LM of 2,048 sees in the rehearsal.
MASKED_CONTEXT = 64


def overlay(config: dict[str, Any]) -> dict[str, Any]:
    """Return what is laid over the papers' studies: networks of width 8 per head, trained for two steps.

    Contexts, vocabularies, biases, datasets, measures, designs and draws stay as they are, except that masked
    LMs of 2,048 tokens have one layer and 64: each word is an input of its own, ten hours of attention per LM.
    """
    small: dict[str, Any] = {"study": "rehearsal", "scales": {"paper": {"disk_gb": 20}}}
    small["architectures"] = {
        name: {"width": 8 * shape["heads"], "feed_forward": 16, "layers": min(shape["layers"], 4)}
        for name, shape in config["architectures"].items()
        if {"heads", "width"} <= shape.keys()
    }
    for name, shape in config["architectures"].items():
        if shape["family"] == "roberta" and shape["context"] == 2048:
            small["architectures"][name] |= {"layers": 1, "context": MASKED_CONTEXT}
    small["recipes"] = {
        name: _recipe(recipe)
        for name, recipe in config["recipes"].items()
        if recipe["device"] == "cuda"
    }
    small["tokenizers"] = {
        name: {"vocabulary": 8192} for name in config["tokenizers"] if name.startswith("babylm")
    }
    small["unigrams"] = {"openwebtext": {"memory": "1G"}}
    small["fine_tuning"] = {"epochs": 1, "examples": 60, "seeds": [1], "context": MASKED_CONTEXT}
    small["probe"] = {"rank": 8, "epochs": 1, "sentences": 400}
    small["searches"] = {name: {"trials": 5} for name in config["searches"]}
    small["experiments"] = {
        "theories": {"measured_memory": {"replacements": 10, "reach": 8}},
        "clark2025": {
            "measured_memory": {"dataset": "natural_stories", "replacements": 10, "reach": 8}
        },
    }
    return json.loads(json.dumps(small))


def _recipe(recipe: dict[str, Any]) -> dict[str, Any]:
    few = {"device": "cpu", "precision": "fp32", "micro_batch": 1, "gpus": 1}
    if recipe.get("objective") == "masked" and recipe["sequence_length"] == 2048:
        few["sequence_length"] = MASKED_CONTEXT
    if "validation" in recipe:
        few["validation"] = {"every": 2}
        if "tokens" in recipe["validation"]:
            few["validation"]["tokens"] = 4_000
    if "steps" not in recipe:
        return few | {"epochs": 1, "batch_sequences": 8}
    kept = [1, 2] if recipe["checkpoints"] else []
    return few | {"steps": 2, "warmup_steps": 1, "batch_sequences": 2, "checkpoints": kept}
