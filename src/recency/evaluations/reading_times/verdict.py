"""The verdict of an experiment: which LM predicts reading times best, and with what certainty.

Each claim that one LM predicts better than another is judged by the interval of their difference,
simultaneous for several pairs (crosslmm.stats.bootstrap.largest_t), and the smallest effect of interest
(crosslmm.stats.claims). The held-out test does not decide.

`Evidence` has the results: ΔLogLik, intervals, held-out tests, and claims based on them; `sentences`
and `brief` state them.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations

import pandas as pd

from crosslmm.stats import claims, detection, groups
from readingtimes.files import atomic
from recency.evaluations.reading_times import tables_of_tests
from recency.figures import bases, comparison, style
from recency.figures import intervals as interval_files
from recency.figures.comparison import Comparison, View
from recency.figures.intervals import CROSSED, TOTAL, Interval, Intervals, clusters, ends, nats
from recency.figures.paths import File

ALPHA = 0.05
#: Standard normal quantile of a two-sided test at .05.
QUANTILE = 1.959963984540054


@dataclass(frozen=True)
class Test:
    """A held-out test of two LMs over all responses; better: whether the first LM has less error."""

    p: float
    p_holm: float
    better: bool


@dataclass(frozen=True)
class Evidence:
    """The results of an experiment for its verdict.

    Attributes
    ----------
    result : Comparison
        ΔLogLik of each LM and response.
    intervals : Intervals
        Intervals of ΔLogLik and of its differences.
    tests : mapping
        (LM, LM) → held-out test over all responses.
    baselines : mapping
        LM → the LM that it is compared with.
    baseline : str, optional
        The experiment's baseline LM, even if it was not run.
    stated : mapping, optional
        The smallest effect of interest as the config states it: unit → value.
    slopes : sequence
        As `crosslmm.stats.claims.in_nats` takes them, where that is in ms per bit.
    """

    result: Comparison
    intervals: Intervals
    tests: Mapping[tuple[str, str], Test] = field(default_factory=dict)
    baselines: Mapping[str, str] = field(default_factory=dict)
    baseline: str | None = None
    stated: Mapping[str, float | None] | None = None
    slopes: Sequence[tuple[float, float]] = ()

    @cached_property
    def smallest_effect(self) -> float:
        """The smallest effect of interest in nats, NaN if unknown."""
        observations = (
            interval.n for (_, label), interval in self.intervals.own.items() if label == TOTAL
        )
        baseline = self.result.totals.get(self.baseline, math.nan)
        pairs = self.intervals.pairs.values()
        own = self.intervals.own.get((self.baseline, TOTAL))
        if self.relative and (
            (pairs and all(math.isnan(pair.share_low) for pair in pairs))
            or (not pairs and own is not None and own.bounds[0] <= 0)  # one LM: no share to fail
        ):
            return math.nan
        n = next(observations, math.nan)
        return claims.in_nats(self.stated, n, baseline, self.slopes)

    @property
    def relative(self) -> float:
        """The smallest effect of interest as a share of the baseline LM's ΔLogLik, 0 if not so stated."""
        return (self.stated or {}).get("relative") or 0.0

    @property
    def threshold(self) -> float:
        """The smallest effect of interest for judging claims, in nats: 0 if unknown."""
        return 0.0 if math.isnan(self.smallest_effect) else self.smallest_effect

    @cached_property
    def order(self) -> list[str]:
        """The LMs by total ΔLogLik, the best first."""
        return list(self.result.totals.sort_values(ascending=False, kind="stable").index)

    @cached_property
    def labels(self) -> dict[str, str]:
        """LM → its label."""
        return {lm.lm: lm.label for lm in self.result.lms}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of LMs, the better one first."""
        return list(combinations(self.order, 2))

    def reference(self, lm: str) -> str | None:
        """Return the LM that an LM is compared with."""
        return self.baselines.get(lm, self.baseline)

    def test(self, lm: str, other: str) -> Test | None:
        """Return the held-out test of two LMs, in either order."""
        if (lm, other) in self.tests:
            return self.tests[lm, other]
        reverse = self.tests.get((other, lm))
        return reverse and Test(reverse.p, reverse.p_holm, not reverse.better)

    def claim(self, lm: str, other: str) -> str:
        """Judge the claim that an LM predicts better than another (crosslmm.stats.claims).

        A smallest effect that is a share of an LM's ΔLogLik is compared with the interval of the
        difference as such a share, because that ΔLogLik is estimated as well.
        """
        difference = self.intervals.pair(lm, other)
        if difference is None:
            return claims.OPEN
        low, high = difference.bounds
        if not (self.relative and self.threshold):
            return claims.judge(low, high, self.threshold)
        return claims.judge_share(low, high, difference.share_high, self.relative)

    def bounds(self, lm: str, other: str) -> tuple[float, float]:
        """Return the ends of the deciding interval of two LMs' difference, NaN without one."""
        difference = self.intervals.pair(lm, other)
        return difference.bounds if difference else (math.nan, math.nan)

    def separated(self, lm: str, other: str) -> bool:
        """Return whether either of two LMs predicts better than the other."""
        low, high = self.bounds(lm, other)
        return low > 0 or high < 0

    @cached_property
    def groups(self) -> list[list[str]]:
        """Groups of LMs of which no two are separated, the best first."""
        members = groups.groups(len(self.order), self._same)
        return [[self.order[index] for index in group] for group in members]

    @cached_property
    def letters(self) -> dict[str, str]:
        """LM → the letters of its groups: LMs that share one are not separated."""
        return dict(zip(self.order, groups.letters(len(self.order), self._same), strict=True))

    def _same(self, a: int, b: int) -> bool:
        return not self.separated(self.order[a], self.order[b])


