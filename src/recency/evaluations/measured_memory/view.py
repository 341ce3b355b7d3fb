"""Effect of a replaced word on surprisal by distance, one line per LM.

ΔLogLik against the measured half-life of each LM's memory, for every kind of network.

Half-life of the decline of each LM's measured memory.

Memory and ΔLogLik of each LM by kind of memory, and tests between the kinds.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from recency.evaluations.measured_memory.half_life import (
    UNITS,
    Memory,
    Stated,
    measured,
    stated_memory,
)
from recency.evaluations.reading_times import tables_of_tests
from recency.evaluations.reading_times.figure_perplexity import series
from recency.figures import comparison, encoding, ends, hover, labels, style, tables
from recency.figures import intervals as interval_files
from recency.figures.comparison import LM, Comparison, Described, View
from recency.figures.intervals import TOTAL, Intervals, against, columns, explained
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "figure_measured_memory": {
        "makes": {"out": ("figure_measured_memory", "Effect of a replaced word by distance")},
        "reads": ["memories"],
        "settings": ["lms=variants"],
    },
    "figure_half_life": {
        "makes": {"out": ("figure_half_life", "ΔLogLik by half-life of the memory")},
        "reads": ["memories", "delta_loglik", "intervals=delta_loglik_intervals", "not_run"],
        "settings": ["lms=ranked_lms", "variants", "responses", "baseline=ranked_baseline"],
        "when": "ranked",
    },
    "table_measured_memory": {
        "makes": {"out": ("table_measured_memory", "Slope of decline: half-lives")},
        "reads": ["memories"],
        "settings": ["lms=variants"],
    },
    "table_half_life": {
        "makes": {
            "out": ("table_half_life", "Half-lives and ΔLogLik by the kind of memory"),
            "out_kinds": (
                "table_memory_kinds",
                "Kinds of memory, tested on the held-out partition",
            ),
        },
        "reads": [
            "memories",
            "delta_loglik",
            "intervals=delta_loglik_intervals",
            "kinds=permutation_kinds",
            "not_run",
        ],
        "settings": ["lms=ranked_lms", "variants", "responses"],
        "when": "ranked",
    },
}


COLUMNS = ["place", "distance", "change_bits"]
SINGLE = 8  # words: up to this distance one point per word, then one per half octave
SMALLEST = 1e-4  # bits: smaller values are not drawn
TOGETHER = 10  # maximum number of LMs in one panel if they differ in when their bias applies


def read(memories: Files, runs: Iterable[str]) -> dict[str, Memory]:
    """Return LM → its memory, from the files of rule measured_memory and the LM of each.

    The memory of an LM with several seeds is their mean.
    """
    result = {}
    for lm, paths in comparison.by_lm(runs, memories).items():
        tables = [pd.read_parquet(path, columns=COLUMNS) for path in paths]
        units = [table.attrs[UNITS] for table in tables if table.attrs.get(UNITS)]
        middle = [float(unit) for unit in np.median(units, axis=0)] if units else None
        result[lm] = replace(measured(*tables), units=middle)
    return result


def points(distance: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the drawn points: each small distance, then means of half octaves."""
    far = np.ceil(SINGLE * 2 ** (np.arange(1, 40) / 2)).astype(int)
    edges = np.unique(np.concatenate([np.arange(1, SINGLE + 1), far]))
    part = np.searchsorted(edges, distance, side="right")
    kept = [part == value for value in np.unique(part)]
    middle = [np.exp(np.log(distance[mine]).mean()) for mine in kept]
    return np.array(middle), np.array([values[mine].mean() for mine in kept])


def named(lm: LM, memory: Memory) -> str:
    """Write an LM's label and half-life."""
    return f"{lm.label}  {bound(memory) or words(memory.half_life)}"


def words(half_life: float) -> str:
    """Write a half-life in words, to two significant digits or as an integer."""
    if np.isnan(half_life):
        return "–"
    return f"{half_life:.2g}" if half_life < 99.5 else f"{half_life:.0f}"


def bound(memory: Memory) -> str:
    """Format the one-sided interval of a half-life ("> 64", "< 0.1"), or an empty string."""
    if memory.half_life_high == np.inf:
        return f"> {words(memory.half_life_low)}"
    if memory.half_life_low == 0:
        return f"< {words(memory.half_life_high)}"
    return ""


