"""How a causal network goes on from some words: token by token, the likeliest or drawn."""

import re
from collections.abc import Callable, Sequence

import numpy as np
import torch

from recency.scoring import alignment
from recency.scoring.begin_token import begin_token

#: What ends a sentence, quotation marks and brackets behind it with it.
END = re.compile(r"[.?!…][\"'”’)\]]*\s*$")
ROWS = 32
#: Tokens a word at most, of `longest` words: what never ends a word ends there.
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
    """Return of each context (words) how the network goes on, and whether it came to an end.

    `model` is a recency.scoring.surprisal.Model. A text ends with a sentence's end mark or the token
    that ends documents, or unfinished with `longest` words. The first token begins a word, where the
    vocabulary marks such. With a `temperature` tokens are drawn, by `seed` and the text's number;
    without one the likeliest comes.
    """
    start = begin_token(model, bos)
    before = [start] if start is not None else []
    texts = [
        alignment.align(list(words), model.tokenizer, "", kind=model.kind) for words in contexts
    ]
    ids = [[*before, *map(int, text.ids)] for text in texts]
    given = [len(each) for each in ids]
    begins = np.flatnonzero(model.kind == alignment.SPACE)
    found: list[tuple[str, bool] | None] = [None] * len(ids)
    draws = [np.random.default_rng((seed, number)) for number in range(len(ids))]
    window = getattr(model.network.config.get_text_config(), "max_position_embeddings", None)
    open_ = list(range(len(ids)))
    while open_:
        left = []
        for first in range(0, len(open_), ROWS):
            rows = open_[first : first + ROWS]
            for row, logits in zip(
                rows, _last(model.network, [ids[r] for r in rows], window), strict=True
            ):
                logits = logits[: len(model.kind)]  # a padded vocabulary has more
                if len(ids[row]) == given[row] and len(begins):
                    masked = np.full_like(logits, -np.inf)
                    masked[begins] = logits[begins]
                    logits = masked
                ids[row].append(_chosen(logits, temperature, draws[row]))
                ended = model.kind[ids[row][-1]] == alignment.END
                said = " ".join(model.tokenizer.decode(ids[row][given[row] :]).split())
                ended = bool(ended or END.search(said))
                long = len(said.split()) >= longest
                if ended or long or len(ids[row]) >= given[row] + TOKENS * longest:
                    found[row] = (said, ended)
                    report(1)
                else:
                    left.append(row)
        open_ = left
    return found


def _chosen(logits: np.ndarray, temperature: float, random: np.random.Generator) -> int:
    """Return the likeliest token, or one drawn."""
    if temperature == 0:
        return int(logits.argmax())
    scaled = logits.astype(float) / temperature
    probabilities = np.exp(scaled - scaled.max())
    return int(random.choice(len(scaled), p=probabilities / probabilities.sum()))


def _last(network, texts: list[list[int]], window: int | None) -> np.ndarray:
    """Return the logits (texts, vocabulary) of what comes behind each text, padded at its end.

    Of a text that is longer than the network's window its last tokens are read.
    """
    texts = [text[-window:] if window else text for text in texts]
    ends = torch.tensor([len(text) - 1 for text in texts])
    ids = torch.zeros(len(texts), int(ends.max()) + 1, dtype=torch.long)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = torch.tensor(text)
    rows = torch.arange(len(texts))

    def last_alone(module, arguments):
        if arguments[0].shape[1] < ids.shape[1]:  # a bias reads the surprisal of tokens before
            return arguments
        return (arguments[0][rows, ends.to(arguments[0].device)][:, None], *arguments[1:])

    hook = network.get_output_embeddings().register_forward_pre_hook(last_alone)
    try:
        with torch.inference_mode():
            logits = network(input_ids=ids.to(network.device), use_cache=False).logits
    finally:
        hook.remove()
    return logits[:, 0].float().cpu().numpy()
