"""Mean log rank and top-1 against perplexity, with the published models' values."""

import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.rank_metrics.table import COLUMNS, PUBLISHED
from recency.figures import comparison, labels, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_rank_metrics", "Ranks by perplexity")},
    "reads": ["metrics=table_rank_metrics"],
    "settings": ["lms"],
    "published": "rank_metrics",
}

PANELS = (
    ("mean_log_rank", "log_rank", "Mean log rank of a token"),
    ("top_1", "top_1", "Top-1 accuracy (%)"),
)


def draw(rows: pd.DataFrame, lms: list[LM], published: pd.DataFrame | None) -> Figure:
    """Draw both panels over perplexity per token, published models as small grey marks."""
    looks, rows = style.looks(lms), rows.set_index("lm")
    figure = style.figure(3.3)
    drawn = [lm for lm in lms if lm.lm in rows.index]
    both = figure.subplots(1, 2)
    for axes, (name, limits, title) in zip(both, PANELS, strict=True):
        axes.set_xscale("log")
        if published is not None:
            axes.plot(published.perplexity, published[name], "x", color="#a0a0a0", ms=3.5, mew=0.9)
        ends = rows[f"{limits}_low"], rows[f"{limits}_high"]
        labels.draw_lms(axes, drawn, looks, rows.perplexity, rows[name], ends)
        axes.margins(0.16)
        style.log_ticks(axes, 100)
        axes.set_xlabel("Perplexity of a token (log scale)")
        axes.set_ylabel(title)
        axes.grid(which="major")
    if published is not None:
        mark = style.handle(marker="x", color="#a0a0a0", ms=4, ls="", label="published, for words of another text")  # fmt: skip
        figure.legend(handles=[mark], loc="outside upper left")
    for axes, (name, *_) in zip(both, PANELS, strict=True):
        labels.name_lms(axes, drawn, looks, rows.perplexity, rows[name])
    return figure


def main(*, metrics: File, out: Files, lms: Described, published: File | None = None) -> None:
    """Draw table_rank_metrics.csv to `out` (.pdf, .svg, .png; .csv for the values)."""
    rows = comparison.table(metrics, COLUMNS)
    models, _ = comparison.records(lms, [])
    published_rows = None if published is None else comparison.table(published, PUBLISHED)
    style.write(out, rows, draw, rows, models, published_rows, empty=[])
