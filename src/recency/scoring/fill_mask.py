"""The entries that a masked LM finds most probable at the mask of a text."""

from typing import TYPE_CHECKING

import torch

from recency.errors import InputError

if TYPE_CHECKING:
    from recency.scoring.surprisal import Model


@torch.inference_mode()
def fill_mask(model: "Model", text: str, top: int = 5) -> list[tuple[str, float, str]]:
    """Return the most probable texts, each with its probability and the entry at the mask.

    Parameters
    ----------
    model : Model
        A masked LM, of `recency.load`.
    text : str
        A text with one mask as its tokenizer writes it, such as ``The capital of China is <mask>.``
    top : int
        How many entries.

    Returns
    -------
    list of (str, float, str)
        Text, probability and entry, the most probable first.

    Notes
    -----
    As fairseq's function of that name: white space before the mask is part of the entry.
    """
    if not model.masked:
        raise InputError("fill_mask is for masked LMs, and this one predicts the next token")
    around = model.around
    mask = model.tokenizer.id_to_token(around.mask)
    if text.count(mask) != 1:
        raise InputError(f"{text[:60]!r} has {text.count(mask)} times {mask}; write it once")
    before, after = text.split(mask)
    encode = model.tokenizer.encode
    left, right = (encode(each.rstrip(), add_special_tokens=False).ids for each in (before, after))
    ids = [*around.before, *left, around.mask, *right, *around.after]
    inputs = torch.tensor([ids], device=model.network.device)
    logits = model.network(input_ids=inputs, attention_mask=torch.ones_like(inputs)).logits[0]
    probability = logits[len(around.before) + len(left)].float().softmax(-1)
    filled = []
    for value, number in zip(*(each.tolist() for each in probability.topk(top)), strict=True):
        entry = model.tokenizer.decode([number], skip_special_tokens=False)
        start = before.removesuffix(" ")  # which the entry has
        filled.append((start + entry + after, value, entry))
    return filled
