"""ΔLogLik against perplexity during training."""

import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.curves import rows as reading
from recency.evaluations.curves.figure import key, round_ticks
from recency.figures import comparison, labels, style
from recency.figures.comparison import LM, Described
from recency.figures.intervals import TOTAL
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_curves_perplexity", "ΔLogLik against perplexity along a training")},
    "reads": ["curves", "not_run"],
    "settings": ["lms=plain_lms", "responses", "baseline=plain_baseline"],
    "when": "fitted",
}

COLUMNS = ["lm", "label", "step", "tokens", "perplexity", "delta_loglik", "highest"]


def data(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each LM's points (COLUMNS): perplexity over all words, and summed ΔLogLik.

    `highest` marks the step of an LM's highest ΔLogLik.
    """
    names = ["lm", "label", "step", "tokens"]
    fit = reading.of(rows, "delta_loglik", TOTAL).rename(columns={"value": "delta_loglik"})
    text = reading.of(rows, "perplexity").rename(columns={"value": "perplexity"})
    both = fit[[*names, "delta_loglik"]].merge(
        text[["lm", "step", "perplexity"]], on=["lm", "step"]
    )
    both["highest"] = both.groupby("lm").delta_loglik.transform("max") == both.delta_loglik
    return both[COLUMNS]


def draw(
    points: pd.DataFrame,
    lms: list[LM],
    baseline: str,
    scope: str,
    words: list[str],
    unit: str = "token",
) -> Figure:
    """Draw one line per LM, its highest point ringed, with steps labelled on the baseline's line."""
    looks = style.looks(lms, apart=True)
    figure = style.figure(3.9)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    for lm in lms:
        look, mine = looks[lm.lm], points[points.lm == lm.lm].sort_values("step")
        ls = ":" if lm.applied == "inference" else "-"
        axes.plot(mine.perplexity, mine.delta_loglik, look.marker, color=look.colour, mfc=look.face,
                  ms=4.5, ls=ls, lw=1.1, gid=f"line {lm.lm}")  # fmt: skip
        top = mine[mine.highest]
        axes.plot(top.perplexity, top.delta_loglik, "o", mfc="none", mec=look.colour, ms=10, mew=1,
                  gid=f"highest {lm.lm}")  # fmt: skip
    axes.margins(0.09)
    axes.invert_xaxis()  # training proceeds to the right
    round_ticks(axes.xaxis)
    axes.yaxis.set_major_formatter(style.tick)
    axes.grid(which="major")
    axes.set_ylabel(f"ΔLogLik (nats),\n{scope}")
    axes.set_xlabel(f"Perplexity per {unit} over the corpora (log scale, decreasing)")
    ring = style.handle(color=style.GREY, marker="o", mfc="none", ms=9, ls="", label="its highest")
    handles = [*key(lms), ring]
    figure.legend(handles=handles, loc="outside upper left", ncols=min(5, len(handles)))
    named = comparison.find(lms, baseline)
    style.notes(figure, [f"numbers: training steps of {named.label}", *words])
    places = {(row.lm, row.step): (row.perplexity, row.delta_loglik) for row in points.itertuples()}
    labels.write(
        axes,
        places,
        {point: f"{point[1]:,}" if point[0] == baseline else "" for point in places},
        {point: style.shade(looks[point[0]].colour) for point in places},
    )
    return figure


def main(
    *,
    curves: File,
    out: Files,
    lms: Described,
    responses: Described,
    baseline: str,
    not_run: File | None = None,
) -> None:
    """Draw ΔLogLik against perplexity to `out` (.pdf, .svg, .png, .csv)."""
    rows, models, words = reading.read(curves, lms, responses, not_run)
    points, named = data(rows), reading.responses_of(rows)
    scope = named[0] if len(named) == 1 else f"summed over {len(named)} responses"
    style.write(
        out, points, draw, points, models, baseline, scope, words, reading.unit(rows), empty=words
    )