def summary_columns(memory: Memory) -> dict[str, float | bool]:
    """Return the CSV columns that summarize a memory, in words and the floor in bits."""
    return {
        "half_life_words": memory.half_life,
        "half_life_low": memory.half_life_low,
        "half_life_high": memory.half_life_high,
        "half_life_floor_bits": memory.floor,
        "half_life_identified": memory.is_identified,
        "half_within_words": memory.half_within,
        "half_within_low": memory.half_within_low,
        "half_within_high": memory.half_within_high,
    }


def panels(lms: list[LM]) -> dict[str, list[LM]]:
    """Return the panels: with many LMs, inference-only biases have a separate one.

    LMs without a bias are in both panels.
    """
    added = [lm for lm in lms if lm.applied == "inference" and lm.kind != "none"]
    if len(lms) <= TOGETHER or not added or len(added) == len(lms):
        return {"": lms}
    plain = [lm for lm in lms if lm.kind == "none"]
    trained = [lm for lm in lms if lm not in added]
    return {"In training and inference": trained, "Inference-only": [*plain, *added]}


def draw(memories: dict[str, Memory], lms: list[LM]) -> Figure:
    """Draw mean |change| over distance, both logarithmic, and each LM's half-life at its line's end."""
    drawn = {lm.lm: points(memories[lm.lm].distance, memories[lm.lm].effect)[1] for lm in lms}
    shown = [lm for lm in lms if drawn[lm.lm].max() > SMALLEST]
    together = panels(shown)
    heights = [max(3.2, 0.17 * len(group) + 1.2) for group in together.values()]
    figure = style.figure(sum(heights))
    every = figure.subplots(
        len(together), sharex=True, sharey=True, squeeze=False, height_ratios=heights
    )[:, 0]
    longest = max(memory.distance.max() for memory in memories.values())
    every[0].set_xscale("log", base=2)
    every[0].set(yscale="log", xlim=(0.9, longest * 1.1))
    every[-1].set_xlabel("Distance from the replaced word (words)")
    ends_of = []
    for axes, (title, group) in zip(every, together.items(), strict=True):
        ends_of.append(lines(axes, memories, group))
        axes.set_title(title, loc="left")
        style.plain_ticks(axes)
        axes.set_ylabel("Mean change of surprisal (bits)")
        axes.grid()
    looks = style.looks(lms)
    for axes, group, last in zip(every, together.values(), ends_of, strict=True):
        texts = [named(lm, memories[lm.lm]) for lm in group]
        ends.name(axes, texts, last, [looks[lm.lm].colour for lm in group])
    silent = [lm.label for lm in lms if lm not in shown]
    style.notes(figure, [f"no change at all: {', '.join(silent)}"] if silent else [])
    return figure


def lines(axes: Axes, memories: dict[str, Memory], lms: list[LM]) -> list[tuple[float, float]]:
    """Draw each LM's line with its interval, and return the ends of the lines."""
    looks, last = style.looks(lms), []
    for lm in lms:
        memory, colour = memories[lm.lm], looks[lm.lm].colour
        x, y = points(memory.distance, memory.effect)
        low, high = (points(memory.distance, bound)[1] for bound in (memory.low, memory.high))
        seen = y > SMALLEST
        axes.fill_between(x[seen], np.maximum(low, SMALLEST)[seen], high[seen], color=colour,
                          alpha=0.12, lw=0)  # fmt: skip
        axes.plot(x[seen], y[seen], color=colour, lw=1.1, marker=looks[lm.lm].marker, ms=3,
                  mfc=looks[lm.lm].face, mew=0.7)  # fmt: skip
        last.append((x[seen][-1], y[seen][-1]))
    return last


def figure_measured_memory(view: View, memories: Files, out: Files) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with means and intervals by distance)."""
    memory_of, models = read(memories, view.runs), view.lms
    columns = ["lm", "label", "distance", "change_bits", "low", "high"]
    parts = [
        pd.DataFrame(
            {"distance": m.distance, "change_bits": m.effect, "low": m.low, "high": m.high}
        )
        for m in (memory_of[lm.lm] for lm in models)
    ]
    data = comparison.joined(models, parts)[columns].astype({"distance": int})
    style.write(out, data, draw, memory_of, models)


def figure_half_life_draw(
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


def figure_half_life(
    view: View,
    memories: Files,
    delta_loglik: File,
    intervals: File,
    out: Files,
    variants: Described,
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with the half-lives measured and stated).

    `memories` are files of rule measured_memory in the order of `variants`, the seeds of the LMs.
    """
    result = comparison.read(view, delta_loglik)
    bounds = interval_files.read(intervals, result)
    memory_of = read(memories, [variant["lm"] for variant in variants])
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
    given = (result, bounds, shown, view.baseline)
    style.write(out, data, figure_half_life_draw, *given, empty=result.missing)


