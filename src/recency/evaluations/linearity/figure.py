"""ΔLogLik of each linking function relative to the linear effect, one panel per response."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.endpoints import ENDPOINTS
from recency.evaluations.linearity.differences import read
from recency.evaluations.linearity.spec import LINEAR
from recency.evaluations.linearity.table import name
from recency.figures import style
from recency.figures.comparison import LM, Described, Response
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_linearity", "Is the effect linear?")},
    "reads": ["linearity", "not_run"],
    "settings": ["lms=plain_lms", "responses=plain_responses"],
}

HEIGHT = 1.7  # inches per panel
SPREAD = 0.5  # spread of the LMs, as a share of the distance between functions


def draw(rows: pd.DataFrame, lms: list[LM], responses: list[Response], words: list[str]) -> Figure:
    """Draw the panels, separately for several designs and other settings."""
    looks = style.looks(lms, apart=True)
    keys = ["response", "design", "settings"]
    order = {response.label: index for index, response in enumerate(responses)}
    panels = sorted(rows.groupby(keys, sort=False), key=lambda panel: order[panel[0][0]])
    functions = list(dict.fromkeys(rows.linking))
    figure = style.figure(0.9 + HEIGHT * len(panels))
    column = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for axes, ((response, _, settings), block) in zip(column, panels, strict=True):
        axes.axhline(0, color=style.GREY, lw=1)
        for index, lm in enumerate(lms):
            fits = block[(block.lm == lm.lm) & (block.linking != LINEAR)]
            xs = np.array([functions.index(linking) for linking in fits.linking], float)
            xs += SPREAD * ((index + 0.5) / len(lms) - 0.5)
            look = looks[lm.lm]
            axes.vlines(xs, fits.low, fits.high, color=look.colour, lw=0.9, zorder=1.5)
            axes.plot(xs, fits.difference, look.marker, mfc=look.face, mec=look.colour, ms=4.5,
                      gid=f"{response} {lm.lm}")  # fmt: skip
        axes.set_title(", ".join(filter(None, [response, settings])), loc="left", size=8.5)
        axes.set_ylabel("ΔLogLik relative\nto linear (nats)")
        axes.grid(axis="y")
        axes.margins(y=0.12)
        axes.yaxis.set_major_formatter(style.tick)
    column[-1].set_xticks(range(len(functions)), list(map(name, functions)))
    column[-1].set_xlim(-0.5, len(functions) - 0.5)
    column[-1].set_xlabel("function of the effects of interest")
    handles = [
        style.handle(color=look.colour, marker=look.marker, mfc=look.face, ls="", label=lm.label)
        for lm in lms
        if (look := looks[lm.lm])
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=min(4, len(handles)))
    explanation = (
        f"log-likelihood {ENDPOINTS[rows.endpoint.iloc[0]].of}; lines: 95 % intervals; "
        "x^k: power of the predictor; log: log(1 + x)"
    )
    style.notes(figure, [explanation, *words])
    return figure


def main(
    *,
    linearity: File,
    out: Files,
    lms: Described,
    responses: Described,
    not_run: File | None = None,
) -> None:
    """Draw the panels to `out` (.pdf, .svg, .png, .csv)."""
    rows, models, done, words = read(linearity, lms, responses, not_run)
    style.write(out, rows, draw, rows, models, done, words, empty=words)
