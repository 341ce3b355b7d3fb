"""Permutation tests: against enumeration, their level, clusters, speed, and the rule's table."""

import csv
import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from crosslmm.factors import Levels
from crosslmm.stats.crossed_samples import two_way
from recency.evaluations.reading_times import permutation
from recency.evaluations.reading_times.permutation import Errors, compare, holm, permutation_p


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 12])
def test_p_is_that_of_all_sign_changes(n):
    differences = np.random.default_rng(n).normal(0.4, 1, n)
    sums = np.array(list(product((1, -1), repeat=n))) @ differences
    exact = np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-9)
    p = permutation_p(differences, 40_000, seed=3)
    assert p == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / 40_000) + 1e-4)


def test_equal_models_have_p_one():
    assert permutation_p(np.zeros(20), 99, seed=0) == 1.0


def test_p_is_uniform_where_models_do_not_differ():
    random = np.random.default_rng(0)
    p = np.sort([permutation_p(random.normal(size=40), 199, seed) for seed in range(600)])
    distance = np.abs(p - (np.arange(600) + 0.5) / 600).max()
    assert distance < 1.63 / math.sqrt(600) + 1 / 200  # Kolmogorov-Smirnov at 0.01


def test_smallest_p_and_seed():
    differences = np.full(60, 1.0)
    assert permutation_p(differences, 999, seed=0) == 1 / 1000
    noisy = np.random.default_rng(0).normal(0.1, 1, 200)
    assert permutation_p(noisy, 999, seed=0) == permutation_p(noisy, 999, seed=0)
    assert permutation_p(noisy, 999, seed=0) != permutation_p(noisy, 999, seed=1)


def test_clusters_are_turned_together():
    """Twenty copies of ten observations tell no more than the ten."""
    once = np.random.default_rng(2).normal(0.3, 1, 10)
    clusters = np.tile(np.arange(10) * 3, 20)
    p = permutation_p(np.tile(once, 20), 20_000, seed=0, clusters=clusters)
    assert p == pytest.approx(permutation_p(once, 20_000, seed=0), abs=0.02)
    assert p > 2 * permutation_p(np.tile(once, 20), 20_000, seed=0)


def test_holm():
    assert holm([0.01, 0.04, math.nan, 0.03, 0.005]) == pytest.approx(
        [0.03, 0.06, math.nan, 0.06, 0.02], nan_ok=True
    )
    assert holm([0.6, 0.5]) == [1.0, 1.0]


def test_measures_of_a_dataset_share_their_clusters():
    def errors(squared, names):
        levels = Levels(np.arange(len(names)), names)
        return Errors(np.array(squared), {"subject": levels, "sentence": levels})

    pairs = [
        ("d", errors([3.0, 1.0], ["s1", "s2"]), errors([1.0, 0.0], ["s1", "s2"])),
        ("d", errors([2.0, 5.0], ["s2", "s3"]), errors([0.0, 0.0], ["s2", "s3"])),
        ("e", errors([1.0], ["s1"]), errors([0.0], ["s1"])),
    ]
    assert list(permutation._pool_clusters(pairs, "subject", {})) == [0, 1, 1, 2, 3]
    row = compare(pairs, 99, 0)
    assert row["n"] == 5 and row["difference"] == pytest.approx(11 / 5)
    assert row["mse_a"] - row["mse_b"] == pytest.approx(row["difference"])


def crossed(random, subjects=12, sentences=12, words=2.0):
    """Return errors of two equally good LMs: a difference of `words` by sentence, and noise."""
    groups = {
        "subject": Levels(np.repeat(np.arange(subjects), sentences), [*map(str, range(subjects))]),
        "sentence": Levels(np.tile(np.arange(sentences), subjects), [*map(str, range(sentences))]),
    }
    n = subjects * sentences
    by_sentence = random.normal(0, words, sentences)[groups["sentence"].codes]
    return Errors(by_sentence + random.normal(0, 1, n), groups), Errors(np.zeros(n), groups)


@pytest.mark.merge
@pytest.mark.parametrize(("by_subject", "by_sentence"), [(0.0, 0.5), (0.5, 0.5), (0.5, 0.0)])
def test_p_keeps_its_level_where_subjects_sentences_or_both_vary(by_subject, by_sentence):
    """Where both do neither p by subject nor p by sentence does, and by observation none ever."""
    random, repeats = np.random.default_rng(8), 300
    found = {"p": 0, "p_subject": 0, "p_sentence": 0, "p_observation_anticonservative": 0}
    for repeat in range(repeats):
        a, b = crossed(random, 20, 20, words=by_sentence)
        a.squared += random.normal(0, by_subject, len(a.groups["subject"].names))[
            a.groups["subject"].codes
        ]
        row = compare([("d", a, b)], 199, repeat)
        found = {name: count + (row[name] < 0.05) for name, count in found.items()}
    assert found["p"] / repeats < 0.08
    assert found["p_observation_anticonservative"] / repeats > 0.1
    if by_subject and by_sentence:
        assert min(found["p_subject"], found["p_sentence"]) / repeats > 0.08


