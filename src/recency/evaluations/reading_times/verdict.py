"""The verdict of an experiment: which LM predicts reading times best, and with what certainty.

Each claim that one LM predicts better than another is judged supported, excluded or open by the
interval of their difference, simultaneous for several pairs (recency.stats.bootstrap.largest_t), and
the smallest effect of interest (recency.stats.claims). The held-out test does not decide.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import pandas as pd

from recency.evaluations.reading_times.evidence import ALPHA, Evidence, Test, detectable, tests
from recency.figures import bases, comparison
from recency.figures import intervals as interval_files
from recency.figures.comparison import Comparison, Described
from recency.figures.intervals import TOTAL, Interval, clusters, ends, nats
from recency.figures.paths import File
from recency.files import atomic
from recency.stats import claims
from recency.stats.groups import groups, letters

_SMALLEST = "the smallest effect of interest"


def write_p(p: float) -> str:
    """Format p for text: "< .001", "= .033", "= .40", "= 1"."""
    if p < 0.001:
        return "< .001"
    text = f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
    return "= 1" if text == "1.00" else f"= {text.removeprefix('0')}"


def listed(names: Sequence[str]) -> str:
    """Join names for text: "A", "A and B", "A, B and C"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def write_interval(interval: Interval) -> str:
    """Format a 95 % interval, the simultaneous one if it differs, and the clusters."""
    if not interval.by:
        return "no interval"
    text = f"95 % interval {ends(interval)}"
    if interval.bounds != (interval.low, interval.high):
        text += f", simultaneous {' to '.join(map(nats, interval.bounds))}"
    return f"{text}, by {clusters(interval.by)}"


def write_test(difference: Interval, test: Test | None) -> str:
    """Format the held-out test of a difference, and whether it agrees with it if significant."""
    if test is None:
        return "not tested on held-out data"
    values = f"p {write_p(test.p)}, Holm {write_p(test.p_holm).removeprefix('= ')}"
    if test.p_holm >= ALPHA:
        return f"held-out {values}"
    agrees = test.better == (difference.value > 0)
    return f"held-out test {'agrees' if agrees else 'contradicts'}: {values}"


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
        return texts + _unknown(evidence) + _simulated(simulated, evidence.result)
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
    return texts + _unknown(evidence) + _simulated(simulated, evidence.result)


def _compared(evidence: Evidence) -> tuple[str, str]:
    """Return the best LM and its baseline, or the second-best LM if the best is the baseline."""
    best, second = evidence.order[:2]
    reference = evidence.reference(best)
    return best, reference if reference in evidence.order and reference != best else second


def _responses(result: Comparison) -> str:
    return f"in {len(result.summed)} response{'s' * (len(result.summed) != 1)}"


def _limit(evidence: Evidence) -> str | None:
    """Return a sentence if the study could not have separated any pair of LMs."""
    differences = [evidence.intervals.pair(*pair) for pair in evidence.pairs]
    reaches = [detectable(interval, evidence.result.seeds) for interval in differences if interval]
    reaches = [reach for reach in reaches if math.isfinite(reach)]
    if not reaches or any(evidence.separated(*pair) for pair in evidence.pairs):
        return None
    largest = max(abs(difference.value) for difference in differences if difference)
    threshold = evidence.threshold
    if min(reaches) <= (threshold or largest):
        return None
    limit = _SMALLEST if threshold else "the largest observed lead"
    return (
        "This study could not have separated any pair of LMs: the smallest lead that 80 % of such "
        f"studies would detect is {nats(min(reaches))} nats, and {limit} is "
        f"{nats(threshold or largest)} nats."
    )


def _best(evidence: Evidence) -> str:
    """Write the lead of the best LM, its interval, held-out test and claim."""
    order, labels, where = evidence.order, evidence.labels, _responses(evidence.result)
    if len(order) == 1:
        interval = evidence.intervals.own[order[0], TOTAL]
        claim = _judged("its surprisal helps", interval, evidence.threshold)
        lead = f"{labels[interval.lm]}: ΔLogLik {nats(interval.value)} nats"
        return f"{lead} {where} ({write_interval(interval)}): {claim}."
    best, other = _compared(evidence)
    difference = evidence.intervals.pair(best, other)
    name, against = labels[best], labels[other]
    if best == evidence.reference(best):
        name, against = f"{name}, the baseline,", f"{against}, the next,"
    elif other != evidence.reference(best):
        against = f"{against}, the next,"
    lead = f"{name} is ahead of {against} by {nats(difference.value)} nats"
    if all(evidence.separated(best, lm) for lm in order[1:]):
        lead = f"{name} predicts best, {nats(difference.value)} nats ahead of {against}"
    test = write_test(difference, evidence.test(best, other))
    claim = _judged("it predicts better", difference, evidence.threshold)
    return f"{lead} {where} ({write_interval(difference)}; {test}): {claim}."