def tests(permutation: File | None) -> dict[tuple[str, str], Test]:
    """Return the tests over all responses from permutation.csv, empty without the file."""
    if permutation is None:
        return {}
    rows = tables_of_tests.read(permutation)
    rows = rows[rows.pooled & rows.p.notna()]
    return {
        (row.lm_a, row.lm_b): Test(row.p, row.p_holm, row.mse_a < row.mse_b)
        for row in rows.itertuples(index=False)
    }


def detectable(difference: Interval, seeds: int) -> float:
    """Return the difference that 80 % of such studies would detect.

    Parameters
    ----------
    difference : Interval
        Difference of two LMs, with its interval and standard error.
    seeds : int
        Number of training seeds. With several seeds, and by the crossed bootstrap, the interval is
        Student's (crosslmm.stats.detection); others count as known standard errors.

    Returns
    -------
    float
        Nats; for a two-sided test at .05 of this pair only.
    """
    is_student = seeds > 1 or difference.by in CROSSED
    half = (difference.high - difference.low) / 2 if is_student else QUANTILE * difference.se
    return detection.detectable(difference.se, half)


_SMALLEST = "the smallest effect of interest"


def write_p(p: float) -> str:
    """Format p for text: "< .001", "= .033", "= .40", "= 1"."""
    if p < 0.001:
        return "< .001"
    text = f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
    return "= 1" if text == "1.00" else f"= {text.removeprefix('0')}"


