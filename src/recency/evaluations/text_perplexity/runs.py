"""Training runs of LMs and their scores of a text, alone and interpolated with another LM."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.figures import comparison
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files
from recency.scoring import mix


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
    known: Mapping[str, np.ndarray]  # text → whether the LM knows each word (words,)
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

    def nats_by_seed(self, text: str) -> dict[str, float]:
        """Return seed → nats per word; equal seed numbers have one name for all LMs."""
        return {seed.seed: float(getattr(seed, text).mean()) for seed in self.seeds}


def read(scores: Files, variants: Described, other: str | None, texts: Files = ()) -> list[Scored]:
    """Return each LM with its seeds, from score's files for validation and test text, by variant.

    `variants` have `lm` (without its seed), `variant`, `seed` and, for networks of words,
    `unknown_as`: the token for unknown words, which the two `texts` may have as a word. Each
    training run is interpolated with `other`, by the best weight on the validation text. Raises
    InputError if that LM has other words.
    """
    paths, variants = list(scores), list(variants)
    words = [mix.read_words(text) for text in texts] or [None, None]
    trained = [
        _seed(variant, words, *map(pd.read_parquet, pair))
        for variant, pair in zip(variants, zip(paths[::2], paths[1::2]), strict=True)
    ]
    if other is not None:
        with_it = next(seed for seed in trained if seed.variant == other)
        trained = [_interpolate_run(seed, with_it) for seed in trained]
    lms, seeds = comparison.of_seeds(trained, variants)
    return [Scored(lm, seeds[lm.lm]) for lm in lms]


def _seed(
    about: Mapping,
    words: Sequence[np.ndarray | None],
    validation: pd.DataFrame,
    test: pd.DataFrame,
) -> Seed:
    """Return a training run from its two files and the words of the two texts."""
    parameters, speed = int(test.parameters.iloc[0]), float(test.words_per_second.iloc[0])
    nats = [part.nats.to_numpy() for part in (validation, test)]
    names, known = (about["variant"], str(about["seed"])), {}
    tables = {"validation": validation, "test": test}
    for (text, table), spelled in zip(tables.items(), words, strict=True):
        is_of_words = spelled is not None and len(spelled) == len(table)
        sign = about.get("unknown_as") if is_of_words else None
        known[text] = mix.is_known(table, spelled, sign)
    return Seed(*names, parameters, speed, *nats, test.document.to_numpy(), known)


def _interpolate_run(seed: Seed, other: Seed) -> Seed:
    """Return a training run interpolated with another; the other one unchanged.

    A word that only one of them knows has p = 0 under the other (recency.scoring.mix).
    """
    if seed.variant == other.variant:
        return seed
    for text in ("test", "validation"):
        size, its = len(getattr(seed, text)), len(getattr(other, text))
        if size != its:
            raise InputError(
                f"{seed.variant} scored {size:,} words of the {text} text, {other.variant} {its:,}: LMs are "
                "interpolated word by word, which requires the same words"
            )
    shares = mix.estimate_shares(_of_known_words(seed, other, "validation"))
    together = mix.mix_nats(_of_known_words(seed, other, "test"), shares)
    known = {**seed.known, "interpolated": seed.known["test"] | other.known["test"]}
    return replace(seed, interpolated=together, weight=float(shares[0]), known=known)


def _of_known_words(seed: Seed, other: Seed, text: str) -> np.ndarray:
    """Return nats (2, words) of two LMs, infinite for words that only the other one knows."""
    nats = np.array([getattr(run, text) for run in (seed, other)])
    return mix.without_unknown(nats, ~np.array([run.known[text] for run in (seed, other)]))


def has_same_words(a: Scored, b: Scored, text: str) -> bool:
    """Return whether two LMs were scored on the same words and know the same ones of them.

    Words are the same if their documents are.
    """
    first, second = a.seeds[0], b.seeds[0]
    return np.array_equal(first.documents, second.documents) and np.array_equal(
        first.known[text], second.known[text]
    )


def group_by_words(lms: Iterable[Scored], text: str) -> list[list[Scored]]:
    """Group LMs with the same words, as in `has_same_words`, which share their resampled documents."""
    groups: list[list[Scored]] = []
    for lm in lms:
        group = next((members for members in groups if has_same_words(members[0], lm, text)), None)
        group.append(lm) if group else groups.append([lm])
    return groups