def _judged(claim: str, interval: Interval, threshold: float) -> str:
    """Write whether a claim is supported, excluded or open."""
    judgement = claims.judge(*interval.bounds, threshold)
    if judgement == claims.EXCLUDED and threshold:
        return f"an effect of {nats(threshold)} nats, the smallest of interest, is excluded"
    return f"{'whether' if judgement == claims.OPEN else 'that'} {claim} is {judgement}"


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
    names = listed(tied) if len(tied) < len(others) else "any other LM"
    return [f"{labels[best]} is not separated from {names}."]


def _against_baseline(evidence: Evidence) -> list[str]:
    """Return the judgement of each LM's claim to be better than the baseline."""
    order, labels = evidence.order, evidence.labels
    reference = evidence.reference(order[0])
    others = [lm for lm in order if lm != reference]
    if reference not in order or (len(others) == 1 and order[0] != reference):
        return []
    judged = {lm: evidence.claim(lm, reference) for lm in others}
    parts = []
    for claim in (claims.SUPPORTED, claims.EXCLUDED, claims.OPEN):
        names = [labels[lm] for lm in others if judged[lm] == claim]
        whole = len(names) == len(others) > 2
        if names:
            parts.append(f"{claim} for {f'all {len(names)} other LMs' if whole else listed(names)}")
    texts = [f"Better than {labels[reference]}: {'; '.join(parts)}."]
    worse = [labels[lm] for lm in others if evidence.claim(reference, lm) == claims.SUPPORTED]
    if worse and len(others) > 1:
        texts.append(f"Worse than {labels[reference]}: {listed(worse)}.")
    return texts


def _power(evidence: Evidence) -> list[str]:
    """Return the detectable difference between the best LM and its baseline."""
    difference = evidence.intervals.pair(*_compared(evidence))
    reach = detectable(difference, evidence.result.seeds)
    if not math.isfinite(reach):
        return []
    text = (
        f"80 % of such studies would detect a difference of {nats(reach)} nats between the two "
        f"(two-sided test of this pair alone at .05, standard error {nats(difference.se)} by "
        f"{clusters(difference.by)})"
    )
    if evidence.threshold:
        text += f"; {_SMALLEST} is {nats(evidence.threshold)} nats ({_stated(evidence)})"
    return [f"{text}."]


def _unit(evidence: Evidence) -> dict[str, float]:
    """Return the unit and value of the smallest effect of interest in the config."""
    return {unit: value for unit, value in (evidence.stated or {}).items() if value is not None}


def _stated(evidence: Evidence) -> str:
    """Return the smallest effect of interest in the unit used in the config."""
    ((unit, value),) = _unit(evidence).items()
    if unit == "relative":
        name = evidence.labels.get(evidence.baseline, "the baseline")
        return f"{100 * value:g} % of the ΔLogLik of {name}"
    return f"{value:g} nats per 1,000 observations"


def _unknown(evidence: Evidence) -> list[str]:
    """Return a sentence with the reason if no smallest effect of interest can be computed."""
    if not math.isnan(evidence.smallest_effect):
        return []
    run = evidence.baseline in evidence.order
    reason = "which is not positive" if run else "which was not run"
    effect = f"The smallest effect of interest, {_stated(evidence)}, {reason},"
    return [f"{effect} is unknown; claims are judged with 0 nats."]


def _simulated(datasets: Sequence[str], result: Comparison) -> list[str]:
    """Return a sentence on simulated readers."""
    simulated = [r.label for r in result.responses if r.dataset in set(datasets)]
    if not simulated:
        return []
    if len(simulated) == len(result.responses):
        return ["All of these readers are simulated."]
    return [f"The readers of {listed(simulated)} are simulated."]