def join_names(names: Sequence[str]) -> str:
    """Join names for text: "A", "A and B", "A, B and C"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def write_interval(interval: Interval, baseline: str = "") -> str:
    """Format the 95 % interval that decides, also as a share of the ΔLogLik of `baseline`, and the clusters."""
    if not interval.by:
        return "no interval"
    text = f"95 % interval {ends(interval)}"
    if baseline and not math.isnan(interval.share_low):
        shares = (percent(interval.share_low), percent(interval.share_high))
        text += f" nats, {' to '.join(shares)} % of the ΔLogLik of {baseline}"
    if interval.bounds != (interval.low, interval.high):
        text += ", simultaneous for all pairs"
    return f"{text}, by {clusters(interval.by)}"


def percent(share: float) -> str:
    """Format a share in percent."""
    return style.number(100 * share, 1 if abs(share) < 0.0995 else 0)


def write_test(difference: Interval, test: Test | None) -> str:
    """Format the held-out test of a difference, and whether it agrees with it if significant."""
    if test is None:
        return "not tested on held-out data"
    values = f"p {write_p(test.p)}, Holm {write_p(test.p_holm).removeprefix('= ')}"
    if test.p_holm >= ALPHA:
        return f"held-out {values}"
    agrees = test.better == (difference.value > 0)
    return f"held-out test {'agrees' if agrees else 'contradicts'}: {values}"


def brief(evidence: Evidence, simulated: Sequence[str] = ()) -> list[str]:
    """Write the verdict in three short sentences: who leads, what the held-out test says, what is not shown.

    Parameters
    ----------
    evidence, simulated
        As in `sentences`, the full statement.
    """
    order, labels = evidence.order, evidence.labels
    if len(order) < 2:
        return sentences(evidence, simulated)[:1] + _simulation_sentence(simulated, evidence.result)
    best, other = _best_and_reference(evidence)
    difference = evidence.intervals.pair(best, other)
    several = "" if difference.bounds == (difference.low, difference.high) else ", simultaneous"
    over = f"+{nats(difference.value)} nats"
    interval = f" (95 % CI {ends(difference)}{several})" if difference.by else ""
    lead = f"{over} over {labels[other]}{interval}"
    if all(evidence.separated(best, lm) for lm in order[1:]):
        texts = [f"{labels[best]} predicts best: {lead}."]
    elif evidence.separated(best, other):
        texts = [f"{labels[best]} predicts better than {labels[other]}: {over}{interval}."]
    else:
        texts = [f"Which LM predicts best is open: {labels[best]} has {lead}."]
    texts.append(_brief_test(difference, evidence.test(best, other)))
    tied = [labels[lm] for lm in order[1:] if not evidence.separated(best, lm)]
    if _limit(evidence):
        texts.append("This study could not have separated any pair of LMs.")
    elif tied:
        names = join_names(tied) if len(tied) < len(order) - 1 else "any other LM"
        texts.append(f"Not shown: that {labels[best]} predicts better than {names}.")
    return texts + _simulation_sentence(simulated, evidence.result)


def _brief_test(difference: Interval, test: Test | None) -> str:
    """Return a sentence on the held-out test of a difference, with p corrected by Holm."""
    if test is None:
        return "There is no held-out test."
    p = f"(p {write_p(test.p_holm)})"
    if test.p_holm >= ALPHA:
        return f"The held-out test shows no difference {p}."
    agrees = test.better == (difference.value > 0)
    return f"The held-out test {'agrees' if agrees else 'contradicts it'} {p}."


def sentences(
    evidence: Evidence, simulated: Sequence[str] = (), labels: Mapping[str, str] | None = None
) -> list[str]:
    """Write the verdict.

    Parameters
    ----------
    evidence : Evidence
        Results of the experiment.
    simulated : sequence of str
        Datasets whose readers are simulated.
    labels : mapping, optional
        LM → label, also of LMs that were not run.

    Returns
    -------
    list of str
        If no pair of LMs could have been separated, this comes first. Then the best LM against
        its baseline, the claims of all LMs, and the difference that was detectable.
    """
    order = evidence.order
    if not order:
        if any(text.startswith(comparison.FAILED) for text in evidence.result.not_run):
            return ["This experiment failed: no response has a regression of all its LMs."]
        return ["Nothing of this experiment was run for all its LMs."]
    texts = [_best(evidence)]
    if len(order) == 1:
        texts.append("There is no other LM to compare it with.")
        return texts + _unknown(evidence) + _simulation_sentence(simulated, evidence.result)
    limit = _limit(evidence)
    if limit:
        texts.insert(0, limit)
    baseline = evidence.baseline
    if baseline is not None and baseline not in order:
        label = (dict(labels or {}) | evidence.labels).get(baseline, baseline)
        texts.append(f"The baseline, {label}, was not run.")
    if not limit:
        texts += _separation(evidence)
    texts += _against_baseline(evidence)
    if not limit:
        texts += _power(evidence)
    return texts + _unknown(evidence) + _simulation_sentence(simulated, evidence.result)


def _best_and_reference(evidence: Evidence) -> tuple[str, str]:
    """Return the best LM and its baseline, or the second-best LM if the best is the baseline."""
    best, second = evidence.order[:2]
    reference = evidence.reference(best)
    return best, reference if reference in evidence.order and reference != best else second


def _responses(result: Comparison) -> str:
    return f"in {len(result.summed)} response{'s' * (len(result.summed) != 1)}"


def _limit(evidence: Evidence) -> str | None:
    """Return a sentence if no pair of LMs is separated, and none could have been.

    A pair could have been if most such studies would detect its own lead, or the smallest effect of
    interest.
    """
    if any(evidence.separated(*pair) for pair in evidence.pairs):
        return None
    reaches = {}
    for pair in evidence.pairs:
        difference = evidence.intervals.pair(*pair)
        reach = detectable(difference, evidence.result.seeds) if difference else math.nan
        if math.isfinite(reach):
            if reach <= max(abs(difference.value), evidence.threshold):
                return None
            reaches[pair] = reach
    if not reaches:
        return None
    shown = _best_and_reference(evidence)
    shown = shown if shown in reaches else min(reaches, key=reaches.__getitem__)
    first, second = (evidence.labels[lm] for lm in shown)
    lead = evidence.intervals.pair(*shown).value
    text = (
        f"This study could not have separated any pair of LMs: for {first} and {second}, 80 % of such "
        f"studies would detect a difference of {nats(reaches[shown])} nats, and theirs is {nats(lead)} nats"
    )
    if evidence.threshold:
        text += f"; {_SMALLEST} is {nats(evidence.threshold)} nats"
    return f"{text}."


def _best(evidence: Evidence) -> str:
    """Write the lead of the best LM, its interval, held-out test and claim."""
    order, labels, where = evidence.order, evidence.labels, _responses(evidence.result)
    if len(order) == 1:
        interval = evidence.intervals.own[order[0], TOTAL]
        claim = _judge_claim("its surprisal helps", *interval.bounds, evidence)
        lead = f"{labels[interval.lm]}: ΔLogLik {nats(interval.value)} nats"
        return f"{lead} {where} ({write_interval(interval)}): {claim}."
    best, other = _best_and_reference(evidence)
    difference = evidence.intervals.pair(best, other)
    name, against = labels[best], labels[other]
    if best == evidence.reference(best):
        name, against = f"{name}, the baseline,", f"{against}, the next,"
    elif other != evidence.reference(best):
        against = f"{against}, the next,"
    lead = f"{name} is ahead of {against} by {nats(difference.value)} nats"
    if difference.value == 0:
        lead = f"{name} is level with {against}"
    if all(evidence.separated(best, lm) for lm in order[1:]):
        lead = f"{name} predicts best, {nats(difference.value)} nats ahead of {against}"
    test = write_test(difference, evidence.test(best, other))
    claim = _write_judgement(evidence.claim(best, other), "it predicts better", evidence)
    whole = labels.get(evidence.baseline, "") if evidence.relative else ""
    return f"{lead} {where} ({write_interval(difference, whole)}; {test}): {claim}."


def _judge_claim(claim: str, low: float, high: float, evidence: Evidence) -> str:
    """Write what follows for a claim from its interval in nats."""
    return _write_judgement(claims.judge(low, high, evidence.threshold), claim, evidence)


def _write_judgement(judgement: str, claim: str, evidence: Evidence) -> str:
    """Write a judgement of a claim."""
    return {
        claims.LEADS: claim,
        claims.LEADS_BY_LESS: f"{claim}, by less than {_threshold(evidence)}, {_SMALLEST}",
        claims.RULED_OUT: f"{_ruled_out(evidence)} is ruled out",
        claims.OPEN: f"whether {claim} is open",
    }[judgement]


def _ruled_out(evidence: Evidence) -> str:
    """Name the lead that a claim's interval may rule out."""
    if not evidence.threshold:
        return "a lead"
    return f"a lead of {_threshold(evidence)} or more"


