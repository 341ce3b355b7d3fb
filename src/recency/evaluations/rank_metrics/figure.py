"""Mean log rank and top-1 against perplexity, ours and the published models'."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from recency.evaluations.rank_metrics.table import COLUMNS, PUBLISHED
from recency.figures import comparison, labels, style
from recency.figures.comparison import LM

PRODUCT = {
    "makes": {"out": ("figure_rank_metrics", "Ranks by perplexity")},
    "reads": ["metrics=table_rank_metrics"],
    "settings": ["lms"],
    "published": "rank_metrics",
}

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = (
    ("mean_log_rank", "log_rank", "Mean log rank of a token"),
    ("top_1", "top_1", "Likeliest token came (%)"),
)


def draw(rows: pd.DataFrame, lms: list[LM], published: pd.DataFrame | None) -> "Figure":
    """Draw both panels over perplexity per token, published models as small grey marks."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    looks, rows = style.looks(lms), rows.set_index("lm")
    figure = Figure(figsize=(style.WIDTH, 3.3), layout="constrained")
    FigureCanvasAgg(figure)
    drawn = [lm for lm in lms if lm.lm in rows.index]
    both = figure.subplots(1, 2)
    bars = {}
    for axes, (name, limits, title) in zip(both, PANELS, strict=True):
        axes.set_xscale("log")
        if published is not None:
            axes.plot(published.perplexity, published[name], "x", color="#a0a0a0", ms=3.5, mew=0.9)
        bars[name] = []
        for lm in drawn:
            row, look = rows.loc[lm.lm], looks[lm.lm]
            low, high = row[f"{limits}_low"], row[f"{limits}_high"]
            pale = style.tint(look.colour, 0.6)
            axes.plot([row.perplexity] * 2, [low, high], "_-", color=pale, lw=0.9, ms=4)
            axes.plot(row.perplexity, row[name], look.marker, mfc=look.face, mec=look.colour, ms=6)
            bars[name].append((row.perplexity, low, high))
        axes.margins(0.16)
        low, high = axes.get_xlim()
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
        axes.xaxis.set_minor_locator(NullLocator())
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: style.tick(value)))
        axes.set_xlabel("Perplexity of a token (log scale)")
        axes.set_ylabel(title)
        axes.grid(which="major")
    if published is not None:
        mark = Line2D([], [], marker="x", color="#a0a0a0", ms=4, ls="", label="published, of words of another text")  # fmt: skip
        figure.legend(handles=[mark], loc="outside upper left")
    for axes, (name, *_) in zip(both, PANELS, strict=True):
        labels.write(
            axes,
            {lm.lm: (rows.perplexity[lm.lm], rows[name][lm.lm]) for lm in drawn},
            {lm.lm: lm.label for lm in drawn},
            {lm.lm: style.shade(looks[lm.lm].colour) for lm in drawn},
            [[lm.lm] for lm in drawn],
            bars[name],
            [],
        )
    return figure


def main(
    *,
    metrics: str | Path,
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    published: str | Path | None = None,
) -> None:
    """Draw table_rank_metrics.csv to `out` (.pdf, .svg, .png; .csv for the values)."""
    rows = comparison.table(metrics, COLUMNS)
    models, _ = comparison.records(lms, [])
    known = None if published is None else comparison.table(published, PUBLISHED)
    with style.use():
        figure = draw(rows, models, known) if len(rows) else style.empty([])
        style.save(figure, out, rows)