def rule(evidence: Evidence) -> str:
    """Return the rule for judging claims."""
    pairs = len(evidence.pairs)
    simultaneous = f", simultaneous for all {pairs} pairs of LMs," if pairs > 1 else ""
    threshold = evidence.threshold
    limit = f"{nats(threshold)} nats, the smallest effect of interest" if threshold else "zero"
    return (
        "the claim that A predicts better than B is excluded if the 95 % interval of their "
        f"difference{simultaneous} ends below {limit}; otherwise it is supported if the interval "
        "lies above zero, and open if not; two LMs are separated if it is supported in either "
        "direction; LMs that share a letter are not separated"
    )


def answer(
    evidence: Evidence,
    simulated: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    accepted: Sequence[str] = (),
) -> dict:
    """Return the verdict as data.

    Parameters
    ----------
    evidence, simulated, labels, accepted
        As in `sentences`; the checks that the config overrides, as sentences.

    Returns
    -------
    dict
        Sentences, endpoint, smallest effect of interest (as stated and in nats), ranking with
        intervals, tests and claims, groups, all pairs.
    """
    result, order, names = evidence.result, evidence.order, evidence.labels

    def same(a: int, b: int) -> bool:
        return not evidence.separated(order[a], order[b])

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
    for rank, (lm, group) in enumerate(zip(order, letters(len(order), same), strict=True), 1):
        reference = evidence.reference(lm)
        pair = evidence.intervals.pair(lm, reference) if reference not in (None, lm) else None
        ranking.append(
            {"rank": rank, "lm": lm, "label": names[lm], "group": group}
            | {"delta_loglik": described(evidence.intervals.own.get((lm, TOTAL)), lm, "")}
            | {"over_baseline": described(pair, lm, reference)}
        )
    texts = sentences(evidence, simulated, labels)
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
    return {
        "verdict": " ".join(texts),
        "sentences": texts,
        "responses": result.summed,
        "base": result.base,
        "endpoint": result.endpoint,
        "described": result.described,
        "seeds": result.seeds,
        "baseline": names.get(evidence.baseline),
        "smallest_effect": {"stated": _unit(evidence) or None, "nats": evidence.smallest_effect},
        "ranking": ranking,
        "groups": [[names[order[index]] for index in group] for group in groups(len(order), same)],
        "rule": rule(evidence) if len(order) > 1 else None,
        "pairs": [described(evidence.intervals.pair(a, b), a, b) for a, b in evidence.pairs],
        "simulated": [r.label for r in result.responses if r.dataset in set(simulated)],
        "accepted": list(accepted),
        "missing": result.missing,
    }


def main(
    *,
    delta_loglik: File,
    intervals: File,
    out: File,
    lms: Described,
    responses: Described,
    baseline: str,
    baselines: Mapping[str, str],
    simulated: Sequence[str] = (),
    smallest_effect: Mapping[str, float | None] | None = None,
    permutation: File | None = None,
    not_run: File | None = None,
    accepted: Sequence[str] = (),
) -> None:
    """Write verdict.json.

    Parameters
    ----------
    delta_loglik, intervals : path
        delta_loglik.csv and delta_loglik_intervals.csv.
    out : path
        The file to write.
    lms, responses : iterable of mapping
        The experiment's LMs and responses, described.
    baseline : str
        The baseline LM.
    baselines : mapping
        LM → the LM that it is compared with.
    simulated : sequence of str
        Datasets whose readers are simulated.
    smallest_effect : mapping, optional
        The smallest effect of interest as the config states it; see `recency.stats.claims.in_nats`.
    permutation, not_run : path, optional
        permutation.csv with the held-out tests, and not_run.csv.
    accepted : sequence of str
        The checks that the config overrides, as sentences.
    """
    lms, responses = list(lms), list(responses)
    result = comparison.read(delta_loglik, lms=lms, responses=responses, not_run=not_run)
    bounds = interval_files.read(intervals, result)
    evidence = Evidence(result, bounds, tests(permutation), baselines, baseline, smallest_effect)
    content = answer(evidence, simulated, {row["lm"]: row["label"] for row in lms}, accepted)
    with atomic(out) as path:
        text = json.dumps(_plain(content), ensure_ascii=False, indent=1, allow_nan=False)
        path.write_text(text + "\n", encoding="utf-8")


def _plain(value: object) -> object:
    """Return a value for JSON, with missing numbers as null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return None if pd.isna(value) else float(value)
    return value
