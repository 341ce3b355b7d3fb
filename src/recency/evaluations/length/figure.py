"""Perplexity by length, one line per LM, up to its last learned position."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from recency.evaluations.length import differences
from recency.figures import comparison, ends, style
from recency.figures.comparison import LM
from recency.figures.paths import Files

PRODUCT = {
    "makes": {"out": ("figure_length", "Perplexity by length")},
    "reads": ["lengths"],
    "settings": ["variants", "length_settings"],
}

LINES = ("-", (0, (4, 1.5)), (0, (1.5, 1)), (0, (6, 1, 1.5, 1)))


def draw(rows: pd.DataFrame, lms: list[LM], trained: int) -> Figure:
    """Draw perplexity over length on log axes; bands are intervals of the paired differences."""
    looks, seen = style.looks(lms), {}
    figure = style.figure(max(3.0, 0.17 * len(lms) + 1.6))
    axes = figure.add_subplot()
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    last, texts, silent = [], [], []
    for lm in lms:
        every = rows[rows.lm == lm.lm].sort_values("length")
        finite, look = every[every.ppl.notna()], looks[lm.lm]
        if len(finite) < len(every):
            silent.append(f"{lm.label} has no positions beyond {finite.length.max():,.0f} tokens")
        line = LINES[seen.setdefault(look.colour, 0) % len(LINES)]  # LMs of one kind of bias
        seen[look.colour] += 1
        base = finite.ppl / np.exp(finite.difference)
        axes.fill_between(finite.length, base * np.exp(finite.low), base * np.exp(finite.high),
                          color=look.colour, alpha=0.15, lw=0)  # fmt: skip
        axes.plot(finite.length, finite.ppl, color=look.colour, ls=line, marker=look.marker, ms=3.5,
                  mfc=look.face, mew=0.7, lw=1.1)  # fmt: skip
        last.append((finite.length.iloc[-1], finite.ppl.iloc[-1]))
        texts.append(f"{lm.label}  {finite.ppl.iloc[-1]:,.1f}")
    axes.axvline(trained, color=style.GREY, lw=0.9, ls=(0, (3, 2)), zorder=1)
    axes.annotate("trained", (trained, 0.99), xycoords=("data", "axes fraction"), xytext=(3, 0),
                  textcoords="offset points", va="top", size=style.SMALL, color=style.GREY)  # fmt: skip
    axes.xaxis.set_major_locator(FixedLocator(sorted(rows.length.unique())))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axes.yaxis.set_major_formatter(style.tick)
    axes.yaxis.set_minor_formatter(style.tick)
    axes.set_xlabel("Length (tokens)")
    axes.set_ylabel("Perplexity of masked tokens")
    axes.grid()
    style.notes(figure, silent)
    ends.name(axes, texts, last, [looks[lm.lm].colour for lm in lms])
    return figure


def main(*, lengths: Files, out: Files, variants: list[Mapping], length_settings: Mapping) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values)."""
    models, _ = comparison.records({variant["lm"]: variant for variant in variants}.values(), [])
    rows = differences.read(lengths, variants, length_settings["trained"])
    style.write(out, rows, draw, rows, models, length_settings["trained"])
