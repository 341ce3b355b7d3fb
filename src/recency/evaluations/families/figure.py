"""ΔLogLik against perplexity, a line a family, without part of speech and with it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from recency.evaluations.families import gaps as computing
from recency.evaluations.families.gaps import WITH, WITHOUT
from recency.evaluations.families.table import told
from recency.figures import style
from recency.figures.encoding import OTHERS, STYLES

PRODUCT = {
    "makes": {"out": ("figure_families", "ΔLogLik by perplexity within families")},
    "reads": ["delta_loglik", "perplexity", "beside"],
    "settings": ["groups", "responses", "one_for_seeds"],
}

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {WITHOUT: "without part of speech", WITH: "with part of speech"}


def draw(rows: pd.DataFrame, sentences: list[str]) -> "Figure":
    """Draw a row of panels a response, a column a design, the largest LM of a family named by none."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    designs = [name for name in (WITHOUT, WITH) if name in set(rows.design)]
    responses, families = list(dict.fromkeys(rows.response)), list(dict.fromkeys(rows.family))
    looks = [look for name, look in STYLES.items() if name != "none"] + list(OTHERS)
    figure = Figure(figsize=(style.WIDTH, 0.9 + 2.1 * len(responses)), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(responses), len(designs), squeeze=False, sharex=True, sharey="row")
    for line, response in enumerate(responses):
        for column, design in enumerate(designs):
            axes = grid[line][column]
            axes.set_xscale("log")
            here = rows[(rows.response == response) & (rows.design == design)]
            for number, family in enumerate(families):
                colour, marker = looks[number % len(looks)]
                mine = here[here.family == family].sort_values("perplexity")
                axes.plot(mine.perplexity, mine.delta_loglik, marker, color=colour, ls="-", lw=1, ms=5, gid=f"{family} {design}")  # fmt: skip
            low, high = axes.get_xlim()
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
            axes.xaxis.set_minor_locator(NullLocator())
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(FuncFormatter(lambda value, _: style.tick(value)))
            axes.grid(which="major")
            if column == 0:
                axes.set_ylabel(f"ΔLogLik (nats),\n{response}")
            if line == 0 and len(designs) > 1:
                axes.set_title(TITLES[design])
            if line == len(responses) - 1:
                axes.set_xlabel(f"Perplexity per {rows.unit.iloc[0]} (log scale)")
    handles = []
    for number, family in enumerate(families):
        colour, marker = looks[number % len(looks)]
        handles.append(Line2D([], [], color=colour, marker=marker, ms=5, lw=1, label=family))
    figure.legend(handles=handles, loc="outside upper left", ncols=min(4, len(handles)))
    style.notes(figure, sentences)
    return figure


def main(
    *,
    delta_loglik: str | Path,
    perplexity: str | Path,
    out: Iterable[str | Path],
    groups: Mapping[str, Iterable[str]],
    responses: Iterable[Mapping],
    beside: Iterable[str | Path] = (),
    one_for_seeds: Mapping[str, str] | None = None,
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the points)."""
    rows = computing.points(delta_loglik, perplexity, groups, responses, beside, one_for_seeds)
    with style.use():
        shown = draw(rows, told(computing.gaps(rows), None)) if len(rows) else style.empty([])
        style.save(shown, out, rows)
