"""The masked objective: which places of a row are asked for, and what stands there instead.

Of a row of L tokens, floor(share·L + U(0, 1)) places are drawn without replacement. Of them the share
`masked` has the mask, the share `random` an entry drawn from all that are no special ones, and the
rest what it had (Devlin et al. 2019, section 3.1; drawn as fairseq does). Draws depend on the seed,
the epoch and the row's number alone: neither on the rows beside it nor on when it is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recency.errors import InputError
from recency.networks.roberta import BEGIN, END, PAD

#: What a recipe's `masking` is where it does not say (Liu et al. 2019).
DEFAULTS = {"share": 0.15, "masked": 0.8, "random": 0.1}
#: What entries are called that a network of kind `roberta` has at fixed places.
NAMED = {"<s>": BEGIN, "<pad>": PAD, "</s>": END}
MASK = "<mask>"


@dataclass(frozen=True)
class Entries:
    """The entries of a masked LM's vocabulary: how many, the mask, and those of words (ids)."""

    vocabulary: int
    mask: int
    words: np.ndarray


def entries(tokenizer: Path, vocabulary: int) -> Entries:
    """Read them off a tokenizer.json; InputError unless it is one of a masked LM."""
    from tokenizers import Tokenizer

    opened = Tokenizer.from_file(str(tokenizer))
    mask = opened.token_to_id(MASK)
    if mask is None:
        raise InputError(
            f"{tokenizer} has no {MASK}, which the objective `masked` needs: take a tokenizer of `kind: "
            "masked`, or a file that has one"
        )
    for name, number in NAMED.items():
        if opened.token_to_id(name) != number:
            raise InputError(
                f"{tokenizer}: {name} has to be entry {number}, as RoBERTa has it, and is "
                f"{opened.token_to_id(name)}; take a tokenizer of `kind: masked`, or RoBERTa's file"
            )
    added = opened.get_added_tokens_decoder().items()
    special = [number for number, token in added if token.special]
    return Entries(vocabulary, mask, np.setdiff1d(np.arange(vocabulary), special))


class Masking:
    """What is asked of rows; `draw` is a generator's, of a row's own."""

    def __init__(self, settings: Mapping, known: Entries):
        self.share, self.masked, self.random = ({**DEFAULTS, **settings}[key] for key in DEFAULTS)
        self.known = known

    def generator(self, *numbers: int) -> np.random.Generator:
        """Return the generator of one row, of seed, epoch and row; not that of an epoch's order."""
        return np.random.default_rng([*numbers, 1])

    def count(self, length: int, draw: np.random.Generator) -> int:
        """Return how many places of a row are asked for: the first that is drawn for it."""
        return int(self.share * length + draw.random())

    def apply(self, row: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """Mask `row` (tokens) where it stands; return the places that are asked for, in order."""
        count = self.count(len(row), draw)
        places = np.sort(draw.choice(len(row), count, replace=False))
        kind = draw.random(count)
        others = self.known.words[draw.integers(len(self.known.words), size=count)]
        random = (kind >= self.masked) & (kind < self.masked + self.random)
        row[places] = np.where(
            kind < self.masked, self.known.mask, np.where(random, others, row[places])
        )
        return places
