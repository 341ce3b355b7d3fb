"""Summary of a run for the terminal and the report: ranking, observations, missing results."""

import json
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from readingtimes.files import atomic
from recency import history, plugins
from recency.evaluations.reading_times import tables_of_tests
from recency.evaluations.report import answer
from recency.evaluations.report.doubts import headings
from recency.evaluations.report.doubts import lines as doubtful_lines
from recency.evaluations.report.doubts import section as doubtful_section
from recency.figures import bases, comparison, style, tables
from recency.figures import intervals as interval_files
from recency.figures.comparison import Comparison, Described, View
from recency.figures.intervals import TOTAL, Intervals, ends
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

WIDTH = 100  # columns of the terminal


def ranking(result: Comparison, bounds: Intervals, verdict: Mapping) -> Table:
    """Return the LMs by total ΔLogLik, with intervals, held-out tests, claims and groups.

    Parameters
    ----------
    result : Comparison
        ΔLogLik of the experiment's LMs.
    bounds : Intervals
        Their intervals.
    verdict : mapping
        The content of the experiment's verdict.json.
    """
    compared = [row["over_baseline"] for row in verdict["ranking"] if row["over_baseline"]]
    baseline = verdict["baseline"] if compared else None
    heads = ["", "LM", "ΔLogLik", "95 %"]
    heads += [f"\N{MINUS SIGN} {baseline}", "95 %", "p", "Holm", "Claim"] if baseline else []
    heads += ["Group"] if len(result.lms) > 1 else []
    texts = ("", "LM", "Claim", "Group")
    rows = []
    for row in verdict["ranking"]:
        interval, difference = bounds.own.get((row["lm"], TOTAL)), row["over_baseline"]
        pair = bounds.paired.get((row["lm"], TOTAL))
        cells = [str(row["rank"]), row["label"]]
        cells += [style.number(result.totals[row["lm"]]), ends(interval)]
        if baseline and pair:
            bold = bool(difference["separated"])
            tests = [style.p_value(difference[p]) for p in ("p", "p_holm")]
            cells += [Cell(style.signed(pair.value), bold=bold), ends(pair)]
            cells += [*tests, difference["claim"]]
        elif baseline:
            cells += [""] * 5
        if len(result.lms) > 1:
            cells.append(row["group"])
        rows.append(cells)
    notes = answer.notes(verdict)
    if len(result.summed) < len(result.delta.columns):
        notes.append(f"ΔLogLik is over {', '.join(result.summed)}, which every LM has")
    if result.unconverged:
        notes.append("†: the regression did not converge")
    return Table("", heads, rows, notes + result.missing, left=texts)


def by_response(result: Comparison, bounds: Intervals, baseline: str | None) -> Table:
    """Return each response's differences from the baseline, or ΔLogLik, with intervals."""
    heads = ["LM", *result.delta.columns]
    rows, paired = [], False
    for lm in result.lms:
        cells = [lm.label]
        for label in result.delta.columns:
            pair = bounds.paired.get((lm.lm, label))
            interval = pair or bounds.own.get((lm.lm, label))
            failed = "†" if (lm.lm, label) in result.unconverged else ""
            write = style.signed if pair else style.number
            text = write(pair.value if pair else result.delta.loc[lm.lm, label]) + failed
            cells.append(Cell(f"{text} ({ends(interval)})", bold=bool(pair and pair.excludes_zero)))
            paired = paired or bool(pair)
        rows.append(cells)
    named = next((lm.label for lm in result.lms if lm.lm == baseline), None)
    base = bases.SHORT.get(result.base, "")
    notes = [f"ΔLogLik by response, with its 95 % interval{base and f' ({base})'}"]
    if paired:
        notes = [
            (
                f"by response: the difference from {named} (of {named} ΔLogLik), with its 95 % interval, "
                f"not corrected for the number of responses{base and f' ({base})'}"
            )
        ]
    return Table("", heads, rows, notes)


def observations(counts: Mapping[str, Mapping[str, int]], labels: Mapping[str, str]) -> Table:
    """Return the observations of each response by partition."""
    rows = [
        [label, *(f"{counts[key][n]:,}" for n in tables_of_tests.PARTITIONS)]
        for key, label in labels.items()
        if key in counts
    ]
    return Table("", ["Response", *tables_of_tests.PARTITIONS.values()], rows, [])


def plain(table: Table) -> list[str]:
    """Format a table in fixed width; wider tables continue in a second block."""
    grid = [
        [part for cell in row for part in (cell, *[Cell()] * (cell.span - 1))]
        for row in (*table.header, *table.rows)
    ]
    kept = 2 if table.header[0][0].text == "" else 1  # columns repeated in every block
    texts = [[cell.text for cell in row] for row in grid]
    left = [cell.left for cell in grid[len(table.header) - 1]]
    widths = [max(len(row[i]) for row in texts) for i in range(len(left))]
    start = list(range(kept))
    blocks, block = [], start[:]
    for i in range(kept, len(left)):
        if sum(widths[j] + 2 for j in [*block, i]) + 2 > WIDTH and len(block) > kept:
            blocks.append(block)
            block = start[:]
        block.append(i)
    blocks.append(block)
    lines = []
    for number, block in enumerate(blocks):
        lines += [""] if number else []
        for row in texts:
            cells = (row[i].ljust(widths[i]) if left[i] else row[i].rjust(widths[i]) for i in block)
            lines.append(("  " + "  ".join(cells)).rstrip())
    for note in table.notes:
        lines += textwrap.wrap(note, WIDTH - 2, initial_indent="  ", subsequent_indent="    ")
    return lines


