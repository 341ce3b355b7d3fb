"""The verdict: what it says of made results, word for word, and what verdict.json holds."""

import itertools
import json

import pandas as pd
import pytest

from recency.evaluations.reading_times import verdict
from recency.figures.comparison import LM, Comparison, Response
from recency.figures.intervals import Interval, Intervals

LABELS = {"base": "no bias", "one": "ALiBi-1-TI", "four": "ALiBi-4-TI", "dvm": "dVM-TI"}


def evidence(totals, tests=None, reach=34.0, wide=60.0, responses=("UCL SPR", "UCL FP")):
    """Make the evidence of LMs with these totals; intervals are ± `reach`, of all pairs ± `wide`."""
    lms = [LM(lm, LABELS[lm], {"form": "none"}, "none") for lm in totals]
    made = [Response(f"d{k}", label.split()[-1], label) for k, label in enumerate(responses)]
    delta = pd.DataFrame(
        {label: {lm: value / len(responses) for lm, value in totals.items()} for label in responses}
    )
    sizes = pd.Series(dict.fromkeys(responses, 100))
    result = Comparison(lms, made, delta, sizes)
    own = {
        (lm, "Total"): Interval(lm, "", v, v - 90, v + 80, "subject", 43)
        for lm, v in totals.items()
    }
    pairs = {
        (a, b): Interval(a, b, d := totals[a] - totals[b], d - reach, d + reach, "sentence", reach / 1.96,
                         d - wide, d + wide)
        for a, b in itertools.combinations(totals, 2)
    }  # fmt: skip
    found = Intervals(own, {}, pairs)
    return verdict.Evidence(result, found, tests or {}, dict.fromkeys(totals, "base"))


def said(known, **more):
    return verdict.sentences(known, "base", **more)


POWER = "A difference of 49 nats between the two would have been found in 80 % of such studies "
POWER += "(two-sided, .05, standard error 17 by sentence)."


def test_ahead_of_the_baseline_and_not_told_from_it():
    """The case that the study of June was in: an interval without zero, and a test that fails."""
    tests = {("one", "base"): verdict.Test(0.033, 0.4, True)}
    assert said(evidence({"base": 100, "one": 155}, tests, wide=50)) == [
        (
            "ALiBi-1-TI is ahead, 55 nats over no bias in 2 responses (95 %: 21 to 89, by sentence; "
            "held-out p = .033, Holm .40): not distinguishable from it, since the held-out test does not "
            "confirm it."
        ),
        POWER,
    ]


def test_few_seeds_find_less():
    """Half of an interval that has Student's t, and .84 standard errors, are to be passed."""
    found = Interval("one", "base", 1.0, -39.0, 41.0, "sentence", 5.0)
    assert verdict.detectable(found, 1) == pytest.approx(2.8016 * 5, rel=1e-4)
    assert verdict.detectable(found, 2) == pytest.approx(40 + 0.8416 * 5, rel=1e-4)


def test_a_lead_that_all_pairs_together_do_not_bear():
    assert said(evidence({"base": 100, "one": 155, "four": 120}))[0] == (
        "ALiBi-1-TI is ahead, 55 nats over no bias in 2 responses (95 %: 21 to 89, by sentence; not "
        "tested on held-out data): not distinguishable from it when all 3 pairs of LMs are counted."
    )


def test_a_lead_within_its_interval():
    tests = {("base", "one"): verdict.Test(0.5, 1.0, False)}
    assert said(evidence({"base": 100, "one": 101.1}, tests))[0] == (
        "ALiBi-1-TI is ahead, 1.1 nats over no bias in 2 responses (95 %: −33 to 35, by sentence; "
        "held-out p = .50, Holm 1): not distinguishable from it."
    )


def test_better_than_the_baseline_and_alone():
    tests = {("one", "base"): verdict.Test(0.0001, 0.0002, True)}
    assert said(evidence({"base": 100, "one": 200}, tests), simulated=["d0", "d1"]) == [
        (
            "ALiBi-1-TI predicts best, 100 nats over no bias in 2 responses (95 %: 66 to 134, by sentence; "
            "held-out p < .001, Holm < .001): better than it."
        ),
        POWER,
        "All of these readers are simulated.",
    ]


def test_better_than_the_baseline_and_not_alone():
    known = evidence({"base": 100, "one": 200, "four": 190, "dvm": 20})
    assert said(known, simulated=["d1"]) == [
        (
            "ALiBi-1-TI is ahead, 100 nats over no bias in 2 responses (95 %: 66 to 134, by sentence; not "
            "tested on held-out data): better than it."
        ),
        "ALiBi-1-TI cannot be told from ALiBi-4-TI, but from the others.",
        "Better than no bias: ALiBi-1-TI and ALiBi-4-TI.",
        "Worse than no bias: dVM-TI.",
        POWER,
        "The readers of UCL FP are simulated.",
    ]


def test_one_winner_of_many():
    assert said(evidence({"base": 100, "one": 200, "four": 105}))[:2] == [
        (
            "ALiBi-1-TI predicts best, 100 nats over no bias in 2 responses (95 %: 66 to 134, by sentence; "
            "not tested on held-out data): better than it."
        ),
        "It can be told from every other LM.",
    ]


