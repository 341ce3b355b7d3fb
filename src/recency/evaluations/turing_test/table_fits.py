"""Cubic fits of human scores by perplexity, mean log rank and top-1 (thesis, Figures 7.1 and 7.2)."""

import numpy as np
import pandas as pd

from recency.evaluations.turing_test import cubic
from recency.evaluations.turing_test.table import COLUMNS, ORIGINAL
from recency.figures import comparison, style, tables
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_turing_fits", "Human scores by metric: cubic fits")},
    "reads": ["scores=table_turing_test"],
    "settings": ["title"],
    "published": "turing_fits",
}
COEFFICIENTS = ["c0", "c1", "c2", "c3"]
FITS = ["points", "metric", "models", "adjusted_r2", "human_score", "human_level", *COEFFICIENTS]
FITS += ["published_adjusted_r2", "published_human_level"]
HERE, PUBLISHED = "LMs here", "published models"
WITH_HUMAN = "published models and the estimated human"
NAMES = {"perplexity": "log perplexity", "mean_log_rank": "mean log rank", "top_1": "top-1 (%)"}


def fits(data: pd.DataFrame) -> pd.DataFrame:
    """Return FITS of the LMs here, of published models, and of these with the estimated human score.

    The coefficients are of powers of the metric, with the natural logarithm of perplexity;
    `human_level` is the metric, in its unit, at which the cubic reaches the score of the original
    texts.
    """
    rows = []
    for points, source, with_human in (
        (HERE, "here", False),
        (PUBLISHED, "published", False),
        (WITH_HUMAN, "published", True),
    ):
        scored = data[(data["source"] == source) & np.isfinite(data["score"])]
        human = scored[scored["lm"] == ORIGINAL]["score"]
        models = scored if with_human else scored[scored["lm"] != ORIGINAL]
        if scored.empty:
            continue
        for metric, logarithmic in cubic.METRICS.items():
            used = models.dropna(subset=[metric])
            x = np.log(used[metric]) if logarithmic else used[metric]
            curve, adjusted = cubic.fit(x, used["score"])
            row = {"points": points, "metric": metric, "models": len(used), "adjusted_r2": adjusted}
            if curve is not None:
                lms = used[used["lm"] != ORIGINAL]
                best = x[lms["score"].idxmax()]
                level = cubic.level(curve, human.iloc[0], best) if len(human) else np.nan
                row["human_score"] = human.iloc[0] if len(human) else np.nan
                row["human_level"] = np.exp(level) if logarithmic else level
                row |= dict(zip(COEFFICIENTS, curve.convert().coef, strict=True))
            rows.append(row)
    return pd.DataFrame(rows).reindex(columns=FITS)


def layout(data: pd.DataFrame, title: str) -> Table:
    """Return a row per set of points and metric."""
    header = ["Points", "Score by", "N", "Adjusted R²", "At the originals' score"]
    grid, rules = [], []
    for points, rows in data.groupby("points", sort=False):
        rules.append(len(grid))
        for row in rows.itertuples():
            cells = [points, NAMES[row.metric], str(row.models)]
            for value, published_value, decimals in (
                (row.adjusted_r2, row.published_adjusted_r2, 3),
                (row.human_level, row.published_human_level, 2),
            ):
                below = () if np.isnan(published_value) else (f"published {published_value:g}",)
                cells.append(Cell(style.number(value, decimals), below))
            grid.append(cells)
    notes = [
        "cubics by least squares; adjusted R² = 1 − (1 − R²)(N − 1)/(N − 4)",
        (
            "at the originals' score: the metric at which the cubic reaches the score of the original "
            "texts; of several crossings, the one nearest to the best LM"
        ),
        "a fit needs five or more LMs with a finite score",
        (
            "with the estimated human score as a point, the published fits are reproduced; that point was itself read "
            "off the fitted curve"
        ),
    ]
    return Table(f"{title}: fits", header, grid, notes, tuple(rules), left=2)


def main(*, scores: File, out: Files, title: str, published: File | None = None) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    data = fits(comparison.table(scores, COLUMNS))
    if published is not None:
        published_fits = comparison.table(published, ["metric", "adjusted_r2", "human_level"])
        published_fits = published_fits.set_index("metric")
        compared = data["points"] != HERE
        for name in ("adjusted_r2", "human_level"):
            data[f"published_{name}"] = data["metric"].map(published_fits[name]).where(compared)
    tables.write(out, layout(data, title), data)
