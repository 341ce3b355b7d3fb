"""Pseudo-log-likelihood of every token of a text under a masked language model.

- `original` (Salazar et al. 2020): the token is masked, all others are seen.
- `within_word_l2r` (Kauf & Ivanova 2023): so are the tokens of its word to its right, since a word
  of several tokens is too easy to guess from its own end.

What comes after the word may be `seen`, or not, as in the thesis: `removed` (chapter 8, its
"no_future": the text ends with the mask) or `masked` (chapter 9: every later token is a mask).
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
from recency.scoring.distribution import of_logits
from recency.scoring.windows import window_of

METRICS = ("within_word_l2r", "original")
FUTURES = ("seen", "removed", "masked")
MASKS = ("[MASK]", "<mask>")


@dataclass
class Frame:
    """What a masked LM puts around a text, and its mask: token ids."""

    before: list[int]
    after: list[int]
    mask: int
    pad: int


@dataclass
class _Query:
    """One masked input; the token `place` of text `text` stands at `position` of it."""

    text: int
    place: int
    position: int
    ids: np.ndarray
    context: int


def frame(tokenizer, pad: int | None = None) -> Frame:
    """Read the frame off a `tokenizers.Tokenizer`: what it puts around a text, and its mask."""
    masks = [tokenizer.token_to_id(mask) for mask in MASKS]
    masks = [mask for mask in masks if mask is not None]
    if not masks:
        raise InputError(f"the tokenizer has no mask token ({' or '.join(MASKS)})")
    encoding = tokenizer.encode("a")
    own = [number for number, special in enumerate(encoding.special_tokens_mask) if not special]
    first, last = (own[0], own[-1] + 1) if own else (len(encoding.ids), len(encoding.ids))
    return Frame(encoding.ids[:first], encoding.ids[last:], masks[0], pad or 0)


def room(model: PreTrainedModel, around: Frame, window: int | None = None) -> int:
    """Return how many tokens of a text fit into one input."""
    size = window_of(model, window) - len(around.before) - len(around.after)
    if size < 1:
        raise InputError(f"a window of {window} tokens has no room for text")
    return size


def pieces(tokens: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the first token of each piece of a text of so many, and the first that is new in it.

    Pieces of `size` tokens lie end to end; the last is moved back, so that it is a whole one.
    """
    for begin in range(0, tokens, size):
        yield max(0, min(begin, tokens - size)), begin


def queries(
    number: int,
    text: Text,
    around: Frame,
    size: int,
    metric: str,
    future: str,
    places: tuple[int, int] | None = None,
) -> Iterator[_Query]:
    """Yield an input for each token; in a text longer than `size`, with as much on both sides.

    `places` are the first and the last (exclusive) token to ask for; all of them unless given.
    """
    total = len(text.ids)
    ends = np.searchsorted(text.word, text.word, side="right")  # behind the word of each token
    for place in range(*(places or (0, total))):
        stop = int(ends[place])
        behind = place + 1 if metric == "original" else stop  # behind the last mask
        last = total if future != "removed" else behind
        begin = last - size if future == "removed" else min(place - size // 2, last - size)
        begin = max(0, min(begin, place))
        last = min(last, begin + size)
        ids = text.ids[begin:last].copy()
        masked = slice(place - begin, (behind if future != "masked" else last) - begin)
        ids[masked] = around.mask
        seen = len(ids) - len(ids[masked])
        ids = np.concatenate([around.before, ids, around.after]).astype(np.int64)
        extra = len(around.before) + len(around.after)
        yield _Query(number, place, place - begin + len(around.before), ids, seen + extra)


def batches(todo: Iterator[_Query], tokens: int, padded: bool = True) -> Iterator[list[_Query]]:
    """Group inputs into batches of about `tokens`, in pools sorted by length; `padded` or alike."""
    pool: list[_Query] = []
    held = 0

    def cut() -> Iterator[list[_Query]]:
        batch: list[_Query] = []
        for query in sorted(pool, key=lambda each: -len(each.ids)):
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
    """Say whether padding behind a text changes a network's outputs (FNet has no mask for it)."""
    text = [*around.before, around.mask, *around.after]
    padded = torch.tensor([[*text, around.pad]], device=model.device)
    seen = torch.ones_like(padded)
    seen[0, -1] = 0
    alone = model(input_ids=padded[:, :-1], attention_mask=seen[:, :-1])[0]
    behind = model(input_ids=padded, attention_mask=seen)[0][:, :-1]
    return bool((alone - behind).abs().max() > 1e-2 * alone.abs().max())


@contextmanager
def output_at(model: PreTrainedModel) -> Iterator[list[torch.Tensor]]:
    """Have the output layer run on some places alone: rows and columns, put into the list given."""
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
    """Return log p (nats) of each token of each text, and how many tokens were seen for it.

    `statistics` of its distribution, those of `measures.Asked`, follow, (tokens,) each. `places` are
    the first and the last (exclusive) token of each text to score; all of them unless given.

    The output layer runs on the masked positions alone. `tokens_at_once` bounds what is run
    together; a text longer than the model's input (or `window`) is scored token by token in the
    stretch around the token.
    """
    for name, value, known in (("metric", metric, METRICS), ("future", future, FUTURES)):
        if value not in known:
            raise InputError(f"masked LM: {name} {value!r} is none of {', '.join(known)}")
    size = room(model, around, window)
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
        for query in queries(n, text, around, size, metric, future, stretch)
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
            wanted[:] = [each.to(model.device) for each in (torch.arange(len(batch)), places)]
            logits = model(input_ids=ids.to(model.device), attention_mask=seen.to(model.device))[0]
            if logits.dim() == 3:  # MobileBERT multiplies by its output layer without calling it
                logits = logits[wanted[0], wanted[1]]
            logits = logits.float()
            targets = torch.tensor([int(texts[q.text].ids[q.place]) for q in batch])
            chosen = logits.gather(1, targets[:, None].to(logits.device))[:, 0]
            found = (chosen - logits.logsumexp(-1)).double().cpu().numpy()
            more = (
                of_logits(logits, targets.to(logits.device), statistics)[1:] if statistics else []
            )
            more = [each.cpu().numpy() for each in more]
            for number, (query, value) in enumerate(zip(batch, found)):
                result = results[query.text]
                result[0][query.place], result[1][query.place] = value, query.context
                for kept, each in zip(result[2:], more):
                    kept[query.place] = each[number]
            done += len(batch)
            report(done, total)
    return results
