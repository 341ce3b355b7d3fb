"""Least squares on subject means, categorical predictors, parts of ΔLogLik, seeds."""

import csv
import json
import math

import numpy as np
import pandas as pd
import pytest

from crosslmm.factors import levels
from crosslmm.stats.bootstrap import interval
from project import load
from recency.errors import InputError
from recency.evaluations.reading_times import delta_loglik, seeds
from recency.regression import fit as regression
from recency.regression import random_effects
from recency.regression.inputs import Inputs
from recency.regression.texts import read_texts

MIXED = {
    "formula": "time_ms ~ length + surprisal + (1 + surprisal | subject) + (1 | sentence)",
    "of_interest": ["surprisal"],
    "base": "all",
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}
MEANS = MIXED | {"formula": "time_ms ~ length + unigram + surprisal", "engine": "ols"}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Write words with parts of speech, surprisal and observations of 12 readers, 40 sentences."""
    folder = tmp_path_factory.mktemp("study")
    random = np.random.default_rng(1)
    position = np.tile(np.arange(1, 9), 40)
    sentence = np.repeat(np.arange(40), 8)
    n = len(position)
    words = pd.DataFrame({"item": [f"story {s // 10}" for s in sentence], "sentence": sentence})
    words["position"], words["word_id"] = position, np.arange(n)
    words["word"] = ["w" * k for k in random.integers(1, 11, n)]
    words["pos"] = random.choice(["NOUN", "OTHER", "VERB"], n, p=[0.3, 0.5, 0.2])
    words = words.astype({"sentence": "int32", "position": "int32", "word_id": "int32"})
    words.to_parquet(folder / "words.parquet", index=False)
    bits = {name: random.gamma(4, 2, n) for name in ("unigram", "lm", "other")}
    bits["lm"] += 0.5 * bits["unigram"]
    for name, values in bits.items():
        frame = pd.DataFrame({"word_id": np.arange(n), "surprisal_bits": values})
        frame.to_parquet(folder / f"{name}.parquet")
    subject, word = np.divmod(np.arange(12 * n), n)
    slope = 4 + 6 * (words["pos"] == "VERB").to_numpy()[word] + random.normal(0, 2, 12)[subject]
    time = 300 + random.normal(0, 50, 12)[subject] + slope * bits["lm"][word]
    time += random.normal(0, 15, 40)[sentence[word]] + random.normal(0, 40, len(word))
    rows = pd.DataFrame({"subject": [f"s{s:02}" for s in subject], "word_id": word.astype("int32")})
    rows["time_ms"], rows["previous_fixated"] = time, None
    part = (subject + sentence[word]) % 4
    for name, parts in {"fit": (0, 1), "exploratory": (2,)}.items():
        rows[np.isin(part, parts)].to_parquet(folder / f"{name}.parquet", index=False)
    return folder


def run(study, out, design, model="full", lm="lm", words="words.parquet"):
    regression.main(
        Inputs(
            words=study / words,
            fit=study / "fit.parquet",
            exploratory=study / "exploratory.parquet",
            surprisal=study / f"{lm}.parquet",
            unigram=study / "unigram.parquet",
        ),
        out=out / f"{lm}.{model}.json",
        out_observations=out / f"{lm}.{model}.parquet",
        lm=lm,
        design=design,
        model=model,
    )
    return json.loads((out / f"{lm}.{model}.json").read_text())


def means(study, partition="fit"):
    """Return what least squares sees, made with pandas."""
    words = pd.read_parquet(study / "words.parquet")
    for name in ("unigram", "lm"):
        words[name] = pd.read_parquet(study / f"{name}.parquet")["surprisal_bits"]
    rows = pd.read_parquet(study / f"{partition}.parquet")
    mean = rows.groupby("word_id")["time_ms"].mean()
    words = words.loc[mean.index].assign(length=words["word"].str.len(), time=mean)
    return words


def test_least_squares_is_that_of_statsmodels(study, tmp_path):
    import statsmodels.api as sm

    frame = means(study)
    made = {model: run(study, tmp_path, MEANS, model) for model in ("full", "base")}
    full = sm.OLS(frame["time"], sm.add_constant(frame[["length", "unigram", "lm"]])).fit()
    base = sm.OLS(frame["time"], sm.add_constant(frame[["length", "unigram"]])).fit()
    ours = made["full"]
    assert ours["loglik"]["fit"] == pytest.approx(full.llf, rel=1e-12)
    assert ours["aic"] == pytest.approx(full.aic + 2)  # sigma is a parameter, as in R
    assert ours["bic"] == pytest.approx(full.bic + math.log(len(frame)))
    assert ours["aic"] - made["base"]["aic"] == pytest.approx(full.aic - base.aic)
    surprisal = next(e for e in ours["fixed"] if e["term"] == "surprisal")
    sd = ours["scaling"]["surprisal"]["sd"]
    assert surprisal["estimate"] / sd == pytest.approx(full.params["lm"])
    assert surprisal["se"] / sd == pytest.approx(full.bse["lm"])
    assert ours["n"]["fit"] == len(frame) and ours["n"]["subjects"] == 12
    assert ours["random"] == ours["ranef"] == {}

    others = means(study, "exploratory")
    predicted = full.predict(sm.add_constant(others[["length", "unigram", "lm"]]))
    residuals = (others["time"] - predicted) / ours["sigma"]
    expected = -0.5 * (residuals**2 + np.log(2 * np.pi * ours["sigma"] ** 2)).sum()
    assert ours["loglik"]["exploratory"] == pytest.approx(expected)
    assert ours["loglik"]["exploratory_marginal"] == ours["loglik"]["exploratory"]


@pytest.mark.parametrize(
    "change,message",
    [
        ({"formula": MIXED["formula"]}, "`engine: ols` supports none"),
        ({"engine": "cross_products"}, "set `engine: ols`"),
        ({"formula": "time_ms ~ length + foil_length + surprisal"}, "words do not have"),
    ],
)
def test_designs_that_do_not_go_together(study, tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        run(study, tmp_path, MEANS | change)


def test_parts_of_speech_and_their_interaction(study, tmp_path):
    design = MIXED | {"formula": MIXED["formula"].replace("surprisal +", "pos*surprisal +", 1)}
    full = run(study, tmp_path, design)
    assert full["reference"] == {"pos": "pos_OTHER"}  # the most frequent one
    estimates = {e["term"]: e["estimate"] for e in full["fixed"]}
    assert list(estimates) == [
        *("(Intercept)", "length", "pos_NOUN", "pos_VERB", "surprisal"),
        *("pos_NOUN:surprisal", "pos_VERB:surprisal"),
    ]
    sd = full["scaling"]["surprisal"]["sd"]
    assert estimates["pos_VERB:surprisal"] / sd == pytest.approx(6, abs=1)
    assert estimates["pos_NOUN:surprisal"] / sd == pytest.approx(0, abs=1)
    assert full["scaling"]["pos_VERB"] == {"mean": 0.0, "sd": 1.0}
    base = run(study, tmp_path, design, "base")
    assert base["formula"] == (
        "time_ms ~ 1 + length + pos_NOUN + pos_VERB + (1 | subject) + (1 | sentence)"
    )
    words = pd.read_parquet(study / "words.parquet").drop(columns="pos")
    words.to_parquet(study / "plain.parquet", index=False)
    with pytest.raises(InputError, match="must give them a column pos"):
        run(study, tmp_path, design, words="plain.parquet")


def test_least_squares_with_parts_of_speech(study, tmp_path):
    import statsmodels.formula.api as smf

    design = MEANS | {"formula": "time_ms ~ length + pos*surprisal"}
    ours = run(study, tmp_path, design)
    full = smf.ols("time ~ length + C(pos) * lm", means(study)).fit()
    assert ours["loglik"]["fit"] == pytest.approx(full.llf, rel=1e-12)


def test_parts_and_intervals_of_delta_loglik(study, tmp_path):
    full, base = (run(study, tmp_path, MIXED, model) for model in ("full", "base"))
    parts = [pd.read_parquet(tmp_path / f"lm.{model}.parquet") for model in ("full", "base")]
    rows = pd.read_parquet(study / "exploratory.parquet")
    assert list(parts[0]["subject"].astype(str)) == list(rows["subject"])
    assert list(parts[0]["word_id"]) == list(rows["word_id"])
    for fit, part in zip((full, base), parts, strict=True):
        assert part["loglik"].sum() == pytest.approx(fit["loglik"]["exploratory"])
    cell = {"lm": "lm", "label": "LM", "dataset": "d", "measure": "SPR", "design": "x"}
    arguments = {
        "full": [tmp_path / "lm.full.json"],
        "base": [tmp_path / "lm.base.json"],
        "cells": [cell],
        "full_observations": [tmp_path / "lm.full.parquet"],
        "base_observations": [tmp_path / "lm.base.parquet"],
    }
    for name in "ab":
        delta_loglik.main(
            out=tmp_path / f"{name}.csv", out_subjects=tmp_path / f"{name}.parquet", **arguments
        )
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    (row,) = csv.DictReader((tmp_path / "a.csv").open())
    assert list(row) == [*delta_loglik.COLUMNS, *delta_loglik.INTERVALS]
    value = float(row["delta_loglik"])
    for cluster in ("subject", "sentence"):
        assert float(row[f"low_{cluster}"]) < value < float(row[f"high_{cluster}"])
    subjects = pd.read_parquet(tmp_path / "a.parquet")
    assert subjects["delta_loglik"].sum() == pytest.approx(value)
    assert subjects["n"].sum() == len(rows) and len(subjects) == 12
    parts[1].iloc[1:].to_parquet(tmp_path / "lm.base.parquet")
    with pytest.raises(InputError, match="have different observations"):
        delta_loglik.main(out=tmp_path / "c.csv", **arguments)


def test_interval_covers_the_sum_of_the_population():
    """Of samples of 40 clusters, the 95 % interval has the expected sum in about 95 %."""
    random, hits = np.random.default_rng(0), 0
    clusters = np.repeat(np.arange(40), 5)
    for seed in range(300):
        values = 1 + np.repeat(random.normal(0, 3, 40), 5) + random.normal(0, 1, 200)
        low, high = interval(values, clusters, 500, seed)
        hits += low <= 200 <= high
    assert 0.89 <= hits / 300 <= 0.98
    assert all(math.isnan(end) for end in interval(values, np.zeros(200)))


def test_variance_of_seeds_is_kept_apart_from_that_of_items():
    random = np.random.default_rng(0)
    found = []
    for _ in range(200):
        values = 5 + random.normal(0, 2, (6, 1)) + random.normal(0, 7, (1, 80))
        found.append(seeds.components(values + random.normal(0, 3, (6, 80))))
    for name, truth in (("seed", 2), ("item", 7), ("residual", 3)):
        assert np.mean([getattr(f, name) ** 2 for f in found]) == pytest.approx(truth**2, rel=0.1)
    alone = seeds.components(values[:1])
    assert math.isnan(alone.seed) and alone.item > 0


def test_table_of_seeds(tmp_path):
    random = np.random.default_rng(3)
    sentence = np.repeat(np.arange(30), 4)
    item = random.normal(0, 1, 30)[sentence]
    full, base, cells = [], [], []
    for lm, gain in (("A", 1.0), ("B", 0.2)):
        for seed in (1, 2, 3):
            frame = pd.DataFrame({"subject": "s", "sentence": sentence, "word_id": range(120)})
            path = tmp_path / f"{lm}{seed}"
            frame.assign(loglik=0.0).to_parquet(f"{path}.base.parquet")
            part = gain + item + random.normal(0, 0.3) + random.normal(0, 0.5, 120)
            frame.assign(loglik=part).to_parquet(f"{path}.full.parquet")
            full.append(f"{path}.full.parquet")
            base.append(f"{path}.base.parquet")
            cells.append({"lm": path.name, "but_for_seed": lm, "seed": seed, "dataset": "d"})
            cells[-1] |= {"measure": "SPR", "design": "x"}
    seeds.main(full, base, tmp_path / "t.csv", cells=cells)
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert [(r["lm"], r["against"], r["seeds"]) for r in rows] == [
        ("A", "", "3"),
        ("B", "", "3"),
        ("A", "B", "3"),
    ]
    values = [float(r["delta_loglik"]) for r in rows]
    assert values[2] == pytest.approx(values[0] - values[1])
    # What sentences do to both LMs alike is no part of their difference.
    assert float(rows[2]["se_sentences"]) < 0.3 * float(rows[0]["se_sentences"])
    with pytest.raises(InputError, match="have the seed 1"):
        seeds.main(full[:1] * 2, base[:1] * 2, tmp_path / "t.csv", cells=cells[:1] * 2)


def test_search_for_the_random_effects(study, tmp_path):
    """By sentence nothing but the intercept varies; by subject intercept and surprisal do."""
    for name in "ab":
        random_effects.main(
            Inputs(
                words=study / "words.parquet",
                fit=study / "fit.parquet",
                unigram=study / "unigram.parquet",
                surprisal=study / "lm.parquet",
            ),
            out=[tmp_path / f"{name}{suffix}" for suffix in (".csv", ".html", ".tex")],
            design=MIXED,
        )
    for suffix in (".csv", ".html", ".tex"):
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()
    path = pd.read_csv(tmp_path / "a.csv", keep_default_na=False)
    steps = path[path["chosen"]]
    assert list(steps["step"]) == list(range(len(steps)))
    assert (
        steps["formula"]
        .iloc[0]
        .endswith("(1 + length + surprisal | subject) + (1 + length + surprisal | sentence)")
    )
    last = steps.iloc[-1]
    assert last["converged"] == "True" and last["singular"] == "False"
    assert "surprisal | subject)" in last["formula"]
    assert steps["loglik"].astype(float).is_monotonic_decreasing
    for step, tried in path[path["step"] > 0].groupby("step"):
        loss = tried["loss"].astype(float)
        assert loss[tried["chosen"]].item() <= loss.min() + 0.01, step
    assert "might have dropped" in (tmp_path / "a.html").read_text()
    assert last["formula"] in (tmp_path / "a.html").read_text()
    random_effects.main(
        Inputs(
            words=study / "words.parquet",
            fit=study / "fit.parquet",
            unigram=study / "unigram.parquet",
            surprisal=study / "lm.parquet",
        ),
        out=[tmp_path / "c.csv"],
        design=MIXED,
        maximal="(1 | subject) + (1 | sentence)",
    )
    assert len(pd.read_csv(tmp_path / "c.csv")) == 1


def test_levels_stay_in_natural_order():
    assert levels(np.array([10, 9, 10])).names == ["9", "10"]


def test_the_designs_of_the_config_fit(study, tmp_path):
    designs = load()["designs"]
    words = pd.read_parquet(study / "words.parquet")
    words["pos"] = words["pos"].str.lower()
    words["foil_length"] = np.random.default_rng(2).integers(2, 9, len(words))
    words.to_parquet(study / "more.parquet", index=False)
    expected = {
        "maze": {"foil_length", "length:foil_length", "surprisal"},
        "part_of_speech": {"length:unigram", "pos_verb:surprisal", "pos_noun:surprisal"},
        "item_means": {"length", "unigram", "surprisal"},
    }
    for name, terms in expected.items():
        full = run(study, tmp_path, designs[name], words="more.parquet")
        base = run(study, tmp_path, designs[name], "base", words="more.parquet")
        found = {effect["term"] for effect in full["fixed"]}
        assert terms <= found and full["converged"], full["note"]
        left = {effect["term"] for effect in base["fixed"]}
        assert left == {term for term in found if "surprisal" not in term}
        assert full["loglik"]["fit"] > base["loglik"]["fit"]
        assert ("aic" in full) == (name == "item_means")
    # The verbs' slope is 6 ms steeper than the others'.
    full = run(study, tmp_path, designs["part_of_speech"], words="more.parquet")
    verb = next(e for e in full["fixed"] if e["term"] == "pos_verb:surprisal")
    sd = full["scaling"]["surprisal"]["sd"]
    assert verb["estimate"] / sd == pytest.approx(6, abs=3 * verb["se"] / sd)


def test_a_text_scored_without_a_beginning(study, tmp_path):
    words = pd.read_parquet(study / "words.parquet")
    bits = pd.read_parquet(study / "lm.parquet")
    firsts = words.index[~words["item"].duplicated()]
    design = MIXED | {"formula": MIXED["formula"].replace("length", "length + previous_surprisal")}
    known = run(study, tmp_path, design)
    bits.loc[firsts, "surprisal_bits"] = math.nan
    bits.to_parquet(study / "open.parquet")
    with pytest.raises(InputError, match=r"surprisal is missing for word_id 0.*first_word: rest"):
        run(study, tmp_path, design, lm="open")
    folder = tmp_path / "filtered"
    folder.mkdir()
    for name in ("fit", "exploratory"):
        rows = pd.read_parquet(study / f"{name}.parquet")
        rows[~rows["word_id"].isin(firsts)].to_parquet(folder / f"{name}.parquet")
    for name in ("words", "unigram", "lm", "open"):
        (folder / f"{name}.parquet").write_bytes((study / f"{name}.parquet").read_bytes())
    without, full = run(folder, tmp_path, design, lm="open"), run(folder, tmp_path, design)
    assert without["n"] == full["n"] != known["n"]
    # What stands before a second word has no surprisal, as nothing stands before a first.
    assert without["scaling"]["surprisal"] == full["scaling"]["surprisal"]
    texts = read_texts(
        folder / "words.parquet", folder / "unigram.parquet", folder / "open.parquet",
        first_may_lack=True,
    )  # fmt: skip
    assert (texts.predictors["previous_surprisal"][firsts + 1] == 0).all()
    assert np.isnan(texts.predictors["surprisal"][firsts]).all()
    with pytest.raises(
        InputError, match="no finite value for 4 of 320 words, the first at word_id 0"
    ):
        read_texts(folder / "words.parquet", folder / "unigram.parquet", folder / "open.parquet")
