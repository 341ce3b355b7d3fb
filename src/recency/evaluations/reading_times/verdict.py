"""The verdict of an experiment: which LM predicts best, how sure that is, which cannot be told apart.

Two LMs are told apart where the interval of their difference, widened so that those of all pairs
hold together at 95 % (recency.stats.bootstrap.largest_t), leaves zero out, and a test of the two on
the held-out partition, if there is one, agrees: p below .05 by Holm's method, in the same direction.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import pandas as pd

from recency.evaluations.reading_times import table_significance
from recency.figures import bases, comparison
from recency.figures import intervals as interval_files
from recency.figures.comparison import Comparison
from recency.figures.intervals import TOTAL, Interval, Intervals, ends, nats
from recency.files import atomic
from recency.stats.groups import groups, letters

ALPHA = 0.05
#: Standard errors that a two-sided test at .05 asks for, and that leave 80 % of cases above.
ASKED, ABOVE = 1.959963984540054, 0.8416212335729143


@dataclass(frozen=True)
class Test:
    """A held-out test of two LMs over all responses; better: whether the first has less error."""

    p: float
    p_holm: float
    better: bool


@dataclass(frozen=True)
class Evidence:
    """What is known of an experiment's LMs: totals, their intervals, held-out tests by (LM, LM)."""

    result: Comparison
    intervals: Intervals
    tests: Mapping[tuple[str, str], Test]
    baselines: Mapping[str, str]

    def test(self, lm: str, other: str) -> Test | None:
        """Return the test of two LMs, in either order."""
        if (lm, other) in self.tests:
            return self.tests[lm, other]
        found = self.tests.get((other, lm))
        return found and Test(found.p, found.p_holm, not found.better)

    def apart(self, lm: str, other: str) -> bool:
        """Say whether two LMs can be told apart."""
        found, test = self.intervals.pair(lm, other), self.test(lm, other)
        if found is None or not found.sure:
            return False
        return test is None or (test.p_holm < ALPHA and test.better == (found.value > 0))


def tests(permutation: str | Path | None) -> dict[tuple[str, str], Test]:
    """Read the tests over all responses from permutation.csv; none without it."""
    if permutation is None:
        return {}
    rows = table_significance.read(permutation)
    rows = rows[rows.pooled & rows.p.notna()]
    return {
        (row.lm_a, row.lm_b): Test(row.p, row.p_holm, row.mse_a < row.mse_b)
        for row in rows.itertuples(index=False)
    }


def write_p(p: float) -> str:
    """Write p as text does: "< .001", "= .033", "= .40", "= 1"."""
    if p < 0.001:
        return "< .001"
    text = f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
    return "= 1" if text == "1.00" else f"= {text.removeprefix('0')}"


