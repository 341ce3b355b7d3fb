"""The token stream that a language model is trained on, read from a memory-mapped file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from recency.errors import InputError


class TokenStream:
    """Rows of `length` + 1 tokens, end to end, in the file's order or shuffled anew each epoch.

    Row r of step n is row n·batch + r of the order; after the last row it starts over. As in
    Pythia, rows do not overlap: the last target of one row is not the first input of the next.
    """

    def __init__(self, tokens: Path, info: Path, length: int, order: str, seed: int):
        description = json.loads(Path(info).read_text())
        self.vocabulary: int = description["vocabulary"]
        self.tokens = np.memmap(tokens, dtype=description["dtype"], mode="r")
        self.length, self.order, self.seed = length, order, seed
        self.rows = len(self.tokens) // (length + 1)
        if self.rows == 0:
            raise InputError(
                f"{tokens}: {len(self.tokens):,} tokens do not fill one row of {length + 1:,}; "
                "give the corpus more text, or the recipe a smaller `sequence_length`"
            )
        self._epoch, self._permutation = -1, None

    def _row(self, number: int) -> int:
        """Return the place in the file of the order's row `number`."""
        epoch, place = divmod(number, self.rows)
        if self.order == "sequential":
            return place
        if epoch != self._epoch:
            generator = np.random.default_rng([self.seed, epoch])
            self._epoch, self._permutation = epoch, generator.permutation(self.rows)
        return int(self._permutation[place])

    def batch(self, first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs and targets of rows `first` … `first + count` - 1, each (count, length)."""
        width = self.length + 1
        starts = [self._row(number) * width for number in range(first, first + count)]
        rows = np.stack([self.tokens[start : start + width] for start in starts]).astype(np.int64)
        rows = torch.from_numpy(rows)
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()
