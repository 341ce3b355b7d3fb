"""Initialise word vectors from another LM's, and compose those of rare words.

SWordSS as in the thesis (section 5.4): word vectors start as given ones, and the vectors of rare or
missing words as weighted means over similarly spelled words. All other weights start as drawn.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel

from readingtimes.names import nearest
from recency.errors import InputError
from recency.networks.swordss import Index, compose_vector

#: Tokens that are counted at once.
AT_ONCE = 1 << 24
#: Default values of a recipe's `vectors`.
DEFAULTS = {"min_count": 5, "similarity": "jw", "neighbours": 10}
DEFAULTS |= {"marks": False, "compose": True, "output": True}


@torch.no_grad()
def initialise_vectors(
    model: PreTrainedModel,
    source: str | Path,
    tokenizer: str | Path,
    tokens: np.ndarray,
    settings: Mapping,
) -> str:
    """Put vectors into a fresh network's embeddings, in place; return a summary of the counts.

    `source` is the model.safetensors of an LM with the same tokenizer. Words that occur at least
    `min_count` times in `tokens` (n,), the training text, get its input and output vectors. With
    `compose`, the others get the mean over their `neighbours` nearest words by `similarity`
    (`marks`: by trigrams with boundary marks); without it, or without near words, they keep their drawn vectors. Without `output`, output vectors stay
    as drawn.

    Raises InputError for an unknown setting, or if the source's vectors have another width.
    """
    if unknown := settings.keys() - DEFAULTS.keys() - {"of"}:
        raise InputError(f"vectors: no setting is called {nearest(min(unknown), DEFAULTS)}")
    settings = DEFAULTS | dict(settings)
    words = _entries(tokenizer)
    counts = _counts(tokens, max(words.values()) + 1)
    matrices = _given_vectors(Path(source), settings["output"])
    frequent = [word for word, number in words.items() if counts[number] >= settings["min_count"]]
    if not frequent:
        raise InputError(
            f"no word occurs {settings['min_count']} times in the training text, so none begins with "
            f"a vector of {source}; lower `min_count`"
        )
    places = [words[word] for word in frequent]
    weights = [matrix[places] for matrix in matrices]
    rare = words.keys() - set(frequent) if settings["compose"] else ()
    index, side_by_side = Index(frequent, settings["marks"]), np.concatenate(weights, 1)
    composed = {
        words[word]: vector
        for word in sorted(rare)
        if (
            vector := compose_vector(
                word.lower(), index, side_by_side, settings["similarity"], settings["neighbours"]
            )
        )
        is not None
    }
    places += list(composed)
    side_by_side = np.concatenate([side_by_side, *(v[None] for v in composed.values())])
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
        f"{len(frequent):,} words begin with a vector of {source}, {len(composed):,} with one composed of "
        f"similarly spelled words, {left:,} as drawn"
    )


def _counts(tokens: np.ndarray, size: int) -> np.ndarray:
    """Return how often each entry occurs in a text, which is read in pieces."""
    counts = np.zeros(size, np.int64)
    for first in range(0, len(tokens), AT_ONCE):
        of_piece = np.bincount(tokens[first : first + AT_ONCE], minlength=size)
        counts += of_piece[:size]
    return counts


def _entries(tokenizer: str | Path) -> dict[str, int]:
    """Return the ids of a word tokenizer's entries, without those that are not words."""
    from tokenizers import Tokenizer

    opened = Tokenizer.from_file(str(tokenizer))
    left_out = {token.content for token in opened.get_added_tokens_decoder().values()}
    left_out.add(getattr(opened.model, "unk_token", None))
    entries = sorted(opened.get_vocab().items(), key=lambda entry: entry[1])
    return {word: number for word, number in entries if word not in left_out}


def _given_vectors(source: Path, output: bool) -> list[np.ndarray]:
    """Return an LM's input vectors and, with `output`, its output vectors."""
    from recency.networks.checkpoints import load

    model = load(source.parent)
    predicted = model.get_output_embeddings().weight
    variable = predicted[:, : predicted.shape[1] - _constant(model)]
    given = [model.get_input_embeddings().weight, variable]
    return [vectors.float().numpy() for vectors in given[: 1 + output]]


def _constant(model: PreTrainedModel) -> int:
    """Return how many of the last numbers that words are predicted from are always 1."""
    layers = getattr(model.base_model, "layers", None)
    further = getattr(model.base_model, "feed_forward", None)
    return 0 if layers is None or further is not None else getattr(layers[-1], "constant", 0)
