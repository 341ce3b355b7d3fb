"""`recency lmer`: fit a mixed model to a table, print its summary and write its tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import recency
from recency.command import table_files
from recency.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from crosslmm import MixedModel


def run(
    data: str,
    formula: str,
    engine: str,
    reml: bool,
    ddf: str | None,
    weights: str | None,
    offset: str | None,
    out: str | None,
    tables: str | None,
) -> None:
    """Fit and print the summary.

    `out` gets term, estimate, se, t (with `ddf`, df and p) of the fixed effects; the folder `tables`,
    the whole fit.
    """
    if out is not None:
        table_files.check_ending(out)
    if tables is not None and not Path(tables).is_dir():
        raise InputError(f"--tables {tables}: no such folder; make it first")
    options = {"reml": reml, "ddf": ddf, "weights": weights, "offset": offset}
    fit = recency.lmer(formula, table_files.read(data), engine=engine, **options)
    if out is not None:
        table_files.write(fit.fixed.rename_axis("term").reset_index(), out)
    if tables is not None:
        for name, table in tables_of(fit).items():
            table_files.write(table, str(Path(tables, f"{name}.csv")))
    if out != table_files.STANDARD:
        print(fit.summary())


def tables_of(fit: MixedModel) -> dict[str, pd.DataFrame]:
    """Return a fit as tables without an index.

    Returns
    -------
    dict of str to DataFrame
        `fit` (one row), `fixed`, `covariance` (of the fixed effects), `random` and, in long form,
        `correlations` (group, term, other, correlation) and `modes` (group, level, term, mode).
    """
    import pandas as pd

    figures = ("engine", "reml", "nobs", "npar", "loglik", "sigma", "converged", "singular", "note")
    correlations = [
        (group, term, other, table.loc[term, other])
        for group, table in fit.correlations.items()
        for term in table.index
        for other in table.columns
    ]
    modes = [
        table.rename_axis("level").reset_index().melt("level", var_name="term", value_name="mode")
        for table in fit.modes.values()
    ]
    return {
        "fit": pd.DataFrame([{name: getattr(fit, name) for name in figures}]),
        "fixed": fit.fixed.rename_axis("term").reset_index(),
        "covariance": fit.covariance.rename_axis("term").reset_index(),
        "random": fit.random,
        "correlations": pd.DataFrame(
            correlations, columns=["group", "term", "other", "correlation"]
        ),
        "modes": pd.concat(modes, keys=fit.modes, names=["group"])
        .reset_index("group")
        .reset_index(drop=True),
    }
