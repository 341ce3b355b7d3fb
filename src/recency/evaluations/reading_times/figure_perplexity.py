"""ΔLogLik against perplexity, the variants of a bias connected (Clark et al. 2025, Figure 6)."""

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter, NullLocator

from recency.evaluations.reading_times import perplexity as computing
from recency.figures import comparison, hover, labels, papers, style
from recency.figures import intervals as interval_files
from recency.figures.comparison import LM, Comparison, View
from recency.figures.encoding import BASELINE
from recency.figures.intervals import TOTAL, Intervals, against, explained
from recency.figures.paths import File, Files

PRODUCTS = {
    "main": {
        "makes": {"out": ("figure_perplexity", "ΔLogLik against perplexity")},
        "reads": [
            "delta_loglik",
            "intervals=delta_loglik_intervals",
            "by_seed=delta_loglik_by_seed",
            "perplexity",
            "not_run",
        ],
        "published": "delta_loglik",
        "settings": ["lms", "responses", "baseline", "seeds"],
    }
}


def series(lms: Iterable[LM]) -> list[list[LM]]:
    """Group LMs that differ only in the strength of one kind of bias."""
    return comparison.grouped(lms, lambda lm: (lm.kind, lm.applied, lm.network))


def over_seeds(perplexity: pd.Series, seeds: Mapping[str, str]) -> pd.Series:
    """Return the perplexity by LM, as the geometric mean over seeds (the mean of bits)."""
    of = pd.Index([seeds.get(lm, lm) for lm in perplexity.index], name="lm")
    return np.exp(np.log(perplexity).groupby(of.to_numpy(), sort=False).mean())


def draw(
    result: Comparison,
    bounds: Intervals,
    perplexity: pd.Series,
    words: list[str],
    baseline: str | None = None,
    seeds: pd.DataFrame | None = None,
    unit: str = "token",
    published: pd.Series | None = None,
) -> Figure:
    """Draw the scatter plot; `perplexity` is by lm and per `unit`, `words` are notes below the figure.

    `seeds` has lm, perplexity and delta_loglik of each seed, drawn as small marks. `published` are totals by
    LM, drawn at the perplexity found here: the papers print none.

    The baseline is a horizontal dashed line; the interval of an LM that differs from it does not
    cross it.
    """
    lms = [lm for lm in result.lms if lm.lm in perplexity.index]
    looks, totals = style.looks(result.lms), result.totals
    figure = style.figure(3.2 + 0.1 * min(len(lms), 19))
    axes = figure.add_subplot()
    axes.set_xscale("log")
    handles = {}  # by label, which seeds of a network share
    first_lm = comparison.find(lms, baseline)
    if first_lm and len(lms) > 1:
        axes.axhline(totals[first_lm.lm], color=BASELINE, ls=(0, (4, 2)), lw=1, zorder=1.2)
    for lm in lms:
        low, high = against(bounds, result, lm.lm, TOTAL)
        if not math.isnan(low):
            axes.plot([perplexity[lm.lm]] * 2, [low, high], "_-", lw=0.9, ms=4, zorder=2,
                      color=style.tint(looks[lm.lm].colour, 0.6), gid=f"interval {lm.lm}")  # fmt: skip
    for lm, mark in seeds.groupby("lm") if seeds is not None else []:
        colour = style.tint(looks[lm].colour, 0.45)
        axes.plot(mark.perplexity, mark.delta_loglik, "o", ms=2.4, color=colour, zorder=3,
                  gid=f"seeds {lm}")  # fmt: skip
    for group in series(lms):
        look, first = looks[group[0].lm], group[0]
        xs, ys = perplexity[[lm.lm for lm in group]], totals[[lm.lm for lm in group]]
        if len(group) > 1:
            axes.plot(
                xs, ys, color=look.colour, lw=1, ls="-" if first.applied == "training" else ":"
            )
        for lm, x, y in zip(group, xs, ys, strict=True):
            (point,) = axes.plot(x, y, look.marker, mfc=look.face, mec=look.colour, ms=6, zorder=4)
            of_x = f"perplexity {style.number(x)} per {unit}"
            hover.say(point, f"{lm.label}: ΔLogLik {style.number(y)}, {of_x}")
        if len(group) > 1:
            label = f"{first.label} \N{HORIZONTAL ELLIPSIS} {group[-1].label}"
            handles[label] = style.handle(color=look.colour, lw=1, marker=look.marker, mfc=look.face,
                ls=":" if first.applied == "inference" else "-", label=label,
            )  # fmt: skip
    if published is not None and published.notna().any():
        for lm in lms:
            style.published(axes, perplexity[lm.lm], published[lm.lm], f"published {lm.lm}")
        mark = style.published_handle()
        mark.set_label("published, at the perplexity found here")
        handles["published"] = mark
    for applied, text in (
        ("inference", "inference-only bias"),
        ("training", "bias in training and inference"),
    ):
        if any(lm.applied == applied for lm in lms):
            face = "white" if applied == "inference" else "#808080"
            handles[text] = style.handle(color="#808080", marker="o", mfc=face, ls="", label=text)
    if first_lm and len(lms) > 1:
        label = f"baseline: {first_lm.label}"
        handles[label] = style.handle(color=BASELINE, ls=(0, (4, 2)), lw=1, label=label)
    if handles:
        figure.legend(handles=[*handles.values()], loc="outside upper left", ncols=min(len(handles), 3 if len(handles) < 4 else 2),
                      columnspacing=1.4, handletextpad=0.6, borderpad=0.2)  # fmt: skip

    axes.margins(0.14)
    low, high = axes.get_xlim()
    # Log axes have no ticks within a decade, so linear ticks are set, few and round.
    ticks = MaxNLocator(6, min_n_ticks=3).tick_values(low, high) if high / low < 8 else None
    if ticks is not None:
        axes.set_xticks([tick for tick in ticks if low < tick < high])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    style.plain_ticks(axes)
    axes.set_xlim(low, high)
    axes.grid(which="major")
    axes.set_ylabel(f"ΔLogLik (nats),\n{result.summed_over}")
    axes.set_xlabel(f"Perplexity per {unit} over the corpora (log scale)")
    how = explained(bounds, first_lm and first_lm.label)
    style.notes(figure, [result.note(how), *words])
    labels.name_lms(axes, lms, looks, perplexity, totals)
    return figure


