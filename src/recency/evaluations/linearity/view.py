"""Held-out ΔLogLik by linking function, response and LM, and its difference from a linear effect.

ΔLogLik of each linking function relative to the linear effect, one panel per response.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.endpoints import ENDPOINTS
from recency.evaluations.linearity.differences import answer, read
from recency.evaluations.linearity.spec import LINEAR
from recency.figures import style, tables
from recency.figures.comparison import LM, Response, View
from recency.figures.intervals import nats
from recency.figures.paths import File, Files
from recency.figures.tables import Table

PRODUCTS = {
    "figure_linearity": {
        "makes": {"out": ("figure_linearity", "Is the effect linear?")},
        "reads": ["linearity", "not_run"],
        "settings": ["lms=plain_lms", "responses=plain_responses"],
    },
    "table_linearity": {
        "makes": {"out": ("table_linearity", "Is the effect linear?")},
        "reads": ["linearity", "not_run"],
        "settings": ["lms=plain_lms", "responses=plain_responses"],
    },
}


def layout(rows: pd.DataFrame, done: list[Response], notes: list[str]) -> Table:
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
    title = "Linking functions by response and language model"
    return Table(title, header, grid, [*legend, *notes], tuple(rules), left=left)


def name(linking: str) -> str:
    """Write a linking function, a power as x^k."""
    return linking if linking.isalpha() else f"x^{float(linking):g}"


def table_linearity(view: View, linearity: File, out: Files) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows, done, missing = read(view, linearity)
    tables.write(out, layout(rows, done, missing), rows)


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


def figure_linearity(view: View, linearity: File, out: Files) -> None:
    """Draw the panels to `out` (.pdf, .svg, .png, .csv)."""
    rows, done, words = read(view, linearity)
    style.write(out, rows, draw, rows, view.lms, done, words, empty=words)