def test_worse_ones_are_named_though_the_best_is_not_told_from_the_baseline():
    assert said(evidence({"base": 100, "one": 110, "dvm": 20}))[1:3] == [
        "ALiBi-1-TI cannot be told from no bias, but from the others.",
        "Worse than no bias: dVM-TI.",
    ]


def test_none_can_be_told_from_another():
    assert said(evidence({"base": 100, "one": 110, "four": 120}, responses=("UCL SPR",)))[:2] == [
        (
            "ALiBi-4-TI is ahead, 20 nats over no bias in 1 response (95 %: −14 to 54, by sentence; not "
            "tested on held-out data): not distinguishable from it."
        ),
        "None of the 3 LMs can be told from another.",
    ]


def test_the_baseline_is_ahead():
    tests = {("one", "base"): verdict.Test(0.2, 0.2, False)}
    assert said(evidence({"base": 112, "one": 100}, tests))[0] == (
        "no bias, the baseline, is ahead, 12 nats over ALiBi-1-TI, the next, in 2 responses (95 %: −22 "
        "to 46, by sentence; held-out p = .20, Holm .20): not distinguishable from it."
    )
    worse = evidence({"base": 212, "one": 100, "four": 150})
    assert said(worse)[0].startswith(
        "no bias, the baseline, predicts best, 62 nats over ALiBi-4-TI,"
    )
    assert said(worse)[0].endswith(": better than it.")
    assert said(worse)[1] == "It can be told from every other LM."


def test_held_out_data_say_the_reverse():
    tests = {("one", "base"): verdict.Test(0.01, 0.02, False)}
    assert said(evidence({"base": 100, "one": 200}, tests))[0] == (
        "ALiBi-1-TI is ahead, 100 nats over no bias in 2 responses (95 %: 66 to 134, by sentence; "
        "held-out p = .010, Holm .020, the other way): not distinguishable from it, since the held-out "
        "test says the reverse."
    )


def test_a_baseline_that_was_not_run():
    known = evidence({"one": 200, "four": 190})
    known = verdict.Evidence(known.result, known.intervals, {}, {"one": "base", "four": "base"})
    assert said(known, labels={"base": "no bias"})[:2] == [
        (
            "ALiBi-1-TI is ahead, 10 nats over ALiBi-4-TI, the next, in 2 responses (95 %: −24 to 44, by "
            "sentence; not tested on held-out data): not distinguishable from it."
        ),
        "The baseline, no bias, was not run.",
    ]


def test_one_lm_is_compared_with_its_base():
    assert said(evidence({"base": 625})) == [
        "no bias: ΔLogLik 625 nats in 2 responses (95 %: 535 to 705, by subject): its surprisal helps.",
        "There is no other LM to compare it with.",
    ]
    assert said(evidence({"base": 20}))[0] == (
        "no bias: ΔLogLik 20 nats in 2 responses (95 %: −70 to 100, by subject): not distinguishable "
        "from its base."
    )


def test_nothing_was_run():
    known = evidence({"base": 1, "one": 2})
    known.result.delta.loc["one", "UCL SPR"] = known.result.delta.loc["base", "UCL FP"] = float(
        "nan"
    )
    assert said(known) == ["Nothing of this experiment was run for all its LMs."]
    content = verdict.answer(known, "base")
    assert content["ranking"] == content["groups"] == [] and content["told_apart"] is None


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.00099, "< .001"), (0.001, "= .001"), (0.0333, "= .033"), (0.4, "= .40"), (0.996, "= 1")],
)
def test_p_is_written_as_in_text(p, text):
    assert verdict.write_p(p) == text


def test_names_are_listed():
    assert [verdict.listed(list("abc"[:n])) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_the_answer_as_data():
    tests = {
        ("one", "base"): verdict.Test(0.01, 0.02, True),
        ("four", "base"): verdict.Test(0.6, 0.6, True),
    }
    content = verdict.answer(
        evidence({"base": 100, "one": 200, "four": 190, "dvm": 20}, tests), "base"
    )
    assert [row["label"] for row in content["ranking"]] == [
        "ALiBi-1-TI",
        "ALiBi-4-TI",
        "no bias",
        "dVM-TI",
    ]
    # ALiBi-4-TI is 90 over the baseline, but its held-out test does not agree.
    assert [row["group"] for row in content["ranking"]] == ["a", "ab", "b", "c"]
    assert content["groups"] == [
        ["ALiBi-1-TI", "ALiBi-4-TI"],
        ["ALiBi-4-TI", "no bias"],
        ["dVM-TI"],
    ]
    first, _, third, _ = content["ranking"]
    assert first["over_baseline"]["value"] == pytest.approx(100) and first["over_baseline"]["apart"]
    assert first["over_baseline"]["p_holm"] == 0.02 and third["over_baseline"] is None
    assert first["delta_loglik"]["low"] == pytest.approx(110)
    assert len(content["pairs"]) == 6 and "all 6 pairs hold together" in content["told_apart"]
    assert content["verdict"] == " ".join(content["sentences"]) and content["baseline"] == "no bias"
    assert (
        json.loads(json.dumps(verdict._plain(content), allow_nan=False))["pairs"][0]["against"]
        == "four"
    )
