"""Perplexity on a test text by a number that LMs differ in, such as hidden units (thesis, Figure 4.4)."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.text_perplexity import view
from recency.figures import ends, style
from recency.figures.comparison import Described
from recency.figures.encoding import OTHERS, STYLES
from recency.figures.paths import Files

COLOURS = [colour for colour, _ in (*STYLES.values(), *OTHERS)]

PRODUCTS = {
    "main": {
        "makes": {"out": ("figure_perplexity_curves", "Perplexity by size")},
        "reads": ["scores"],
        "settings": ["variants=every_variant", "interpolated_with", "curves"],
        "when": "curves",
    },
}
COLUMNS = ["curve", "x", "lm", "label", "seeds", "test_ppl", "test_sd"]


def collected(lms: Sequence[view.Scored], of: Mapping[str, Sequence[tuple[float, str]]]):
    """Return COLUMNS of each curve's LMs, by x; `of` maps a curve to pairs of x and LM."""
    scored = view.table_computed(lms).set_index("lm")
    rows = [
        {"curve": curve, "x": x, "lm": lm, **scored.loc[lm, COLUMNS[3:]]}
        for curve, points in of.items()
        for x, lm in sorted(points)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def draw(rows: pd.DataFrame, label: str) -> Figure:
    """Draw a line for each curve; bars are standard deviations of seeds."""
    figure = style.figure(3.0)
    axes, last, names, colours = figure.add_subplot(), [], [], []
    for number, (curve, points) in enumerate(rows.groupby("curve", sort=False)):
        colour = COLOURS[number % len(COLOURS)]
        spread = points.test_sd.fillna(0)
        axes.errorbar(points.x, points.test_ppl, spread, color=colour, marker="o", ms=3.5, lw=1.1)
        last.append((points.x.iloc[-1], points.test_ppl.iloc[-1]))
        names.append(curve)
        colours.append(colour)
    axes.set_xlabel(label)
    axes.set_ylabel("Perplexity (test)")
    style.plain_ticks(axes)
    axes.grid()
    ends.name(axes, names, last, colours)
    return figure


def main(
    *,
    scores: Files,
    out: Files,
    variants: Described,
    interpolated_with: str | None,
    curves: Mapping,
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values); `scores` as in `view`."""
    rows = collected(view.read(scores, variants, interpolated_with), curves["of"])
    style.write(out, rows, draw, rows, curves["x"])
