"""The style of every figure: print sizes, one colour and marker per kind of bias, stable bytes."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from readingtimes.files import atomic
from recency.figures import encoding, fonts, hover
from recency.figures.comparison import LM
from recency.figures.paths import Files

if TYPE_CHECKING:  # modules that only format numbers need no matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from pandas import DataFrame

WIDTH = 6.5  # inches: the text width of A4 or letter paper with one-inch margins
SMALL = 8.0  # points: no text is smaller at final size
LINE = 0.15  # inches between lines of notes
LINES = 3  # maximum number of lines of notes at full width, more in narrower figures
CHARACTER = 0.059  # average width of a character of notes in inches
GREY = "#595959"
MARKERS = ("^", "v", "<", ">", "o", "s", "D", "P", "X")
"""Markers of LMs of the same kind, where they must be distinguishable."""
#: Unit of a response → its form in figures.
UNITS = {
    "time_ms": "ms",
    "log time_ms": "log ms",
    "amplitude_uv": "µV",
    "response": "",
    "event": "log odds",
}

RC = {
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same figure on every machine
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.edgecolor": GREY,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": "black",
    "ytick.labelcolor": "black",
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 5.5,
    "pdf.fonttype": 42,  # TrueType: text stays text, as journals ask
    "svg.fonttype": "path",
    "svg.hashsalt": "recency",
}


@dataclass(frozen=True)
class Look:
    """How one LM is drawn: colour and marker of its bias, filled if the bias was trained."""

    colour: str
    marker: str
    face: str  # inside of a marker: white for an inference-only bias
    bar: str  # inside of a bar: a light tint for an inference-only bias


@contextmanager
def use() -> Iterator[None]:
    """Apply the style, on top of matplotlib's defaults only, to figures drawn in the context."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        yield


def figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure of this size in inches, in constrained layout."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    empty = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(empty)  # needed to measure text
    return empty


def handle(**look) -> Line2D:
    """Return a line or marker for a legend, which is not drawn in the axes."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **look)


def published(axes: Axes, x, y, gid: str = "published", **more) -> None:
    """Mark published values, NaN where there is none: hollow grey diamonds, the same in every figure."""
    look = {"mfc": "none", "mec": GREY, "mew": 1.1, "ms": 5, "ls": "", "clip_on": False}
    axes.plot(x, y, "D", **look, zorder=6, gid=gid, label="_nolegend_", **more)


def published_handle() -> Line2D:
    """Return the mark of published values for a legend."""
    return handle(marker="D", mfc="none", mec=GREY, mew=1.1, ms=5, ls="", label="published")


def looks(lms: Iterable[LM], apart: bool = False) -> dict[str, Look]:
    """Return the look of each LM, by its kind.

    With `apart`, for figures that identify LMs only in a legend, LMs of the same kind have
    different shades of its colour, from dark to light, and different markers.
    """
    lms = list(lms)
    styles, alike = encoding.styles(lm.kind for lm in lms), {}
    for lm in lms:
        alike.setdefault((lm.kind, lm.applied == "inference"), []).append(lm.lm)
    result, used = {}, Counter()
    for (kind, hollow), names in alike.items():
        colour, marker = styles[kind]
        markers = [marker, *(other for other in MARKERS if other != marker)]
        for index, name in enumerate(names):
            hue, its = colour, marker
            if apart and len(names) > 1:
                hue = _lighter(colour, index / (len(names) - 1))
                its = min(markers, key=lambda other: used[colour, hollow, other])
            used[colour, hollow, its] += 1
            result[name] = Look(hue, its, "white" if hollow else hue, tint(hue) if hollow else hue)
    return {lm.lm: result[lm.lm] for lm in lms}


def tint(colour: str, share: float = 0.25) -> str:
    """Mix `share` of a colour with white."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - c)):02x}" for c in channels)


