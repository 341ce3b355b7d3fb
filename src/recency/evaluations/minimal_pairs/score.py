"""Rule score_pairs: surprisal of each sentence of minimal pairs under one language model.

Evaluation pipelines differ in whether a sentence's first token is scored; both sums are computed.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.evaluations import job_state
from recency.scoring import alignment, ngram
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import Model, score_texts
from recency.scoring.tokenizer import begin_note

#: Sentences that are scored between two states.
AT_ONCE = 8192
#: Settings of `scoring` for sums over words, which do not apply to sentences.
OF_WORDS = ("correction", "first_word", "word_entropy")

Sums = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Per sentence: bits of all tokens, bits without the first token, number of tokens."""


def main(
    pairs: str | Path,
    lm: LMSpec,
    out: str | Path,
    code: Mapping[str, str] | None = None,
) -> None:
    """Write pair, good_bits, bad_bits, good_rest_bits, bad_rest_bits, good_tokens, bad_tokens.

    `*_bits` is null if the LM has no begin token, `*_rest_bits` (without the first token) for a
    masked LM, whose first token is predicted like any other. Sums of AT_ONCE sentences at a time are
    stored next to `out` until all are done, so that a killed job resumes.
    """
    table = pd.read_parquet(pairs, columns=["pair", "good", "bad"])
    codes, sentences = pd.factorize(pd.concat([table["good"], table["bad"]]))
    sentences = list(sentences)
    if ngram.is_ngram(lm.model):
        sums = score_ngram(sentences, lm.model, bool(lm.bos))
    else:
        shown = progress(len(sentences), f"{Path(pairs).stem} under {lm.name}", "sentences")
        opened = lm.open()
        if not opened.masked:
            print(f"{lm.name}: {begin_note(opened, lm.bos)}", file=sys.stderr)
        specification = {"lm": job_state.lm_identity(lm), "pairs": job_state.digest(pairs)}
        sums = _resume_sums(
            sentences, opened, lm, shown, out, specification | {"code": dict(code or {})}
        )
    result = {"pair": table["pair"]}
    names = ("bits", "rest_bits", "tokens")
    for name, values in zip(names, sums, strict=True):
        for side, chosen in zip(("good", "bad"), np.split(codes, 2), strict=True):
            result[f"{side}_{name}"] = values[chosen]
    with atomic(out) as path:
        pd.DataFrame(result).to_parquet(path, index=False, compression="zstd")
    job_state.path_for(out).unlink(missing_ok=True)


def _resume_sums(
    sentences: list[str],
    opened: Model,
    lm: LMSpec,
    shown: progress,
    out: str | Path,
    specification: dict,
) -> Sums:
    """Sum the surprisal of AT_ONCE sentences at a time, but for those that a killed job has done."""
    state = job_state.path_for(out)
    done = job_state.read(state, specification, f"parts of {AT_ONCE:,} sentences")
    for start in range(0, len(sentences), AT_ONCE):
        if str(start) not in done:
            part = sentences[start : start + AT_ONCE]
            sums = score(
                part,
                opened,
                lm.bos,
                lm.stride,
                lm.scoring,
                lambda n, start=start: shown.update(start + n),
            )
            done[str(start)] = [values.tolist() for values in sums]
            job_state.write(state, specification, done)
    parts = (done[str(start)] for start in range(0, len(sentences), AT_ONCE))
    bits, rest, count = (np.concatenate(values) for values in zip(*parts, strict=True))
    return bits, rest, count.astype(np.int32)


def score(
    sentences: Sequence[str],
    model: Model,
    bos: bool | str = True,
    stride: int | None = None,
    scoring: Mapping = {},
    report: Callable[[int], None] = lambda done: None,
) -> Sums:
    """Sum the surprisal of each sentence's tokens, with the sentences as written.

    For a masked LM this is the pseudo-log-likelihood. Raises InputError for a sentence without
    tokens.
    """
    settings = {key: value for key, value in scoring.items() if key not in OF_WORDS}
    texts = list(_texts(sentences, model, settings.pop("leading_space", False)))
    count = np.array([len(text.ids) for text in texts], dtype=np.int32)
    if len(nothing := np.flatnonzero(count == 0)):
        raise InputError(f"the tokenizer leaves nothing of the sentence {sentences[nothing[0]]!r}")
    scores = score_texts(
        model, texts, bos, stride, report=lambda done, total: report(done * len(texts) / total),
        **settings,
    )  # fmt: skip
    bits = np.array([-scored.log_probability.sum() for scored in scores]) / math.log(2)
    rest = np.array([-scored.log_probability[1:].sum() for scored in scores]) / math.log(2)
    return bits, np.full(len(rest), np.nan) if model.masked else rest, count


def _texts(sentences: Sequence[str], model: Model, leading_space: bool) -> Iterable[alignment.Text]:
    """Tokenize sentences; for a masked LM, with the tokens of each word."""
    if model.masked:
        for text in sentences:
            where = f"the sentence {text!r}: "
            words = text.split(" ")
            yield alignment.align(words, model.tokenizer, where, leading_space, model.kind)
        return
    written = [" " * leading_space + text for text in sentences]
    for encoding in model.tokenizer.encode_batch(written, add_special_tokens=False):
        ids = np.asarray(encoding.ids, dtype=np.int64)
        yield alignment.Text(ids, np.zeros_like(ids), 1)


def score_ngram(sentences: Sequence[str], path: str | Path, bos: bool = True) -> Sums:
    """Sum the surprisal of each sentence's words (its tokens) under an n-gram model."""
    words = [text.split() for text in sentences]
    word_bits = [[-p * math.log2(10) for p in s.log10] for s in ngram.score(path, words, bos)]
    # Exact sums, so that sentences with the same n-grams in another order are ties.
    bits = np.array([math.fsum(values) for values in word_bits])
    rest = np.array([math.fsum(values[1:]) for values in word_bits])
    return bits, rest, np.array([len(sequence) for sequence in words], dtype=np.int32)
