"""`recency lmer`: fit a mixed model to a table and print its summary."""

import recency
from recency.command import table_files


def run(data: str, formula: str, engine: str, reml: bool, ddf: str | None, out: str | None) -> None:
    """Fit and print the summary; write term, estimate, se, t (with `ddf`, df and p) of the fixed effects to `out`."""
    if out is not None:
        table_files.check_ending(out)
    fit = recency.lmer(formula, table_files.read(data), engine=engine, reml=reml, ddf=ddf)
    if out is not None:
        table_files.write(fit.fixed.rename_axis("term").reset_index(), out)
    if out != table_files.STANDARD:
        print(fit.summary())
