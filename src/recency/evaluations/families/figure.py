"""ΔLogLik against perplexity, one line per family, with and without part of speech."""

import math
from collections.abc import Iterable, Mapping

import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.families import gaps as computing
from recency.evaluations.families.gaps import WITH, WITHOUT
from recency.evaluations.families.table import gap_notes
from recency.figures import style
from recency.figures.comparison import Described
from recency.figures import encoding
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_families", "ΔLogLik by perplexity within families")},
    "reads": ["delta_loglik", "perplexity", "others"],
    "settings": ["groups", "responses", "one_for_seeds"],
}

TITLES = {WITHOUT: "without part of speech", WITH: "with part of speech"}
BROKEN = {design: title.replace(" part", "\npart") for design, title in TITLES.items()}
ONE_BELOW_ANOTHER = 4
"""Number of responses above which panels are arranged in pairs."""


def draw(rows: pd.DataFrame, sentences: list[str]) -> Figure:
    """Draw a panel per response and design, the designs of a response next to each other."""
    designs = [name for name in (WITHOUT, WITH) if name in set(rows.design)]
    responses, families = list(dict.fromkeys(rows.response)), list(dict.fromkeys(rows.family))
    looks = [look for name, look in encoding.STYLES.items() if name != "none"] + list(encoding.OTHERS)
    across = 1 if len(responses) <= ONE_BELOW_ANOTHER else 2
    down = math.ceil(len(responses) / across)
    figure = style.figure(0.9 + 2.1 * down)
    grid = figure.subplots(down, across * len(designs), squeeze=False, sharex=True)
    for index, response in enumerate(responses):
        line, first = index // across, index % across * len(designs)
        for column, design in enumerate(designs, first):
            axes = grid[line][column]
            if column > first:
                axes.sharey(grid[line][first])
                axes.tick_params(labelleft=False)
            axes.set_xscale("log")
            here = rows[(rows.response == response) & (rows.design == design)]
            for number, family in enumerate(families):
                colour, marker = looks[number % len(looks)]
                mine = here[here.family == family].sort_values("perplexity")
                axes.plot(mine.perplexity, mine.delta_loglik, marker, color=colour, ls="-", lw=1, ms=5, gid=f"{family} {design}")  # fmt: skip
            style.log_ticks(axes, 100)
            axes.grid(which="major")
            if column == first:
                axes.set_ylabel(f"ΔLogLik (nats),\n{response}")
            if line == 0 and len(designs) > 1:
                axes.set_title(TITLES[design] if across == 1 else BROKEN[design])
            if index + across >= len(responses):  # none is below
                axes.tick_params(labelbottom=True)
                label = f"Perplexity per {rows.unit.iloc[0]} (log scale)"
                axes.set_xlabel(label if across == 1 else label.replace(" (", "\n("))
    for axes in grid[-1]:
        axes.set_visible(bool(axes.lines))
    handles = []
    for number, family in enumerate(families):
        colour, marker = looks[number % len(looks)]
        handles.append(style.handle(color=colour, marker=marker, ms=5, lw=1, label=family))
    figure.legend(handles=handles, loc="outside upper left", ncols=min(4, len(handles)))
    style.notes(figure, sentences)
    return figure


def main(
    *,
    delta_loglik: File,
    perplexity: File,
    out: Files,
    groups: Mapping[str, Iterable[str]],
    responses: Described,
    others: Files = (),
    one_for_seeds: Mapping[str, str] | None = None,
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the points)."""
    rows = computing.points(delta_loglik, perplexity, groups, responses, others, one_for_seeds)
    sentences = gap_notes(computing.gaps(rows), None) if len(rows) else []
    style.write(out, rows, draw, rows, sentences, empty=sentences)
