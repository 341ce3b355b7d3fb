"""Terms that become several columns: indicators of categorical predictors, and poly(x, 2)."""

from collections.abc import Mapping

import numpy as np

from crosslmm.formula import Formula, replace_predictors
from recency.errors import InputError
from recency.regression.coding import NO_CODING, Coding
from recency.regression.predictor_names import CATEGORICAL
from recency.regression.texts import Texts


def indicators(formula: Formula, texts: Texts, coding: Coding = NO_CODING) -> dict[str, list[str]]:
    """Return the names of the indicators of each categorical predictor in the formula."""
    by_name = {}
    of_coding = coding.categorical
    for name in formula.predictors:
        if name in CATEGORICAL:
            if name not in texts.categories:
                raise InputError(
                    f"the design needs {name!r}, which the dataset's words do not have; its parser "
                    f"must give them a column {name}"
                )
            by_name[name] = [f"{name}_{level}" for level in texts.categories[name]]
        elif name in of_coding:
            by_name[name] = of_coding[name]
    return by_name


def names(formula: Formula, texts: Texts, coding: Coding = NO_CODING) -> list[str]:
    """Return the sorted columns of the formula's predictors, of which some have several."""
    by_name = {**coding.spans, **indicators(formula, texts, coding)}
    return sorted(n for name in formula.predictors for n in by_name.get(name, [name]))


def references(
    formula: Formula, texts: Texts, predictors: Mapping[str, np.ndarray], coding: Coding = NO_CODING
) -> dict[str, str]:
    """Return the indicator that each categorical predictor omits: that of its most frequent level.

    `predictors` are those of the fit partition. If levels tie, the first is taken.
    """
    by_name = indicators(formula, texts, coding)
    return {name: max(those, key=lambda n: predictors[n].sum()) for name, those in by_name.items()}


def expand(
    formula: Formula,
    texts: Texts,
    predictors: Mapping[str, np.ndarray],
    references: Mapping[str, str],
    coding: Coding = NO_CODING,
) -> Formula:
    """Replace terms by their columns, without reference levels and levels that do not occur."""
    by_name = {
        name: [n for n in those if n != references[name] and predictors[n].any()]
        for name, those in indicators(formula, texts, coding).items()
    }
    return replace_predictors(formula, {**coding.spans, **by_name})


def unscaled(
    scaling: Mapping[str, Mapping[str, float]],
    formula: Formula,
    texts: Texts,
    coding: Coding = NO_CODING,
) -> dict[str, dict[str, float]]:
    """Return the scaling of the formula's predictors; indicators remain 0 and 1."""
    kept = set(formula.predictors)
    flags = {f"{name}_{level}" for name, all_ in texts.categories.items() for level in all_}
    flags |= {name for name, spec in coding.columns.items() if "level" in spec}
    return {
        name: {"mean": 0.0, "sd": 1.0} if name in flags else dict(by)
        for name, by in scaling.items()
        if name in kept
    }
