"""Surprisal of every token of a text, including the ends of sentences, under one language model."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from recency import history
from recency.errors import InputError
from recency.scoring.lm_spec import LMSpec


def main(
    tokens: str | Path,
    info: str | Path,
    lm: LMSpec,
    out: str | Path,
    reset: str = "never",
) -> None:
    """Write one row per token of a corpus, in order; see write.

    The text is read as one, in one pass or in windows, after the token that ends documents; with
    `reset` document, each document is a separate text.
    """
    from readingtimes.progress import progress
    from recency.networks.architectures import parameter_count
    from recency.scoring import causal

    if text := history.text_of(info):
        history.require_unseen(text, text.parent.name, {lm.name: lm.model})
    facts = json.loads(Path(info).read_text())
    ids, end = np.fromfile(tokens, facts["dtype"]).astype(np.int64), facts["end_of_document"]
    if end is None:
        raise InputError(f"{tokens}: no token ends its documents, which the begin token must be")
    opened = lm.open()
    if opened.masked:
        raise InputError(
            f"{lm.name} is a masked LM, and `perplexity` scores next tokens; use `length` for masked tokens"
        )
    cuts = np.flatnonzero(ids == end)[:-1] + 1 if reset == "document" else []
    shown = progress(1, f"{lm.name}: {len(ids):,} tokens", "pieces")

    def report(done: int, total: int) -> None:
        shown.total = total
        shown.update(done)

    texts = np.split(ids, cuts)
    began = time.perf_counter()
    scores = causal.score(opened.network, texts, opened.kind, end, lm.stride, report=report)
    speed = len(ids) / (time.perf_counter() - began)
    nats = -np.concatenate([scored.log_probability for scored in scores])
    unknown = opened.tokenizer.token_to_id(getattr(opened.tokenizer.model, "unk_token", None) or "")
    is_known = ids != (-1 if unknown is None else unknown)
    documents = np.cumsum(ids == end) - (ids == end)
    write(out, ids, nats, is_known, documents, parameter_count(opened.network), speed)


def score_ngrams(text: str | Path, arpa: str | Path, out: str | Path, end: str = "</s>") -> None:
    """Write the same for an n-gram model and a corpus's text, with each document as a sentence."""
    from recency.scoring import ngram

    text, arpa = Path(text), Path(arpa)
    history.require_unseen(text, text.parent.name, {arpa.parent.name: arpa})
    sentences = [
        [*document.split(), end] for document in pd.read_parquet(text, columns=["text"])["text"]
    ]
    began = time.perf_counter()
    scores = ngram.score(arpa, sentences)
    nats = -np.log(10) * np.concatenate([scored.log10 for scored in scores])
    speed = len(nats) / (time.perf_counter() - began)
    is_known = np.concatenate([scored.known for scored in scores])
    documents = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])
    write(out, np.full(len(nats), -1), nats, is_known, documents, _count_parameters(arpa), speed)


def score_mix(
    scores: Sequence[str | Path],
    shares: str | Path,
    text: str | Path,
    out: str | Path,
    lms: Sequence[str],
    unknown_as: Sequence[str | None],
    cache: Mapping | None = None,
) -> None:
    """Write the same for a mixture of LMs, from their files of the same tokens."""
    from recency.scoring import mix
    from recency.scoring.mix import mix_nats

    nats, unknown, parameters = mix.read_text_scores(text, lms, scores, unknown_as, cache)
    mixture = mix_nats(mix.without_unknown(nats, unknown), mix.read_shares(shares))
    if np.isinf(mixture).any():
        raise InputError(f"{int(np.isinf(mixture).sum()):,} words of {text}: {mix.IMPOSSIBLE}")
    documents = pd.read_parquet(scores[0], columns=["document"])["document"].to_numpy()
    is_known = (~unknown & np.isfinite(nats)).any(0)  # a cache knows the words that it has
    write(out, np.full(len(mixture), -1), mixture, is_known, documents, parameters)


def write(
    out: str | Path,
    ids: np.ndarray,
    nats: np.ndarray,
    is_known: np.ndarray,
    documents: np.ndarray,
    parameters: int,
    speed: float = np.nan,
) -> None:
    """Write one row per token: token_id (-1 if none), nats, whether it is known, and its document.

    The metadata have the LM's number of parameters and its speed in words per second.
    """
    columns = {"token_id": ids.astype(np.int32), "nats": nats, "known": is_known}
    columns |= {"document": documents.astype(np.int32)}
    columns |= {"words_per_second": float(speed)}
    with atomic(out) as part:
        pd.DataFrame(columns | {"parameters": parameters}).to_parquet(
            part, index=False, compression="zstd"
        )


def _count_parameters(arpa: Path) -> int:
    """Return the number of n-grams in a model's header; for a CDLM, its number of parameters."""
    from recency.scoring import ngram

    if ngram.is_model(arpa):
        return ngram.load(arpa).parameters
    total = 0
    with arpa.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("ngram "):
                total += int(line.partition("=")[2])
            elif line.startswith("\\1-grams:"):
                break
    return total
