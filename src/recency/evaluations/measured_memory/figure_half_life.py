"""ΔLogLik against the measured half-life of each LM's memory, for every kind of network."""

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from recency.evaluations.measured_memory.figure import bound, read, summary_columns
from recency.evaluations.measured_memory.half_life import Memory
from recency.evaluations.measured_memory.stated import stated_memory
from recency.evaluations.reading_times.figure_perplexity import series
from recency.figures import comparison, encoding, hover, labels, style
from recency.figures import intervals as interval_files
from recency.figures.comparison import Comparison, Described
from recency.figures.intervals import TOTAL, Intervals, against, columns, explained
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_half_life", "ΔLogLik by half-life of the memory")},
    "reads": ["memories", "delta_loglik", "intervals=delta_loglik_intervals", "not_run"],
    "settings": ["lms=ranked", "variants", "responses", "baseline=ranked_baseline"],
    "when": "ranked",
}


def draw(
    result: Comparison, bounds: Intervals, memories: Mapping[str, Memory], baseline: str
) -> Figure:
    """Draw the scatter plot, half-lives on a log axis, with intervals on both axes."""
    lives = {lm: m.half_life for lm, m in memories.items() if m.is_identified}
    lms = [lm for lm in result.lms if lm.lm in lives]
    looks, totals = style.looks(result.lms), result.totals
    figure = style.figure(3.2 + 0.1 * min(len(lms), 19))
    axes = figure.add_subplot()
    axes.set_xscale("log")
    first = comparison.find(lms, baseline)
    if first:
        axes.axhline(totals[baseline], color=encoding.BASELINE, ls=(0, (4, 2)), lw=1, zorder=1.2)
    for lm in lms:
        memory, key = memories[lm.lm], lm.lm
        pale = {"lw": 0.9, "ms": 4, "zorder": 2, "color": style.tint(looks[key].colour, 0.6)}
        low, high = against(bounds, result, key, TOTAL)
        if not math.isnan(low):
            axes.plot([lives[key]] * 2, [low, high], "_-", gid=f"interval {key}", **pale)
        axes.plot([memory.half_life_low, memory.half_life_high], [totals[key]] * 2, "|-", **pale)
        look, statement = looks[key], stated_memory(lm, memory.units)
        (point,) = axes.plot(
            lives[key], totals[key], look.marker, mfc=look.face, mec=look.colour, ms=6, zorder=4
        )
        ends = style.interval(memory.half_life_low, memory.half_life_high)
        half_life = f"half-life {style.number(lives[key])} words (95 % {ends})"
        hover.say(point, f"{lm.label}: ΔLogLik {style.number(totals[key])}, {half_life}")
        if statement.window > 0:
            axes.plot([1, statement.window], [totals[key]] * 2, lw=5, alpha=0.35, zorder=1.5,
                      color=look.colour, solid_capstyle="butt", gid=f"window {key}")  # fmt: skip
        if not math.isnan(statement.half_life):
            axes.plot(
                statement.half_life,
                totals[key],
                "x",
                ms=5,
                gid=f"stated {key}",
                **{k: pale[k] for k in ("color", "zorder")},
            )
            axes.plot([statement.low, statement.high], [totals[key]] * 2, ":", **pale)
    chains = [[lm.lm for lm in group] for group in series(lms)]
    for chain in chains:
        how = "-" if next(lm.applied for lm in lms if lm.lm == chain[0]) == "training" else ":"
        xs, ys = [lives[key] for key in chain], [totals[key] for key in chain]
        axes.plot(xs, ys, color=looks[chain[0]].colour, lw=1, ls=how, zorder=3)
    if any("memory" in lm.network for lm in lms):
        names = {"biased attention": None, "": None}
        kinds = {names.get(lm.memory, lm.memory) or lm.kind: looks[lm.lm] for lm in lms}
        handles = [
            style.handle(ls="", marker=look.marker, color=look.colour, mfc=look.face, label=kind)
            for kind, look in sorted(kinds.items())
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=4, columnspacing=1.2,
                      handletextpad=0.3)  # fmt: skip
    axes.margins(0.14)
    axes.xaxis.set_minor_formatter(NullFormatter())
    style.plain_ticks(axes)
    axes.grid()
    axes.set_ylabel(f"ΔLogLik (nats),\n{result.summed_over}")
    axes.set_xlabel("Half-life of the memory, measured (words, log scale)")
    absent = [lm for lm in result.lms if lm.lm in memories and lm not in lms]
    notes = [result.note(explained(bounds, first and first.label)), *result.missing]
    if absent:
        ends = {lm.lm: bound(memories[lm.lm]) for lm in absent}
        listed = [lm.label + (f" ({ends[lm.lm]})" if ends[lm.lm] else "") for lm in absent]
        notes.insert(1, f"half-life not identified: {', '.join(listed)}")
    statement = [stated_memory(lm, memories[lm.lm].units) for lm in lms]
    if any(lm_statement.half_life > 0 for lm_statement in statement):
        notes.append("×: the half-life that a slope or a fading state has, in tokens")
    if any(lm_statement.window > 0 for lm_statement in statement):
        notes.append("broad bars: length of a window in tokens")
    style.notes(figure, notes)
    if lms:
        labels.name_lms(axes, lms, looks, lives, totals)
    return figure


def main(
    *,
    memories: Files,
    delta_loglik: File,
    intervals: File,
    out: Files,
    lms: Described,
    variants: Described,
    responses: Described,
    baseline: str,
    not_run: File | None = None,
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with the half-lives measured and stated).

    `memories` are files of rule measured_memory in the order of `variants`, the seeds of `lms`.
    """
    lms = list(lms)
    result = comparison.read(delta_loglik, lms=lms, responses=responses, not_run=not_run)
    bounds = interval_files.read(intervals, result)
    memory_of, _ = read(memories, variants)
    shown = {lm.lm: memory_of[lm.lm] for lm in result.lms if len(result.totals)}
    data = pd.DataFrame(
        {"lm": lm.lm, "label": lm.label}
        | summary_columns(shown[lm.lm])
        | {
            "kind": lm.memory,
            "stated_half_life_tokens": stated_memory(lm, shown[lm.lm].units).half_life,
            "window_tokens": stated_memory(lm, shown[lm.lm].units).window,
            "delta_loglik": result.totals[lm.lm],
        }
        | columns(bounds, lm.lm, TOTAL)
        for lm in result.lms
        if lm.lm in shown
    )
    style.write(out, data, draw, result, bounds, shown, baseline, empty=result.missing)