def listed(names: Sequence[str]) -> str:
    """Write names as text does: "A", "A and B", "A, B and C"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def how_sure(found: Interval, test: Test | None) -> str:
    """Write the interval of a difference and its held-out test, in brackets."""
    known = f"95 %: {ends(found)}, by {found.by}" if found.by else "no interval"
    if test is None:
        return f"({known}; not tested on held-out data)"
    holm = write_p(test.p_holm).removeprefix("= ")
    reverse = "" if test.better == (found.value > 0) else ", the other way"
    return f"({known}; held-out p {write_p(test.p)}, Holm {holm}{reverse})"


def judged(found: Interval, test: Test | None, apart: bool, pairs: int) -> str:
    """Say whether the LM that is ahead can be told from the other, and why not."""
    if apart:
        return "better than it"
    same = "not distinguishable from it"
    if not (found.low > 0 or found.high < 0):
        return same
    if not found.sure:
        return f"{same} when all {pairs} pairs of LMs are counted"
    if test is not None and test.p_holm < ALPHA:
        return f"{same}, since the held-out test says the reverse"
    return f"{same}, since the held-out test does not confirm it"


def sentences(
    known: Evidence, baseline: str | None, simulated: Sequence[str] = (), labels: Mapping = {}
) -> list[str]:
    """Say which LM predicts best, against which it can be told, and what could have been found.

    `simulated` names the datasets that are, `labels` LMs that were perhaps not run.
    """
    result, totals = known.result, known.result.totals
    named = dict(labels) | {lm.lm: lm.label for lm in result.lms}
    over = f"in {len(result.summed)} response{'s' * (len(result.summed) != 1)}"
    if not len(totals):
        return ["Nothing of this experiment was run for all its LMs."]
    order = list(totals.sort_values(ascending=False, kind="stable").index)
    best = order[0]
    if len(order) == 1:
        own = known.intervals.own[best, TOTAL]
        helps = "its surprisal helps" if own.low > 0 else "not distinguishable from its base"
        sure = f"95 %: {ends(own)}, by {own.by}" if own.by else "no interval"
        said = [
            f"{named[best]}: ΔLogLik {nats(own.value)} nats {over} ({sure}): {helps}.",
            "There is no other LM to compare it with.",
        ]
        return said + _simulated(simulated, result)
    reference = known.baselines.get(best, baseline)
    other = reference if reference in order and reference != best else order[1]
    found, test = known.intervals.pair(best, other), known.test(best, other)
    pairs = len(order) * (len(order) - 1) // 2
    alone = all(known.apart(best, lm) for lm in order[1:])
    first = f"{named[best]}, the baseline," if best == reference else named[best]
    next_one = "" if other == reference else ", the next,"
    lead = f"{first} {'predicts best' if alone else 'is ahead'}, {nats(found.value)} nats over"
    sure = f"{how_sure(found, test)}: {judged(found, test, known.apart(best, other), pairs)}."
    said = [f"{lead} {named[other]}{next_one} {over} {sure}"]
    if baseline is not None and baseline not in order:
        said.append(f"The baseline, {named.get(baseline, baseline)}, was not run.")
    said += _told_apart(known, order, named, reference)
    reach = detectable(found, result.seeds)
    if math.isfinite(reach):
        said.append(
            f"A difference of {nats(reach)} nats between the two would have been found in 80 % of "
            f"such studies (two-sided, .05, standard error {nats(found.se)} by {found.by})."
        )
    return said + _simulated(simulated, result)


def detectable(found: Interval, seeds: int) -> float:
    """Return the difference that 80 % of such studies would find.

    Of several seeds what has to be passed is half the interval, in which few seeds have Student's t.
    """
    asked = (found.high - found.low) / 2 if seeds > 1 else ASKED * found.se
    return asked + ABOVE * found.se


def over_the_other(known: Evidence, baseline: str | None) -> str:
    """Say in a sentence what the ranking is over the base that stands beside."""
    said = sentences(known, baseline)[0]
    return f"Over {bases.NAMED[known.result.base]}: {said}"


def _told_apart(
    known: Evidence, order: list[str], named: Mapping[str, str], reference: str | None
) -> list[str]:
    """Say which LMs the best one can and cannot be told from, and the baseline likewise."""
    best, rest = order[0], order[1:]
    if len(order) == 2:
        return []
    if not any(known.apart(a, b) for a, b in combinations(order, 2)):
        return [f"None of the {len(order)} LMs can be told from another."]
    same = [named[lm] for lm in rest if not known.apart(best, lm)]
    said = []
    if not same:
        said.append("It can be told from every other LM.")
    elif len(same) == len(rest):
        said.append(f"{named[best]} cannot be told from any other LM.")
    else:
        said.append(f"{named[best]} cannot be told from {listed(same)}, but from the others.")
    if reference in order and reference != best:
        against = {lm: known.intervals.pair(lm, reference) for lm in order if lm != reference}
        told = {lm: found for lm, found in against.items() if known.apart(lm, reference)}
        better = [named[lm] for lm, found in told.items() if found.value > 0]
        worse = [named[lm] for lm, found in told.items() if found.value < 0]
        if better and (worse or better != [named[best]]):
            said.append(f"Better than {named[reference]}: {listed(better)}.")
        if worse:
            said.append(f"Worse than {named[reference]}: {listed(worse)}.")
    return said


def _simulated(datasets: Sequence[str], result: Comparison) -> list[str]:
    """Say which readers are simulated."""
    simulated = [r.label for r in result.responses if r.dataset in set(datasets)]
    if not simulated:
        return []
    if len(simulated) == len(result.responses):
        return ["All of these readers are simulated."]
    return [f"The readers of {listed(simulated)} are simulated."]


def method(known: Evidence) -> str:
    """Say in a sentence when two LMs are told apart."""
    count = len(known.result.totals)
    agree = " and the held-out test, by Holm's method, agrees" if known.tests else ""
    return (
        "two LMs are told apart where the 95 % interval of their difference, widened so that those of "
        f"all {count * (count - 1) // 2} pairs hold together, leaves zero out{agree}; "
        "LMs that share a letter are not"
    )


def answer(
    known: Evidence,
    baseline: str | None,
    simulated: Sequence[str] = (),
    labels: Mapping = {},
    beside: Evidence | None = None,
) -> dict:
    """Return the verdict as data: sentences, ranking with intervals and tests, groups, pairs.

    `beside` is what is known over another base: a sentence, and the verdict over it as data.
    """
    result, totals = known.result, known.result.totals
    order = list(totals.sort_values(ascending=False, kind="stable").index)
    named = {lm.lm: lm.label for lm in result.lms}

    def alike(a: int, b: int) -> bool:
        return not known.apart(order[a], order[b])

    def described(found: Interval | None, lm: str, other: str) -> dict | None:
        if found is None:
            return None
        test = known.test(lm, other) if other else None
        return asdict(found) | {
            "against_label": named.get(other, ""),
            "p": test.p if test else None,
            "p_holm": test.p_holm if test else None,
            "held_out_better": bool(test.better) if test else None,
            "apart": known.apart(lm, other) if other else None,
        }

    ranking = []
    for rank, (lm, group) in enumerate(zip(order, letters(len(order), alike), strict=True), 1):
        reference = known.baselines.get(lm, baseline)
        pair = known.intervals.pair(lm, reference) if reference not in (None, lm) else None
        ranking.append(
            {"rank": rank, "lm": lm, "label": named[lm], "group": group}
            | {"delta_loglik": described(known.intervals.own.get((lm, TOTAL)), lm, "")}
            | {"over_baseline": described(pair, lm, reference)}
        )
    said = sentences(known, baseline, simulated, labels)
    if result.seeds > 1 and len(totals):
        said.append(
            f"An LM is the mean of {result.seeds} trainings from seeds of their own, and intervals "
            "and tests are of further ones, too."
        )
    if result.base in bases.NAMED and len(totals):
        said.append(f"ΔLogLik is over {bases.NAMED[result.base]}.")
    if beside is not None and len(beside.result.totals):
        said.append(over_the_other(beside, baseline))
    every = ((a, b) for a, b in combinations(order, 2))
    return {
        "verdict": " ".join(said),
        "sentences": said,
        "responses": result.summed,
        "base": result.base,
        "seeds": result.seeds,
        "baseline": named.get(baseline),
        "ranking": ranking,
        "groups": [[named[order[place]] for place in group] for group in groups(len(order), alike)],
        "told_apart": method(known) if len(order) > 1 else None,
        "pairs": [described(known.intervals.pair(a, b), a, b) for a, b in every],
        "simulated": [r.label for r in result.responses if r.dataset in set(simulated)],
        "missing": result.missing,
        "beside": answer(beside, baseline, simulated, labels) if beside is not None else None,
    }


def main(
    *,
    delta_loglik: str | Path,
    intervals: str | Path,
    out: str | Path,
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    baseline: str,
    baselines: Mapping[str, str],
    simulated: Sequence[str] = (),
    permutation: str | Path | None = None,
    not_run: str | Path | None = None,
    beside: str | Path | None = None,
    beside_intervals: str | Path | None = None,
) -> None:
    """Write verdict.json; `baselines` is lm → the LM that it is compared with.

    `beside` and `beside_intervals` are as `delta_loglik` and `intervals`, over another base.
    """
    lms, asked, held_out = list(lms), list(responses), tests(permutation)

    def read(values: str | Path, sure: str | Path) -> Evidence:
        result = comparison.read(values, lms=lms, responses=asked, not_run=not_run)
        return Evidence(result, interval_files.read(sure, result), held_out, baselines)

    labels = {row["lm"]: row["label"] for row in lms}
    other = read(beside, beside_intervals) if beside is not None else None
    content = answer(read(delta_loglik, intervals), baseline, simulated, labels, other)
    with atomic(out) as path:
        text = json.dumps(_plain(content), ensure_ascii=False, indent=1, allow_nan=False)
        path.write_text(text + "\n", encoding="utf-8")


def _plain(value: object) -> object:
    """Return what JSON can hold: numbers that are missing as null."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return None if pd.isna(value) else float(value)
    return value
