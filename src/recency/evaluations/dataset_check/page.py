"""Rule check_dataset: a quality report of a reading-time corpus, before anything is fitted to it."""

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from readingtimes import checks as dataset_checks
from readingtimes import gate
from readingtimes.checks import Finding
from readingtimes.contracts import are_to_regions, response_column
from readingtimes.files import atomic
from recency.figures import style, tables
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

COLUMNS = ["measure", "kind", "name", "value"]
UNITS = {"time_ms": "ms", "amplitude_uv": "µV", "response": ""}
_COLOUR, _OTHER = "#0072B2", "#999999"


def main(
    *,
    words: File,
    responses: Sequence[File],
    measures: Sequence[str],
    out: Files,
    dataset: str,
    label: str | None = None,
    about: Mapping[str, str] | None = None,
    files: Iterable[Mapping[str, str]] = (),
    published: Mapping[str, int] | None = None,
    unigram: File | Sequence = (),
) -> None:
    """Write the page (.html), its statistics (.csv) and the figure (.svg, .png).

    `responses` are the files of `measures`; `about` has licence and citation; `files` list the
    origin of each file (role, from, checksum); `published` has the published counts of subjects,
    items, sentences and words. With `unigram` (contract 3) the correlation with frequency is added.
    """
    word_table = pd.read_parquet(words)
    frames = {m: pd.read_parquet(path) for m, path in zip(measures, responses, strict=True)}
    values = {m: response_column(frame, str(m)) for m, frame in frames.items()}
    bits = pd.read_parquet(unigram) if unigram else None
    counts, shifts, frequency = {}, {}, {}
    notes = [
        note for frame in (word_table, *frames.values()) for note in frame.attrs.get("notes", ())
    ]
    findings = {"": dataset_checks.words(word_table)}
    findings[""] += [Finding("note", "reading", note) for note in dict.fromkeys(notes)]
    for measure, frame in frames.items():
        value = values[measure]
        mean = dataset_checks.means(word_table, frame, value)
        counts[measure] = dataset_checks.counts(word_table, frame, value)
        shifts[measure] = dataset_checks.alignment(word_table, mean)
        if bits is not None:
            frequency[measure] = dataset_checks.with_frequency(word_table, mean, bits)
        findings[measure] = gate.findings(word_table, frame)
        findings[measure] += dataset_checks.responses(word_table, frame, value)
        if value == "time_ms" and not are_to_regions(word_table, frame):
            skips = dataset_checks.are_skipped(frame[value])
            judged = dataset_checks.shifted(shifts[measure], skips)
            findings[measure] += judged
            if skips and not any(f.level == "warning" for f in judged):
                findings[measure] += dataset_checks.shifted_items(word_table, mean)
    timed = {
        m: f for m, f in frames.items() if values[m] == "time_ms" and "fixation" not in f.columns
    }
    findings[""] += dataset_checks.between(timed)

    paths = {Path(path).suffix: Path(path) for path in out}
    with style.use():
        figure = draw(word_table, frames, values, shifts)
        style.save(figure, [path for suffix, path in paths.items() if suffix in (".svg", ".png")])
    with atomic(paths[".csv"]) as temporary:
        rows = tidy(counts, shifts, frequency, findings, published or {})
        rows.to_csv(temporary, index=False, lineterminator="\n")
    # Measures distinguish datasets with the same label (the two of UCL).
    title = (
        f"Check of {label} ({', '.join(map(str, measures))})" if label else f"Check of {dataset}"
    )
    parts = [
        _findings(findings),
        _with_title(_table_of_counts(counts, values)),
        *([_with_title(_published_counts(counts, published))] if published else []),
        _figure(paths[".svg"].read_text(encoding="utf-8")),
        _with_title(_table_of_alignment(shifts, frequency)),
        _provenance(about or {}, list(files)),
    ]
    with atomic(paths[".html"]) as temporary:
        temporary.write_text(tables.page(title, parts), encoding="utf-8")


