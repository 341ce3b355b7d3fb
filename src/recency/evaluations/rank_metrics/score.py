"""Rule rank_metrics: rank and surprisal after the first words of sentences, and continuations.

As in chapter 7 of the thesis: sentences of at least 16 words without colons or quotation marks,
whose first eight words are context and whose remaining words are scored.
"""

import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from recency.errors import InputError
from recency.scoring import ngram, ngram_surprisal
from recency.scoring.lm_spec import LMSpec
from recency.scoring.ngram import split_word

COLUMNS = ["text", "place", "word", "token", "nats", "log_rank", "top_1"]
CONTINUATIONS = ["text", "context", "original", "continuation", "complete", "note"]
LEFT_OUT = r"[:\"“”„«»]"
NONE_OF_NGRAMS = "n-gram models generate no continuations here: only the text's n-grams are read"
NONE_OF_MASKED = "masked LMs generate no continuations: they read both contexts"


def chosen(words: pd.DataFrame, sentences: int, min_words: int, seed: int) -> pd.DataFrame:
    """Return drawn sentences of `words` (contract 1) as separate texts, numbered from 0 in item.

    They have at least `min_words` words, and no colons or quotation marks. Raises InputError if fewer
    than two remain.
    """
    odd = words["word"].str.contains(LEFT_OUT, regex=True).groupby(words["sentence"]).any()
    size = words.groupby("sentence").size()
    fit = size.index[(size >= min_words) & ~odd]
    if len(fit) < 2:
        raise InputError(
            f"{len(fit)} sentences have {min_words} words or more and no colons or quotation marks; allow shorter "
            "ones (rank_metrics → min_words), or use another dataset"
        )
    random = np.random.default_rng(seed)
    drawn = np.sort(random.choice(fit, min(sentences, len(fit)), replace=False))
    chosen_words = words[words["sentence"].isin(drawn)].copy()
    chosen_words["item"] = pd.factorize(chosen_words["sentence"])[0].astype(str)
    chosen_words["word_id"] = np.arange(len(chosen_words))
    return chosen_words.reset_index(drop=True)


def main(
    words: str | Path,
    lm: LMSpec,
    out_ranks: str | Path,
    out_continuations: str | Path,
    sentences: int,
    min_words: int,
    prompt: int,
    longest: int,
    temperature: float,
    seed: int,
    text_rule: str = "displayed",
) -> None:
    """Write COLUMNS (one row per token after the first `prompt` words; nats) and CONTINUATIONS.

    `place` is the position of a word in its sentence from 1. Each sentence is a separate text,
    after the begin token.
    """
    texts = chosen(pd.read_parquet(words), sentences, min_words, seed)
    position = texts.groupby("item", sort=False).cumcount().to_numpy() + 1
    contexts = [list(context["word"]) for _, context in texts.groupby("item", sort=False)]
    if ngram.is_ngram(lm.model):
        rows, note = _of_ngrams(contexts, lm.model, bool(lm.bos), text_rule), NONE_OF_NGRAMS
        continued = [("", "")] * len(contexts)
    else:
        rows, continued, note = _of_network(texts, contexts, prompt, longest, temperature, seed, lm)
        rows["place"] = position[rows.pop("row")]
    rows = rows[rows["place"] > prompt]
    if note:
        print(f"{lm.name}: {note}", file=sys.stderr)
    with atomic(out_ranks) as part:
        rows[COLUMNS].to_parquet(part, index=False, compression="zstd")
    table = pd.DataFrame(
        {
            "text": range(len(contexts)),
            "context": [" ".join(context[:prompt]) for context in contexts],
            "original": [" ".join(context[prompt:]) for context in contexts],
            "continuation": [text for text, _ in continued],
            "complete": [complete for _, complete in continued],
            "note": note,
        }
    )
    with atomic(out_continuations) as part:
        table[CONTINUATIONS].to_csv(part, index=False, lineterminator="\n")


def _of_ngrams(contexts, model, bos: bool, text_rule: str) -> pd.DataFrame:
    """Score sentences with an n-gram model, whose tokens are words."""
    split = [[split_word(word, text_rule) for word in sentence] for sentence in contexts]
    streams = [[part for word in sentence for part in word] for sentence in split]
    frames = []
    scored = ngram_surprisal.ranks_of(model, streams, bos)
    for number, (words, (log10, rank)) in enumerate(zip(split, scored, strict=True)):
        at = np.repeat(np.arange(1, len(words) + 1), [len(sentence) for sentence in words])
        columns = {"text": number, "place": at, "word": [contexts[number][p - 1] for p in at]}
        columns |= {"token": streams[number], "nats": -log10 * math.log(10)}
        frames.append(pd.DataFrame(columns | {"log_rank": np.log(rank), "top_1": rank == 1}))
    return pd.concat(frames, ignore_index=True)


def _of_network(
    texts, contexts, prompt, longest, temperature, seed, lm: LMSpec
) -> tuple[pd.DataFrame, list, str]:
    """Score sentences with a network; a causal one also continues their first words."""
    from readingtimes.progress import progress
    from recency.scoring.surprisal import score_words

    opened = lm.open()
    shown = progress(1, f"ranks of {lm.name}", "windows")

    def report(done: int, total: int) -> None:
        shown.total = total
        shown.update(done)

    asked = {"measures": ["log_rank", "top_1"], "tokens": True, "unit": "nats", "report": report}
    tokens = score_words(texts, opened, **lm.reading, **asked).tokens
    rows = pd.DataFrame(
        {
            "text": tokens["item"].astype(int),
            "row": tokens["word_id"].astype(int),
            "word": tokens["word"],
            "token": tokens["token"],
            "nats": tokens["surprisal_nats"],
            "log_rank": tokens["log_rank_nats"],
            "top_1": tokens["top_1"] == 1,
        }
    )
    if opened.masked:
        return rows, [("", "")] * len(contexts), NONE_OF_MASKED
    from recency.scoring.generation import continuations

    bar = progress(len(contexts), f"continuations of {lm.name}", "sentences")
    first = [context[:prompt] for context in contexts]
    continued = continuations(opened, first, longest, temperature, seed, lm.bos, bar.update)
    return rows, continued, ""
