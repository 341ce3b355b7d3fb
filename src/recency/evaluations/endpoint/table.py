"""Rule table_endpoint: bias, size, power and coverage of candidate endpoints."""

import math

import pandas as pd

from recency.evaluations.endpoint import simulate
from recency.evaluations.endpoint.simulate import DEFAULT, PER
from recency.figures import style, tables
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Row, Table

INTERVALS = {"two_way": "two-way", "given_fits": "given fits"}
TESTS = {
    "observation": "by observation",
    "subject": "by subject",
    "sentence": "by sentence",
    "larger": "larger of both",
}
HEADER = (
    *("Baseline", "Data", "Likelihood", "Interval", "Lead", "Lead / sd", "Bias", "Size", "Power"),
    *("Coverage, lead", "Coverage, ΔLogLik", "Largest size", "Power, range"),
)


def main(candidates: File, tests: File, out: Files) -> None:
    """Write the table of simulate_endpoint's results; the CSV has all settings of the candidates."""
    rows = pd.read_csv(candidates)
    tables.write(out, layout(rows, pd.read_csv(tests)), rows)


def layout(rows: pd.DataFrame, tests: pd.DataFrame) -> Table:
    """Return the candidates at the default setting, the range over settings, and the tests."""
    grid, rules, before = [], [], None
    for candidate in simulate.order(
        list(zip(rows.baseline, rows.likelihood, rows.data, strict=True))
    ):
        baseline, likelihood, data = candidate
        of_candidate = rows[
            (rows.baseline == baseline) & (rows.likelihood == likelihood) & (rows.data == data)
        ]
        for interval, of_interval in of_candidate.groupby("interval", sort=False):
            if before not in (None, (baseline, data)):
                rules.append(len(grid))
            before = baseline, data
            bold = candidate == simulate.PRIMARY
            about = (
                baseline,
                simulate.DATA[data],
                simulate.LIKELIHOODS[likelihood],
                INTERVALS[interval],
            )
            grid.append([Cell(text, left=True, bold=bold) for text in about] + _row(of_interval))
    rules.append(len(grid))
    for test, of_test in tests.groupby("test", sort=False):
        about = ("", "held-out", "squared errors", f"permutation, {TESTS[test]}")
        grid.append(list(about) + _row(of_test))
    first = rows[rows.setting == DEFAULT].iloc[0]
    notes = [
        (
            f"at the default setting ({first.subjects:.0f} subjects, {first.sentences:.0f} "
            f"sentences, slope sd {first.slope_sd:g} of the mean, word sd {first.word_sd:g} ms); the last two "
            "columns are ranges over all settings, which are in the CSV"
        ),
        (
            "lead: ΔLogLik of LM a minus that of LM b, nats; lead / sd: its mean over its standard "
            "deviation between studies"
        ),
        (
            f"bias of the lead, nats per {PER:,} observations, with its standard error in "
            "parentheses, relative to marginal ΔLogLik of unseen subjects and sentences"
        ),
        (
            "coverage: share of 95 % intervals that cover the candidate's mean, for the lead and for "
            "LM a's ΔLogLik"
        ),
        *simulate.NOTES,
    ]
    title = "Bias, size, power and coverage of candidate endpoints"
    return Table(title, HEADER, grid, notes, tuple(rules), left=4)


def _row(rows: pd.DataFrame) -> Row:
    """Return the results of a candidate or a test."""
    default = rows[rows.setting == DEFAULT].iloc[0]
    figures = [""] * 3
    if "lead" in rows:
        bias = f"{style.signed(default.lead_bias, 2)} ({style.number(default.lead_bias_se, 2)})"
        figures = [style.number(default.lead), style.number(default.separation, 2), bias]
    figures += [_percent(default["size"]), _percent(default.power)]
    figures += [
        _percent(default.get(f"coverage_{name}", math.nan)) for name in ("lead", "delta_loglik_a")
    ]
    figures += [_percent(rows["size"].max())]
    figures.append(f"{100 * rows.power.min():.0f} to {_percent(rows.power.max())}")
    return list(figures)


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.0f} %"
