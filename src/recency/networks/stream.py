"""The token stream that a language model is trained on, from a memory-mapped file."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from recency.errors import InputError

#: Number of evenly spaced positions that validation text is taken from.
PLACES = 8


def stretches(tokens: np.ndarray, wanted: int, end: int | None) -> list[tuple[int, int]]:
    """Return first and last (exclusive) tokens of PLACES stretches, about `wanted` tokens in all.

    They begin and end at document boundaries (`end` is a document's last token), or within a
    document that is longer than the stretch by half.
    """
    size, total, bounds = -(-wanted // PLACES), len(tokens), []

    def after_end(position: int, reach: int) -> int:
        if end is None:
            return position
        ends = np.flatnonzero(tokens[max(position - 1, 0) : position + reach] == end)
        return max(position - 1, 0) + int(ends[0]) + 1 if len(ends) else position

    for number in range(PLACES):
        start = after_end(number * total // PLACES, size) if number else 0
        bounds.append((start, min(after_end(start + size, size // 2), total)))
    return bounds


class TokenStream:
    """Rows of `length` + 1 tokens, in the file's order or shuffled in each epoch.

    Row r of step n is row n·batch + r of the order, which restarts after its last row. As in
    Pythia, rows do not overlap: the last target of one row is not the first input of the next.

    Rows that overlap the `validation` tokens, taken from PLACES stretches of the text
    (`stretches`), are excluded from training. Alternatively, validation rows come from another file
    of tokens, `held_out`.
    """

    def __init__(
        self,
        tokens: Path,
        info: Path,
        length: int,
        order: str,
        seed: int,
        validation: int = 0,
        held_out: Path | None = None,
    ):
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
        self._kept = None  # position in the order → row of the file, if some are excluded
        self.validation = np.zeros(0, np.int64)  # first tokens of the validation rows
        self._validation_tokens = self.tokens
        if held_out:
            self._validation_tokens = np.memmap(held_out, dtype=description["dtype"], mode="r")
            self.validation = np.arange(0, len(self._validation_tokens) - length, length + 1)
        elif validation:
            self._hold_out(validation, description["end_of_document"], tokens)
        self._epoch, self._permutation = -1, None

    def _row(self, number: int) -> int:
        """Return the row in the file of the order's row `number`."""
        epoch, position = divmod(number, self.rows)
        if self.order == "sequential":
            return position if self._kept is None else int(self._kept[position])
        if epoch != self._epoch:
            generator = np.random.default_rng([self.seed, epoch])
            self._epoch, self._permutation = epoch, generator.permutation(self.rows)
        position = int(self._permutation[position])
        return position if self._kept is None else int(self._kept[position])

    def _hold_out(self, wanted: int, end: int | None, tokens: Path) -> None:
        """Select the validation rows, and exclude rows that overlap a stretch from the order."""
        width = self.length + 1
        kept, validation = np.ones(self.rows, bool), []
        for start, stop in stretches(self.tokens, wanted, end):
            kept[start // width : -(-stop // width)] = False
            validation += range(start, stop - width + 1, width)
        if 2 * kept.sum() < len(kept) or not validation:
            raise InputError(
                f"{tokens}: `validation` of {wanted:,} tokens, in {PLACES} stretches, has "
                f"{len(validation):,} rows of {width:,} tokens and leaves {kept.sum():,} of "
                f"{len(kept):,} to train on; give it another number of tokens"
            )
        self.validation = np.array(validation)
        self._kept = np.flatnonzero(kept)
        self.rows = len(self._kept)

    def batch(self, first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs and targets of rows `first` … `first + count` - 1, each (count, length)."""
        width = self.length + 1
        return self._read([self._row(number) * width for number in range(first, first + count)])

    def validation_batch(self, first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs and targets of at most `count` validation rows from `first` on."""
        return self._read(self.validation[first : first + count], self._validation_tokens)

    def _read(
        self, starts: Sequence[int], tokens: np.ndarray | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the rows that begin at these tokens, as inputs and targets shifted by one."""
        tokens = self.tokens if tokens is None else tokens
        rows = [tokens[start : start + self.length + 1] for start in starts]
        rows = torch.from_numpy(np.stack(rows).astype(np.int64))
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()
