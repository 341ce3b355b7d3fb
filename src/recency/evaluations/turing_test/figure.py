"""Human scores by perplexity, mean log rank and top-1, with cubics (thesis, Figures 7.1 and 7.2)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.turing_test import cubic, table_fits
from recency.evaluations.turing_test.table import COLUMNS, ORIGINAL
from recency.figures import comparison, labels, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_turing_test", "Human scores by metric")},
    "reads": ["scores=table_turing_test", "fits=table_turing_fits"],
    "settings": ["lms"],
}
GREY = "#a0a0a0"
TITLES = {"perplexity": "Perplexity of a token", "mean_log_rank": "Mean log rank", "top_1": "Top-1 (%)"}  # fmt: skip
DRAWN = {table_fits.HERE: "#222222", table_fits.WITH_HUMAN: GREY}


def draw(rows: pd.DataFrame, fits: pd.DataFrame, lms: list[LM]) -> Figure:
    """Draw a panel per metric: LMs here with their intervals, published models grey, the cubics."""
    looks = style.looks(lms)
    rows = rows[np.isfinite(rows["score"])]
    figure = style.figure(3.2)
    panels = figure.subplots(1, len(cubic.METRICS), sharey=True)
    named = []
    for axes, (metric, logarithmic) in zip(panels, cubic.METRICS.items(), strict=True):
        if logarithmic:
            axes.set_xscale("log")
        published_rows = rows[(rows["source"] == "published") & rows[metric].notna()]
        axes.plot(published_rows[metric], published_rows["score"], "x", color=GREY, ms=3.5, mew=0.9)
        measured = rows[(rows["source"] == "here") & rows[metric].notna()].set_index("lm")
        drawn = [lm for lm in lms if lm.lm in measured.index]
        ends = measured["score_low"], measured["score_high"]
        labels.draw_lms(axes, drawn, looks, measured[metric], measured["score"], ends)
        for points, colour in DRAWN.items():
            _curve(axes, rows, fits, points, metric, colour)
        original = rows[(rows["source"] == "here") & (rows["lm"] == ORIGINAL)]["score"]
        for score in original:
            axes.axhline(score, color="#222222", ls="--", lw=0.9)
        axes.margins(0.14)
        if logarithmic:
            style.log_ticks(axes, 100)
        axes.set_xlabel(TITLES[metric])
        axes.grid(which="major")
        named.append((axes, drawn, measured, metric))
    panels[0].set_ylabel("Human score n₃/n₀")
    if (rows["source"] == "published").any():
        mark = style.handle(marker="x", color=GREY, ms=4, ls="-", label="published models, and the cubic with the estimated human")  # fmt: skip
        figure.legend(handles=[mark], loc="outside upper left")
    for axes, drawn, measured, metric in named:
        labels.name_lms(axes, drawn, looks, measured[metric], measured["score"])
    return figure


def _curve(axes, rows, fits, points: str, metric: str, colour: str) -> None:
    """Draw the cubic of a set of points over their range, if it has one."""
    fit = fits[(fits["points"] == points) & (fits["metric"] == metric)]
    source = "here" if points == table_fits.HERE else "published"
    values = rows[rows["source"] == source][metric].dropna()
    if fit.empty or fit[table_fits.COEFFICIENTS].isna().any(axis=None):
        return
    space = np.geomspace if cubic.METRICS[metric] else np.linspace
    x = space(values.min(), values.max(), 100)
    powers = np.log(x) if cubic.METRICS[metric] else x
    y = np.polynomial.Polynomial(fit[table_fits.COEFFICIENTS].iloc[0].to_numpy(float))(powers)
    axes.plot(x, y, "-", color=colour, lw=0.9)


def main(*, scores: File, fits: File, out: Files, lms: Described) -> None:
    """Draw table_turing_test.csv and its fits to `out` (.pdf, .svg, .png; .csv for the values)."""
    rows = comparison.table(scores, COLUMNS)
    curves = comparison.table(fits, table_fits.FITS)
    models, _ = comparison.records(lms, [])
    style.write(out, rows, draw, rows, curves, models, empty=[])
