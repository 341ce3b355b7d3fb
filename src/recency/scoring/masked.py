"""Pseudo-log-likelihood of every token of a text under a masked language model.

- `original` (Salazar et al. 2020): only the token itself is masked.
- `within_word_l2r` (Kauf & Ivanova 2023): later tokens of the same word are masked too, since the
  end of a word of several tokens gives away its beginning.

Later words are `seen`, `removed` (thesis, chapter 8, "no_future": the text ends with the mask) or
`masked` (chapter 9: every later token is a mask).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from transformers import PreTrainedModel

from recency.errors import InputError
from recency.scoring import forward
from recency.scoring.alignment import Text
from recency.scoring.finite import require_finite
from recency.scoring.forward import window_of
from recency.scoring.output_layer import score_logits

METRICS = ("within_word_l2r", "original")
FUTURES = ("seen", "removed", "masked")
MASKS = ("[MASK]", "<mask>")


@dataclass
class Frame:
    """Ids of the special tokens that a masked LM puts around a text, and of its mask."""

    before: list[int]
    after: list[int]
    mask: int
    pad: int


@dataclass
class _Query:
    """One masked input; token `place` of text `text` is at its `position`."""

    text: int
    place: int
    position: int
    ids: np.ndarray
    context: int


def read_frame(tokenizer, pad: int | None = None) -> Frame:
    """Return the frame that a `tokenizers.Tokenizer` puts around a text, and its mask."""
    masks = [tokenizer.token_to_id(mask) for mask in MASKS]
    masks = [mask for mask in masks if mask is not None]
    if not masks:
        raise InputError(f"the tokenizer has no mask token ({' or '.join(MASKS)})")
    encoding = tokenizer.encode("a")
    inner = [number for number, special in enumerate(encoding.special_tokens_mask) if not special]
    first, last = (inner[0], inner[-1] + 1) if inner else (len(encoding.ids), len(encoding.ids))
    return Frame(encoding.ids[:first], encoding.ids[last:], masks[0], pad or 0)


def tokens_per_input(model: PreTrainedModel, around: Frame, window: int | None = None) -> int:
    """Return the number of text tokens that fit into one input."""
    size = window_of(model, window) - len(around.before) - len(around.after)
    if size < 1:
        raise InputError(f"a window of {window} tokens has no room for text")
    return size


def cut_pieces(tokens: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut a text into consecutive pieces of `size` tokens; the last is moved back to be complete.

    Yields the first token of each piece, and the first that no earlier piece has.
    """
    for begin in range(0, tokens, size):
        yield max(0, min(begin, tokens - size)), begin


