"""What a run found, for the terminal and the report: ranking, observations, what was not run."""

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from recency import plugins
from recency.evaluations.reading_times import table_observations, table_significance
from recency.figures import comparison, style, tables
from recency.figures.comparison import Comparison
from recency.figures.tables import Cell, Table
from recency.files import atomic

WIDTH = 100  # columns of the terminal


@dataclass(frozen=True)
class Test:
    """A permutation test of an LM against the baseline: p, and whether the LM's error is smaller."""

    p: float
    better: bool


def against(permutation: Path | None, baseline: str | None) -> dict[str, Test]:
    """Return the test of each LM against the baseline over all responses, from permutation.csv."""
    if permutation is None or baseline is None:
        return {}
    rows = table_significance.read(permutation)
    rows = rows[rows.pooled & rows.p.notna() & ((rows.lm_a == baseline) | (rows.lm_b == baseline))]
    tests = {}
    for row in rows.itertuples(index=False):
        first = row.lm_b == baseline
        lm, error, other = (
            (row.lm_a, row.mse_a, row.mse_b) if first else (row.lm_b, row.mse_b, row.mse_a)
        )
        tests[lm] = Test(row.p, error < other)
    return tests


def ranking(result: Comparison, baseline: str | None, tests: Mapping[str, Test]) -> Table:
    """Rank LMs by total ΔLogLik (those of one response by that one's)."""
    totals = result.totals
    order = sorted(
        result.lms, key=lambda lm: -totals[lm.lm] if len(totals) else -result.delta.loc[lm.lm].sum()
    )
    baseline_lm = (
        next((lm for lm in result.lms if lm.lm == baseline), None) if len(totals) else None
    )
    heads = [""] + ["LM"] + (["Total"] if len(totals) else [])
    heads += [f"− {baseline_lm.label}", "p"] if baseline_lm else []
    header = [Cell(head, left=i < 2) for i, head in enumerate([*heads, *result.delta.columns])]
    best = result.delta.max()
    rows = []
    for rank, lm in enumerate(order, 1):
        row = [Cell(str(rank), left=True), Cell(lm.label, left=True)]
        if len(totals):
            top = totals[lm.lm] == totals.max()
            row.append(Cell(style.number(totals[lm.lm]), bold=bool(top)))
        if baseline_lm:
            gain = "" if lm is baseline_lm else style.signed(totals[lm.lm] - totals[baseline_lm.lm])
            tested = table_significance.write_p(tests[lm.lm].p) if lm.lm in tests else ""
            row += [Cell(gain), Cell(tested)]
        for label in result.delta.columns:
            value = result.delta.loc[lm.lm, label]
            failed = "†" if (lm.lm, label) in result.unconverged else ""
            row.append(Cell(style.number(value) + failed, bold=bool(value == best[label])))
        rows.append(row)
    notes = []
    if baseline_lm and tests:
        notes.append(
            f"p: permutation test against {baseline_lm.label} on the held-out partition, pooled"
        )
    if len(totals) and len(result.summed) < len(result.delta.columns):
        notes.append(f"the total is over {', '.join(result.summed)}, which every LM has")
    if result.unconverged:
        notes.append("†: the regression did not converge")
    return Table("", [header], rows, notes + result.missing)


def verdict(result: Comparison, baseline: str | None, tests: Mapping[str, Test]) -> str:
    """Say in a sentence which LM predicts reading times best, and how sure that is."""
    totals = result.totals
    if not len(totals):
        return "Nothing of this experiment was run for all its LMs."
    labels = {lm.lm: lm.label for lm in result.lms}
    best = totals.idxmax()
    over = f"over {len(result.summed)} response{'s' * (len(result.summed) != 1)}"
    sentence = f"{labels[best]} predicts best: ΔLogLik {style.number(totals[best])} {over}"
    if baseline not in totals.index:
        return f"{sentence}; the baseline was not run."
    if best == baseline:
        return f"{sentence}; it is the baseline, which has none of the biases."
    gain = style.signed(totals[best] - totals[baseline])
    tested = "not tested for significance"
    if best in tests:
        tested = f"p {_equal(tests[best].p)} on held-out data"
        if not tests[best].better:
            tested += f", where {labels[baseline]} has the smaller error"
    return f"{sentence}, {gain} against {labels[baseline]} ({tested})."


def _equal(p: float) -> str:
    text = table_significance.write_p(p)
    return text if text.startswith("<") else f"= {text}"


