"""The space behind a word: counted with the word, not with the next (three published variants).

Tokens that begin with a space leave the end of a word to the next token. With B the tokens that may
follow a finished word and P_B(c) their probability after c, the corrected surprisal of w in c is
s'(w) = s(w) - log P_B(c·w) + log P_B(c) (Oh & Schuler 2024; Pimentel & Meister 2024). The variants
differ in what ends the last word and in what stands before the first:

- `oh_schuler`: B are the tokens that begin with a space; a text begins with P_B = 1.
- `pimentel_meister`: B also has the end of the text; a text begins with P_B = 1.
- `pimentel_meister_first`: also, the first word is given that it begins a text: tokenizers that
  write it without a space can only begin with the other tokens, whose mass it is divided by.
"""

import numpy as np

VARIANTS = ("pimentel_meister", "oh_schuler", "pimentel_meister_first")


def boundaries(
    space: np.ndarray, end: np.ndarray, first_marked: bool, variant: str = VARIANTS[0]
) -> np.ndarray:
    """Return log P_B before each word and behind the last, as `variant` has it.

    `space` and `end` are log masses (words + 1,) of the tokens that begin with a space and of those
    that end a text; `first_marked` says whether the first word is written with its space.
    """
    if variant not in VARIANTS:
        raise ValueError(f"correction {variant!r} is none of {', '.join(VARIANTS)}")
    with np.errstate(invalid="ignore"):  # without a begin token there is none before the first word
        mass = space.copy() if variant == "oh_schuler" else np.logaddexp(space, end)
    if variant != "pimentel_meister_first" or np.isnan(space[0]):
        mass[0] = 0.0
    elif not first_marked:
        mass[0] = np.log(-np.expm1(space[0]))
    return mass


def correct(plain: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Move each word's space to it: `plain` (words,), `before` = log P_B (words + 1,), nats."""
    return plain - before[1:] + before[:-1]


def discrepancy(tokens: np.ndarray, corrected: np.ndarray, before: np.ndarray) -> float:
    """Return by how much Σs' = Σs - log P_B(end) + log P_B(start) fails for one text, in nats.

    Σs runs over the surprisal of the text's `tokens` as the model gave it, not over words, so that
    a token that was counted twice, or not at all, shows. Words without surprisal (NaN) at the start
    of the text are left out, and so are their tokens, which have none either.
    """
    scored = np.flatnonzero(~np.isnan(corrected))
    if len(scored) == 0:
        return 0.0
    expected = np.nansum(tokens) - before[-1] + before[scored[0]]
    return float(abs(corrected[scored].sum() - expected))
