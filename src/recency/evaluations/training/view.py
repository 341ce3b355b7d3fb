"""Training loss, and loss on held-out text.

Perplexity of masked tokens of validation text by update: the masked study's Figure 2.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.figures import comparison, ends, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files

PRODUCTS = {
    "figure_training": {
        "makes": {"out": ("figure_training", "Loss in training")},
        "reads": ["curves"],
        "settings": ["lms=trained"],
    },
    "figure_validation": {
        "makes": {"out": ("figure_validation", "Validation perplexity by update")},
        "reads": ["masked_curves"],
        "settings": ["masked"],
        "when": "masked",
    },
}


COLUMNS = ["step", "tokens", "loss_nats", "validation_nats"]
PARTS = 50  # number of parts of a training run, whose mean losses are drawn


def means(curve: pd.DataFrame) -> pd.DataFrame:
    """Return tokens and mean training loss (nats) of PARTS parts of a training run, in order."""
    part = (curve.step - 1) * min(PARTS, len(curve)) // len(curve)
    return curve.groupby(part)[["tokens", "loss_nats"]].agg({"tokens": "last", "loss_nats": "mean"})


def line(curve: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return tokens and nats of the drawn line: validation loss, or training loss without it."""
    held_out = curve[curve.validation_nats.notna()]
    if len(held_out):
        return held_out.tokens, held_out.validation_nats
    smooth = means(curve)
    return smooth.tokens, smooth.loss_nats


def draw(curves: list[pd.DataFrame], lms: list[LM]) -> Figure:
    """Draw a line (validation) and dots (training) for each of `lms`; seeds of an LM look the same.

    Each LM is labelled once, with the mean of its seeds, at the end of its lines.
    """
    looks = style.looks(lms)
    one = {lm.lm: lm for lm in lms}
    figure = style.figure(max(3.0, 0.17 * len(one) + 1.2))
    axes = figure.add_subplot()
    axes.set_xscale("log")
    for lm, curve in zip(lms, curves, strict=True):
        smooth, colour = means(curve), looks[lm.lm].colour
        axes.plot(smooth.tokens, smooth.loss_nats, ".", color=colour, ms=2.5, alpha=0.5, lw=0)
        axes.plot(*line(curve), "-", color=colour, lw=0.9, zorder=3)
    validated = any(curve.validation_nats.notna().any() for curve in curves)
    axes.set_ylabel("Loss (nats per token)")
    axes.grid(which="major")
    lines = [line(curve) for curve in curves]
    least, most = (
        of_all(ys.agg(how) for _, ys in lines) for of_all, how in ((min, "min"), (max, "max"))
    )
    least = min(least, *(means(curve).loss_nats.min() for curve in curves))  # of repeated text
    room = 0.06 * (most - least or 1.0)
    axes.set_ylim(least - room, most + room)
    first, end = min(xs.iloc[0] for xs, _ in lines), max(xs.iloc[-1] for xs, _ in lines)
    style.token_ticks(axes, first, end, (1, 2, 5))
    axes.set(xlim=(first * 0.85, end * 1.06), xlabel="Tokens seen (millions, log scale)")
    reached = pd.DataFrame(
        [(lm.lm, xs.iloc[-1], ys.iloc[-1]) for lm, (xs, ys) in zip(lms, lines, strict=True)],
        columns=["lm", "tokens", "nats"],
    )
    last = reached.groupby("lm", sort=False).agg({"tokens": "max", "nats": "mean"})
    texts = [f"{lm.label}  {nats:.3f}" for lm, nats in zip(one.values(), last.nats, strict=True)]
    places = list(last.itertuples(index=False, name=None))
    ends.name(axes, texts, places, [looks[lm].colour for lm in one])
    if validated:
        handles = [
            style.handle(color=style.GREY, lw=1.2, label="held-out text"),
            style.handle(color=style.GREY, marker=".", ms=4, lw=0, label="training text"),
        ]
        axes.legend(handles=handles, loc="upper right")
    return figure


def figure_training(*, curves: Files, out: Files, lms: Described) -> None:
    """Draw the training.csv of each network to `out` (.pdf, .svg, .png; .csv with the drawn values).

    `lms` has the LM of each network, without its seed, and the network itself as `variant`.
    """
    lms = list(lms)
    described, _ = comparison.records({entry["lm"]: entry for entry in lms}.values(), [])
    named = {lm.lm: lm for lm in described}
    models = [named[entry["lm"]] for entry in lms]
    read = [comparison.table(path, COLUMNS)[COLUMNS] for path in curves]
    data = pd.concat(
        curve.assign(lm=lm.lm, label=lm.label, network=entry.get("variant", lm.lm))
        for lm, entry, curve in zip(models, lms, read, strict=True)
    )
    style.write(out, data[["lm", "label", "network", *COLUMNS]], draw, read, models)


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


def figure_validation_draw(rows: pd.DataFrame, lms: list[LM]) -> Figure:
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


def figure_validation(*, masked_curves: Files, out: Files, masked: list[Mapping]) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for each validation of each network)."""
    models, _ = comparison.records({variant["lm"]: variant for variant in masked}.values(), [])
    rows = read(masked_curves, masked)
    style.write(out, rows, figure_validation_draw, rows, models)
