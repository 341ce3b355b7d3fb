"""The verdict: its sentences, word for word, and the content of verdict.json."""

import dataclasses
import itertools
import json
import math

import pandas as pd
import pytest

from crosslmm.stats import detection
from recency.evaluations.reading_times import verdict
from recency.evaluations.reading_times import verdict as evidences
from recency.evaluations.reading_times.verdict import join_names, sentences, write_p
from recency.figures.comparison import LM, Comparison, Response
from recency.figures.intervals import Interval, Intervals

LABELS = {"base": "no bias", "one": "ALiBi-1-TI", "four": "ALiBi-4-TI", "dvm": "dVM-TI"}
TENTH = {"relative": 0.1}


def evidence(totals, tests=None, reach=34.0, wide=60.0, by="sentence", stated=None, measures=2):
    """Return evidence on LMs with these totals; intervals are ± `reach`, simultaneous ± `wide`."""
    responses = ("UCL SPR", "UCL FP")[:measures]
    lms = [LM(lm, LABELS[lm], {"form": "none"}, "none") for lm in totals]
    described = [Response(f"d{k}", label.split()[-1], label) for k, label in enumerate(responses)]
    delta = pd.DataFrame(
        {label: {lm: value / len(responses) for lm, value in totals.items()} for label in responses}
    )
    result = Comparison(lms, described, delta, pd.Series(dict.fromkeys(responses, 100)))
    own = {
        (lm, "Total"): Interval(lm, "", v, v - 90, v + 80, "subject", 43, n=20_000)
        for lm, v in totals.items()
    }
    if len(totals) == 2:
        wide = reach
    whole = totals.get("base", math.nan)
    whole = whole if whole > 0 else math.nan
    pairs = {
        (a, b): Interval(a, b, d := totals[a] - totals[b], d - reach, d + reach, by, reach / 1.96,
                         d - wide, d + wide, 20_000, *((d + k) / whole for k in (0, -wide, wide)))
        for a, b in itertools.combinations(totals, 2)
    }  # fmt: skip
    baselines = dict.fromkeys(totals, "base")
    return verdict.Evidence(
        result, Intervals(own, {}, pairs), tests or {}, baselines, "base", stated
    )


POWER = "80 % of such studies would detect a difference of 49 nats between the two (two-sided test "
POWER += "of this pair alone at .05, standard error 17 by sentence)"
SMALLEST = "; the smallest effect of interest is 10 nats (10 % of the ΔLogLik of no bias)."


def test_the_interval_decides_and_not_the_held_out_test():
    tests = {("one", "base"): evidences.Test(0.033, 0.4, True)}
    known = evidence({"base": 100, "one": 155}, tests, stated=TENTH)
    assert sentences(known) == [
        (
            "ALiBi-1-TI predicts best, 55 nats ahead of no bias in 2 responses (95 % interval 21 to 89 "
            "nats, 21 to 89 % of the ΔLogLik of no bias, by sentence; held-out p = .033, Holm .40): it "
            "predicts better."
        ),
        POWER + SMALLEST,
    ]


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (evidences.Test(0.0001, 0.0002, True), "held-out test agrees: p < .001, Holm < .001"),
        (evidences.Test(0.01, 0.02, False), "held-out test contradicts: p = .010, Holm .020"),
        (evidences.Test(0.2, 0.4, False), "held-out p = .20, Holm .40"),
        (None, "not tested on held-out data"),
    ],
)
def test_the_held_out_test_is_reported(test, text):
    known = evidence({"base": 100, "one": 200}, {("one", "base"): test} if test else {})
    assert sentences(known)[0] == (
        "ALiBi-1-TI predicts best, 100 nats ahead of no bias in 2 responses (95 % interval 66 to "
        "134, "
        f"by sentence; {text}): it predicts better."
    )


def test_few_seeds_detect_less():
    """With several seeds the interval is Student's, here of one degree of freedom and a bit."""
    difference = Interval("one", "base", 1.0, -39.0, 41.0, "sentence", 5.0)
    assert evidences.detectable(difference, 1) == pytest.approx(2.8016 * 5, rel=1e-4)
    assert evidences.detectable(difference, 2) == detection.detectable(5.0, 40.0) > 55


