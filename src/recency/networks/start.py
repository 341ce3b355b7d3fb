"""What a network's vectors of words begin training as: those of another LM, rare words' made.

SWordSS as the thesis uses it (section 5.4): vectors of words begin as given ones, and those of words that
are rare or have none as weighted means of words written alike; all other weights begin as drawn.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel

from recency.errors import InputError
from recency.networks.swordss import Index, made

#: Tokens that are counted at once.
AT_ONCE = 1 << 24
#: What `vectors` of a recipe is where it does not say.
DEFAULTS = {"least": 5, "similarity": "jw", "neighbours": 10, "made": True, "output": True}


@torch.no_grad()
def put(
    model: PreTrainedModel,
    source: str | Path,
    tokenizer: str | Path,
    tokens: np.ndarray,
    settings: Mapping,
) -> str:
    """Put vectors into a fresh network's embeddings, in place; say of how many words.

    `source` is the model.safetensors of an LM of the same tokenizer. Words that stand `least` times or
    more among `tokens` (n,), the training text, have its vectors: those that words are read by, and
    those that they are predicted by. The rest have the mean of their
    `neighbours` nearest by `similarity`, if `made`, else what was drawn, as have words that nothing
    is near to. Without `output` words are predicted by what was drawn.

    Raises InputError where the source's vectors are of another width.
    """
    settings = DEFAULTS | dict(settings)
    words = _entries(tokenizer)
    counts = _counts(tokens, max(words.values()) + 1)
    matrices = _given(Path(source), settings["output"])
    frequent = [word for word, number in words.items() if counts[number] >= settings["least"]]
    if not frequent:
        raise InputError(
            f"no word stands {settings['least']} times in the training text, so that none begins with "
            f"a vector of {source}; lower `least`"
        )
    places = [words[word] for word in frequent]
    weights = [matrix[places] for matrix in matrices]
    rare = words.keys() - set(frequent) if settings["made"] else ()
    index, side_by_side = Index(frequent), np.concatenate(weights, 1)
    found = {
        words[word]: vector
        for word in sorted(rare)
        if (
            vector := made(
                word.lower(), index, side_by_side, settings["similarity"], settings["neighbours"]
            )
        )
        is not None
    }
    places += list(found)
    side_by_side = np.concatenate([side_by_side, *(v[None] for v in found.values())])
    embeddings = [model.get_input_embeddings().weight, model.get_output_embeddings().weight]
    free = [embeddings[0].shape[1], embeddings[1].shape[1] - _constant(model)]
    widths = [matrix.shape[1] for matrix in matrices]
    for name, wide, has in zip(("read", "predicted"), widths, free):
        if wide != has:
            raise InputError(
                f"{source}: vectors of {wide} numbers, and words are {name} by {has} here; give the "
                "architecture as many" + ", or `output: false`" * (name == "predicted")
            )
    parts = np.split(side_by_side, np.cumsum(widths)[:-1], 1)
    for embedding, part in zip(embeddings, parts):
        embedding[places, : part.shape[1]] = torch.from_numpy(part).to(embedding)
    left = len(words) - len(places)
    return (
        f"{len(frequent):,} words begin with a vector of {source}, {len(found):,} with one made of "
        f"words written alike, {left:,} as drawn"
    )


def _counts(tokens: np.ndarray, size: int) -> np.ndarray:
    """Return how often each entry stands in a text, which is read in pieces."""
    found = np.zeros(size, np.int64)
    for first in range(0, len(tokens), AT_ONCE):
        own = np.bincount(tokens[first : first + AT_ONCE], minlength=size)
        found += own[:size]
    return found


def _entries(tokenizer: str | Path) -> dict[str, int]:
    """Return word → id of a tokenizer of words, without the entries that are no words."""
    from tokenizers import Tokenizer

    opened = Tokenizer.from_file(str(tokenizer))
    left_out = {token.content for token in opened.get_added_tokens_decoder().values()}
    left_out.add(getattr(opened.model, "unk_token", None))
    entries = sorted(opened.get_vocab().items(), key=lambda entry: entry[1])
    return {word: number for word, number in entries if word not in left_out}


def _given(source: Path, output: bool) -> list[np.ndarray]:
    """Return an LM's vectors that words are read by and, with `output`, those that predict them."""
    from recency.networks.checkpoints import load

    model = load(source.parent)
    predicted = model.get_output_embeddings().weight
    own = predicted[:, : predicted.shape[1] - _constant(model)]
    given = [model.get_input_embeddings().weight, own]
    return [each.float().numpy() for each in given[: 1 + output]]


def _constant(model: PreTrainedModel) -> int:
    """Return how many of the last numbers that words are predicted from are always 1."""
    layers = getattr(model.base_model, "layers", None)
    further = getattr(model.base_model, "feed_forward", None)
    return 0 if layers is None or further is not None else getattr(layers[-1], "constant", 0)
