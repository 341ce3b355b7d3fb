"""Effects predicted from surprisal, converted to the response's unit by a regression on fillers.

With the fillers' coefficients b of the LM's terms (ms per bit, for example), their covariance V,
and the difference d of these terms between both sides of a contrast, the predicted effect is d'b,
with variance d'Vd.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from crosslmm import families
from crosslmm.formula import factors
from recency.errors import InputError
from recency.evaluations.contrasts import paired
from recency.evaluations.effects_by_item.partial_pooling import Z
from recency.figures.paths import File
from recency.regression import predictor_names as names
from recency.regression.coding import coding_from_record
from recency.regression.prediction import observed, read_fit
from recency.regression.predictors import values_of
from recency.regression.texts import read_texts


def terms_of(record: Mapping[str, Any], where: str) -> list[str]:
    """Return the fixed effects computed from the LM.

    Raises
    ------
    InputError
        If the fit failed, its coefficients are not in the response's unit, or a term combines surprisal
        with another predictor.
    """
    if not record["fixed"]:
        raise InputError(f"{where}: the fillers' regression failed ({record['note']})")
    link = record.get("density", {}).get("link", "identity")
    other = families.of(record) in (families.LOGNORMAL, families.SHIFTED, families.BINOMIAL)
    if record["response"] != "raw" or other or link != "identity":
        raise InputError(
            f"{where}: the fillers' design must give coefficients in the response's unit: use "
            "`response: raw` with family gaussian, or another family with `link: identity`"
        )
    terms = []
    for effect in record["fixed"]:
        used = [name for factor in factors(effect["term"]) for name in names.variables(factor)]
        of_lm = [name for name in used if names.is_of_fitted_lm(name)]
        if of_lm and of_lm != used:
            raise InputError(
                f"{where}: the term {effect['term']} of the fillers' design combines surprisal with "
                "other predictors; the conversion supports only effects of surprisal"
            )
        if of_lm:
            terms.append(effect["term"])
    if not terms:
        note = f" ({record['note']})" if record["note"] else ""
        raise InputError(f"{where}: the fillers' fit has no effect of an LM's predictors{note}")
    return terms


class Converter:
    """The LM's terms for each word of an experiment, and the coefficients that convert them.

    Parameters
    ----------
    fit : path
        JSON of the fillers' full regression.
    words, surprisal : path
        Contracts 1 and 3 of the experiment.
    spans : DataFrame
        word_id and span of the words with a response.
    column : str
        The response's column in the observations.
    """

    def __init__(
        self, fit: File, words: File, surprisal: File, spans: pd.DataFrame, column: str
    ) -> None:
        record = read_fit(fit)
        if observed(record) != column:
            raise InputError(
                f"{fit}: the fillers' response is {observed(record)}, and the experiment's is {column}"
            )
        terms = terms_of(record, str(fit))
        index = {effect["term"]: position for position, effect in enumerate(record["fixed"])}
        places = [index[term] for term in terms]
        self.coefficients = np.array([record["fixed"][position]["estimate"] for position in places])
        self.covariance = np.array(record["covariance"])[np.ix_(places, places)]
        texts = read_texts(
            words, None, surprisal, record["surprisal"], True,
            spillover=record.get("spillover", "item"),
        )  # fmt: skip
        used = list(dict.fromkeys(factor for term in terms for factor in factors(term)))
        frame = spans.assign(**{column: 1.0})
        values, _ = values_of(frame, texts, used, "raw", column, words, coding_from_record(record))
        self.terms = np.full((len(texts.item), len(terms)), np.nan)
        for k, term in enumerate(terms):
            parts = [
                (values[name] - record["scaling"][name]["mean"]) / record["scaling"][name]["sd"]
                for name in factors(term)
            ]
            self.terms[spans["word_id"], k] = np.prod(parts, axis=0)

    def differences(
        self, words: pd.DataFrame, contrast: Mapping, by: str, where: str
    ) -> pd.DataFrame:
        """Return the difference of each term between the sides of a contrast, (items, terms)."""
        return pd.DataFrame(
            {
                k: paired.effects(words, column, contrast, by, where)
                for k, column in enumerate(self.terms.T)
            }
        )

    def predicted(self, differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return predicted effects and standard errors (m,) for differences (m, terms)."""
        variance = np.einsum("ij,jk,ik->i", differences, self.covariance, differences)
        return differences @ self.coefficients, np.sqrt(np.maximum(variance, 0.0))


def share(
    predicted: float, predicted_se: float, effect: float, effect_se: float
) -> Sequence[float]:
    """Return predicted / effect and its 95 % interval by Fieller's theorem.

    The estimates are assumed independent. The interval is missing where `effect` does not differ
    from 0 at this level: the set of ratios is then unbounded.
    """
    a = effect**2 - Z**2 * effect_se**2
    if not a > 0:
        return predicted / effect if effect else math.nan, math.nan, math.nan
    b, c = predicted * effect, predicted**2 - Z**2 * predicted_se**2
    root = math.sqrt(max(b**2 - a * c, 0.0))
    return predicted / effect, (b - root) / a, (b + root) / a