def _threshold(evidence: Evidence) -> str:
    """Write the smallest effect of interest in the unit in which claims are judged."""
    if evidence.relative and evidence.threshold:
        share = f"{100 * evidence.relative:g} %"  # as stated, not rounded
        return f"{share} of the ΔLogLik of {evidence.labels[evidence.baseline]}"
    return f"{nats(evidence.threshold)} nats"


def _separation(evidence: Evidence) -> list[str]:
    """Return a sentence on the LMs from which the best one is not separated."""
    (best, *others), labels = evidence.order, evidence.labels
    if len(others) == 1:
        return []
    if not any(evidence.separated(*pair) for pair in evidence.pairs):
        return [f"No two of the {len(evidence.order)} LMs are separated."]
    tied = [labels[lm] for lm in others if not evidence.separated(best, lm)]
    if not tied:
        return []
    names = join_names(tied) if len(tied) < len(others) else "any other LM"
    return [f"{labels[best]} is not separated from {names}."]


def _against_baseline(evidence: Evidence) -> list[str]:
    """Return the judgement of each LM's claim to be better than the baseline."""
    order, labels = evidence.order, evidence.labels
    reference = evidence.reference(order[0])
    others = [lm for lm in order if lm != reference]
    if reference not in order or (len(others) == 1 and order[0] != reference):
        return []
    judged = {lm: evidence.claim(lm, reference) for lm in others}
    texts = {
        claims.LEADS: "{} predict{} better",
        claims.LEADS_BY_LESS: f"{{}} predict{{}} better, by less than {_threshold(evidence)}",
        claims.RULED_OUT: f"{_ruled_out(evidence)} is ruled out for {{}}",
        claims.OPEN: "open for {}",
    }
    parts = []
    for claim, text in texts.items():
        names = [labels[lm] for lm in others if judged[lm] == claim]
        whole = len(names) == len(others) > 2
        if names:
            named = f"all {len(names)} other LMs" if whole else join_names(names)
            parts.append(text.format(named, "s" * (len(names) == 1)))
    worse = [labels[lm] for lm in others if claims.leads(*evidence.bounds(reference, lm))]
    if worse:
        parts.append(f"{join_names(worse)} predict{'s' * (len(worse) == 1)} worse")
    return [f"Against {labels[reference]}: {'; '.join(parts)}."]


