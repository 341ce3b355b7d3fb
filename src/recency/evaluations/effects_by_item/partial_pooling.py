"""The effect of a contrast on each item, partially pooled by a mixed model with slopes by item.

`y ~ contrast + (1 + contrast | subject) + (1 + contrast | item)`, by maximum likelihood. The effect
of an item is the fixed effect plus the item's conditional mode.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.linalg import splu

from crosslmm.model import MixedModel, lmer

Z = 1.959963984540054
"""Half-width of a 95 % interval, in standard errors."""
FORMULA = "y ~ contrast + (1 + contrast | subject) + (1 + contrast | item)"


@dataclass(frozen=True)
class Pooled:
    """A contrast's effect, in the unit of y.

    Attributes
    ----------
    effect, se
        The fixed effect and its standard error.
    items
        Indexed by item: estimate (fixed effect plus conditional mode), se.
    sd
        Standard deviation of the effect over items.
    note
        Message of the fit; empty if it converged at a non-singular point.
    """

    effect: float
    se: float
    items: pd.DataFrame
    sd: float
    note: str


def pooled(rows: pd.DataFrame) -> Pooled:
    """Fit the mixed model of a contrast.

    Parameters
    ----------
    rows : DataFrame
        y; contrast, 0.5 on the side that should be higher and -0.5 on the other; subject; item.
    """
    fit = lmer(FORMULA, rows, engine="search")
    slopes = fit.modes["item"]["contrast"]
    effect = fit.fixed.loc["contrast", "estimate"]
    estimates = pd.DataFrame({"estimate": effect + slopes})
    estimates["se"] = standard_errors(fit, rows, list(estimates.index))
    at = (fit.random.group == "item") & (fit.random.term == "contrast")
    spread = fit.random.loc[at, "sd"]
    return Pooled(
        float(effect),
        float(fit.fixed.loc["contrast", "se"]),
        estimates,
        float(spread.iloc[0]),
        fit.note,
    )


def standard_errors(fit: MixedModel, rows: pd.DataFrame, items: list[str]) -> np.ndarray:
    """Return the standard error (I,) of the effect of each of `items`.

    This is the prediction error of the fixed effect plus conditional mode minus the true sum,
    given the variances. With u = Lambda v and v of variance sigma squared, the joint covariance of
    estimated (v, beta) is sigma squared times the inverse of Henderson's matrix.
    """
    columns = np.column_stack([np.ones(len(rows)), rows["contrast"]])
    parts, roots, sizes = [], {}, {}
    for group in ("subject", "item"):
        levels = list(fit.modes[group].index)
        codes = pd.Categorical(rows[group].astype(str), categories=levels).codes
        roots[group], sizes[group] = _root(fit, group), len(levels)
        values = columns @ roots[group]
        places = codes[:, None] * 2 + np.arange(2)
        index = np.repeat(np.arange(len(rows)), 2), places.ravel()
        shape = len(rows), 2 * len(levels)
        parts.append(sparse.csr_array((values.ravel(), index), shape=shape))
    design = sparse.hstack([*parts, sparse.csr_array(columns)]).tocsr()
    effects = 2 * (sizes["subject"] + sizes["item"])
    penalty = sparse.diags_array(np.append(np.ones(effects), np.zeros(2)))
    solver = splu((design.T @ design + penalty).tocsc())
    asked = np.zeros((effects + 2, len(items)))
    asked[-1] = 1.0
    for column, item in enumerate(items):
        first = 2 * (sizes["subject"] + fit.modes["item"].index.get_loc(item))
        asked[first : first + 2, column] = roots["item"][1]
    return fit.sigma * np.sqrt((asked * solver.solve(asked)).sum(axis=0))


def _root(fit: MixedModel, group: str) -> np.ndarray:
    """Return the square root (2, 2) of a group's covariance, relative to the residual's."""
    sd = fit.random.loc[fit.random.group == group, "sd"].to_numpy() / fit.sigma
    correlation = np.nan_to_num(fit.correlations[group].to_numpy(dtype=float))
    values, vectors = np.linalg.eigh(sd[:, None] * correlation * sd)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def unpooled(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each item's difference of means and its standard error (Welch), by item.

    Columns estimate and se; the latter is missing where a side has one row.
    """
    cells = rows.groupby(["item", "contrast"])["y"].agg(["mean", "var", "count"]).unstack()
    high, low = ((name, side) for name in ("mean",) for side in (0.5, -0.5))
    variance = cells["var"] / cells["count"]
    return pd.DataFrame(
        {"estimate": cells[high] - cells[low], "se": np.sqrt(variance.sum(axis=1, skipna=False))}
    )
