"""Rule type_lengths: average surprisal of word types, with their length and frequency.

As in chapter 8 of the thesis, after Piantadosi, Tily & Gibson (2011): types are words in lower-case
letters, with their mean surprisal over occurrences, length in letters, and frequency in the text
and in a larger one, as surprisal. Steiger's test compares the correlation of length with the LM's
surprisal and with the larger text's frequency.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from crosslmm.stats.correlations import correlation, steiger
from crosslmm.stats.shares import sequential
from recency.errors import InputError
from recency.figures.paths import File, write_csv

SMALL, LARGE = "small", "large"
FREQUENCIES = (SMALL, LARGE)
#: Shares of the variance of length, and of surprisal, in the order of their terms.
OF_LENGTH = ("small", "large", "surprisal", "large_surprisal", "residual")
OF_SURPRISAL = ("length", "small", "large", "residual")
COLUMNS = ["lm", "level", "size", "types", "words", "rho", "low", "high", "steiger_t", "steiger_p"]
COLUMNS += ["perplexity", *(f"length_{predictor}" for predictor in OF_LENGTH)]
COLUMNS += [f"surprisal_{predictor}" for predictor in OF_SURPRISAL]
COLUMNS += ["slope_frequency", "slope_frequency_se", "slope_surprisal", "slope_surprisal_se"]
LEAST = 10  # minimum number of types for a correlation


def chosen(words: pd.DataFrame) -> np.ndarray:
    """Return a mask of the words in lower-case letters, which have no punctuation."""
    return (
        words["word"].str.fullmatch(r"[^\W\d_]+").to_numpy()
        & words["word"].str.islower().to_numpy()
    )


def by_type(words: pd.Series, values: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return a row per type: count, length, `small` (bits, from counts), means of `values`."""
    frame = pd.DataFrame({"word": words.to_numpy(), **values})
    grouped = frame.groupby("word", sort=False)
    table = grouped.mean()
    table["count"] = grouped.size()
    table["length"] = table.index.str.len()
    table[SMALL] = -np.log2(table["count"] / len(frame))
    return table


def correlate_with_length(types: pd.DataFrame, name: str) -> dict[str, float]:
    """Return Spearman's ρ of a column and length, with its interval, and Steiger's t against LARGE.

    The interval is by Fisher's z with the variance of ranks, 1.06/(n − 3) (Fieller et al. 1957).
    """
    measured = correlation(types[name], types["length"])
    half = 1.959964 * math.sqrt(1.06 / (measured.n - 3)) if measured.n > 3 else math.nan
    z = math.atanh(measured.value) if abs(measured.value) < 1 else math.nan
    row = {"rho": measured.value, "low": math.tanh(z - half), "high": math.tanh(z + half)}
    if name != LARGE:
        other = correlation(types[LARGE], types["length"])
        both = correlation(types[name], types[LARGE])
        t, p = steiger(measured.value, other.value, both.value, measured.n)
        row |= {"steiger_t": t, "steiger_p": p}
    return row


def explained(types: pd.DataFrame, name: str) -> dict[str, float]:
    """Return shares of Figures 8.5 and 8.6, and the slopes of length on frequency and surprisal.

    Slopes are from a least-squares regression on both, with variables in standard deviations.
    """
    z = (types - types.mean()) / types.std(ddof=0)
    column = {key: z[key].to_numpy() for key in ("length", SMALL, LARGE, name)}
    terms = {SMALL: column[SMALL], LARGE: column[LARGE], "surprisal": column[name]}
    terms["large_surprisal"] = column[LARGE] * column[name]
    predictors = {key: column[key] for key in ("length", SMALL, LARGE)}
    row = {f"length_{k}": v for k, v in sequential(z["length"].to_numpy(), terms).items()}
    row |= {f"surprisal_{k}": v for k, v in sequential(z[name].to_numpy(), predictors).items()}
    design = z[[LARGE, name]].to_numpy()
    slopes, *_ = np.linalg.lstsq(design, z["length"].to_numpy(), rcond=None)
    left = z["length"].to_numpy() - design @ slopes
    spread = np.linalg.pinv(design.T @ design) * (left @ left) / (len(z) - 3)
    row |= {"slope_frequency": slopes[0], "slope_frequency_se": math.sqrt(spread[0, 0])}
    return row | {"slope_surprisal": slopes[1], "slope_surprisal_se": math.sqrt(spread[1, 1])}


def main(
    words: File,
    surprisals: Sequence[File],
    frequency: File,
    out: File,
    lms: Sequence[Mapping],
    common: int = 1000,
) -> None:
    """Write COLUMNS for the levels overall, common (most frequent types) and size (first words).

    `surprisals` are in the order of `lms`, `frequency` are those of the larger text's unigrams.
    Words without surprisal under an LM (the first, without a begin token) are excluded for all.
    """
    table = pd.read_parquet(words)
    bits = {lm["lm"]: _bits(path, len(table)) for lm, path in zip(lms, surprisals, strict=True)}
    values = {LARGE: _bits(frequency, len(table)), **bits}
    kept = chosen(table) & np.isfinite(np.array(list(values.values()))).all(0)
    if len(set(table["word"][kept])) < LEAST:
        raise InputError(
            f"{words}: {len(set(table['word'][kept]))} types of lower-case letters have a surprisal of every LM; "
            f"{LEAST} are needed; use a longer text in word_length"
        )
    text, values = table["word"][kept], {key: column[kept] for key, column in values.items()}
    whole, rows = by_type(text, values), []
    levels = [("overall", len(text), whole)]
    levels.append(("common", common, whole.nlargest(common, "count", keep="first")))
    size = 2 ** np.arange(7, int(math.log2(len(text))) + 1)
    levels += [("size", n, by_type(text[:n], {k: v[:n] for k, v in values.items()})) for n in size]
    for level, size, types in levels:
        for name in (*FREQUENCIES, *bits):
            if len(types) < LEAST:
                continue
            keys = {"lm": name, "level": level, "size": size, "types": len(types)}
            row = keys | {"words": int(types["count"].sum())} | correlate_with_length(types, name)
            if level == "overall" and name in bits:
                row["perplexity"] = 2 ** values[name].mean()
                row |= explained(types, name)
            rows.append(row)
    write_csv(out, pd.DataFrame(rows, columns=COLUMNS))


def _bits(path: File, size: int) -> np.ndarray:
    """Return surprisal by word_id (words,), NaN if missing."""
    rows = pd.read_parquet(path, columns=["word_id", "surprisal_bits"])
    bits = np.full(size, np.nan)
    inside = rows["word_id"].between(0, size - 1)
    bits[rows["word_id"][inside]] = rows["surprisal_bits"][inside]
    return bits
