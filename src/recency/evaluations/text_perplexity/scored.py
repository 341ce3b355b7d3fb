"""Scores of LMs on a validation and a test text, alone and interpolated, with their seeds."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.figures import comparison
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files
from recency.scoring.mix import estimate_shares, mix_nats


def perplexity(nats: np.ndarray) -> float:
    """Return exp of the mean of nats."""
    return float(np.exp(nats.mean()))


@dataclass(frozen=True)
class Seed:
    """Scores of one training run: nats (words,) of each text, and the interpolation weight."""

    variant: str  # the LM of this training run
    seed: str
    parameters: int
    words_per_second: float  # in scoring the test text
    validation: np.ndarray
    test: np.ndarray
    documents: np.ndarray  # of each word of the test text
    interpolated: np.ndarray | None = None
    weight: float = math.nan


@dataclass(frozen=True)
class Scored:
    """An LM and its seeds. Texts are `validation`, `test` and `interpolated`."""

    lm: LM
    seeds: list[Seed]

    def has(self, text: str) -> bool:
        """Return whether the LM has scores of this text; no LM is interpolated with itself."""
        return getattr(self.seeds[0], text) is not None

    def nats(self, text: str) -> np.ndarray:
        """Return the mean over seeds, word by word."""
        return sum(getattr(seed, text) for seed in self.seeds) / len(self.seeds)

    def ppl(self, text: str) -> float:
        """Return the perplexity, as the geometric mean over seeds."""
        return perplexity(self.nats(text)) if self.has(text) else math.nan

    def sd(self, text: str) -> float:
        """Return the standard deviation of the seeds' perplexities, NaN for one seed."""
        if len(self.seeds) < 2 or not self.has(text):
            return math.nan
        return float(np.std([perplexity(getattr(seed, text)) for seed in self.seeds], ddof=1))

    def mean(self, of: Callable[[Seed], float]) -> float:
        """Return the mean over seeds of the values that `of` returns."""
        return float(np.mean([of(seed) for seed in self.seeds]))


def read(scores: Files, variants: Described, other: str | None) -> list[Scored]:
    """Return each LM with its seeds, from score's files for validation and test text, by variant.

    `variants` have `lm` (without its seed), `variant` and `seed`. Each training run is interpolated
    with `other`, by the best weight on the validation text. Raises InputError if that LM has other
    words.
    """
    paths, variants = list(scores), list(variants)
    trained = [
        _seed(variant, *map(pd.read_parquet, pair))
        for variant, pair in zip(variants, zip(paths[::2], paths[1::2]), strict=True)
    ]
    if other is not None:
        with_it = next(seed for seed in trained if seed.variant == other)
        trained = [_interpolated(seed, with_it) for seed in trained]
    lms, seeds = comparison.of_seeds(trained, variants)
    return [Scored(lm, seeds[lm.lm]) for lm in lms]


def _seed(about: Mapping, validation: pd.DataFrame, test: pd.DataFrame) -> Seed:
    """Return a training run from its two files."""
    parameters, speed = int(test.parameters.iloc[0]), float(test.words_per_second.iloc[0])
    nats = [part.nats.to_numpy() for part in (validation, test)]
    names = about["variant"], str(about["seed"])
    return Seed(*names, parameters, speed, *nats, test.document.to_numpy())


def _interpolated(seed: Seed, other: Seed) -> Seed:
    """Return a training run interpolated with another; the other one unchanged."""
    if seed.variant == other.variant:
        return seed
    for text in ("test", "validation"):
        size, its = len(getattr(seed, text)), len(getattr(other, text))
        if size != its:
            raise InputError(
                f"{seed.variant} scored {size:,} words of the {text} text, {other.variant} {its:,}: LMs are "
                "interpolated word by word, which requires the same words"
            )
    shares = estimate_shares(np.array([seed.validation, other.validation]))
    together = mix_nats(np.array([seed.test, other.test]), shares)
    return replace(seed, interpolated=together, weight=float(shares[0]))
