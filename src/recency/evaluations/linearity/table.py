"""Held-out ΔLogLik by linking function, response and LM, and its difference from a linear effect."""

import pandas as pd

from recency.endpoints import ENDPOINTS
from recency.evaluations.linearity.differences import answer, read
from recency.evaluations.linearity.spec import LINEAR
from recency.figures import style, tables
from recency.figures.comparison import Described, Response
from recency.figures.intervals import nats
from recency.figures.paths import File, Files
from recency.figures.tables import Table

PRODUCT = {
    "makes": {"out": ("table_linearity", "Is the effect linear?")},
    "reads": ["linearity", "not_run"],
    "settings": ["lms=plain_lms", "responses=plain_responses"],
}


def layout(rows: pd.DataFrame, done: list[Response], notes: list[str], title: str) -> Table:
    """Return the table: a block per response, with LMs and functions beneath one another."""
    several = rows.settings.nunique() > 1
    header = ["Response", "LM", *["Settings"] * several, "Function"]
    left = tuple(header)
    header += ["ΔLogLik", "relative to linear", "95 % interval", "prediction"]
    grid, rules = [], []
    for response in done:
        rules += [len(grid)] if grid else []
        head = response.label
        keys = ["lm", "design", "settings"]
        for _, block in rows[rows.response == response.label].groupby(keys, sort=False):
            first = block.iloc[0]
            heads = [head, first.label, *[first.settings] * several]
            for _, row in block.iterrows():
                is_linear = row.linking == LINEAR
                grid.append(
                    [
                        *heads,
                        name(row.linking),
                        style.number(row.delta_loglik),
                        "" if is_linear else style.signed(row.difference),
                        style.interval(row.low, row.high, nats) if pd.notna(row.low) else "",
                        "" if is_linear else answer(row.low, row.high),
                    ]
                )
                heads = [""] * len(heads)
            head = ""
    endpoint = ENDPOINTS[rows.endpoint.iloc[0]].of if len(rows) else ""
    legend = [
        f"ΔLogLik in nats relative to the baseline model, log-likelihood {endpoint}",
        "x^k: power k of the predictor; log: log(1 + x)",
        "intervals are for single differences, not corrected for multiple comparisons",
    ]
    return Table(title, header, grid, [*legend, *notes], tuple(rules), left=left)


def name(linking: str) -> str:
    """Write a linking function, a power as x^k."""
    return linking if linking.isalpha() else f"x^{float(linking):g}"


def main(
    *,
    linearity: File,
    out: Files,
    lms: Described,
    responses: Described,
    not_run: File | None = None,
    title: str = "Linking functions by response and language model",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows, _, done, missing = read(linearity, lms, responses, not_run)
    tables.write(out, layout(rows, done, missing, title), rows)
