"""The masked objective: selects tokens of a row as targets, and replaces them.

In a row of L tokens, floor(share·L + U(0, 1)) positions are drawn without replacement. A share
`masked` of them gets the mask, a share `random` a random entry that is not special, and the rest is
unchanged (Devlin et al. 2019, section 3.1; drawn as fairseq does). Draws depend only on the seed,
the epoch and the row's number, not on other rows in the batch or on when it is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recency.errors import InputError
from recency.networks.roberta import BEGIN, END, PAD

#: Default values of a recipe's `masking` (Liu et al. 2019).
DEFAULTS = {"share": 0.15, "masked": 0.8, "random": 0.1}
#: Entries that the `roberta` family has at fixed ids.
NAMED = {"<s>": BEGIN, "<pad>": PAD, "</s>": END}
MASK = "<mask>"


@dataclass(frozen=True)
class Entries:
    """The vocabulary of a masked LM: its size, the mask, and the ids of non-special entries."""

    vocabulary: int
    mask: int
    words: np.ndarray


def entries(tokenizer: Path, vocabulary: int) -> Entries:
    """Read the entries of a tokenizer.json; raise InputError unless it suits a masked LM."""
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
    """Masking of rows; `draw` is a row's own generator (`generator`)."""

    def __init__(self, settings: Mapping, vocabulary: Entries):
        self.share, self.masked, self.random = ({**DEFAULTS, **settings}[key] for key in DEFAULTS)
        self.entries = vocabulary

    def generator(self, *numbers: int) -> np.random.Generator:
        """Return the generator of a row, from seed, epoch and row; epoch orders use another one."""
        return np.random.default_rng([*numbers, 1])

    def count(self, length: int, draw: np.random.Generator) -> int:
        """Return how many tokens of a row are masked, by the row's first draw."""
        return int(self.share * length + draw.random())

    def apply(self, row: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """Mask `row` (tokens) in place; return the masked positions in order."""
        count = self.count(len(row), draw)
        places = np.sort(draw.choice(len(row), count, replace=False))
        kind = draw.random(count)
        others = self.entries.words[draw.integers(len(self.entries.words), size=count)]
        random = (kind >= self.masked) & (kind < self.masked + self.random)
        row[places] = np.where(
            kind < self.masked, self.entries.mask, np.where(random, others, row[places])
        )
        return places