def test_a_study_that_could_separate_no_pair_says_so_first():
    known = evidence({"base": 100, "one": 130, "four": 120}, stated=TENTH)
    assert sentences(known) == [
        (
            "This study could not have separated any pair of LMs: for ALiBi-1-TI and no bias, 80 % of "
            "such studies would detect a difference of 49 nats, and theirs is 30 nats; the smallest "
            "effect of interest is 10 nats."
        ),
        (
            "ALiBi-1-TI is ahead of no bias by 30 nats in 2 responses (95 % interval −30 to 90 nats, "
            "−30 to 90 % of the ΔLogLik of no bias, simultaneous for all pairs, by sentence; not tested "
            "on held-out data): whether it predicts better is open."
        ),
        "Against no bias: open for ALiBi-1-TI and ALiBi-4-TI.",
    ]
    small = evidence({"base": 100, "one": 110, "four": 120}, measures=1)
    assert sentences(small)[0].endswith("detect a difference of 49 nats, and theirs is 20 nats.")
    assert "in 1 response (" in sentences(small)[1]


def test_a_lead_that_is_larger_than_the_detectable_one_could_have_been_separated():
    """55 nats are open by the simultaneous interval; 80 % of such studies would detect 49."""
    for stated in (None, TENTH):
        known = evidence({"base": 100, "one": 155, "four": 120}, stated=stated)
        assert sentences(known)[0].endswith("whether it predicts better is open.")
        assert sentences(known)[1] == "No two of the 3 LMs are separated."
        assert sentences(known)[-1].startswith(
            "80 % of such studies would detect a difference of 49"
        )


def test_a_study_that_separates_a_pair_or_could_have_does_not_say_so():
    separated = evidence({"base": 100, "one": 200, "four": 105}, stated=TENTH)
    large = evidence({"base": 100, "one": 110, "four": 120}, stated={"relative": 0.5})
    for known in (separated, large):
        assert not sentences(known)[0].startswith("This study")
    assert sentences(large)[1] == "No two of the 3 LMs are separated."


def test_a_small_lead_that_is_certain():
    known = evidence({"base": 100, "one": 105, "four": 60}, reach=2, wide=4, stated=TENTH)
    assert sentences(known)[:2] == [
        (
            "ALiBi-1-TI predicts best, 5.0 nats ahead of no bias in 2 responses (95 % interval 1.0 to 9.0 "
            "nats, 1.0 to 9.0 % of the ΔLogLik of no bias, simultaneous for all pairs, by sentence; not "
            "tested on held-out data): it predicts better, by less than 10 % of the ΔLogLik of no bias, "
            "the smallest effect of interest."
        ),
        (
            "Against no bias: ALiBi-1-TI predicts better, by less than 10 % of the ΔLogLik of no bias; a "
            "lead of 10 % of the ΔLogLik of no bias or more is ruled out for ALiBi-4-TI; ALiBi-4-TI "
            "predicts worse."
        ),
    ]
    assert known.claim("one", "base") == "leads by less"
    assert known.claim("base", "one") == "ruled out"
    assert known.separated("one", "base")


def test_a_share_is_judged_with_the_uncertainty_of_the_whole():
    """Intervals of 38 to 78 and of 85 to 130: a lead of half the baseline's ΔLogLik is open."""
    known = evidence({"base": 105, "one": 150}, reach=7, stated={"relative": 0.5})
    (pair,) = known.intervals.pairs.values()
    assert (pair.low, pair.high, known.threshold) == (-52, -38, 52.5)
    assert known.claim("one", "base") == "leads by less"
    wider = dataclasses.replace(pair, share_low=-0.6, share_high=-0.3)
    known.intervals.pairs["base", "one"] = wider
    assert known.claim("one", "base") == "leads"


def test_better_than_the_baseline_and_tied():
    known = evidence({"base": 100, "one": 200, "four": 190, "dvm": 20}, stated=TENTH)
    assert sentences(known, simulated=["d1"]) == [
        (
            "ALiBi-1-TI is ahead of no bias by 100 nats in 2 responses (95 % interval 40 to 160 nats, 40 "
            "to 160 % of the ΔLogLik of no bias, simultaneous for all pairs, by sentence; not tested on "
            "held-out data): it predicts better."
        ),
        "ALiBi-1-TI is not separated from ALiBi-4-TI.",
        (
            "Against no bias: ALiBi-1-TI and ALiBi-4-TI predict better; a lead of 10 % of the "
            "ΔLogLik of no bias or more is ruled out for dVM-TI; dVM-TI predicts worse."
        ),
        POWER + SMALLEST,
        "The readers of UCL FP are simulated.",
    ]


def test_one_winner_of_many():
    known = evidence({"base": 100, "one": 200, "four": 105}, by="crossed")
    texts = sentences(known, simulated=["d0", "d1"])
    assert texts[:2] == [
        (
            "ALiBi-1-TI predicts best, 100 nats ahead of no bias in 2 responses (95 % interval 40 to 160, "
            "simultaneous for all pairs, by subject and sentence; not tested on held-out data): it "
            "predicts better."
        ),
        "Against no bias: ALiBi-1-TI predicts better; open for ALiBi-4-TI.",
    ]
    assert texts[2].endswith("standard error 17 by subject and sentence).")
    assert texts[-1] == "All of these readers are simulated."


