"""Rule contrasts: differences between words in responses and surprisal, by item and over items."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from readingtimes import filters
from recency.errors import InputError
from recency.evaluations.contrasts import paired
from recency.figures.paths import File, write_csv

READERS = "readers"
COLUMNS = ["measure", "unit", "low", "high", *paired.COLUMNS]
ITEMS = ["measure", "contrast", "lm", "item", "difference"]


def main(
    words: File,
    observations: Sequence[File],
    surprisals: Sequence[File],
    out: File,
    out_effects: File,
    *,
    lms: Sequence[Mapping],
    measures: Sequence[str],
    by: str,
    contrasts: Sequence[Mapping],
    filter: str | None = None,
) -> None:
    """Write COLUMNS to `out`, and the effect of each item (ITEMS) to `out_effects`.

    Parameters
    ----------
    words : path
        Contract 1.
    observations : sequence of path
        Observations after the filters, without the held-out partition: equally many files per measure.
    surprisals : sequence of path
        Contract 3, in the order of `lms`.
    out, out_effects : path
        CSV files. Differences are in log times, microvolts, scores or shares (after subtracting
        each reader's mean), and in bits; low and high are the 95 % interval over items, by
        Student's t.
    lms : sequence of mapping
        With the key lm.
    measures : sequence of str
        The measures, in the order of `observations`.
    by : str
        The column of the words that identifies items.
    contrasts : sequence of mapping
        contrast, label, region, high and low.
    filter : str, optional
        A condition on columns of the words that selects words.

    Raises
    ------
    InputError
        If the words lack the column `by`, or fewer than two items have both sides of a contrast.
    """
    word_rows = pd.read_parquet(words)
    if by not in word_rows:
        raise InputError(f"{words}: the words have no column {by!r}; change contrasts → by")
    kept = np.ones(len(word_rows), bool)
    if filter:
        result = filters.evaluated(word_rows, "contrasts → filter", filter)
        kept = result.fillna(False).to_numpy(bool)
    bits = {}
    for lm, path in zip(lms, surprisals, strict=True):
        scored = pd.read_parquet(path, columns=["word_id", "surprisal_bits"]).set_index("word_id")
        bits[lm["lm"]] = scored["surprisal_bits"].reindex(word_rows["word_id"]).to_numpy(float)
    rows, items = [], []
    size = len(observations) // len(measures)
    for number, measure in enumerate(measures):
        parts = observations[number * size : (number + 1) * size]
        mean, unit, span = paired.responses(parts, len(word_rows))
        values = {READERS: mean} | {lm: _sum_surprisal(bit, span, mean) for lm, bit in bits.items()}
        values = {name: value[kept] for name, value in values.items()}
        units = dict.fromkeys(bits, "bits") | {READERS: unit}
        tested = paired.tested(word_rows[kept], values, contrasts, by, f"contrasts ({measure})")
        ends = []
        for row in tested.itertuples():
            contrast = next(value for value in contrasts if value["contrast"] == row.contrast)
            effect = paired.effects(word_rows[kept], values[row.lm], contrast, by, "contrasts")
            half = _half_width(effect.to_numpy())
            ends.append((effect.mean() - half, effect.mean() + half))
            same = {"measure": measure, "contrast": row.contrast, "lm": row.lm}
            items.append(pd.DataFrame({"item": effect.index, "difference": effect}).assign(**same))
        tested[["low", "high"]] = ends
        rows.append(tested.assign(measure=measure, unit=tested.lm.map(units)))
    write_csv(out, pd.concat(rows, ignore_index=True)[COLUMNS])
    write_csv(out_effects, pd.concat(items, ignore_index=True)[ITEMS])


def _sum_surprisal(bits: np.ndarray, span: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Return surprisal summed over the words of each response, NaN where readers have none.

    Both sides of an item then cover the same words for readers and LMs.
    """
    result = bits.copy()
    for word in np.flatnonzero(span > 1):
        result[word] = bits[word : word + span[word]].sum()
    return np.where(np.isnan(response), np.nan, result)


def _half_width(values: np.ndarray) -> float:
    """Return half of the 95 % interval of a mean, by Student's t."""
    from scipy.stats import t

    return float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
