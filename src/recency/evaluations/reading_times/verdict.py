"""The verdict of an experiment: which LM predicts reading times best, and with what certainty.

Each claim that one LM predicts better than another is judged by the interval of their difference,
simultaneous for several pairs (crosslmm.stats.bootstrap.largest_t), and the smallest effect of interest
(crosslmm.stats.claims). The held-out test does not decide.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import pandas as pd

from readingtimes.files import atomic
from recency.evaluations.reading_times.evidence import Evidence, tests
from recency.evaluations.reading_times.verdict_sentences import brief, rule, sentences, stated
from recency.figures import bases, comparison
from recency.figures import intervals as interval_files
from recency.figures.comparison import Described
from recency.figures.intervals import TOTAL, Interval
from recency.figures.paths import File


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
    return {
        "brief": brief(evidence, simulated),
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
    unasked: str = "",
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
        The smallest effect of interest as the config states it; see `crosslmm.stats.claims.in_nats`.
    permutation, not_run : path, optional
        permutation.csv with the held-out tests, and not_run.csv.
    accepted : sequence of str
        The checks that the config overrides, as sentences.
    unasked : str
        Why the endpoint is not the default's, although the config states none; "" if it is.
    """
    lms, responses = list(lms), list(responses)
    result = comparison.read(delta_loglik, lms=lms, responses=responses, not_run=not_run)
    bounds = interval_files.read(intervals, result)
    evidence = Evidence(result, bounds, tests(permutation), baselines, baseline, smallest_effect)
    content = answer(
        evidence, simulated, {row["lm"]: row["label"] for row in lms}, accepted, unasked
    )
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