def main(
    view: View,
    delta_loglik: File,
    intervals: File,
    perplexity: File,
    out: Files,
    by_seed: File | None = None,
    seeds: Mapping[str, str] | None = None,
) -> None:
    """Draw total ΔLogLik against perplexity over all datasets to `out` (.pdf, .svg, .png, .csv).

    `seeds` maps each LM of perplexity.csv → the LM averaged over its seeds; `by_seed` is the file
    of their ΔLogLik. Perplexity is per token, or per word if the LMs' tokenizers differ.
    """
    result = comparison.read(view, delta_loglik)
    bounds = interval_files.read(intervals, result)
    rows, unit, about = computing.compared(perplexity)
    trained = rows[rows.dataset == "all"].set_index("lm").perplexity.astype(float)
    values = over_seeds(trained, seeds or {})
    rows = interval_files.by_seed(by_seed, result).reset_index()
    marks = pd.DataFrame({"lm": rows.lm, "delta_loglik": rows[TOTAL]}) if len(rows) else None
    if marks is not None:
        marks["perplexity"] = trained.reindex(rows.variant).to_numpy()
    words = list(result.missing)
    if marks is not None:
        words.insert(0, f"LMs are means of {result.seeds} seeds, small marks are seeds")
    if lost := [lm.label for lm in result.lms if lm.lm not in values.index]:
        words.append(f"no perplexity of {', '.join(lost)}")
    words += about
    shown = [lm for lm in result.lms if lm.lm in values.index and len(result.totals)]
    paper = papers.totals(view.published, result)
    data = interval_files.of_totals(bounds, result, shown, perplexity=values).join(paper, on="lm")
    given = (result, bounds, values, words, view.baseline, marks, unit, paper.published)
    style.write(out, data, draw, *given, empty=words)
