"""Continuations of texts by a causal network, token by token: the likeliest, or sampled."""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from recency.scoring import alignment
from recency.scoring.begin_token import begin_token

#: The end of a sentence, with quotation marks and brackets after it.
END = re.compile(r"[.?!…][\"'”’)\]]*\s*$")
ROWS = 32
#: Tokens per word, at most, of `longest` words: the end of a text that never ends a word.
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
    """Return a continuation of each context (words), and whether it came to an end.

    `model` is a recency.scoring.surprisal.Model. A text ends with a sentence's end mark or the token
    that ends documents, or unfinished with `longest` words. The first token begins a word, where the
    vocabulary marks such. With a `temperature`, tokens are sampled by `seed` and the text's number;
    without one, the likeliest is taken.
    """
    start = begin_token(model, bos)
    before = [start] if start is not None else []
    texts = [
        alignment.align(list(words), model.tokenizer, "", kind=model.kind) for words in contexts
    ]
    ids = [[*before, *map(int, text.ids)] for text in texts]
    given = [len(each) for each in ids]
    begins = np.flatnonzero(model.kind == alignment.SPACE)
    continued: list[tuple[str, bool] | None] = [None] * len(ids)
    draws = [np.random.default_rng((seed, number)) for number in range(len(ids))]
    window = getattr(model.network.config.get_text_config(), "max_position_embeddings", None)
    for rows in _of_one_length(ids):
        cache = None
        while rows:
            logits, cache = _next(model.network, [ids[row] for row in rows], window, cache)
            left = []
            for index, (row, scores) in enumerate(zip(rows, logits, strict=True)):
                scores = scores[: len(model.kind)]  # a padded vocabulary has more
                if len(ids[row]) == given[row] and len(begins):
                    masked = np.full_like(scores, -np.inf)
                    masked[begins] = scores[begins]
                    scores = masked
                ids[row].append(_chosen(scores, temperature, draws[row]))
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
                cache.batch_select_indices(torch.tensor(left, device=model.network.device))
            rows = [rows[index] for index in left]
    return continued


def _of_one_length(texts: list[list[int]]) -> Iterator[list[int]]:
    """Yield the indices of texts of one length, so that no text is padded; ROWS of them at most."""
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    for _, group in itertools.groupby(order, key=lambda row: len(texts[row])):
        rows = list(group)
        yield from (rows[first : first + ROWS] for first in range(0, len(rows), ROWS))


def _chosen(logits: np.ndarray, temperature: float, random: np.random.Generator) -> int:
    """Return the likeliest token, or a sampled one."""
    if temperature == 0:
        return int(logits.argmax())
    scaled = logits.astype(float) / temperature
    probabilities = np.exp(scaled - scaled.max())
    return int(random.choice(len(scaled), p=probabilities / probabilities.sum()))


def _next(network, texts: list[list[int]], window: int | None, cache=None):
    """Return the logits (texts, vocabulary) of the next token of texts of one length, and a cache.

    The cache holds keys and values of all tokens but the next, where the network has one: a bias
    that reads the states of a layer needs the whole text, and so does a recurrent network. Of texts
    longer than the network's window the last tokens are read.
    """
    is_longer = bool(window) and len(texts[0]) > window
    if is_longer:
        texts, cache = [text[-window:] for text in texts], None
    ids = torch.tensor(texts, device=network.device)
    if not is_longer and getattr(network.config, "use_cache", False):
        settings = {"past_key_values": cache, "use_cache": True}
    else:
        settings = {"use_cache": False}

    def last_alone(module, arguments):
        if arguments[0].shape[1] < shape[1]:  # a bias reads the surprisal of tokens before
            return arguments
        return (arguments[0][:, -1:], *arguments[1:])

    inputs = ids if cache is None else ids[:, -1:]
    shape = inputs.shape
    hook = network.get_output_embeddings().register_forward_pre_hook(last_alone)
    try:
        with torch.inference_mode():
            output = network(input_ids=inputs, **settings)
    finally:
        hook.remove()
    return output.logits[:, -1].float().cpu().numpy(), getattr(output, "past_key_values", None)
