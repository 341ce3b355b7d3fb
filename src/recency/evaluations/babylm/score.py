"""Rule babylm_scores: log probabilities of all candidates of the zero-shot parts, and of words.

As in the challenge's 2025 pipeline, the tokens of a completion are those that extend beyond its
first character, and a masked LM predicts each token from all others.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.evaluations.babylm import parts
from recency.scoring import alignment
from recency.scoring.finite import require_finite
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import Model, score_texts
from recency.scoring.tokenizer import begin_note, begin_token

#: Masks after a word of the reading part, in place of the rest of the text, for a masked LM.
MASKS_AFTER = 3
READING = ("item", "word", "prev_item", "prev_word")


def main(lm: LMSpec, files: Mapping[str, Sequence[str]], out: str | Path) -> None:
    """Write one row per candidate: part, group, item, candidate, ratio, log_probability (nats).

    `files` maps part → its files. In the part `reading`, candidate 0 is the word and candidate 1
    the previous word, null for a first word.
    """
    opened = lm.open()
    if not opened.masked:
        print(f"{lm.name}: {begin_note(opened, lm.bos)}", file=sys.stderr)
    tables = []
    for name, paths in files.items():
        if name == "reading":
            tables.append(_reading(opened, lm, paths[0]))
            continue
        rows, candidates = [], []
        for path in paths:
            for number, item in enumerate(parts.items(path, name)):
                for which, candidate in enumerate(item.candidates):
                    rows.append(
                        (name, item.group, f"{Path(path).stem}:{number}", which, item.ratio)
                    )
                    candidates.append(candidate)
        shown = progress(len(candidates), f"{name} under {lm.name}", "texts")
        table = pd.DataFrame(rows, columns=["part", "group", "item", "candidate", "ratio"])
        table["log_probability"] = log_probabilities(opened, candidates, lm.bos, shown.update)
        tables.append(table)
    with atomic(out) as part:
        pd.concat(tables, ignore_index=True).to_parquet(part, index=False, compression="zstd")


def log_probabilities(
    model: Model,
    candidates: Sequence[tuple[str, int]],
    bos: bool | str = True,
    report: Callable[[int], None] = lambda done: None,
) -> np.ndarray:
    """Return the log probability of the end of each text given its beginning.

    Parameters
    ----------
    model : Model
        A causal or masked LM.
    candidates : sequence of (str, int)
        Texts, and the character at which the end begins.
    bos : bool or str
        The begin token (`recency.scoring.surprisal.score_words`). Without one the first token of a
        text is not scored.
    report : callable
        Called with the number of texts done.

    Returns
    -------
    ndarray of shape (candidates,)
        Natural logarithms.
    """
    distinct = list(dict.fromkeys(candidates))
    encodings = model.tokenizer.encode_batch(
        [text for text, _ in distinct], add_special_tokens=False
    )
    texts = [_text(encoding.ids) for encoding in encodings]
    begins = model.masked or begin_token(model, bos) is not None
    stretches = []
    for (text, start), encoding in zip(distinct, encodings, strict=True):
        inside = [number for number, (_, end) in enumerate(encoding.offsets) if end > start]
        if not inside or (not begins and inside == [0]):
            raise InputError(f"the tokenizer leaves nothing of {text[start:]!r} to be predicted")
        stretches.append((inside[0] if begins else max(inside[0], 1), len(encoding.ids)))
    more = {"places": stretches} if model.masked else {}
    scores = score_texts(
        model, texts, bos, metric="original", future="seen", **more,
        report=lambda done, total: report(done * len(texts) / total),
    )  # fmt: skip
    by_candidate = {
        candidate: scored.log_probability[slice(*stretch)].sum()
        for candidate, scored, stretch in zip(distinct, scores, stretches, strict=True)
    }
    return np.array([by_candidate[candidate] for candidate in candidates])


def _text(ids: Sequence[int]) -> alignment.Text:
    array = np.asarray(ids, dtype=np.int64)
    return alignment.Text(array, np.zeros_like(array), 1)


def _reading(model: Model, lm: LMSpec, path: str | Path) -> pd.DataFrame:
    """Return the rows of the part `reading`: two for each line, the word and the one before."""
    table = pd.read_csv(path, dtype=dict.fromkeys(READING, str), keep_default_na=True)
    if lacking := [column for column in READING if column not in table]:
        raise InputError(f"{path} has no column {lacking[0]}; see {parts.ADDRESS}")
    has_previous = table.prev_item.notna()
    pairs = list(zip(table["item"].fillna("None"), table.word, strict=True))
    pairs += list(zip(table.prev_item[has_previous], table.prev_word[has_previous], strict=True))
    values = next_words(model, pairs, lm.bos)
    before = np.full(len(table), np.nan)
    before[has_previous.to_numpy()] = values[len(table) :]
    rows = {"part": "reading", "group": "all", "item": [str(n) for n in range(len(table))]}
    both = [(0, values[: len(table)]), (1, before)]
    frames = [
        pd.DataFrame(rows | {"candidate": n, "ratio": None, "log_probability": v}) for n, v in both
    ]
    return pd.concat(frames, ignore_index=True)


def next_words(
    model: Model, pairs: Sequence[tuple[str, str]], bos: bool | str = True
) -> np.ndarray:
    """Return the log probability of each word after its context.

    Parameters
    ----------
    model : Model
        A causal or masked LM; a masked LM sees `MASKS_AFTER` masks after the context and predicts
        the first.
    pairs : sequence of (str, str)
        Context and word, with their white space. A word of several tokens is scored token by
        token, with the earlier tokens as part of the context.
    bos : bool or str
        The begin token.

    Returns
    -------
    ndarray of shape (pairs,)
        Natural logarithms.
    """
    encode, decode = model.tokenizer.encode, model.tokenizer.decode
    contexts, tokens, owners = [], [], []
    for owner, (context, word) in enumerate(pairs):
        for token in encode(word, add_special_tokens=False).ids:
            contexts.append(tuple(encode(context, add_special_tokens=False).ids))
            tokens.append(token)
            owners.append(owner)
            context += decode([token], skip_special_tokens=False)
    distinct = list(dict.fromkeys(zip(contexts, tokens, strict=True)))
    if model.masked:
        values = [_at_first_mask(model, context, token) for context, token in distinct]
    else:
        texts = [_text([*context, token]) for context, token in distinct]
        values = [scored.log_probability[-1] for scored in score_texts(model, texts, bos)]
    value_of = dict(zip(distinct, values, strict=True))
    totals = np.zeros(len(pairs))
    np.add.at(totals, owners, [value_of[pair] for pair in zip(contexts, tokens, strict=True)])
    return totals


@torch.inference_mode()
def _at_first_mask(model: Model, context: Sequence[int], token: int) -> float:
    """Return the log probability of a token at the first mask after a context."""
    around = model.around
    ids = [*around.before, *context, *[around.mask] * MASKS_AFTER, *around.after]
    inputs = torch.tensor([ids], device=model.network.device)
    logits = model.network(input_ids=inputs, attention_mask=torch.ones_like(inputs)).logits[0]
    position = len(around.before) + len(context)
    value = float(logits[position].double().log_softmax(-1)[token])
    require_finite(np.array(value), type(model.network).__name__)
    return value


def score_words(lm: LMSpec, contexts: str | Path, out: str | Path) -> None:
    """Write word, context and surprisal_nats; `contexts` is the challenge's `cdi_childes.json`."""
    rows = read(contexts)
    opened = lm.open()
    texts = [f"{context.strip()} {word.strip()}" for word, context in rows]
    ends = [len(text) - len(word.strip()) for text, (word, _) in zip(texts, rows, strict=True)]
    values = log_probabilities(opened, list(zip(texts, ends, strict=True)), lm.bos)
    with atomic(out) as part:
        table = pd.DataFrame(rows, columns=["word", "context"]).assign(surprisal_nats=-values)
        table.to_csv(part, index=False, lineterminator="\n")


def read(path: str | Path) -> list[tuple[str, str]]:
    """Return every word of more than one letter with each of its contexts; reject other layouts."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        rows = [
            (word, use["context"]) for word, uses in data.items() for use in uses if len(word) > 1
        ]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"{path}: expected word → list of contexts, as in the challenge's file ({error}); see {parts.ADDRESS}"
        ) from None
    if not rows:
        raise InputError(f"{path} has no words; supply the whole file")
    return rows
