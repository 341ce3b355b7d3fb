"""Smooths compared with lines, by response and LM: effective degrees of freedom and ΔLogLik."""

import pandas as pd

from recency.evaluations.smooths import curves
from recency.figures import bases, comparison, style, tables
from recency.figures.comparison import Described, Response
from recency.figures.paths import File, Files
from recency.figures.tables import Table

PRODUCT = {
    "makes": {"out": ("table_smooths", "Table of smooths and lines")},
    "reads": ["smooths", "not_run"],
    "settings": ["lms", "responses=additive_responses"],
}


def layout(rows: pd.DataFrame, done: list[Response], notes: list[str], title: str) -> Table:
    """Return the table: a block per response, with LMs and smooths beneath one another."""
    parted = bool((rows.n_exploratory > 0).any())
    names = ["LM", "Smooth of", "edf", "p"]
    names += ["ΔLogLik", "of a line", "smooth over line", "by sentence"] if parted else []
    names += ["AIC", "of a line"]
    header = ["Response", *names]
    grid, rules = [], []
    for response in done:
        block = rows[rows.response == response.label]
        rules += [len(grid)] if grid else []
        before = None
        for index, (_, row) in enumerate(block.iterrows()):
            again, before = row.lm == before, row.lm
            ends = [row.low_sentence, row.high_sentence]
            text = "" if pd.isna(ends[0]) else " to ".join(style.number(e, 1) for e in ends)
            figures = [row.delta_smooth, row.delta_linear, row.delta_nonlinear]
            figures = [("" if again else style.number(value)) for value in figures]
            criteria = [("" if again else style.number(row[f"aic_{name}"], 1))
                        for name in ("smooth", "linear")]  # fmt: skip
            grid.append(
                [
                    "" if index else f"{response.label} ({row.unit})",
                    "" if again else row.label,
                    row.predictor,
                    "" if pd.isna(row.edf) else f"{row.edf:.2f}",
                    style.p_value(row.p, ""),
                    *([*figures, "" if again else text] if parted else []),
                    *criteria,
                ]
            )
    legend = [
        "edf: effective degrees of freedom of a smooth, 1 for a line; p: test of a flat smooth (mgcv)"
    ]
    if parted:
        legend.append(
            f"ΔLogLik in nats on the exploratory partition{bases.relative_to(bases.of(rows.base.dropna()))}, for the additive "
            "model and the same with lines; by sentence: 95 % bootstrap interval of smooth relative to line"
        )
    legend += [f"{r.label}: {r.note}" for _, r in rows.iterrows() if isinstance(r.note, str)]
    return Table(
        title, header, grid, [*legend, *notes], tuple(rules), left=("Response", "LM", "Smooth of")
    )


def main(
    *,
    smooths: File,
    out: Files,
    lms: Described,
    responses: Described,
    not_run: File | None = None,
    title: str = "Smooths and lines by response and language model",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows, _, done, missing = comparison.read_rows(smooths, curves.COLUMNS, lms, responses, not_run)
    tables.write(out, layout(rows, done, missing, title), rows)
