"""No two sentences of a verdict contradict each other, nor the numbers that it was written from.

Evidence is drawn at random: near 0, negative, equal LMs, one LM, one seed, without a baseline or
intervals, with every form of the smallest effect. The sentences are read back by their words.
"""

import dataclasses
import itertools
import math
import re

import numpy as np
import pandas as pd
import pytest

from crosslmm.stats import claims
from recency.evaluations.reading_times import verdict
from recency.evaluations.reading_times import verdict as evidences
from recency.evaluations.reading_times.verdict import Evidence, brief, detectable, sentences
from recency.figures.comparison import LM, Comparison, Response
from recency.figures.intervals import Interval, Intervals

NAMES = ["no bias", "Ada", "Bea", "Cleo", "Dora", "Eve"]
NONE = math.nan


def random_evidence(rng):
    """Return evidence on one to six LMs."""
    size = int(rng.integers(1, 7))
    scale = 10.0 ** rng.uniform(-2, 3)
    values = rng.choice([0.0, 1.0, 1.0, -1.0], size) * rng.exponential(scale, size)
    if rng.random() < 0.2:
        values[:] = values[0]
    lms = [f"m{k}" for k in range(size)]
    responses = [Response("d", m, m) for m in ("SPR", "FP")[: rng.integers(1, 3)]]
    delta = pd.DataFrame({r.label: values / len(responses) for r in responses}, index=lms)
    of = [LM(lm, NAMES[k], {"form": "none"}, "none") for k, lm in enumerate(lms)]
    result = Comparison(of, responses, delta, pd.Series({r.label: 100 for r in responses}))
    result = dataclasses.replace(result, seeds=int(rng.integers(1, 4)))
    totals = dict(zip(lms, map(float, values)))
    by = str(rng.choice(["sentence", "subject", "crossed"]))
    spread = scale * 10.0 ** rng.uniform(-2, 1)

    def interval(lm, other, value, whole):
        if rng.random() < 0.05:
            return Interval(lm, other, value, NONE, NONE, "", NONE, NONE, NONE, 20_000)
        se = spread * rng.uniform(0.5, 2)
        wide = 1.96 * rng.uniform(1, 2) if size > 2 and other else 1.96
        low, high = value - wide * se, value + wide * se
        shares = (NONE,) * 3
        if whole > 0:  # Fieller's ends have the sign of the difference's, and other distances
            shares = (
                value / whole,
                low / whole * rng.uniform(0.5, 1.5),
                high / whole * rng.uniform(0.5, 1.5),
            )
        ends = (value - 1.96 * se, value + 1.96 * se)
        return Interval(lm, other, value, *ends, by, se, low, high, 20_000, *shares)

    whole = totals["m0"] if rng.random() < 0.8 else NONE
    pairs = {
        (a, b): interval(a, b, totals[a] - totals[b], whole)
        for a, b in itertools.combinations(lms, 2)
    }
    own = {(lm, "Total"): interval(lm, "", totals[lm], NONE) for lm in lms}
    stated = [
        None,
        {"relative": float(rng.uniform(0.01, 2))},
        {"nats_per_1000": float(rng.uniform(0, 2))},
        {"ms_per_bit": float(rng.uniform(0, 2))},
    ]
    slopes = [(float(se), 2.0) for se in rng.uniform(0.01, 2, int(rng.integers(0, 3)))]
    tests = {
        p: evidences.Test(*rng.uniform(0, 1, 2), bool(rng.random() < 0.5))
        for p in pairs
        if rng.random() < 0.5
    }
    baseline = "m0" if rng.random() < 0.9 else "absent"
    effect = stated[rng.integers(len(stated))]
    return Evidence(result, Intervals(own, {}, pairs), tests, {}, baseline, effect, slopes)


def named(text, names):
    """Return the LMs that a part of a sentence names."""
    return {name for name in names if re.search(rf"\b{name}\b", text)}


def number(text):
    return float(text.replace("\N{MINUS SIGN}", "-").replace(",", ""))


