"""Terms of several columns: categorical ones as indicators of all levels but one, poly(x, 2)."""

from collections.abc import Mapping

import numpy as np

from recency.errors import InputError
from recency.mixed.formula import Formula, expanded
from recency.regression.coding import NOTHING, Coding
from recency.regression.predictor_names import CATEGORICAL
from recency.regression.texts import Texts


def indicators(formula: Formula, texts: Texts, coding: Coding = NOTHING) -> dict[str, list[str]]:
    """Return the names of the indicators of each categorical predictor in the formula."""
    found = {}
    of_coding = coding.categorical
    for name in formula.predictors:
        if name in CATEGORICAL:
            if name not in texts.categories:
                raise InputError(
                    f"the design needs {name!r}, which the dataset's words do not have; its parser "
                    f"must give them a column {name}"
                )
            found[name] = [f"{name}_{level}" for level in texts.categories[name]]
        elif name in of_coding:
            found[name] = of_coding[name]
    return found


def names(formula: Formula, texts: Texts, coding: Coding = NOTHING) -> list[str]:
    """Return the columns of the formula's predictors, sorted, several of them for some."""
    by_name = {**coding.spans, **indicators(formula, texts, coding)}
    return sorted(n for name in formula.predictors for n in by_name.get(name, [name]))


def references(
    formula: Formula, texts: Texts, predictors: Mapping[str, np.ndarray], coding: Coding = NOTHING
) -> dict[str, str]:
    """Return the indicator that each categorical predictor goes without: its most frequent level.

    `predictors` are those of the fit partition; of equally frequent levels the first is taken.
    """
    found = indicators(formula, texts, coding)
    return {name: max(those, key=lambda n: predictors[n].sum()) for name, those in found.items()}


def expand(
    formula: Formula,
    texts: Texts,
    predictors: Mapping[str, np.ndarray],
    references: Mapping[str, str],
    coding: Coding = NOTHING,
) -> Formula:
    """Put columns in place of terms; of categorical ones without references and empty levels."""
    by_name = {
        name: [n for n in those if n != references[name] and predictors[n].any()]
        for name, those in indicators(formula, texts, coding).items()
    }
    return expanded(formula, {**coding.spans, **by_name})


def unscaled(
    scaling: Mapping[str, Mapping[str, float]],
    formula: Formula,
    texts: Texts,
    coding: Coding = NOTHING,
) -> dict[str, dict[str, float]]:
    """Return the scaling of the formula's predictors; indicators stay 0 and 1."""
    kept = set(formula.predictors)
    flags = {f"{name}_{level}" for name, all_ in texts.categories.items() for level in all_}
    flags |= {name for name, spec in coding.columns.items() if "level" in spec}
    return {
        name: {"mean": 0.0, "sd": 1.0} if name in flags else dict(by)
        for name, by in scaling.items()
        if name in kept
    }