def _power(evidence: Evidence) -> list[str]:
    """Return the detectable difference between the best LM and its baseline."""
    difference = evidence.intervals.pair(*_best_and_reference(evidence))
    reach = detectable(difference, evidence.result.seeds)
    if not math.isfinite(reach):
        return []
    text = (
        f"80 % of such studies would detect a difference of {nats(reach)} nats between the two "
        f"(two-sided test of this pair alone at .05, standard error {nats(difference.se)} by "
        f"{clusters(difference.by)})"
    )
    if evidence.threshold:
        text += f"; {_SMALLEST} is {nats(evidence.threshold)} nats ({_stated_effect(evidence)})"
    return [f"{text}."]


def stated(evidence: Evidence) -> dict[str, float]:
    """Return the unit and value of the smallest effect of interest in the config."""
    return {unit: value for unit, value in (evidence.stated or {}).items() if value is not None}


def _stated_effect(evidence: Evidence) -> str:
    """Return the smallest effect of interest in the unit used in the config."""
    ((unit, value),) = stated(evidence).items()
    if unit == "relative":
        name = evidence.labels.get(evidence.baseline, "the baseline")
        return f"{100 * value:g} % of the ΔLogLik of {name}"
    if unit == "ms_per_bit":
        return f"{value:g} ms per bit"
    return f"{value:g} nats per 1,000 observations"


