"""`recency lmer`: a table and a formula in, the summary of the mixed model out."""

import recency
from recency.command import tables


def run(data: str, formula: str, engine: str, reml: bool, out: str | None) -> None:
    """Fit and print the summary; `out` gets term, estimate, se and t of the fixed effects."""
    if out is not None:
        tables.check_ending(out)
    fit = recency.lmer(formula, tables.read(data), engine=engine, reml=reml)
    if out is not None:
        tables.write(fit.fixed.rename_axis("term").reset_index(), out)
    if out != tables.STANDARD:
        print(fit.summary())
