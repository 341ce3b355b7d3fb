"""Categorical predictors such as part of speech, as indicators of all levels but one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recency.errors import InputError
from recency.mixed.formula import Formula, expanded
from recency.regression.predictors import CATEGORICAL, Texts


def indicators(formula: Formula, texts: Texts) -> dict[str, list[str]]:
    """Return the names of the indicators of each categorical predictor in the formula."""
    found = {}
    for name in formula.predictors:
        if name in CATEGORICAL:
            if name not in texts.categories:
                raise InputError(
                    f"the design needs {name!r}, which the dataset's words do not have; its parser "
                    f"must give them a column {name}"
                )
            found[name] = [f"{name}_{level}" for level in texts.categories[name]]
    return found


def names(formula: Formula, texts: Texts) -> list[str]:
    """Return the predictors of the formula, sorted, indicators in place of the categorical ones."""
    by_name = indicators(formula, texts)
    return sorted(n for name in formula.predictors for n in by_name.get(name, [name]))


def references(
    formula: Formula, texts: Texts, predictors: Mapping[str, np.ndarray]
) -> dict[str, str]:
    """Return the indicator that each categorical predictor goes without: its most frequent level.

    `predictors` are those of the fit partition; of equally frequent levels the first is taken.
    """
    found = indicators(formula, texts)
    return {name: max(those, key=lambda n: predictors[n].sum()) for name, those in found.items()}


def expand(
    formula: Formula,
    texts: Texts,
    predictors: Mapping[str, np.ndarray],
    references: Mapping[str, str],
) -> Formula:
    """Put indicators in place of categorical predictors, without references and empty levels."""
    by_name = {
        name: [n for n in those if n != references[name] and predictors[n].any()]
        for name, those in indicators(formula, texts).items()
    }
    return expanded(formula, by_name)


def unscaled(
    scaling: Mapping[str, Mapping[str, float]], formula: Formula, texts: Texts
) -> dict[str, dict[str, float]]:
    """Return the scaling of the formula's predictors; indicators stay 0 and 1."""
    kept = set(formula.predictors)
    flags = {f"{name}_{level}" for name, all_ in texts.categories.items() for level in all_}
    return {
        name: {"mean": 0.0, "sd": 1.0} if name in flags else dict(by)
        for name, by in scaling.items()
        if name in kept
    }