ADDED = ("half_life_identified", "half_life_floor_bits", "half_within_low", "half_within_high")
NOTES = [
    "Next word: mean change of the next word's surprisal; the other columns exclude it",
    (
        "Half-life: half-life of an exponential with a floor, fitted to the mean change by distance; > or <: a "
        "bound (95 %) where the half-life itself is not identified"
    ),
    "Half within: distance that contains half of the summed change, regardless of its shape",
    "95 % intervals are for new replaced words and, if there are several seeds, for new seeds",
]


def interval(memory: Memory) -> str:
    """Format a half-life with its interval, its bound, or as not identified."""
    if memory.is_identified:
        low, high = words(memory.half_life_low), words(memory.half_life_high)
        return f"{words(memory.half_life)} ({low} to {high})"
    if not memory.effect.any():
        return "–"
    return bound(memory) or "not identified"


def half_within(memory: Memory) -> str:
    """Format the distance that contains half of the effect, with its interval."""
    if np.isnan(memory.half_within):
        return "–"
    ends = f"{memory.half_within_low:.0f} to {memory.half_within_high:.0f}"
    return f"{memory.half_within:.0f} ({ends})"


def order_by_half_life(memories: dict[str, Memory], lms: list[LM]) -> list[LM]:
    """Return the LMs by half-life or its bound, the longest first, unidentified ones last."""

    def longest(lm: LM) -> float:
        memory = memories[lm.lm]
        ends = (memory.half_life, memory.half_life_low, memory.half_life_high)
        return next((end for end in ends if np.isfinite(end) and end > 0), 0.0)

    return sorted(lms, key=longest, reverse=True)


def layout(memories: dict[str, Memory], lms: list[LM]) -> Table:
    """Return one row per LM, the longest half-life first."""
    texts = ["LM", "Next word (bits)", "Half-life (words)", "Floor (bits)", "Half within (words)"]
    header = [*texts, "Replaced"]
    rows = []
    for lm in order_by_half_life(memories, lms):
        memory = memories[lm.lm]
        floor = "–" if np.isnan(memory.floor) else f"{memory.floor:.3f}"
        row = [lm.label, f"{memory.effect[0]:.2f}", interval(memory), floor]
        rows.append([*row, half_within(memory), f"{memory.replacements:,}"])
    return Table("Slope of decline", header, rows, NOTES)


def table_measured_memory(view: View, memories: Files, out: Files) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    summaries, models = read(memories, view.runs), view.lms
    rows = []
    for lm in models:
        memory = summaries[lm.lm]
        row = {"lm": lm.lm, "label": lm.label, "half_life_words": memory.half_life}
        row |= {"low": memory.half_life_low, "high": memory.half_life_high}
        row |= {"next_word_bits": memory.effect[0], "half_within_words": memory.half_within}
        row["replacements"] = memory.replacements
        columns = summary_columns(memory).items()
        rows.append(row | {name: value for name, value in columns if name in ADDED})
    data = pd.DataFrame(rows)
    tables.write(out, layout(summaries, models), data)


ORDER = ["window of words", "fading", "rewritten", "gated", "attention", "biased attention"]
TESTS = [
    "two-sided tests of squared errors on the held-out partition; errors of a kind are means over its LMs and their seeds",
    (
        "p: Student's t, with the standard error by subjects and sentences at once; by subject, by sentence: "
        "permutation tests, all errors of a subject, or of a sentence, swapped together"
    ),
    "Holm: p corrected for the pairs of kinds, separately for all responses together and by response; bold below 0.05, with the kind that has less error",
]


def write_stated(stated: Stated) -> str:
    """Format the memory implied by an LM's settings."""
    if stated.window > 0:
        return f"window of {stated.window:g}"
    if not stated.half_life > 0:
        return "–"
    spread = f" ({words(stated.low)} to {words(stated.high)})" if stated.low < stated.high else ""
    return words(stated.half_life) + spread


