"""Training loss, and loss on held-out text."""

import pandas as pd
from matplotlib.figure import Figure

from recency.figures import comparison, ends, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files

PRODUCT = {
    "makes": {"out": ("figure_training", "Loss in training")},
    "reads": ["curves"],
    "settings": ["lms=trained"],
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


def main(*, curves: Files, out: Files, lms: Described) -> None:
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
