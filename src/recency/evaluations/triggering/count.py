"""Rule triggering: c_d(w, w′) = Pr_d(w, w′) / (Pr(w) Pr(w′)), by distance d in words.

As in the thesis's Figure 1.1. Pr_d is over the pairs of words at distance d within one document;
over all positions it would be too low for d close to a document's length.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from crosslmm.stats import bootstrap
from recency.errors import InputError
from recency.figures.paths import File, write_csv

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
SINGLE = 10  # words: distances up to this have separate bins
STEP = 1.15  # ratio of the ends of a wider bin
REPLICATES = 1000


def bins(reach: int) -> np.ndarray:
    """Return the first distance of each bin, and `reach` + 1: single distances, then geometric."""
    wide = SINGLE * STEP ** np.arange(200)
    edges = np.unique(np.concatenate([np.arange(1, SINGLE), wide.astype(int)]))
    return np.append(edges[edges <= reach], reach + 1)


def distances(before: np.ndarray, after: np.ndarray, reach: int) -> np.ndarray:
    """Return all distances up to `reach` from positions in `before` to later ones in `after`, sorted."""
    low = np.searchsorted(after, before, side="right")
    high = np.searchsorted(after, before + reach, side="right")
    sizes = high - low
    starts = np.repeat(low - np.concatenate([[0], sizes.cumsum()[:-1]]), sizes)
    return after[np.arange(sizes.sum()) + starts] - np.repeat(before, sizes)


def counted(documents: Iterable[str], pairs: Sequence[Sequence[str]], reach: int) -> dict:
    """Count `together` (documents, pairs, bins), `apart` (documents, bins), `words` and `sizes`.

    `together` counts the pairs of words by distance, `apart` all pairs of positions at these
    distances, `words` (documents, words of `pairs` in alphabetical order) and `sizes` (documents,)
    single words.
    """
    edges = bins(reach)
    code = {word: number for number, word in enumerate(sorted({w for pair in pairs for w in pair}))}
    together, apart, words, sizes = [], [], [], []
    every = np.arange(1, reach + 1)
    for text in documents:
        read = WORD.findall(text.lower().replace("’", "'"))
        codes = np.array([code.get(word, -1) for word in read], np.int64)
        at = [np.flatnonzero(codes == number) for number in range(len(code))]
        by_pair = [distances(at[code[a]], at[code[b]], reach) for a, b in pairs]
        together.append([np.histogram(values, edges)[0] for values in by_pair])
        apart.append(np.add.reduceat(np.maximum(len(read) - every, 0), edges[:-1] - 1))
        words.append([len(values) for values in at])
        sizes.append(len(read))
    arrays = {"together": together, "apart": apart, "words": words, "sizes": sizes}
    return {"known": code, "edges": edges} | {k: np.array(v, float) for k, v in arrays.items()}


def ratios(counts: dict, pairs: Sequence[Sequence[str]], seed: int = 0) -> pd.DataFrame:
    """Return first, second, distance (a bin's first), distance_to, times, low, high, together.

    `times` is c_d; its 95 % interval resamples documents, and is NaN with a single document.
    """
    edges, number_of = counts["edges"], counts["known"]
    frames = []
    for number, (first, second) in enumerate(pairs):
        pair = counts["together"][:, number]
        words = counts["words"][:, [number_of[first], number_of[second]]]
        columns = np.concatenate([pair, counts["apart"], words, counts["sizes"][:, None]], axis=1)
        drawn = _times(bootstrap.draws(columns, REPLICATES, seed), len(edges) - 1)
        low, high = (
            np.nanquantile(drawn, [0.025, 0.975], axis=0) if len(columns) > 1 else (np.nan,) * 2
        )
        times = _times(columns.sum(0, keepdims=True), len(edges) - 1)[0]
        where = {"first": first, "second": second}
        where |= {"distance": edges[:-1], "distance_to": edges[1:] - 1}
        values = {"times": times, "low": low, "high": high, "together": pair.sum(0).astype(int)}
        frames.append(pd.DataFrame(where | values))
    return pd.concat(frames, ignore_index=True)


def _times(totals: np.ndarray, bins: int) -> np.ndarray:
    """Return c_d (draws, bins) from summed columns: together, apart, the two words, all words."""
    together, apart = totals[:, :bins], totals[:, bins : 2 * bins]
    one, other, size = totals[:, 2 * bins :].T[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return together / apart / (one / size * other / size)


def main(text: File, out: File, pairs: Sequence[Sequence[str]], reach: int, seed: int = 0) -> None:
    """Write the table of `ratios` as a CSV; reject words that are not in the text."""
    documents = pd.read_parquet(text, columns=["text"])["text"]
    pairs = [[word.lower().replace("’", "'") for word in pair] for pair in pairs]
    counts = counted(documents, pairs, reach)
    for word, number in counts["known"].items():
        if not counts["words"][:, number].any():
            raise InputError(f"triggering → pairs: the text has no word {word!r}; use another one")
    write_csv(out, ratios(counts, pairs, seed))
