"""Rule measured_memory: the effect of replacing a word on the surprisal of each later word.

The measure is the same for every LM, with attention or without: it depends only on the LM's
surprisal, not on its architecture.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.evaluations.measured_memory.replace import changes
from recency.evaluations.measured_memory.stated import QUANTILES, UNITS
from recency.scoring.lm_spec import LMSpec
from recency.scoring.lossy.lossy_estimates import DRAWN_AS
from recency.scoring.surprisal import score_words

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