def main(
    *,
    experiments: Described,
    delta_loglik: Files,
    intervals: Files,
    verdicts: Files,
    counts: Files,
    not_run: File,
    text: File,
    html: File,
    study: str,
    files: Mapping[str, str],
    notes: Iterable[str] = (),
    doubts: Mapping | None = None,
    others: Files = (),
    sections: Iterable[Mapping[str, str]] = (),
    histories: Files = (),
) -> None:
    """Write the summary as plain `text` and as `html`, both beginning with the verdicts.

    `experiments` are dicts of experiment, title, lms, responses, baseline; delta_loglik.csv, the
    intervals and verdict.json are matched by their folder's name. `others` are tables of other
    evaluations; `sections` have the heading of each, and the module whose `summary(path)` makes it.
    `files` lists the output files for the reader; `notes` come first (simulated reading times, for
    example), as do code changes in `histories`, networks' config.json, and `doubts`, findings of the
    linter (recency.evaluations.report.doubts).
    """
    deltas, interval_paths, verdict_paths = (
        {Path(path).parent.name: Path(path) for path in paths}
        for paths in (delta_loglik, intervals, verdicts)
    )
    experiments, notes = list(experiments), [*notes, *history.notes(histories)]
    doubtful = doubtful_lines(doubts or {}, delta_loglik)
    verdict_of = {k: json.loads(p.read_text(encoding="utf-8")) for k, p in verdict_paths.items()}
    title = experiments[0].get("title", study) if len(experiments) == 1 else study
    lines: list[str] = []
    parts: list[str] = []
    for experiment in experiments:
        verdict = verdict_of[experiment["experiment"]]
        sentence = " ".join(verdict["brief"])
        if len(experiments) > 1:
            sentence = f"{experiment['title']}: {sentence}"
        lines += textwrap.wrap(sentence, WIDTH, break_on_hyphens=False)
        parts.append(f"<p><b>{tables.html.escape(sentence)}</b></p>")
    lines += [""] * bool(lines)
    lines += [title] * (title != study) + [f"study: {study}"]
    lines += [line for note in notes for line in textwrap.wrap(note, WIDTH)]
    for heading, listed in headings(*doubtful):
        lines.append(heading)
        for doubt in listed:
            lines += textwrap.wrap(doubt, WIDTH, initial_indent="- ", subsequent_indent="  ")
    lines.append("")
    parts.append(f"<p class='note'>Study: {tables.html.escape(study)}</p>")
    parts += [f"<p class='note'><b>{tables.html.escape(note)}</b></p>" for note in notes]
    parts.append(doubtful_section(*doubtful))

    def add(heading: str, table: Table) -> None:
        lines.extend([*([heading] if heading else []), *plain(table), ""])
        parts.extend([f"<h2>{tables.html.escape(heading)}</h2>"] if heading else [])
        parts.append(tables.body(table))

    labels: dict[str, str] = {}
    for experiment in experiments:
        name, baseline = experiment["experiment"], experiment.get("baseline")
        view = View.of_job(dict(experiment, not_run=not_run))
        result = comparison.read(view, deltas[name])
        sure = interval_files.read(interval_paths[name], result)
        add(experiment.get("title", name), ranking(result, sure, verdict_of[name]))
        statement = f"In full: {verdict_of[name]['verdict']}"
        lines += [*textwrap.wrap(statement, WIDTH, break_on_hyphens=False), ""]
        parts.append(f"<p class='note'>{tables.html.escape(statement)}</p>")
        add("", by_response(result, sure, baseline))
        labels |= {f"{r.dataset}.{r.measure}": r.label for r in view.responses}
    for path, section in zip(others, sections, strict=True):
        module = plugins.load("recency.evaluations", section["module"], "evaluation", "PRODUCTS")
        add(section["heading"], getattr(module, section["function"])(path))
    if labels:
        add("Observations", observations(tables_of_tests.sizes(counts), labels))
    add("Not run", absent(comparison.reasons(not_run), labels))
    places = [[what, where] for what, where in files.items()]
    add("Files", Table("", ["Content", "File"], places, [], left=2))
    with atomic(text) as temporary:
        temporary.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    with atomic(html) as temporary:
        temporary.write_text(tables.page(title, parts), encoding="utf-8")


def absent(reasons: pd.DataFrame, labels: Mapping[str, str]) -> Table:
    """Return a table of missing results and the reasons."""
    header = ["Response", "Reason"]
    rows = [
        [labels.get(f"{row.dataset}.{row.measure}", f"{row.dataset} {row.measure}".strip()),
         row.reason]
        for row in reasons.itertuples(index=False)
    ]  # fmt: skip
    return Table("", header, rows or [["everything that was requested was run", ""]], [], left=2)
