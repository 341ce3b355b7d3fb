"""Predict the token at the mask of a text with a masked LM."""

from typing import TYPE_CHECKING

import torch

from recency.errors import InputError

if TYPE_CHECKING:
    from recency.scoring.surprisal import Model


@torch.inference_mode()
def fill_mask(model: "Model", text: str, top: int = 5) -> list[tuple[str, float, str]]:
    """Return the most probable completions of a text's mask.

    Parameters
    ----------
    model : Model
        A masked LM from `recency.load`.
    text : str
        A text with one mask token, such as ``The capital of China is <mask>.``
    top : int
        Number of completions.

    Returns
    -------
    list of (str, float, str)
        Completed text, probability and predicted token, in order of falling probability.

    Notes
    -----
    As in fairseq's function of the same name, white space before the mask is part of the token.
    """
    if not model.masked:
        raise InputError("fill_mask needs a masked LM, and this one predicts the next token")
    around = model.around
    mask = model.tokenizer.id_to_token(around.mask)
    if text.count(mask) != 1:
        raise InputError(
            f"{text[:60]!r} has {text.count(mask)} tokens {mask}; it needs exactly one"
        )
    before, after = text.split(mask)
    encode = model.tokenizer.encode
    left, right = (encode(side.rstrip(), add_special_tokens=False).ids for side in (before, after))
    ids = [*around.before, *left, around.mask, *right, *around.after]
    inputs = torch.tensor([ids], device=model.network.device)
    logits = model.network(input_ids=inputs, attention_mask=torch.ones_like(inputs)).logits[0]
    probability = logits[len(around.before) + len(left)].float().softmax(-1)
    filled = []
    for value, number in zip(*map(torch.Tensor.tolist, probability.topk(top)), strict=True):
        entry = model.tokenizer.decode([number], skip_special_tokens=False)
        start = before.removesuffix(" ")  # the token includes it
        filled.append((start + entry + after, value, entry))
    return filled
