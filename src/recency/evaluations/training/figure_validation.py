"""Perplexity of masked tokens of validation text by update: the masked study's Figure 2."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.figures import comparison, ends, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files

PRODUCT = {
    "makes": {"out": ("figure_validation", "Validation perplexity by update")},
    "reads": ["masked_curves"],
    "settings": ["masked"],
    "when": "masked",
}

LINES = ("-", (0, (4, 1.5)), (0, (1.5, 1)), (0, (6, 1, 1.5, 1)))
ROOM = 40.0  # × the minimum: larger values, of the first updates, are cut off


def read(curves: Files, variants: Described) -> pd.DataFrame:
    """Return lm, label, variant, step and ppl of each validation, from the training.csv of each LM."""
    parts = []
    for path, variant in zip(curves, variants, strict=True):
        rows = comparison.table(path, ["step", "validation_nats"]).dropna(
            subset=["validation_nats"]
        )
        about = {key: variant[key] for key in ("lm", "label", "variant")}
        parts.append(rows[["step"]].assign(ppl=np.exp(rows.validation_nats), **about))
    return pd.concat(parts, ignore_index=True)[["lm", "label", "variant", "step", "ppl"]]


def draw(rows: pd.DataFrame, lms: list[LM]) -> Figure:
    """Draw a line per LM, the geometric mean of its networks, with a band over their range."""
    looks, seen = style.looks(lms), {}
    figure = style.figure(max(3.0, 0.17 * len(lms) + 1.4))
    axes = figure.add_subplot()
    axes.set_yscale("log")
    last, texts = [], []
    for lm in lms:
        log_ppl, colour = np.log(rows[rows.lm == lm.lm].pivot_table(
            index="step", columns="variant", values="ppl")), looks[lm.lm].colour  # fmt: skip
        line = LINES[seen.setdefault(colour, 0) % len(LINES)]  # LMs of one kind of bias
        seen[colour] += 1
        middle, low, high = (np.exp(values) for values in (log_ppl.mean(axis=1), log_ppl.min(axis=1), log_ppl.max(axis=1)))  # fmt: skip
        axes.fill_between(log_ppl.index, low, high, color=colour, alpha=0.15, lw=0)
        axes.plot(log_ppl.index, middle, color=colour, ls=line, lw=1.1)
        last.append((log_ppl.index[-1], middle.iloc[-1]))
        spread = f" ({low.iloc[-1]:,.1f} to {high.iloc[-1]:,.1f})" if log_ppl.shape[1] > 1 else ""
        texts.append(f"{lm.label}  {middle.iloc[-1]:,.1f}{spread}")
    axes.set_ylim(rows.ppl.min() / 1.1, min(rows.ppl.max() * 1.1, ROOM * rows.ppl.min()))
    axes.yaxis.set_major_formatter(style.tick)
    axes.yaxis.set_minor_formatter(_minor)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axes.set_xlabel("Updates")
    axes.set_ylabel("Perplexity of masked tokens")
    axes.grid()
    ends.name(axes, texts, last, [looks[lm.lm].colour for lm in lms])
    return figure


def _minor(value: float, _) -> str:
    """Format 2 and 5 of a decade, which may be the only ticks on the axis."""
    first = f"{value:.0e}"[0]
    return style.tick(value) if first in "25" else ""


def main(*, masked_curves: Files, out: Files, masked: list[Mapping]) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for each validation of each network)."""
    models, _ = comparison.records({variant["lm"]: variant for variant in masked}.values(), [])
    rows = read(masked_curves, masked)
    style.write(out, rows, draw, rows, models)