def observations(found: Mapping[str, Mapping[str, int]], labels: Mapping[str, str]) -> Table:
    """List the observations of each response by partition."""
    header = [
        Cell("Response", left=True),
        *(Cell(n) for n in table_observations.PARTITIONS.values()),
    ]
    rows = [
        [
            Cell(label, left=True),
            *(Cell(f"{found[key][n]:,}") for n in table_observations.PARTITIONS),
        ]
        for key, label in labels.items()
        if key in found
    ]
    return Table("", [header], rows, [])


def plain(table: Table) -> list[str]:
    """Set a table in fixed width; one wider than the terminal goes on in a second block."""
    grid = [*table.header, *table.rows]
    kept = 2 if table.header[0][0].text == "" else 1  # columns that every block begins with
    texts = [[cell.text for cell in row] for row in grid]
    left = [cell.left for cell in table.header[0]]
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
    experiments: Iterable[Mapping],
    delta_loglik: Iterable[str | Path],
    permutation: Iterable[str | Path],
    counts: Iterable[str | Path],
    not_run: str | Path,
    text: str | Path,
    html: str | Path,
    study: str,
    files: Mapping[str, str],
    notes: Iterable[str] = (),
    others: Iterable[str | Path] = (),
    sections: Iterable[Mapping[str, str]] = (),
) -> None:
    """Write the summary as plain `text` and as `html`.

    `experiments` are dicts of experiment, title, lms, responses, baseline; delta_loglik.csv and
    permutation.csv are found by their folder's name. `others` are tables of other evaluations;
    `sections` say the heading of each, and the module whose `summary(path)` sets it. `files` says
    what is where, for the reader; `notes` stand at the top (that reading times are simulated, say).
    """
    deltas = {Path(path).parent.name: Path(path) for path in delta_loglik}
    permuted = {Path(path).parent.name: Path(path) for path in permutation}
    notes = list(notes)
    title = "Which memory constraint reads most like a person?"
    lines = [
        title,
        f"study: {study}",
        *(line for note in notes for line in textwrap.wrap(note, WIDTH)),
        "",
    ]
    parts = [f"<p class='note'>Study: {tables.html.escape(study)}</p>"]
    parts += [f"<p class='note'><b>{tables.html.escape(note)}</b></p>" for note in notes]

    def add(heading: str, table: Table, sentence: str = "") -> None:
        lines.extend([heading, *textwrap.wrap(sentence, WIDTH - 2, initial_indent="  ",
                                              subsequent_indent="  ")])  # fmt: skip
        lines.extend([*([""] if sentence else []), *plain(table), ""])
        parts.append(f"<h2>{tables.html.escape(heading)}</h2>")
        if sentence:
            parts.append(f"<p><b>{tables.html.escape(sentence)}</b></p>")
        parts.append(tables.body(table))

    labels: dict[str, str] = {}
    for experiment in experiments:
        name, baseline = experiment["experiment"], experiment.get("baseline")
        result = comparison.read(
            deltas[name], lms=experiment["lms"], responses=experiment["responses"], not_run=not_run
        )
        tests = against(permuted.get(name), baseline)
        sentence = verdict(result, baseline, tests)
        add(experiment.get("title", name), ranking(result, baseline, tests), sentence)
        _, measured = comparison.records([], experiment["responses"])
        labels |= {f"{r.dataset}.{r.measure}": r.label for r in measured}
    if labels:
        lines[-1:] = ["  ΔLogLik in nats on the exploratory partition: the higher, the better.", ""]
    for path, section in zip(others, sections, strict=True):
        module = plugins.load("recency.evaluations", section["module"], "evaluation", "summary")
        add(section["heading"], module.summary(path))
    if labels:
        add("Observations", observations(table_observations.sizes(counts), labels))
    add("Not run", absent(comparison.reasons(not_run), labels))
    places = [[Cell(what, left=True), Cell(where, left=True)] for what, where in files.items()]
    add("Files", Table("", [[Cell("What", left=True), Cell("Where", left=True)]], places, []))
    with atomic(text) as temporary:
        temporary.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    with atomic(html) as temporary:
        temporary.write_text(tables.page(title, parts), encoding="utf-8")


def absent(reasons: pd.DataFrame, labels: Mapping[str, str]) -> Table:
    """List what was not run and why."""
    header = [Cell("Response", left=True), Cell("Why", left=True)]
    rows = [
        [Cell(labels.get(f"{row.dataset}.{row.measure}", f"{row.dataset} {row.measure}".strip()), left=True),
         Cell(row.reason, left=True)]
        for row in reasons.itertuples(index=False)
    ]  # fmt: skip
    return Table(
        "",
        [header],
        rows or [[Cell("everything that was asked for was run", left=True), Cell("")]],
        [],
    )