def tidy(
    counts: Mapping[str, Mapping[str, float]],
    shifts: Mapping[str, pd.DataFrame],
    frequency: Mapping[str, float],
    findings: Mapping[str, Iterable[Finding]],
    published: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """Return all results as measure, kind (count, published, r, warning, note), name and value."""
    rows = [("", "published", name, _plain(value)) for name, value in (published or {}).items()]
    for measure, checks in findings.items():
        rows += [(measure, f.level, f.check, f.text) for f in checks]
    for measure, counted in counts.items():
        rows += [(measure, "count", name, _plain(value)) for name, value in counted.items()]
        for row in shifts[measure].itertuples():
            name = f"mean with word length, offset {row.offset:+d}"
            rows.append((measure, "r", name, _plain(row.r)))
        if measure in frequency:
            rows.append((measure, "r", "mean with unigram surprisal", _plain(frequency[measure])))
    return pd.DataFrame(rows, columns=COLUMNS)


def draw(
    words: pd.DataFrame,
    frames: Mapping[str, pd.DataFrame],
    values: Mapping[str, str],
    shifts: Mapping[str, pd.DataFrame],
) -> Figure:
    """Draw a row per measure: distribution, mean by word length, r by offset."""
    figure = style.figure(1.55 * len(frames) + 0.35)
    grid = figure.subplots(len(frames), 3, squeeze=False)
    for row, (measure, frame) in zip(grid, frames.items(), strict=True):
        value = values[measure]
        _distribution(row[0], frame[value], value)
        _by_length(row[1], words, dataset_checks.means(words, frame, value), UNITS[value])
        _by_offset(row[2], shifts[measure])
        row[0].set_ylabel(measure, fontweight="bold")
    for axes, title in zip(
        grid[0], ("Distribution", "Mean by word length", "r with length"), strict=True
    ):
        axes.set_title(title, loc="left")
    for axes, text in zip(grid[-1], ("", "word length (letters)", "offset k (words)"), strict=True):
        axes.set_xlabel(text or axes.get_xlabel())
    return figure


def _distribution(axes: Axes, values: pd.Series, value: str) -> None:
    """Draw a histogram, on a log axis for times above 0, with the share of unfixated words."""
    if value == "time_ms":
        real = values[values > 0]
        edges = np.geomspace(max(real.min(), 1e-3), real.max() * 1.0001, 41) if len(real) else 10
        axes.hist(real, bins=edges, color=_COLOUR)
        axes.set_xscale("log")
        ticks = _log_ticks(*axes.get_xlim())
        axes.set_xticks(ticks, [style.tick(tick) for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        if (skipped := float((values == 0).mean())) >= 0.005:
            axes.text(
                0.98, 0.95, f"{skipped:.0%} are 0", transform=axes.transAxes, ha="right", va="top",
                size=style.SMALL,
            )  # fmt: skip
    else:
        axes.hist(values, bins=40, color=_COLOUR)
    axes.set_xlabel(UNITS[value])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def _log_ticks(low: float, high: float, apart: float = 0.19) -> list[float]:
    """Return round numbers for a log axis: 1, 2, 5 of each decade, or 1, 3, or 1.

    Neighbours are at least `apart` of the axis apart, so that their labels do not overlap.
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    length = math.log10(high / low)
    ticks = []
    for steps, closest in (((1, 2, 5), math.log10(2)), ((1, 3), math.log10(3)), ((1,), 1.0)):
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if closest >= apart * length:
            return ticks
    return ticks[:: math.ceil(apart * length)]


def _by_length(axes: Axes, words: pd.DataFrame, mean: pd.Series, unit: str) -> None:
    """Draw the mean response by word length with 95 % intervals, for lengths of at least 5 words."""
    length = words.word.str.len()
    bins = mean.groupby(length).agg(["mean", "std", "count"])
    bins = bins[bins["count"] >= min(5, int(bins["count"].max()))]
    half = (1.96 * bins["std"] / np.sqrt(bins["count"])).fillna(0)
    axes.errorbar(
        bins.index, bins["mean"], half, color=_COLOUR, marker="o", ms=2.5, lw=1, elinewidth=0.8
    )
    axes.set_ylabel(unit)
    axes.grid(axis="y")
    axes.locator_params(nbins=5)


def _by_offset(axes: Axes, table: pd.DataFrame) -> None:
    colours = [_COLOUR if offset == 0 else _OTHER for offset in table.offset]
    axes.bar(table.offset, table.r.fillna(0), color=colours, width=0.7)
    axes.axhline(0, color=style.GREY, lw=0.7)
    axes.set_xticks(table.offset, [style.signed(k, 0) if k else "0" for k in table.offset])
    axes.locator_params(axis="y", nbins=4)


def _findings(findings: Mapping[str, Iterable[Finding]]) -> str:
    """Return the warnings, then the notes, as lists in HTML."""
    parts = []
    for level, title in (("warning", "Warnings"), ("note", "Notes")):
        lines = [
            f"<li><b>{html.escape(': '.join(filter(None, (measure, f.check))))}</b>: "
            f"{html.escape(f.text)}</li>"
            for measure, checks in findings.items()
            for f in checks
            if f.level == level
        ]
        if level == "warning" and not lines:
            parts.append("<p>No warnings.</p>")
        elif lines:
            parts += [f"<h2>{title}</h2>", "<ul>", *lines, "</ul>"]
    return "\n".join(parts)


def _with_title(table: Table) -> str:
    return f"<h2>{html.escape(table.title)}</h2>\n{tables.body(table)}"


def _table_of_counts(counts: Mapping[str, Mapping[str, float]], values: Mapping[str, str]) -> Table:
    header = ["", *(style.with_unit(m, UNITS[values[m]]) for m in counts)]
    names = list(dict.fromkeys(name for counted in counts.values() for name in counted))
    rows = [
        [name, *(_shown(counted.get(name, 0)) for counted in counts.values())] for name in names
    ]
    notes = [
        "the statistics from mean to highest are over responses above 0 where these are times",
        "filters are not yet applied: counts.csv of the observations lists the removals of each step",
    ]
    return Table("Counts", header, rows, notes, rules=(names.index("mean"),))


def _published_counts(
    counts: Mapping[str, Mapping[str, float]], published: Mapping[str, int]
) -> Table:
    """Return a table of the published counts next to those of each measure."""
    header = ["", "published", *counts]
    rows = [
        [name, _shown(value), *(_shown(counted[name]) for counted in counts.values())]
        for name, value in published.items()
    ]
    note = "they may differ through excluded readers, practice, or another division into words"
    return Table("Published counts", header, rows, [note])


def _table_of_alignment(
    shifts: Mapping[str, pd.DataFrame], frequency: Mapping[str, float]
) -> Table:
    header = ["", *(_offset(k) for k in dataset_checks.OFFSETS)]
    if frequency:
        header.append("unigram surprisal")
    header.append("words")
    rows = []
    for measure, table in shifts.items():
        best = table.r.idxmax() if table.r.notna().any() else -1
        cells = [Cell(_r(r), bold=at == best) for at, r in table.r.items()]
        if frequency:
            cells.append(_r(frequency[measure]))
        rows.append([measure, *cells, f"{table.n.iloc[0]:,}"])
    meaning = (
        "correlation of a word's mean response (winsorized at the 99th percentile, "
        "unfixated words 0) with the length of the word at this offset, the highest in bold"
    )
    reading = (
        "over words inside sentences; if words and times are aligned, it is highest at 0, "
        "or, in self-paced reading, at −1"
    )
    notes = [meaning, reading]
    if not frequency:
        notes.append("the correlation with frequency requires the study's unigram surprisal")
    return Table("Words and times", header, rows, notes)


def _provenance(about: Mapping[str, str], files: list[Mapping[str, str]]) -> str:
    lines = [
        f"<p class='note'>{html.escape(name)}: {html.escape(text)}</p>"
        for name, text in about.items()
    ]
    header = ["File", "From", "Checksum"]
    rows = [[f.get(k, "") for k in ("role", "from", "checksum")] for f in files]
    listed = tables.body(Table("Files", header, rows, [], left=3)) if rows else ""
    return "\n".join(["<h2>Provenance</h2>", *lines, listed])


def _figure(svg: str) -> str:
    return f"<figure style='margin:1em 0;max-width:50em'>{svg[svg.index('<svg') :]}</figure>"


def _offset(k: int) -> str:
    return "itself" if k == 0 else style.signed(k, 0)


def _r(value: float) -> str:
    return style.number(value, 2)


def _plain(value: float) -> str:
    """Write a number for the CSV, without digits that depend on the machine."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def _shown(value: float) -> str:
    if not isinstance(value, float):
        return f"{value:,}"
    return style.number(value, 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2)