def contradictions(evidence):
    """Yield what is wrong with the sentences of a verdict."""
    order, label = evidence.order, evidence.labels
    texts = sentences(evidence)
    separated = {p for p in evidence.pairs if evidence.separated(*p)}
    for a, b in evidence.pairs:
        claim, reverse = evidence.claim(a, b), evidence.claim(b, a)
        leads = {claims.LEADS, claims.LEADS_BY_LESS}
        if ({claim, reverse} & leads != set()) != ((a, b) in separated):
            yield f"{a}, {b}: {claim} and {reverse}, separated {(a, b) in separated}"
        if claim in leads and reverse != claims.RULED_OUT:
            yield f"{a} leads {b}, and the reverse is {reverse}"
    limits = [text for text in texts if "could not have" in text]
    if limits:
        if separated or any("80 % of such" in text for text in texts if text not in limits):
            yield "could not have separated, and a pair is separated or detectable"
        detected, lead = re.search(
            r"difference of (\S+) nats, and theirs is (\S+) nats", limits[0]
        ).groups()
        if number(detected) < abs(number(lead)):
            yield "the lead is larger than the detectable one"
        for pair in evidence.pairs:
            difference = evidence.intervals.pair(*pair)
            if difference and abs(difference.value) > detectable(difference, evidence.result.seeds):
                yield f"the lead of {pair} was detectable"
    best = label[order[0]]
    (lead,) = [
        text for text in texts if re.match(rf"{best}(:|,| is ahead| is level| predicts best)", text)
    ]
    if len(order) > 1 and "is ahead" in lead and len(set(evidence.result.totals)) == 1:
        yield "ahead of an equal LM"
    own = evidence.intervals.own[order[0], "Total"]
    if len(order) == 1 and evidence.relative and own.bounds[0] <= 0 and evidence.threshold:
        yield "a share of a baseline whose interval includes 0"
    if ("predicts best" in lead) != (
        len(order) > 1 and all((order[0], b) in separated for b in order[1:])
    ):
        yield "best, and not separated from all others; or the reverse"
    if "predicts best" in lead and re.search("is open|ruled out", lead):
        yield "best, and open"
    for text in texts:
        if "not separated from" in text:
            tied = (
                set(label.values()) - {best}
                if "any other" in text
                else named(text, label.values()) - {best}
            )
            if tied != {label[b] for b in order[1:] if (order[0], b) not in separated}:
                yield "other LMs are tied"
        if text.startswith("No two") and separated:
            yield "no two are separated, and two are"
        if text.startswith("Against "):
            reference, _, rest = text.partition(": ")
            reference = next(lm for lm in order if reference == f"Against {label[lm]}")
            yield from of_reference(rest, reference, evidence)


def brief_contradictions(evidence):
    """Yield what is wrong with the short sentences, on their own and beside the full statement."""
    order, label = evidence.order, evidence.labels
    first, *rest = brief(evidence)
    if len(order) < 2:
        return
    best, whole = label[order[0]], " ".join(sentences(evidence))
    untied = [lm for lm in order[1:] if evidence.separated(order[0], lm)]
    if ("predicts best:" in first) != (len(untied) == len(order) - 1):
        yield "best, and not separated from all others; or the reverse"
    if (
        "predicts better than" in first or "predicts best:" in first
    ) and "it predicts better" not in whole:
        yield "better in short, and not in full"
    if "is open" in first and "it predicts better:" in whole:
        yield "open in short, and better in full"
    if ("could not have" in " ".join(rest)) != ("could not have" in whole):
        yield "a limit in one alone"
    for text in rest:
        if text.startswith("Not shown"):
            names = text.partition("better than ")[2]
            tied = (
                set(label.values()) - {best}
                if "any other" in names
                else named(names, label.values())
            )
            if tied != {label[lm] for lm in order[1:] if lm not in untied}:
                yield "other LMs are tied in short"
    if len(brief(evidence)) > 3:
        yield "more than three sentences"


def of_reference(text, reference, evidence):
    """Yield what is wrong with the sentence of a baseline."""
    others = [lm for lm in evidence.order if lm != reference]
    said = {}
    for part in text.rstrip(".").split("; "):
        part = re.sub(r" of the ΔLogLik of no bias", "", part)
        names = {evidence.labels[lm] for lm in others}
        names = names if "other LMs" in part else named(part, names)
        kind = next(k for k in ("worse", "better", "ruled out", "open") if k in part)
        for name in names:
            said.setdefault(name, set()).add(kind)
    for lm in others:
        kinds, value = (
            said.get(evidence.labels[lm], set()),
            evidence.intervals.pair(lm, reference).value,
        )
        if kinds not in ({"better"}, {"open"}, {"ruled out"}, {"ruled out", "worse"}):
            yield f"{lm} is {kinds}"
        if ("better" in kinds and value <= 0) or ("worse" in kinds and value >= 0):
            yield f"{lm} is {kinds}, by {value}"


def check(seeds):
    for seed in seeds:
        evidence = random_evidence(np.random.default_rng(seed))
        wrong = [*contradictions(evidence), *brief_contradictions(evidence)]
        assert not wrong, (seed, wrong, sentences(evidence))
        groups = {row["lm"]: set(row["group"]) for row in verdict.answer(evidence)["ranking"]}
        for a, b in evidence.pairs:
            assert bool(groups[a] & groups[b]) != evidence.separated(a, b), seed


def test_no_two_sentences_contradict_each_other():
    check(range(300))


@pytest.mark.merge
def test_no_two_sentences_of_many_verdicts_contradict_each_other():
    check(range(300, 10_300))


def test_a_contradiction_is_found(monkeypatch):
    """The study that was said to be unable to separate LMs whose leads exceed what it detects."""
    from recency.evaluations.reading_times import verdict

    def limit(evidence):
        return (
            "This study could not have separated any pair of LMs: for a and b, 80 % of such studies "
            "would detect a difference of 0.3 nats, and theirs is 11 nats."
        )

    monkeypatch.setattr(verdict, "_limit", limit)
    evidence = next(
        e for e in map(random_evidence, map(np.random.default_rng, range(99))) if len(e.order) > 1
    )
    assert "the lead is larger than the detectable one" in list(contradictions(evidence))