def _unknown(evidence: Evidence) -> list[str]:
    """Return a sentence with the reason if no smallest effect of interest can be computed."""
    if not math.isnan(evidence.smallest_effect):
        return []
    run = evidence.baseline in evidence.order
    reason = "which is not reliably positive" if run else "which was not run"
    if not evidence.relative:
        reason = "for which a response has no slope of the baseline LM's surprisal in ms per bit"
    effect = f"The smallest effect of interest, {_stated_effect(evidence)}, {reason},"
    way_out = "; `smallest_effect: {nats_per_1000: …}` needs no baseline"
    return [f"{effect} is unknown; claims are judged with 0 nats{way_out}."]


def _simulation_sentence(datasets: Sequence[str], result: Comparison) -> list[str]:
    """Return a sentence on simulated readers."""
    simulated = [r.label for r in result.responses if r.dataset in set(datasets)]
    if not simulated:
        return []
    if len(simulated) == len(result.responses):
        return ["All of these readers are simulated."]
    return [f"The readers of {join_names(simulated)} are simulated."]


def rule(evidence: Evidence) -> str:
    """Return the rule for judging claims."""
    pairs = len(evidence.pairs)
    simultaneous = f", simultaneous for all {pairs} pairs of LMs," if pairs > 1 else ""
    threshold = evidence.threshold
    if threshold:
        lead = f"a lead of {_threshold(evidence)}, the smallest effect of interest, or more"
        below = "that" + " (in percent as well)" * bool(evidence.relative)
        below += "; it leads by less if that is ruled out as well"
    else:
        lead, below = "a lead", "zero"
    return (
        f"A leads B if the 95 % interval of their difference{simultaneous} lies above zero; {lead} is "
        f"ruled out if the interval ends below {below}; otherwise the claim is open; two LMs are "
        "separated if either leads; LMs that share a letter are not separated"
    )


def answer(
    evidence: Evidence,
    simulated: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    accepted: Sequence[str] = (),
    unasked: str = "",
) -> dict:
    """Return the verdict as data.

    Parameters
    ----------
    evidence, simulated, labels, accepted, unasked
        As in `sentences` and `main`.

    Returns
    -------
    dict
        Three short sentences, the full statement, endpoint, smallest effect of interest (as stated and in
        nats), ranking with intervals, tests and claims, groups, all pairs.
    """
    result, order, names = evidence.result, evidence.order, evidence.labels

    def described(interval: Interval | None, lm: str, other: str) -> dict | None:
        if interval is None:
            return None
        test = evidence.test(lm, other) if other else None
        return asdict(interval) | {
            "against_label": names.get(other, ""),
            "p": test.p if test else None,
            "p_holm": test.p_holm if test else None,
            "held_out_better": bool(test.better) if test else None,
            "separated": evidence.separated(lm, other) if other else None,
            "claim": evidence.claim(lm, other) if other else None,
        }

    ranking = []
    for rank, lm in enumerate(order, 1):
        reference = evidence.reference(lm)
        pair = evidence.intervals.pair(lm, reference) if reference not in (None, lm) else None
        ranking.append(
            {"rank": rank, "lm": lm, "label": names[lm], "group": evidence.letters[lm]}
            | {"delta_loglik": described(evidence.intervals.own.get((lm, TOTAL)), lm, "")}
            | {"over_baseline": described(pair, lm, reference)}
        )
    texts = sentences(evidence, simulated, labels)
    if unasked and order:
        texts.insert(0, f"LMs are ranked by the {result.endpoint} likelihood, since {unasked}.")
    if result.seeds > 1 and order:
        texts.append(
            f"Each LM is the mean of {result.seeds} training runs with different seeds; intervals and "
            "tests account for new seeds."
        )
    if result.base in bases.NAMED and order:
        texts.append(
            f"ΔLogLik is relative to {bases.NAMED[result.base]}; its log-likelihood is "
            f"{result.likelihood}."
        )
    texts += accepted
    short = brief(evidence, simulated)
    if unasked and order:
        short[0] = f"By the {result.endpoint} likelihood: {short[0]}"
    return {
        "brief": short,
        "verdict": " ".join(texts),
        "sentences": texts,
        "responses": result.summed,
        "base": result.base,
        "endpoint": result.endpoint,
        "described": result.described,
        "seeds": result.seeds,
        "baseline": names.get(evidence.baseline),
        "smallest_effect": {"stated": stated(evidence) or None, "nats": evidence.smallest_effect},
        "ranking": ranking,
        "groups": [[names[lm] for lm in group] for group in evidence.groups],
        "rule": rule(evidence) if len(order) > 1 else None,
        "pairs": [described(evidence.intervals.pair(a, b), a, b) for a, b in evidence.pairs],
        "simulated": [r.label for r in result.responses if r.dataset in set(simulated)],
        "accepted": list(accepted),
        "missing": result.missing,
    }


