"""Continue texts with a causal network, greedily or by sampling."""

import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from recency.scoring import alignment
from recency.scoring.tokenizer import begin_token

#: The end of a sentence, with quotation marks and brackets after it.
END = re.compile(r"[.?!…][\"'”’)\]]*\s*$")
ROWS = 32
#: Most tokens per word, so that a text without word boundaries ends.
TOKENS = 8


def continuations(
    model,
    contexts: Sequence[Sequence[str]],
    longest: int = 50,
    temperature: float = 0.0,
    seed: int = 0,
    bos: bool | str = True,
    report: Callable[[int], None] = lambda done: None,
) -> list[tuple[str, bool]]:
    """Continue each context (words) to the end of a sentence.

    Parameters
    ----------
    model : recency.scoring.surprisal.Model
    contexts : sequence of sequence of str
    longest : int
        Most words of a continuation.
    temperature : float
        Sampling temperature; 0 takes the most probable token.
    seed : int
        Seed of sampling, together with the context's number.
    bos : bool or str
        See `begin_token`.
    report : callable
        Called with 1 for each finished text.

    Returns
    -------
    list of (str, bool)
        The continuation, and whether it ended with an end mark or an END token. Its first token
        begins a word if the vocabulary marks word beginnings.
    """
    start = begin_token(model, bos)
    before = [start] if start is not None else []
    texts = [
        alignment.align(list(words), model.tokenizer, "", kind=model.kind) for words in contexts
    ]
    ids = [[*before, *map(int, text.ids)] for text in texts]
    given = [len(text_ids) for text_ids in ids]
    begins = np.flatnonzero(model.kind == alignment.SPACE)
    continued: list[tuple[str, bool] | None] = [None] * len(ids)
    draws = [np.random.default_rng((seed, number)) for number in range(len(ids))]
    window = getattr(model.network.config.get_text_config(), "max_position_embeddings", None)
    for rows in _group_by_length(ids):
        cache = None
        while rows:
            logits, cache = _next_logits(model.network, [ids[row] for row in rows], window, cache)
            left = []
            for index, (row, scores) in enumerate(zip(rows, logits, strict=True)):
                scores = scores[: len(model.kind)]  # a padded vocabulary has more
                if len(ids[row]) == given[row] and len(begins):
                    masked = np.full_like(scores, -np.inf)
                    masked[begins] = scores[begins]
                    scores = masked
                ids[row].append(_choose_token(scores, temperature, draws[row]))
                ended = model.kind[ids[row][-1]] == alignment.END
                text = " ".join(model.tokenizer.decode(ids[row][given[row] :]).split())
                ended = bool(ended or END.search(text))
                long = len(text.split()) >= longest
                if ended or long or len(ids[row]) >= given[row] + TOKENS * longest:
                    continued[row] = (text, ended)
                    report(1)
                else:
                    left.append(index)
            if cache is not None and 0 < len(left) < len(rows):
                cache = _select_rows(cache, torch.tensor(left, device=model.network.device))
            rows = [rows[index] for index in left]
    return continued


def _group_by_length(texts: list[list[int]]) -> Iterator[list[int]]:
    """Yield the indices of texts of equal length, at most ROWS, so that none needs padding."""
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    for _, group in itertools.groupby(order, key=lambda row: len(texts[row])):
        rows = list(group)
        yield from (rows[first : first + ROWS] for first in range(0, len(rows), ROWS))


def _select_rows(cache, rows: torch.Tensor):
    """Return the cache of some of its texts; None if it holds more than keys and values by text.

    Recurrent states can't be selected, or are left as they are (Mamba, Lfm2 and others).
    """
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    if not all(type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in cache.layers):
        return None
    cache.batch_select_indices(rows)
    return cache


def _choose_token(logits: np.ndarray, temperature: float, random: np.random.Generator) -> int:
    """Return the most probable token, or a sampled one."""
    if temperature == 0:
        return int(logits.argmax())
    scaled = logits.astype(float) / temperature
    probabilities = np.exp(scaled - scaled.max())
    return int(random.choice(len(scaled), p=probabilities / probabilities.sum()))


def _next_logits(network, texts: list[list[int]], window: int | None, cache=None):
    """Return the next token's logits (texts, vocabulary) for texts of equal length, and a cache.

    The key-value cache is used if the network supports one; biases that read a layer's states and
    recurrent networks need the whole text. Texts longer than the window are cut to their end.
    """
    is_longer = bool(window) and len(texts[0]) > window
    if is_longer:
        texts, cache = [text[-window:] for text in texts], None
    ids = torch.tensor(texts, device=network.device)
    # Its name until transformers 5.23; from 5.40 on it is an error.
    is_old = "past_key_values" in inspect.signature(network.forward).parameters
    name = "past_key_values" if is_old else "cache"
    if not is_longer and getattr(network.config, "use_cache", False):
        settings = {name: cache, "use_cache": True}
    else:
        settings = {"use_cache": False}

    def keep_last(module, arguments):
        if arguments[0].shape[1] < shape[1]:  # a bias reads the surprisal of earlier tokens
            return arguments
        return (arguments[0][:, -1:], *arguments[1:])

    inputs = ids if cache is None else ids[:, -1:]
    shape = inputs.shape
    hook = network.get_output_embeddings().register_forward_pre_hook(keep_last)
    try:
        with torch.inference_mode():
            output = network(input_ids=inputs, **settings)
    finally:
        hook.remove()
    return output.logits[:, -1].float().cpu().numpy(), getattr(output, name, None)
