"""Surprisal of every token of a text, its sentences' ends with them, under one language model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.files import atomic


def main(
    tokens: str | Path,
    info: str | Path,
    model: str | Path,
    tokenizer: str | Path | None,
    out: str | Path,
    lm: str,
    reset: str = "never",
    bias: dict | None = None,
    stride: int | None = None,
    threads: int = 1,
    allow_pickle: bool = False,
) -> None:
    """Write token_id, nats and the LM's number of parameters for each token of a corpus, in order.

    The text is one, read in one pass or in windows, behind the token that ends documents; with
    `reset` document each document is a text of its own.
    """
    import torch

    from recency.networks.architectures import parameter_count
    from recency.progress import progress
    from recency.scoring import causal, surprisal

    torch.set_num_threads(threads)
    facts = json.loads(Path(info).read_text())
    ids, end = np.fromfile(tokens, facts["dtype"]).astype(np.int64), facts["end_of_document"]
    if end is None:
        raise InputError(f"{tokens}: no token ends its documents, so that nothing begins the text")
    opened = surprisal.load(model, tokenizer, bias, allow_pickle=allow_pickle)
    cuts = np.flatnonzero(ids == end)[:-1] + 1 if reset == "document" else []
    shown = progress(1, f"{lm}: {len(ids):,} tokens", "pieces")

    def report(done: int, total: int) -> None:
        shown.total = total
        shown.update(done)

    texts = np.split(ids, cuts)
    scores = causal.score(opened.network, texts, opened.kind, end, stride, report=report)
    nats = -np.concatenate([each.log_probability for each in scores])
    write(out, ids, nats, parameter_count(opened.network))


def of_ngrams(text: str | Path, arpa: str | Path, out: str | Path, end: str = "</s>") -> None:
    """Write the same for an n-gram model and a corpus's text, each document a sentence."""
    from recency.scoring import ngram

    sentences = [
        [*document.split(), end] for document in pd.read_parquet(text, columns=["text"])["text"]
    ]
    scores = ngram.score(arpa, sentences)
    nats = -np.log(10) * np.concatenate([each.log10 for each in scores])
    write(out, np.full(len(nats), -1), nats, _listed(Path(arpa)))


def write(out: str | Path, ids: np.ndarray, nats: np.ndarray, parameters: int) -> None:
    """Write a row a token."""
    table = pd.DataFrame({"token_id": ids.astype(np.int32), "nats": nats, "parameters": parameters})
    with atomic(out) as part:
        table.to_parquet(part, index=False, compression="zstd")


def _listed(arpa: Path) -> int:
    """Return how many n-grams a model lists, as its header says."""
    total = 0
    with arpa.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("ngram "):
                total += int(line.partition("=")[2])
            elif line.startswith("\\1-grams:"):
                break
    return total