def main(
    view: View,
    delta_loglik: File,
    intervals: File,
    out: File,
    baselines: Mapping[str, str],
    simulated: Sequence[str] = (),
    smallest_effect: Mapping[str, float | None] | None = None,
    permutation: File | None = None,
    accepted: Sequence[str] = (),
    unasked: str = "",
    effects: File | None = None,
) -> None:
    """Write verdict.json.

    Parameters
    ----------
    delta_loglik, intervals : path
        delta_loglik.csv and delta_loglik_intervals.csv.
    out : path
        The file to write.
    baselines : mapping
        LM → the LM that it is compared with.
    simulated : sequence of str
        Datasets whose readers are simulated.
    smallest_effect : mapping, optional
        The smallest effect of interest as the config states it; see `crosslmm.stats.claims.in_nats`.
    permutation : path, optional
        permutation.csv with the held-out tests.
    accepted : sequence of str
        The checks that the config overrides, as sentences.
    unasked : str
        Why the endpoint is not the default's, although the config states none; "" if it is.
    effects : path, optional
        table_effects.csv, for a smallest effect in ms per bit.
    """
    result = comparison.read(view, delta_loglik)
    bounds = interval_files.read(intervals, result)
    tested, baseline = tests(permutation), view.baseline
    slopes = _slopes(effects, baseline, result) if effects else ()
    evidence = Evidence(result, bounds, tested, baselines, baseline, smallest_effect, slopes)
    content = answer(evidence, simulated, view.labels, accepted, unasked)
    with atomic(out) as path:
        text = json.dumps(_plain(content), ensure_ascii=False, indent=1, allow_nan=False)
        path.write_text(text + "\n", encoding="utf-8")


def _slopes(effects: File, baseline: str | None, result: Comparison) -> list[tuple[float, float]]:
    """Return the standard errors of an LM's slopes, and scored observations for each fitted one.

    Empty where a response that is summed has no slope in ms per bit.
    """
    rows = pd.read_csv(effects)
    rows = rows[(rows.lm == baseline) & (rows.term == "surprisal") & (rows.unit == "ms per bit")]
    of_response = rows.drop_duplicates("response").set_index("response")
    if not set(result.summed) <= set(of_response.index):
        return []
    of_response = of_response.loc[result.summed]
    scored = result.observations[result.summed] / of_response["n"]
    return list(zip(of_response["se"], scored, strict=True))


def _plain(value: object) -> object:
    """Return a value for JSON, with missing numbers as null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return None if pd.isna(value) else float(value)
    return value