def rows(result, bounds, memories, models) -> pd.DataFrame:
    """Return one row per LM, by kind, then by ΔLogLik."""
    table = pd.DataFrame(
        {
            "lm": lm.lm,
            "label": lm.label,
            "kind": lm.memory,
            "half_life": interval(memories[lm.lm]),
            "half_within": half_within(memories[lm.lm]),
            "stated": write_stated(stated_memory(lm, memories[lm.lm].units)),
            "delta_loglik": result.totals.get(lm.lm),
        }
        | summary_columns(memories[lm.lm])
        | columns(bounds, lm.lm, TOTAL)
        for lm in models
    )
    rank = {kind: number for number, kind in enumerate(ORDER)}
    order = table.assign(place=table.kind.map(rank).fillna(len(rank)))
    order = order.sort_values(["place", "kind", "delta_loglik"], ascending=[True, True, False])
    return order.drop(columns="place").reset_index(drop=True)


def table_half_life_layout(data: pd.DataFrame, base: str) -> Table:
    """Return one row per LM, with rules between kinds."""
    texts = ["LM", "Kind of memory", "Half-life (words)", "Half within (words)", "Stated (tokens)"]
    header = [*texts, "ΔLogLik (nats)"]
    grid, rules = [], []
    for number, row in enumerate(data.itertuples(index=False)):
        if number and row.kind != data.kind[number - 1]:
            rules.append(number)
        grid.append([row.label, row.kind or "–", row.half_life, row.half_within, row.stated])
        grid[-1].append(style.signed(row.delta_loglik))
    notes = [
        (
            "Half-life: half-life of an exponential with a floor, fitted to the measured effect, with its 95 % "
            "interval; > or <: a bound where it is not identified"
        ),
        (
            "Half within: distance that contains half of the effect, excluding the next word, with its "
            "95 % interval"
        ),
        "Stated: ln 2/m for a slope shared by all heads, ln 2/−ln α for a fading state, for units the median and quartiles",
        *filter(None, [base]),
    ]
    return Table("Memory and ΔLogLik", header, grid, notes, tuple(rules), left=2)


def tested(tests: pd.DataFrame, names: Mapping[tuple[str, str], str]) -> Table:
    """Return the tests of each pair of kinds, over all responses first."""
    pooled = int((tests.dataset == "all").sum())
    grid = [
        tables_of_tests.name_sides(row, names.get((row.dataset, row.measure), row.dataset))
        + [style.signed(row.difference, 2)]
        + [style.p_value(p) for p in (row.p, row.p_subject, row.p_sentence)]
        + [Cell(style.p_value(row.p_holm), bold=row.p_holm < tables_of_tests.ALPHA)]
        + [f"{row.n:,.0f}"]
        for row in tests.itertuples(index=False)
    ]
    texts = [
        "Response",
        "Kind A",
        "Kind B",
        "MSE A − MSE B",
        "p",
        "p, by subject",
        "p, by sentence",
    ]
    rules = (pooled,) if 0 < pooled < len(tests) else ()
    title = "Kinds of memory, on the held-out partition"
    return Table(title, [*texts, "p (Holm)", "n"], grid, TESTS, rules, left=3)


def table_half_life(
    view: View,
    memories: Files,
    delta_loglik: File,
    intervals: File,
    kinds: File,
    out: Files,
    out_kinds: Files,
    variants: Described,
) -> None:
    """Write the LMs' table to `out` and the kinds' table to `out_kinds` (.csv, .html, .tex)."""
    result = comparison.read(view, delta_loglik)
    remembered = read(memories, [variant["lm"] for variant in variants])
    data = rows(result, interval_files.read(intervals, result), remembered, view.lms)
    tables.write(out, table_half_life_layout(data, result.base), data)
    tests = comparison.table(kinds, ["lm_a", "lm_b", "dataset", "measure", "p_holm"])
    tests = tests.iloc[(tests.dataset != "all").argsort(kind="stable")].reset_index(drop=True)
    names = view.response_labels | {("all", "all"): "all responses"}
    tables.write(
        out_kinds, tested(tests, names), tests.rename(columns={"lm_a": "kind_a", "lm_b": "kind_b"})
    )