def test_many_lms_with_one_claim_are_not_listed():
    known = evidence({"base": 100, "one": 150, "four": 110, "dvm": 120}, stated={"relative": 2})
    assert sentences(known)[1:3] == [
        "No two of the 4 LMs are separated.",
        (
            "Against no bias: a lead of 200 % of the ΔLogLik of no bias or more is ruled out for all 3 other "
            "LMs."
        ),
    ]


def test_the_baseline_is_ahead():
    known = evidence({"base": 112, "one": 80})
    assert sentences(known)[1:3] == [
        (
            "no bias, the baseline, is ahead of ALiBi-1-TI, the next, by 32 nats in 2 responses "
            "(95 % "
            "interval −2.0 to 66, by sentence; not tested on held-out data): whether it predicts "
            "better is open."
        ),
        "Against no bias: open for ALiBi-1-TI.",
    ]
    worse = evidence({"base": 212, "one": 100, "four": 150}, stated=TENTH)
    first, *rest = sentences(worse)
    assert first.startswith("no bias, the baseline, predicts best, 62 nats ahead of ALiBi-4-TI,")
    assert rest[0] == (
        "Against no bias: a lead of 10 % of the ΔLogLik of no bias or more is ruled out for ALiBi-4-TI "
        "and ALiBi-1-TI; "
        "ALiBi-4-TI and ALiBi-1-TI predict worse."
    )


def test_a_baseline_that_was_not_run():
    known = evidence({"one": 200, "four": 150}, stated=TENTH)
    assert sentences(known, labels={"base": "no bias"}) == [
        (
            "ALiBi-1-TI predicts best, 50 nats ahead of ALiBi-4-TI, the next, in 2 responses (95 % "
            "interval 16 to 84, by sentence; not tested on held-out data): it predicts better."
        ),
        "The baseline, no bias, was not run.",
        f"{POWER}.",
        (
            "The smallest effect of interest, 10 % of the ΔLogLik of the baseline, which was not "
            "run, "
            "is unknown; claims are judged with 0 nats; `smallest_effect: {nats_per_1000: …}` needs no "
            "baseline."
        ),
    ]


def test_a_share_of_a_baseline_without_a_gain_is_unknown():
    known = evidence({"base": -5, "one": 100}, stated=TENTH)
    assert math.isnan(known.smallest_effect) and known.threshold == 0
    assert sentences(known)[-1] == (
        "The smallest effect of interest, 10 % of the ΔLogLik of no bias, which is not reliably "
        "positive, is unknown; claims are judged with 0 nats; `smallest_effect: {nats_per_1000: …}` "
        "needs no baseline."
    )
    content = json.loads(json.dumps(verdict._plain(verdict.answer(known))))
    assert content["smallest_effect"] == {"stated": TENTH, "nats": None}
    assert "ends below zero" in content["rule"]
    in_nats = evidence({"base": -5, "one": 100}, stated={"relative": None, "nats_per_1000": 0.5})
    assert in_nats.smallest_effect == 10
    assert sentences(in_nats)[-1].endswith("10 nats (0.5 nats per 1,000 observations).")