def shade(colour: str, share: float = 0.75) -> str:
    """Darken a colour for text, since thin strokes need more contrast than areas."""
    return "#" + "".join(f"{round(share * int(colour[i : i + 2], 16)):02x}" for i in (1, 3, 5))


def _lighter(colour: str, share: float) -> str:
    """Vary a colour from dark (0) over itself (1/3) to light (1)."""
    return shade(colour, 0.6 + 1.2 * share) if share < 1 / 3 else tint(colour, 1.3 - 0.9 * share)


def signed(value: float, decimals: int = 1, unknown: str = "\N{EN DASH}") -> str:
    """Format a number with its sign, with a typographic minus: +404.2, −29.0, 0.0."""
    if math.isnan(value):
        return unknown
    text = f"{value:+,.{decimals}f}".replace("-", "\N{MINUS SIGN}")
    return text if any(digit in text for digit in "123456789") else text[1:]


def percent(share: float) -> str:
    """Format a relative difference in percent with its sign: −7.4 %."""
    return f"{signed(100 * share)} %"


def percents(low: float, high: float) -> str:
    """Format the interval of a relative difference: −8.1 to −6.7 %."""
    return f"{signed(100 * low)} to {percent(high)}"


def number(value: float, decimals: int = 1, unknown: str = "\N{EN DASH}") -> str:
    """Format a number with a typographic minus."""
    return signed(value, decimals, unknown).removeprefix("+")


def interval(low: float, high: float, write: Callable[..., str] = number, **how: int) -> str:
    """Format an interval, "61.2 to 70.3", or "" if missing."""
    return "" if math.isnan(low) else f"{write(low, **how)} to {write(high, **how)}"


def p_value(p: float | None, unknown: str = "\N{EN DASH}") -> str:
    """Format a p value: "< 0.001", otherwise three decimals."""
    if p is None or math.isnan(p):
        return unknown
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def with_unit(text: str, unit: str) -> str:
    """Return a name with its unit in parentheses, if it has one."""
    return f"{text} ({unit})" if unit else text


def tick(value: float, _: int | None = None) -> str:
    """Format a tick's value with as many decimals as it has: 2,500, 0.05, −20.

    Usable as a formatter of matplotlib, which also passes the tick's index.
    """
    return f"{round(value, 10):,.10g}".replace("-", "\N{MINUS SIGN}")


def write_right(axes: Axes, points: float, y: float, text: str, **look) -> None:
    """Write to the right of the axes, with the text ending `points` from their edge."""
    axes.annotate(
        text, (1, y), xycoords=axes.get_yaxis_transform(), xytext=(points, 0), ha="right",
        textcoords="offset points", va="center_baseline", size=SMALL, **look,
    )  # fmt: skip


def favours(baseline: str, between: str = "   ") -> str:
    """Return what the two sides of a difference from a baseline favour, for an axis's label."""
    named = baseline if len(baseline) <= 16 else "baseline"
    return f"← favours {named}{between}favours the LM →"


def plain_ticks(axes: Axes) -> None:
    """Format the ticks of both axes with as many decimals as they have."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(tick)


def log_ticks(axes: Axes, wide: float) -> None:
    """Set round ticks on a logarithmic x axis: 1, 2, 5 of a decade, or 1 if it spans `wide` times."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < wide * low else (1,)))
    axes.xaxis.set_minor_locator(NullLocator())
    plain_ticks(axes)


def part_cells(axes: Axes, rows: Iterable[float], columns: Iterable[float], width: float) -> None:
    """Separate the cells of a map by white lines, without ticks and spines."""
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xticks(list(columns), minor=True)
    axes.set_yticks(list(rows), minor=True)
    axes.grid(which="minor", color="white", lw=width)
    axes.tick_params(which="minor", length=0)


def token_ticks(axes: Axes, first: float, last: float, steps: tuple[int, ...]) -> None:
    """Set ticks of an axis of tokens, on a log scale, at `steps` of each decade, in millions."""
    from matplotlib.ticker import FixedLocator, NullLocator

    decades = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    steps = steps if len(decades) < 5 else (1,)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([n * 10.0**d for d in decades for n in steps]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda tokens, _: tick(tokens / 1e6))


