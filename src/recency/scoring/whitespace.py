"""Whitespace correction: count the space after a word with that word (three published variants).

If tokens begin with a space, the end of a word is part of the next token. With B the tokens that
may follow a complete word and P_B(c) their probability after c, the corrected surprisal of w in c
is s'(w) = s(w) - log P_B(c·w) + log P_B(c) (Oh & Schuler 2024; Pimentel & Meister 2024). The
variants differ at the beginning and the end of a text:

- `oh_schuler`: B is the set of tokens that begin with a space; a text begins with P_B = 1.
- `pimentel_meister`: B also contains the end of the text; a text begins with P_B = 1.
- `pimentel_meister_first`: in addition, the first word's probability is conditional on beginning a
  text: if it has no space, it is divided by the mass of the tokens without a space.
"""

import numpy as np

VARIANTS = ("pimentel_meister", "oh_schuler", "pimentel_meister_first")


def boundaries(
    space: np.ndarray, end: np.ndarray, first_marked: bool, variant: str = VARIANTS[0]
) -> np.ndarray:
    """Return log P_B before each word and after the last.

    `space` and `end` are the log masses (words + 1,) of the tokens that begin with a space and of
    those that end a text; `first_marked` says whether the first word's token begins with a space.
    """
    if variant not in VARIANTS:
        raise ValueError(f"correction {variant!r} is none of {', '.join(VARIANTS)}")
    with np.errstate(invalid="ignore"):  # NaN before the first word without a begin token
        mass = space.copy() if variant == "oh_schuler" else np.logaddexp(space, end)
    if variant != "pimentel_meister_first" or np.isnan(space[0]):
        mass[0] = 0.0
    elif not first_marked:
        mass[0] = np.log(-np.expm1(space[0]))
    return mass


def correct(plain: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return corrected surprisal from `plain` (words,) and log P_B, `before` (words + 1,), nats."""
    return plain - before[1:] + before[:-1]


def discrepancy(tokens: np.ndarray, corrected: np.ndarray, before: np.ndarray) -> float:
    """Return the absolute error of Σs' = Σs - log P_B(end) + log P_B(start) for a text, in nats.

    Σs is over `tokens`, not words, so that tokens that are lost or counted twice are detected.
    Words without surprisal (NaN) at the start of the text and their tokens are ignored.
    """
    scored = np.flatnonzero(~np.isnan(corrected))
    if len(scored) == 0:
        return 0.0
    expected = np.nansum(tokens) - before[-1] + before[scored[0]]
    return float(abs(corrected[scored].sum() - expected))