def mask_tokens(
    number: int,
    text: Text,
    around: Frame,
    size: int,
    metric: str,
    future: str,
    places: tuple[int, int] | None = None,
) -> Iterator[_Query]:
    """Yield a masked input for each token, with equal context on both sides in long texts.

    `places` are the first and the last (exclusive) token to score; by default all.
    """
    total = len(text.ids)
    ends = np.searchsorted(text.word, text.word, side="right")  # end of each token's word
    for token in range(*(places or (0, total))):
        stop = int(ends[token])
        mask_end = token + 1 if metric == "original" else stop
        last = total if future != "removed" else mask_end
        begin = last - size if future == "removed" else min(token - size // 2, last - size)
        begin = max(0, min(begin, token))
        last = min(last, begin + size)
        ids = text.ids[begin:last].copy()
        masked = slice(token - begin, (mask_end if future != "masked" else last) - begin)
        ids[masked] = around.mask
        seen = len(ids) - len(ids[masked])
        ids = np.concatenate([around.before, ids, around.after]).astype(np.int64)
        extra = len(around.before) + len(around.after)
        yield _Query(number, token, token - begin + len(around.before), ids, seen + extra)


def batches(todo: Iterator[_Query], tokens: int, padded: bool = True) -> Iterator[list[_Query]]:
    """Group inputs into batches of about `tokens`, of one length unless `padded`."""
    pool: list[_Query] = []
    held = 0

    def cut() -> Iterator[list[_Query]]:
        batch: list[_Query] = []
        for query in sorted(pool, key=lambda query: -len(query.ids)):
            longest = len(batch[0].ids) if batch else 0
            full = longest * (len(batch) + 1) > tokens
            if batch and (full or (not padded and len(query.ids) != longest)):
                yield batch
                batch = []
            batch.append(query)
        if batch:
            yield batch

    for query in todo:
        pool.append(query)
        held += len(query.ids)
        if held >= 16 * tokens:
            yield from cut()
            pool, held = [], 0
    yield from cut()


def sees_padding(model: PreTrainedModel, around: Frame) -> bool:
    """Return whether padding changes a network's outputs (FNet has no padding mask)."""
    text = [*around.before, around.mask, *around.after]
    padded = torch.tensor([[*text, around.pad]], device=model.device)
    seen = torch.ones_like(padded)
    seen[0, -1] = 0
    unpadded = model(input_ids=padded[:, :-1], attention_mask=seen[:, :-1])[0]
    with_padding = model(input_ids=padded, attention_mask=seen)[0][:, :-1]
    return bool((unpadded - with_padding).abs().max() > 1e-2 * unpadded.abs().max())


@contextmanager
def output_at(model: PreTrainedModel) -> Iterator[list[torch.Tensor]]:
    """Restrict the output layer to positions: put rows and columns into the yielded list."""
    wanted: list[torch.Tensor] = []

    def gather(module, inputs):
        return (inputs[0][wanted[0], wanted[1]], *inputs[1:])

    hook = model.get_output_embeddings().register_forward_pre_hook(gather)
    try:
        yield wanted
    finally:
        hook.remove()


@torch.inference_mode()
def score(
    model: PreTrainedModel,
    texts: list[Text],
    around: Frame,
    metric: str = METRICS[0],
    future: str = FUTURES[0],
    window: int | None = None,
    tokens_at_once: int | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
    statistics: Sequence[str] = (),
    places: Sequence[tuple[int, int]] | None = None,
) -> list[tuple[np.ndarray, ...]]:
    """Return log p (nats) of each token of each text, and the number of tokens seen.

    The requested `statistics` (`MeasureRequest.statistics`) follow, each (tokens,). `places` are
    the first and the last (exclusive) token of each text to score; by default all.

    The output layer runs only on masked positions. `tokens_at_once` bounds the inputs that run
    together. In a text longer than the model's input (or `window`), each token is scored in the
    window around it.
    """
    for name, value, choices in (("metric", metric, METRICS), ("future", future, FUTURES)):
        if value not in choices:
            raise InputError(f"masked LM: {name} {value!r} is none of {', '.join(choices)}")
    size = tokens_per_input(model, around, window)
    results = [
        (
            np.full(len(text.ids), np.nan),
            np.zeros(len(text.ids), np.int32),
            *np.full((len(statistics), len(text.ids)), np.nan),
        )
        for text in texts
    ]
    stretches = places or [(0, len(text.ids)) for text in texts]
    total, done = sum(last - first for first, last in stretches), 0
    todo = (
        query
        for n, (text, stretch) in enumerate(zip(texts, stretches, strict=True))
        for query in mask_tokens(n, text, around, size, metric, future, stretch)
    )
    at_once = tokens_at_once or forward.tokens_at_once(model)
    padded = not sees_padding(model, around)
    with output_at(model) as wanted:
        for batch in batches(todo, at_once, padded):
            ids = torch.full((len(batch), len(batch[0].ids)), around.pad)
            seen = torch.zeros_like(ids)
            for row, query in enumerate(batch):
                ids[row, : len(query.ids)] = torch.from_numpy(query.ids)
                seen[row, : len(query.ids)] = 1
            places = torch.tensor([query.position for query in batch])
            wanted[:] = [values.to(model.device) for values in (torch.arange(len(batch)), places)]
            logits = model(input_ids=ids.to(model.device), attention_mask=seen.to(model.device))[0]
            if logits.dim() == 3:  # MobileBERT multiplies by its output layer without calling it
                logits = logits[wanted[0], wanted[1]]
            logits = logits.float()
            targets = torch.tensor([int(texts[q.text].ids[q.place]) for q in batch])
            chosen = logits.gather(1, targets[:, None].to(logits.device))[:, 0]
            log_probabilities = (chosen - logits.logsumexp(-1)).double().cpu().numpy()
            require_finite(log_probabilities, type(model).__name__)
            more = (
                score_logits(logits, targets.to(logits.device), statistics)[1:]
                if statistics
                else []
            )
            more = [values.cpu().numpy() for values in more]
            for number, (query, value) in enumerate(zip(batch, log_probabilities)):
                result = results[query.text]
                result[0][query.place], result[1][query.place] = value, query.context
                for kept, values in zip(result[2:], more):
                    kept[query.place] = values[number]
            done += len(batch)
            report(done, total)
    return results