def test_p_is_that_of_two_way_clustered_t():
    """By hand, for equal numbers of observations; seeds add their own variance."""
    random = np.random.default_rng(5)
    a, b = crossed(random, subjects=9, sentences=7)
    values = (a.squared - b.squared).reshape(9, 7)
    variance, (rows, df_rows), (columns, df_columns) = two_way(values - values.mean())
    df = variance**2 / (rows**2 / df_rows + columns**2 / df_columns)
    expected = 2 * stats.t.sf(abs(values.sum()) / math.sqrt(variance), df)
    assert compare([("d", a, b)], 99, 0)["p"] == pytest.approx(expected)
    seeds = [
        replace(a, squared=a.squared + shift, seed=str(k)) for k, shift in enumerate((-0.4, 0.4))
    ]
    two = compare([("d", seed, replace(b, seed=seed.seed)) for seed in seeds], 99, 0)
    assert two["p"] > expected


def test_with_a_single_cluster_p_is_the_other_clustered_one():
    random = np.random.default_rng(9)
    alone = compare([("d", *crossed(random, subjects=1, sentences=40))], 199, 0)
    assert math.isnan(alone["p_subject"]) and alone["p"] == alone["p_sentence"]
    single = compare([("d", *crossed(random, subjects=1, sentences=1))], 199, 0)
    assert math.isnan(single["p"]) and math.isnan(compare([], 199, 0)["p"])
    assert 0 < single["p_observation_anticonservative"] <= 1


def test_permutations_are_not_drawn_one_by_one(monkeypatch):
    """Eight signs of all permutations come from one draw: a bit each, whatever the machine."""
    drawn = []

    class Counting(np.random.Generator):
        def bytes(self, length):
            drawn.append(length)
            return super().bytes(length)

    make = lambda seed: Counting(np.random.PCG64(seed))
    expected = permutation_p(np.arange(-90.0, 110.0), 5_000, seed=0)
    monkeypatch.setattr(np.random, "default_rng", make)
    assert permutation_p(np.arange(-90.0, 110.0), 5_000, seed=0) == expected
    assert drawn == [5_000] * 25


@pytest.mark.merge
def test_table(tmp_path):
    """The rule's own way, on fits written by hand: an intercept and one slope."""
    words = pd.DataFrame({"item": "a", "sentence": np.repeat([0, 1, 2], 10)})
    words["position"], words["word_id"], words["word"] = 1, np.arange(30), "word"
    words.to_parquet(tmp_path / "words.parquet")
    random = np.random.default_rng(0)
    bits = {"good": random.normal(10, 2, 30), "bad": random.normal(10, 2, 30)}
    for lm, values in bits.items():
        frame = pd.DataFrame({"word_id": np.arange(30), "surprisal_bits": values})
        frame.to_parquet(tmp_path / f"{lm}.parquet")
        fit = {
            "scaling": {"surprisal": {"mean": 10.0, "sd": 2.0}},
            "fixed": [
                {"term": "(Intercept)", "estimate": 300.0},
                {"term": "surprisal", "estimate": 20.0},
            ],
            "random": {"subject": {"terms": ["(Intercept)"]}},
            "ranef": {"subject": {"s0": [15.0]}},
            "sigma": 30.0,
            "surprisal": "plain",
            "response": "raw",
            "note": "",
        }
        (tmp_path / f"{lm}.json").write_text(json.dumps(fit))
    (tmp_path / "none.json").write_text(json.dumps(fit | {"sigma": None, "note": "refused"}))
    rows = pd.DataFrame({"subject": ["s0"] * 30 + ["s1"] * 30, "word_id": [*range(30)] * 2})
    slope = 10 * (bits["good"] - 10)[rows["word_id"]]
    rows["time_ms"] = 300 + slope + 15 * (rows["subject"] == "s0") + random.normal(0, 3, 60)
    rows["previous_fixated"] = None
    rows.to_parquet(tmp_path / "held_out.parquet")

    names = [("good", "bad", "FP"), ("good", "bad", "GP"), ("good", "none", "FP")]
    comparisons = [
        {"lm_a": a, "lm_b": b, "dataset": "d", "measure": measure, "design": "x"}
        for a, b, measure in names
    ]
    for out in ("1.csv", "2.csv"):
        permutation.main(
            held_out=[tmp_path / "held_out.parquet"] * 3,
            words=[tmp_path / "words.parquet"] * 3,
            unigram=[tmp_path / "bad.parquet"] * 3,
            surprisal_a=[tmp_path / "good.parquet"] * 3,
            surprisal_b=[tmp_path / "bad.parquet"] * 3,
            fit_a=[tmp_path / "good.json"] * 3,
            fit_b=[tmp_path / f"{b}.json" for _, b, _ in names],
            out=tmp_path / out,
            comparisons=comparisons,
            permutations=999,
            seed=1,
        )
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    table = list(csv.DictReader((tmp_path / "1.csv").open()))
    assert [(r["lm_b"], r["measure"], r["n"]) for r in table] == [
        ("bad", "FP", "60"),
        ("bad", "GP", "60"),
        ("none", "FP", "0"),
        ("bad", "all", "120"),
        ("none", "all", "0"),
    ]
    assert float(table[0]["mse_a"]) == pytest.approx(9, rel=0.5)
    assert float(table[0]["difference"]) < -100
    assert table[0]["p_observation_anticonservative"] == "0.001"
    assert float(table[0]["p_subject"]) > 0.2  # two subjects cannot show more
    for row in (table[0], table[1], table[3]):
        assert 0 < float(row["p"]) < 1
    family = [float(row["p"]) for row in table[:2]]
    assert [float(row["p_holm"]) for row in table[:2]] == pytest.approx(holm(family))
    assert table[3]["p_holm"] == table[3]["p"]
    empty = ("p", "mse_b", "p_holm", "p_observation_anticonservative")
    assert [table[2][key] for key in empty] == [""] * 4


