"""Rule measured_memory: the effect of replacing a word on the surprisal of each later word.

The measure is the same for every LM, with attention or without: it depends only on the LM's
surprisal, not on its architecture.

Texts in which one word is replaced, with the same words before and after it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.evaluations.context_information.score import shortened
from recency.evaluations.measured_memory.half_life import QUANTILES, UNITS
from recency.scoring.lm_spec import LMSpec
from recency.scoring.lossy.lossy_estimates import DRAWN_AS
from recency.scoring.surprisal import score_words

TRIES = 50  # draws of a replacement before a position is given up


@dataclass(frozen=True)
class Replaced:
    """Pairs of texts that differ in one word each.

    `texts` (contract 1) has two items per position: the original text, then the text with the other
    word. `first` are the rows of `texts` after the word in the original, `again` in the other text;
    `place` and `distance` (words, 1 for the next word) of each row.
    """

    texts: pd.DataFrame
    first: np.ndarray
    again: np.ndarray
    place: np.ndarray
    distance: np.ndarray
    reach: int


def replaced(
    words: pd.DataFrame, tokens: np.ndarray, replacements: int, reach: int, before: int, seed: int
) -> Replaced:
    """Draw `replacements` words of `words` (contract 1), and a replacement for each from the same texts.

    `tokens` (words,) is the number of tokens of each word for the LM. The replacement has the same
    number, so that later words keep their positions; LMs with the same tokenizer get the same
    words. A position has `reach` words after it in its item, or fewer if few positions have as many
    (`recency.evaluations.context_information.score.shortened`).
    Raises InputError if there are fewer than two positions.
    """
    random = np.random.default_rng(seed)
    position = words.groupby("item", sort=False).cumcount().to_numpy()
    length = words.groupby("item", sort=False)["word"].transform("size").to_numpy()
    reach = shortened(reach, length - position - 1, replacements)
    possible = np.flatnonzero(length - position > reach) if reach > 0 else np.array([], int)
    order = random.permutation(possible)
    draws = random.integers(len(words), size=(len(order), TRIES))
    lower = words["word"].str.lower().to_numpy()
    parts, rows, used = [], [], 0
    for row, drawn in zip(order, draws, strict=True):
        if used == replacements:
            break
        fits = (tokens[drawn] == tokens[row]) & (lower[drawn] != lower[row])
        if not fits.any():
            continue  # no replacement for this word: try the next position
        other = drawn[np.argmax(fits)]
        start = row - min(before, position[row])
        text = words.iloc[start : row + reach + 1]
        for version in (text["word"], text["word"].where(text.index != words.index[row])):
            filled = version.fillna(words["word"].iloc[other])
            parts.append(text.assign(word=filled, item=f"{used}.{len(parts) % 2}"))
        rows.append((int(row - start), len(text)))
        used += 1
    if used < 2:
        raise InputError(
            f"{used} of {len(words):,} words can be replaced with {reach} words after them: the "
            "texts are too short or have too few words of equal length; lower `reach`, or use other texts"
        )
    texts = pd.concat(parts, ignore_index=True)
    texts = texts.assign(
        word_id=np.arange(len(texts), dtype=np.int32),
        position=texts.groupby("item", sort=False).cumcount().to_numpy(np.int32) + 1,
    )
    starts = np.cumsum([0] + [2 * size for _, size in rows])[:-1]
    distance = np.arange(1, reach + 1)
    first = np.concatenate([s + at + distance for s, (at, _) in zip(starts, rows)])
    again = np.concatenate([s + size + at + distance for s, (at, size) in zip(starts, rows)])
    place_index = np.repeat(np.arange(used), reach)
    return Replaced(texts, first, again, place_index, np.tile(distance, used), reach)


def changes(
    words: pd.DataFrame,
    tokens: np.ndarray,
    score: Callable[[pd.DataFrame], tuple[np.ndarray, np.ndarray]],
    replacements: int,
    reach: int,
    before: int,
    seed: int,
) -> pd.DataFrame:
    """Return place, distance (words) and change_bits (surprisal after the replacement minus before).

    `score` returns the surprisal of a table of words in bits, NaN where missing, and the tokens of
    each. A position is excluded if the replacement has another number of tokens in its context.
    """
    pairs = replaced(words, tokens, replacements, reach, before, seed)
    bits, read = score(pairs.texts)
    same = pd.Series(read[pairs.first] == read[pairs.again]).groupby(pairs.place).transform("all")
    table = pd.DataFrame(
        {
            "place": pairs.place.astype(np.int32),
            "distance": pairs.distance.astype(np.int32),
            "change_bits": bits[pairs.again] - bits[pairs.first],
        }
    )
    return table[same.to_numpy() & table.change_bits.notna()].reset_index(drop=True)


COLUMNS = ["item", "word"]


def tokens_of(words: pd.DataFrame, opened) -> np.ndarray:
    """Return the number of tokens (words,) of each word in its item."""
    texts = opened.texts(words).values()
    return np.concatenate([np.bincount(text.word, minlength=text.words) for text in texts])


def unit_half_lives(network) -> list[float] | None:
    """Return the quartiles, in tokens, of the half-lives of a network's fading units, or None."""
    import torch

    half_lives = [m.half_lives() for m in network.modules() if hasattr(m, "half_lives")]
    half_lives = [values.float().flatten() for values in half_lives if values is not None]
    if not half_lives:
        return None
    return torch.cat(half_lives).quantile(torch.tensor(QUANTILES)).tolist()


def main(
    words: str | Path,
    lm: LMSpec,
    out: str | Path,
    replacements: int,
    reach: int,
    before: int,
    seed: int,
) -> None:
    """Write place, distance (words, 1 for the next word) and change_bits to a Parquet file.

    The metadata have the quartiles of the half-lives of fading units, if any.

    `replacements` words of the texts are replaced, one at a time, with `before` words of context before
    each; surprisal is compared for `reach` words after it.
    """
    table = pd.read_parquet(words)
    table = table[[*COLUMNS, *({"space_after"} & set(table))]]
    opened = lm.open()
    shown = progress(1, f"memory of {lm.name}", "windows")

    def report(done: int, total: int) -> None:
        shown.total = total
        shown.update(done)

    def score(texts: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        if lm.lossy is not None:  # the same erasures in both texts of a pair
            texts = texts.assign(**{DRAWN_AS: texts["item"].str.partition(".")[0]})
        result = score_words(texts, opened, report=report, **lm.reading)
        return result.table["surprisal_bits"].to_numpy(float), result.table["tokens"].to_numpy()

    rows = changes(table, tokens_of(table, opened), score, replacements, reach, before, seed)
    if rows.place.nunique() < 2:
        raise InputError(
            f"{lm.name}: no word could be replaced by one with the same number of tokens; use longer texts"
        )
    if units := unit_half_lives(opened.network):
        rows.attrs[UNITS] = units
    with atomic(out) as part:
        rows.astype({"change_bits": "float32"}).to_parquet(part, index=False, compression="zstd")