def test_a_smallest_effect_in_ms_is_what_such_a_slope_adds(tmp_path):
    """By the standard errors of the baseline LM's slopes in its table of effects."""
    known = evidence({"base": 100, "one": 155}, stated={"ms_per_bit": 0.6})
    assert math.isnan(known.smallest_effect)
    assert "has no slope" in sentences(known)[-1]
    rows = [
        ("base", "UCL SPR", "surprisal", "ms per bit", 0.3, 100),
        ("base", "UCL FP", "previous_surprisal", "ms per bit", 0.1, 50),
        ("base", "UCL FP", "surprisal", "ms per bit", 0.2, 50),
        ("one", "UCL SPR", "surprisal", "ms per bit", 0.9, 100),
    ]
    path = tmp_path / "table_effects.csv"
    columns = ["lm", "response", "term", "unit", "se", "n"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    slopes = verdict._slopes(path, "base", known.result)
    found = dataclasses.replace(known, slopes=slopes)
    assert found.smallest_effect == pytest.approx(2.0 + 2 * 4.5)
    assert sentences(found)[-1].endswith("11 nats (0.6 ms per bit).")
    assert verdict._slopes(path, "one", known.result) == []


def test_one_lm_is_compared_with_the_regression_without_it():
    assert sentences(evidence({"base": 625}, stated=TENTH)) == [
        (
            "no bias: ΔLogLik 625 nats in 2 responses (95 % interval 535 to 705, by subject): its "
            "surprisal helps."
        ),
        "There is no other LM to compare it with.",
    ]
    assert sentences(evidence({"base": 20}))[0] == (
        "no bias: ΔLogLik 20 nats in 2 responses (95 % interval −70 to 100, by subject): whether "
        "its "
        "surprisal helps is open."
    )
    assert sentences(evidence({"base": 20}, stated={"nats_per_1000": 6}))[0].endswith(
        ": a lead of 120 nats or more is ruled out."
    )


def test_nothing_was_run():
    known = evidence({"base": 1, "one": 2}, stated=TENTH)
    delta = known.result.delta
    delta.loc["one", "UCL SPR"] = delta.loc["base", "UCL FP"] = math.nan
    assert sentences(known) == ["Nothing of this experiment was run for all its LMs."]
    content = verdict.answer(known)
    assert content["ranking"] == content["groups"] == [] and content["rule"] is None


def test_a_pair_without_an_interval_is_open():
    known = evidence({"base": 100, "one": 200})
    known.intervals.pairs["one", "base"] = Interval(
        "one", "base", 100.0, *[math.nan] * 2, "", math.nan
    )
    known.intervals.pairs.pop(("base", "one"))
    assert known.claim("one", "base") == "open" and known.claim("base", "four") == "open"
    assert sentences(known) == [
        (
            "ALiBi-1-TI is ahead of no bias by 100 nats in 2 responses (no interval; not tested on "
            "held-out data): whether it predicts better is open."
        )
    ]


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.00099, "< .001"), (0.001, "= .001"), (0.0333, "= .033"), (0.4, "= .40"), (0.996, "= 1")],
)
def test_p_is_written_as_in_text(p, text):
    assert write_p(p) == text


def test_names_are_listed():
    assert [join_names(list("abc"[:n])) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_the_answer_as_data():
    tests = {
        ("one", "base"): evidences.Test(0.01, 0.02, True),
        ("four", "base"): evidences.Test(0.6, 0.6, True),
    }
    known = evidence({"base": 100, "one": 200, "four": 190, "dvm": 20}, tests, stated=TENTH)
    content = verdict.answer(known)
    labels = [row["label"] for row in content["ranking"]]
    assert labels == ["ALiBi-1-TI", "ALiBi-4-TI", "no bias", "dVM-TI"]
    assert [row["group"] for row in content["ranking"]] == ["a", "a", "b", "c"]
    assert content["groups"] == [["ALiBi-1-TI", "ALiBi-4-TI"], ["no bias"], ["dVM-TI"]]
    first, second, third, fourth = (row["over_baseline"] for row in content["ranking"])
    assert first["value"] == pytest.approx(100) and first["separated"] and first["p_holm"] == 0.02
    assert first["claim"] == second["claim"] == "leads" and second["p_holm"] == 0.6
    assert third is None and fourth["claim"] == "ruled out" and fourth["separated"]
    assert content["ranking"][0]["delta_loglik"]["low"] == pytest.approx(110)
    assert content["ranking"][0]["delta_loglik"]["claim"] is None
    assert content["smallest_effect"] == {"stated": TENTH, "nats": 10}
    assert [(pair["lm"], pair["against"], pair["claim"]) for pair in content["pairs"]] == [
        ("one", "four", "open"),
        ("one", "base", "leads"),
        ("one", "dvm", "leads"),
        ("four", "base", "leads"),
        ("four", "dvm", "leads"),
        ("base", "dvm", "leads"),
    ]
    assert "all 6 pairs of LMs, lies above zero; a lead of 10 % of" in content["rule"]
    assert content["verdict"] == " ".join(content["sentences"]) and content["baseline"] == "no bias"
    text = json.dumps(verdict._plain(content), allow_nan=False)
    assert json.loads(text)["pairs"][0]["against"] == "four"


def test_no_smallest_effect_is_zero():
    content = verdict.answer(evidence({"base": 100, "one": 200}))
    assert content["smallest_effect"] == {"stated": None, "nats": 0.0}
    assert "all 1 pairs" not in content["rule"] and "ends below zero" in content["rule"]


def test_checks_that_the_config_overrides_are_part_of_the_verdict():
    line = "Corpus 'Mine': times may be in another unit than ms (accepted: units)."
    answer = verdict.answer(evidence({"base": 100, "one": 155}), accepted=[line])
    assert answer["sentences"][-1] == line and answer["verdict"].endswith(line)
    assert answer["accepted"] == [line]
    assert verdict.answer(evidence({"base": 100, "one": 155}))["accepted"] == []


def test_another_endpoint_than_the_default_is_named_first():
    content = verdict.answer(evidence({"base": 100, "one": 155}), unasked="it is no mixed model")
    assert content["sentences"][0].endswith(" likelihood, since it is no mixed model.")
    assert content["brief"][0].startswith("By the conditional likelihood: ")