@pytest.mark.merge
def test_kinds_are_tested_by_the_means_of_their_lms(tmp_path, monkeypatch):
    random = np.random.default_rng(4)
    names = ["a", "b", "c", "base"]
    kinds = {"a": "fading", "b": "fading", "c": "gated", "base": "attention"}
    levels = Levels(np.arange(50) % 5, list("stuvw"))
    squared = {
        (lm, measure): random.gamma(2, 1 + (lm == "c"), 50) for lm in names for measure in "xy"
    }

    def errors(held_out, words, unigram, surprisal, fit, others):
        return Errors(squared[surprisal, held_out], dict.fromkeys(permutation.CLUSTERS, levels))

    monkeypatch.setattr(permutation, "squared_errors", errors)
    monkeypatch.setattr(permutation.shared_texts, "find", lambda words: {})
    pairs = [(lm, measure) for lm in names[:3] for measure in "xy"]
    permutation.main(
        held_out=[measure for _, measure in pairs],
        words=["w"] * 6,
        unigram=[],
        surprisal_a=[lm for lm, _ in pairs],
        surprisal_b=["base"] * 6,
        fit_a=["f"] * 6,
        fit_b=["f"] * 6,
        out=tmp_path / "p.csv",
        comparisons=[{"lm_a": a, "lm_b": "base", "dataset": "d", "measure": m} for a, m in pairs],
        kinds=kinds,
        out_kinds=tmp_path / "kinds.csv",
        permutations=999,
    )
    rows = pd.read_csv(tmp_path / "kinds.csv").set_index(["lm_a", "lm_b", "measure"])
    assert len(rows) == 3 * 3 and set(rows[rows.dataset == "all"].n) == {100}
    found = rows.loc["fading", "gated", "all"]
    fading = [(squared["a", m] + squared["b", m]) / 2 for m in "xy"]
    gated = [squared["c", m] for m in "xy"]
    assert found.difference == pytest.approx(np.mean(fading) - np.mean(gated))
    p = rows[rows.dataset == "all"].p.tolist()
    assert rows[rows.dataset == "all"].p_holm.tolist() == pytest.approx(holm(p))
    # A kind of which an LM has no fit is not tested.
    errors = {"a": Errors(gated[0], {}), "b": None, "c": Errors(gated[1], {})}
    made = permutation._by_kind({("d", "x", ""): errors}, {k: kinds[k] for k in "abc"})
    assert permutation._test_pairs(made, 99, 0)[0]["n"] == 0


@pytest.mark.merge
def test_lms_against_the_baseline_are_a_family_of_their_own(tmp_path, monkeypatch):
    """Three tests against the baseline by Holm's method, and one of another pair as it is."""
    p = {"a": 0.01, "b": 0.02, "c": 0.4}
    names = [("a", "base"), ("b", "base"), ("c", "base"), ("a", "b")]
    monkeypatch.setattr(
        permutation,
        "compare",
        lambda pairs, permutations, seed, statistic, places: {"p": pairs[0][2].squared},
    )

    def errors(held_out, words, unigram, surprisal, fit, others):
        return Errors(0.03 if fit == "a-b" else p.get(fit.split("-")[0], 1.0), {})

    monkeypatch.setattr(permutation, "squared_errors", errors)
    monkeypatch.setattr(permutation.shared_texts, "find", lambda words: {})
    files = {
        key: ["x"] * 4 for key in ("held_out", "words", "unigram", "surprisal_a", "surprisal_b")
    }
    permutation.main(
        **files,
        fit_a=["1"] * 4,
        fit_b=["a-base", "b-base", "c-base", "a-b"],
        out=tmp_path / "p.csv",
        comparisons=[{"lm_a": a, "lm_b": b, "dataset": "d", "measure": "FP"} for a, b in names],
        baselines=dict.fromkeys("abc", "base"),
    )
    rows = list(csv.DictReader((tmp_path / "p.csv").open()))
    for part in (rows[:4], rows[4:]):  # by response, and over all
        assert [float(row["p_holm"]) for row in part] == pytest.approx([0.03, 0.04, 0.4, 0.03])
