"""Rule context_information: surprisal of words after their whole context, and after its last k words.

The log-likelihood that is lost where all but the last k words are removed is what the LM takes from the
words before these. A memory of k words loses nothing, and a longer one never less than a shorter one that
uses the same words as well: unlike a rate of decline, it is less where context is removed.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.scoring.lm_spec import LMSpec
from recency.scoring.lossy.lossy_estimates import DRAWN_AS
from recency.scoring.surprisal import score_words

FEWEST = 30
"""Words with the context asked for, below which it is shortened."""
#: Numbers of context words, as far as they are shorter than the whole context.
LENGTHS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def shortened(length: int, there: np.ndarray, number: int) -> int:
    """Return a length that enough words have, at most `length`.

    Parameters
    ----------
    length
        The length asked for.
    there : ndarray, shape (words,)
        The length that each word has.
    number
        How many words are drawn.

    Returns
    -------
    int
        `length`, if FEWEST words have it, else the largest that `number` words have, or half of them.
    """
    if (there >= length).sum() >= FEWEST:
        return length
    least = max(1, min(number, len(there) // 2))
    return min(length, int(np.sort(there)[-least]))


def contexts(words: pd.DataFrame, number: int, context: int, seed: int) -> pd.DataFrame:
    """Draw words of texts, and return each with its context of `context` words and with shorter ones.

    Parameters
    ----------
    words : DataFrame
        Contract 1: item, word and perhaps space_after.
    number, context, seed : int
        As in `main`. Where fewer than FEWEST words have that context, it is shortened to one that
        `number` words have, or half of the words.

    Returns
    -------
    DataFrame
        Contract 1, with an item for each word and context that ends with the word; `place` is the
        number of the drawn word, `kept` that of its context words.
    """
    before = words.groupby("item", sort=False).cumcount().to_numpy()
    context = shortened(context, before, number)
    possible = np.flatnonzero(before >= context)
    if context <= LENGTHS[0] or len(possible) < 2:
        raise InputError(
            f"the longest text has {before.max() + 1:,} words, too few to compare contexts of several words; "
            "use a dataset of longer texts"
        )
    rows = np.random.default_rng(seed).permutation(possible)[:number]
    lengths = np.array([*(length for length in LENGTHS if length < context), context])
    last, kept = np.repeat(rows, len(lengths)), np.tile(lengths, len(rows))
    place = np.repeat(np.arange(len(rows)), len(lengths))
    item = np.repeat(np.arange(len(last)), kept + 1)
    ends = np.cumsum(kept + 1)
    position = np.arange(ends[-1]) - (ends - kept - 1)[item]
    texts = words.iloc[(last - kept)[item] + position].reset_index(drop=True)
    return texts.assign(
        item=[f"{p}.{k}" for p, k in zip(place[item], kept[item], strict=True)],
        place=place[item],
        kept=kept[item],
        word_id=np.arange(len(texts), dtype=np.int32),
        position=position.astype(np.int32) + 1,
    )


def information(
    texts: pd.DataFrame, score: Callable[[pd.DataFrame], tuple[np.ndarray, np.ndarray]]
) -> pd.DataFrame:
    """Return place, kept and bits, the surprisal of each drawn word after each context.

    `texts` is the return value of `contexts`; `score` returns the surprisal of a table of words in bits,
    and the tokens of each. A word without a value, or with other tokens, after one of them is excluded.
    """
    bits, tokens = score(texts)
    ends = ~texts["item"].duplicated(keep="last").to_numpy()
    table = texts.loc[ends, ["place", "kept"]].astype(np.int32)
    table = table.assign(bits=bits[ends], tokens=tokens[ends]).reset_index(drop=True)
    of_place = table.groupby("place")
    same = of_place["tokens"].transform("nunique") == 1
    whole = of_place["bits"].transform(lambda values: values.notna().all())
    return table[same & whole.astype(bool)].drop(columns="tokens").reset_index(drop=True)


def main(
    words: str | Path, lm: LMSpec, out: str | Path, number: int, context: int, seed: int
) -> None:
    """Write place, kept (context words) and bits to a Parquet file.

    `number` words of the texts are drawn by `seed`, each with `context` words before it. The same words
    are drawn for all LMs.
    """
    table = pd.read_parquet(words)
    texts = contexts(
        table[["item", "word", *({"space_after"} & set(table))]], number, context, seed
    )
    opened = lm.open()
    shown = progress(1, f"contexts of {lm.name}", "windows")

    def report(done: int, total: int) -> None:
        shown.total = total
        shown.update(done)

    def score(items: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        read = items.drop(columns=["place", "kept"])
        if lm.lossy is not None:  # erasures are drawn by the place, for all of its contexts
            read = read.assign(**{DRAWN_AS: items["place"].astype(str)})
        result = score_words(read, opened, report=report, **lm.reading)
        return result.table["surprisal_bits"].to_numpy(float), result.table["tokens"].to_numpy()

    rows = information(texts, score)
    if rows.place.nunique() < 2:
        raise InputError(
            f"{lm.name}: no word has the same tokens after each context; use longer texts"
        )
    with atomic(out) as part:
        rows.astype({"bits": "float32"}).to_parquet(part, index=False, compression="zstd")