def notes(figure: Figure, sentences: Iterable[str]) -> None:
    """Write notes below a figure with constrained layout, in at most LINES lines of a full width."""
    width = figure.get_figwidth()
    most = math.ceil(LINES * WIDTH / width)
    capitalised = [sentence[:1].upper() + sentence[1:].rstrip(".") for sentence in sentences]
    if not capitalised:
        return
    rest = " … (more in the tables)"
    lines = textwrap.wrap(". ".join(capitalised), int(width / CHARACTER))
    if len(lines) > most:
        last = textwrap.shorten(
            " ".join(lines[most - 1 :]), int(width / CHARACTER) - len(rest), placeholder=""
        )
        lines = [*lines[: most - 1], last + rest]
    height = figure.get_figheight() + LINE * len(lines)
    figure.set_figheight(height)
    share = (LINE * len(lines) + 0.05) / height
    figure.get_layout_engine().set(rect=(0, share, 1, 1 - share))
    figure.text(
        0.05 / width, 0.05 / height, "\n".join(lines), size=SMALL, color=GREY, va="bottom",
        linespacing=LINE * 72 / SMALL / 1.2, gid="notes",
    )  # fmt: skip


def dashes(index: int, count: int) -> tuple[float, tuple[float, float]]:
    """Return dashes of one of `count` lines, which alternate for up to three coinciding lines."""
    turns = min(max(count, 2), 3)
    return (4.0 * ((turns - index) % turns), (4.0, 4.0 * (turns - 1)))


def nothing_run(sentences: Iterable[str]) -> Figure:
    """Return a figure that states that no part of an experiment was run."""
    drawn = figure(0.6)
    drawn.text(0.5, 0.9, "No results.", ha="center", va="top", size=9)
    notes(drawn, sentences)
    return drawn


def write(
    out: Files,
    data: DataFrame,
    draw: Callable[..., Figure],
    *given,
    empty: Iterable[str] | None = None,
) -> None:
    """Draw a figure in this style and write it and its data.

    Parameters
    ----------
    out : iterable of path
        The figure's files (.pdf, .svg, .png) and that of its data (.csv).
    data : DataFrame
        The data.
    draw : callable
        Returns the figure when called with `given`.
    empty : iterable of str, optional
        If given and there are no data, the figure states this, with these notes.
    """
    with use():
        is_empty = empty is not None and not len(data)
        save(nothing_run(empty) if is_empty else draw(*given), out, data)


def save(figure: Figure, paths: Files, data: DataFrame | None = None) -> None:
    """Write a figure to every path, by its suffix (.pdf, .svg, .png), with reproducible bytes.

    Paths that end in .csv get its `data`.
    """
    metadata = {
        ".pdf": {"CreationDate": None, "ModDate": None},
        ".svg": {"Date": None},
        ".png": {"Software": None},
    }
    fonts.cover(figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")  # reported by `cover`
        _settle(figure)
        for path in map(Path, paths):
            with atomic(path) as temporary:
                if path.suffix == ".csv":
                    data.to_csv(temporary, index=False, lineterminator="\n")
                else:
                    with hover.marked(figure) as texts:
                        entries = metadata[path.suffix]
                        figure.savefig(temporary, format=path.suffix[1:], metadata=entries)
                    if path.suffix == ".svg":
                        svg = hover.titled(temporary.read_text(encoding="utf-8"), texts)
                        temporary.write_text(svg, encoding="utf-8")


def _settle(figure: Figure) -> None:
    """Fix the layout of a figure, since the solver's last digits vary between runs."""
    if engine := figure.get_layout_engine():
        for _ in range(2):
            engine.execute(figure)
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position([round(side, 6) for side in axes.get_position().bounds])
