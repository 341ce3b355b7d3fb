"""Compare LMs by the AIC of full-data fits, and correlate their surprisal with other variables.

The models are least squares on words or models of observations. As in de Varda & Marelli (2024),
Figure 2: mean surprisal (A), its correlation with log frequency (B) and with the response (C), and
ΔAIC against the baseline (D), all over the fitted words or observations.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.figures.paths import File, write_csv
from recency.regression.inputs import Inputs
from recency.regression.prediction import read_fit, rows_for
from recency.regression.predictors import Rows

COLUMNS = [
    *("lm", "dataset", "measure", "design", "n", "words_per_text", "mean_surprisal_nats"),
    *("r_frequency", "r_response", "aic", "delta_aic", "relative_likelihood", "note"),
]
CRITERIA = ["loglik", "bic", "delta_bic"]
"""Additional columns for models of observations."""


def main(
    fits: Sequence[File],
    words: Sequence[File],
    observations: Sequence[File],
    surprisal: Sequence[File],
    out: File,
    *,
    cells: Sequence[Mapping[str, str]],
    baseline: str,
    unigram: Sequence[File] = (),
    others: Sequence[File] = (),
    named: Sequence[Mapping[str, str]] = (),
) -> None:
    """Write COLUMNS (CSV), one row per cell of `cells` (lm, dataset, measure, design), in order.

    `fits` are the JSON files of the full models, `observations` their data; all files are in the
    order of `cells`, `unigram` where a design needs it. ΔAIC is an LM's AIC minus that of the LM
    `baseline`: below 0, the LM fits better. A failed fit has an empty AIC and its reason in `note`.
    CRITERIA are added if there are mixed models of observations. `others` are
    surprisal files of LMs named in formulas, one per lm and dataset of `named`.
    """
    rows, columns = [], list(COLUMNS)
    for index, cell in enumerate(cells):
        fit = read_fit(fits[index])
        frequency = unigram[index] if unigram else None
        pairs = zip(named, others, strict=True)
        of_dataset = {n["lm"]: path for n, path in pairs if n["dataset"] == cell["dataset"]}
        files = words[index], observations[index], None, frequency, surprisal[index]
        texts = Inputs(*files, of_dataset).texts(fit)
        row = {name: cell[name] for name in COLUMNS[:4]}
        row |= described(rows_for(fit, observations[index], texts, also=["surprisal"]))
        row["words_per_text"] = len(texts.item) / len(np.unique(texts.item))
        row |= {"aic": fit.get("aic", math.nan), "note": fit["note"]}
        if fit.get("engine") != "ols":
            loglik = fit["loglik"]["fit"]
            row["loglik"] = math.nan if loglik is None else loglik
            row["bic"] = fit.get("bic", math.nan)
            columns = [*COLUMNS, *CRITERIA]
        rows.append(row)
    table = pd.DataFrame(rows)
    places = ["dataset", "measure", "design"]
    at = table[table.lm == baseline].set_index(places)
    for key, group in table.groupby(places, sort=False):
        if key not in at.index:
            raise InputError(f"delta_aic: {'.'.join(key[:2])} has no row of {baseline}")
        if (group.n != at.n[key]).any():
            other = group[group.n != at.n[key]].iloc[0]
            raise InputError(
                f"{fits[other.name]} has {other.n} rows, and that of {baseline} has {at.n[key]}: "
                "they used different observations; fit both again"
            )
        table.loc[group.index, "delta_aic"] = group.aic - at.aic[key]
        if "bic" in table:
            table.loc[group.index, "delta_bic"] = group.bic - at.bic[key]
    table["relative_likelihood"] = np.exp(-table.delta_aic.abs() / 2)
    write_csv(out, table[columns])


def described(rows: Rows) -> dict[str, float]:
    """Return n, the mean surprisal (nats) of the words, and Pearson's r with frequency and response.

    Log frequency is the corpus's own, otherwise minus unigram surprisal; without either r is NaN.
    """
    bits, terms = rows.predictors["surprisal"], rows.predictors
    frequency = terms.get("log_frequency", -terms["unigram"] if "unigram" in terms else None)
    return {
        "n": len(bits),
        "mean_surprisal_nats": float(bits.mean() * math.log(2)),
        "r_frequency": correlation(bits, frequency),
        "r_response": correlation(bits, rows.y),
    }


def correlation(a: np.ndarray, b: np.ndarray | None) -> float:
    """Return Pearson's r of two arrays (n,), NaN if one is constant or empty."""
    if b is None or not len(a) or not (np.ptp(a) > 0 and np.ptp(b) > 0):
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])
