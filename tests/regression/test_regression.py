"""The rules regression and delta_loglik, from files to files."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from crosslmm.recorded import scaling_of
from recency.errors import InputError
from recency.evaluations.reading_times import delta_loglik
from recency.regression import fit as regression
from recency.regression.designs import formula_of
from recency.regression.inputs import Inputs
from recency.regression.predictors import read_rows
from recency.regression.texts import read_bits, read_texts

FORMULA = (
    "time_ms ~ length + position + unigram + surprisal + previous_surprisal"
    " + (1 + length + surprisal | subject) + (1 | sentence)"
)
DESIGN = {
    "formula": FORMULA,
    "of_interest": ["surprisal", "previous_surprisal"],
    "base": "fixed",
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}


def write_surprisal(path, bits, corrected=None):
    frame = pd.DataFrame({"word_id": np.arange(len(bits), dtype=np.int32), "surprisal_bits": bits})
    frame["corrected_bits"] = np.full(len(bits), np.nan) if corrected is None else corrected
    frame["tokens"] = frame["context_tokens"] = np.int32(1)
    frame.sample(frac=1, random_state=0).to_parquet(path, index=False)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Write words, surprisal and observations of 16 readers of 60 sentences, in 4 items."""
    folder = tmp_path_factory.mktemp("study")
    random = np.random.default_rng(0)
    position = np.concatenate([np.arange(1, n + 1) for n in random.integers(5, 12, 60)])
    sentence = np.cumsum(position == 1) - 1
    n = len(position)
    length = random.integers(1, 11, n)
    words = pd.DataFrame(
        {
            "item": [f"story {s // 15}" for s in sentence],
            "sentence": sentence.astype(np.int32),
            "position": position.astype(np.int32),
            "word_id": np.arange(n, dtype=np.int32),
            "word": ["w" * k for k in length],
        }
    )
    words.to_parquet(folder / "words.parquet", index=False)
    unigram = 6 + 0.6 * length + random.normal(0, 2, n)
    bits = np.abs(0.6 * unigram + random.normal(0, 3, n))
    write_surprisal(folder / "unigram.parquet", unigram)
    write_surprisal(folder / "lm.parquet", bits, bits * 1.1)
    subject, word = np.divmod(np.arange(16 * n), n)
    time = 300 + random.normal(0, 60, 16)[subject] + 6 * length[word] + 5 * bits[word]
    time += random.normal(0, 20, 60)[sentence[word]] + random.normal(0, 50, len(word))
    rows = pd.DataFrame(
        {
            "subject": [f"s{s:02}" for s in subject],
            "word_id": word.astype(np.int32),
            "time_ms": time,
            "previous_fixated": (word + subject) % 3 > 0,
        }
    )
    part = (subject + sentence[word]) % 4
    for name, parts in {"fit": (0, 1), "exploratory": (2,), "held_out": (3,)}.items():
        rows[np.isin(part, parts)].to_parquet(folder / f"{name}.parquet", index=False)
    return folder


def run(study, out, surprisal="lm.parquet", model="full", **design):
    regression.main(
        Inputs(
            words=study / "words.parquet",
            fit=study / "fit.parquet",
            exploratory=study / "exploratory.parquet",
            surprisal=surprisal and study / surprisal,
            unigram=study / "unigram.parquet",
        ),
        out=out,
        lm="lm" if surprisal else "none",
        design=DESIGN | design,
        model=model,
    )
    return json.loads(out.read_text())


def test_word_predictors_by_hand(tmp_path):
    pd.DataFrame(
        {
            "item": ["a", "a", "a", "b", "b"],
            "sentence": [0, 0, 1, 2, 2],
            "position": [1, 2, 1, 1, 2],
            "word_id": range(5),
            "word": ["The", "cat,", "A", "naïve", "I"],
        }
    ).to_parquet(tmp_path / "words.parquet")
    write_surprisal(tmp_path / "unigram.parquet", [4.0, 9.0, 5.0, 12.0, 6.0])
    write_surprisal(tmp_path / "lm.parquet", [1.0, 2.0, 4.0, 8.0, 16.0])
    files = [tmp_path / f"{name}.parquet" for name in ("words", "unigram", "lm")]
    texts = read_texts(*files)
    assert {name: list(values) for name, values in texts.predictors.items()} == {
        "length": [3, 4, 1, 5, 1],
        "position": [1, 2, 1, 1, 2],
        "unigram": [4, 9, 5, 12, 6],
        "surprisal": [1, 2, 4, 8, 16],
        "previous_length": [0, 3, 4, 0, 5],
        "previous_unigram": [0, 4, 9, 0, 12],
        "previous_surprisal": [0, 1, 2, 0, 8],  # across sentences, not across items
    }
    # The word before counts even where its own observation was filtered out.
    pd.DataFrame(
        {
            "subject": ["s2", "s2", "s1"],
            "word_id": [2, 4, 3],
            "time_ms": [300.0, 400.0, 200.0],
            "previous_fixated": [None, None, None],
        }
    ).to_parquet(tmp_path / "fit.parquet")
    rows = read_rows(tmp_path / "fit.parquet", texts, ["previous_surprisal", "length"])
    assert list(rows.predictors["previous_surprisal"]) == [2, 8, 0]
    assert rows.groups["subject"].names == ["s1", "s2"]
    assert list(rows.groups["subject"].codes) == [1, 1, 0]
    assert rows.groups["sentence"].names == ["1", "2"]
    assert scaling_of(rows.predictors)["previous_surprisal"] == {
        "mean": pytest.approx(10 / 3),
        "sd": pytest.approx(np.std([2, 8, 0], ddof=1)),
    }
    with pytest.raises(InputError, match="previous_fixated is missing in 3 of 3"):
        read_rows(tmp_path / "fit.parquet", texts, ["previous_fixated"])


@pytest.mark.parametrize(
    "text,message",
    [
        ("log(time_ms) ~ length + (1 | subject)", "response: log"),
        ("time_ms ~ poly(length) + (1 | subject)", "',' is missing"),
        ("time_ms ~ poly(length, 2, raw = TRUE) + (1 | subject)", "cannot be read"),
        (
            "time ~ length + (1 | subject)",
            "left side is 'time' and must be time_ms or amplitude_uv",
        ),
        ("time_ms ~ length", "no random term"),
        ("time_ms ~ lenght + (1 | subject)", "did you mean 'length'"),
        ("time_ms ~ log(lenght) + (1 | subject)", "did you mean 'length'"),
        ("time_ms ~ length + (1 | subjects)", "did you mean 'subject'"),
        ("time_ms ~ length + (1 | sentence + subject)", "no grouping variable"),
    ],
)
def test_formulas_that_cannot_be_used_are_named(text, message):
    with pytest.raises(InputError, match=message):
        formula_of(DESIGN | {"of_interest": []} | {"formula": text}, "full")


def test_full_and_base(study, tmp_path):
    full = run(study, tmp_path / "full.json")
    base = run(study, tmp_path / "base.json", model="base")
    assert full["converged"] and base["converged"]
    assert full["formula"] == FORMULA.replace("~ length", "~ 1 + length")
    assert [effect["term"] for effect in full["fixed"]] == [
        "(Intercept)",
        *("length", "position", "unigram", "surprisal", "previous_surprisal"),
    ]
    assert [effect["term"] for effect in base["fixed"]][1:] == ["length", "position", "unigram"]
    assert base["random"]["subject"]["terms"] == ["(Intercept)", "length", "surprisal"]
    observations = [pd.read_parquet(study / f"{p}.parquet") for p in ("fit", "exploratory")]
    assert full["n"] == {
        "fit": len(observations[0]),
        "exploratory": len(observations[1]),
        "subjects": 16,
        "sentences": 60,
    }
    effect = next(e for e in full["fixed"] if e["term"] == "surprisal")
    assert effect["estimate"] / full["scaling"]["surprisal"]["sd"] == pytest.approx(5, abs=0.6)
    assert full["random"]["sentence"]["sd"][0] == pytest.approx(20, rel=0.3)
    assert full["sigma"] == pytest.approx(50, rel=0.1)
    for name in ("fit", "exploratory", "exploratory_marginal"):
        assert full["loglik"][name] > base["loglik"][name]
    # Slopes by subject take most of the effect up where its fixed part is left out.
    assert full["loglik"]["fit"] > base["loglik"]["fit"] + 5
    assert full["loglik"]["fit_conditional"] > full["loglik"]["fit"]


def test_statistics_of_the_fit_partition_are_frozen(study, tmp_path):
    full = run(study, tmp_path / "full.json")
    words = pd.read_parquet(study / "words.parquet")
    fit = pd.read_parquet(study / "fit.parquet")
    length = words["word"].str.len()[fit["word_id"]]
    assert full["scaling"]["length"] == {
        "mean": pytest.approx(length.mean()),
        "sd": pytest.approx(length.std()),
    }
    # The exploratory log-likelihood, from the JSON file by hand.
    rows = pd.read_parquet(study / "exploratory.parquet")
    lm = pd.read_parquet(study / "lm.parquet").set_index("word_id")["surprisal_bits"].sort_index()
    words["previous"] = lm.shift(fill_value=0).where(words["item"] == words["item"].shift(), 0)
    unigram = pd.read_parquet(study / "unigram.parquet").set_index("word_id")["surprisal_bits"]
    values = {
        "(Intercept)": np.ones(len(rows)),
        "length": words["word"].str.len()[rows["word_id"]],
        "position": words["position"][rows["word_id"]],
        "unigram": unigram[rows["word_id"]],
        "surprisal": lm[rows["word_id"]],
        "previous_surprisal": words["previous"][rows["word_id"]],
    }
    for name, statistics in full["scaling"].items():
        values[name] = (np.array(values[name]) - statistics["mean"]) / statistics["sd"]
    predicted = sum(effect["estimate"] * values[effect["term"]] for effect in full["fixed"])
    for row, (subject, word) in enumerate(zip(rows["subject"], rows["word_id"], strict=True)):
        by_subject = full["ranef"]["subject"][subject]
        terms = full["random"]["subject"]["terms"]
        predicted[row] += sum(
            b * values[term][row] for b, term in zip(by_subject, terms, strict=True)
        )
        predicted[row] += full["ranef"]["sentence"].get(str(words["sentence"][word]), [0])[0]
    residuals = (rows["time_ms"] - predicted) / full["sigma"]
    expected = -0.5 * (residuals**2 + np.log(2 * np.pi * full["sigma"] ** 2)).sum()
    assert full["loglik"]["exploratory"] == pytest.approx(expected, rel=1e-11)


def test_two_runs_write_the_same_bytes(study, tmp_path):
    run(study, tmp_path / "a.json")
    run(study, tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_engines_agree(study, tmp_path):
    ours = run(study, tmp_path / "a.json")
    lme4s = run(study, tmp_path / "b.json", engine="lme4")
    assert ours["loglik"]["fit"] > lme4s["loglik"]["fit"] - 1e-4
    assert ours["loglik"]["exploratory"] == pytest.approx(lme4s["loglik"]["exploratory"], abs=0.05)


def test_a_base_without_an_lm(study, tmp_path):
    base = run(study, tmp_path / "a.json", surprisal=None, model="base", base="all")
    assert base["random"]["subject"]["terms"] == ["(Intercept)", "length"]
    assert base == run(study, tmp_path / "b.json", model="base", base="all") | {"lm": "none"}
    with pytest.raises(InputError, match="no language model"):
        run(study, tmp_path / "c.json", surprisal=None, model="base")


def test_log_response_corrected_surprisal_and_fixation(study, tmp_path):
    formula = FORMULA.replace("+ unigram", "+ unigram + previous_fixated")
    result = run(
        study, tmp_path / "a.json", formula=formula, response="log", surprisal="lm.parquet"
    )
    assert result["converged"] and result["response"] == "log"
    assert next(e for e in result["fixed"] if e["term"] == "(Intercept)")["estimate"] < 7
    assert 0.6 < result["scaling"]["previous_fixated"]["mean"] < 0.7
    design = DESIGN | {"surprisal": "corrected"}
    regression.main(
        Inputs(
            words=study / "words.parquet",
            fit=study / "fit.parquet",
            exploratory=study / "exploratory.parquet",
            surprisal=study / "lm.parquet",
            unigram=study / "unigram.parquet",
        ),
        out=tmp_path / "b.json",
        lm="lm",
        design=design,
        model="full",
    )
    corrected = json.loads((tmp_path / "b.json").read_text())
    plain = run(study, tmp_path / "c.json")
    assert corrected["scaling"]["surprisal"]["mean"] == pytest.approx(
        1.1 * plain["scaling"]["surprisal"]["mean"]
    )


@pytest.mark.parametrize(
    "design,message",
    [
        ({"formula": FORMULA.replace("unigram", "unigrm")}, "did you mean 'unigram'"),
        ({"of_interest": ["frequency"]}, "no fixed effect"),
        ({"engine": "lmer"}, "engine is 'lmer' and must be one of cross_products, lme4"),
    ],
)
def test_designs_that_cannot_be_used_are_named_before_anything_is_read(tmp_path, design, message):
    with pytest.raises(InputError, match=message):
        run(tmp_path, tmp_path / "out.json", **design)


def test_missing_surprisal_is_named(study, tmp_path):
    write_surprisal(tmp_path / "lm.parquet", [1.0, 2.0])
    with pytest.raises(InputError, match=r"lm.parquet: surprisal_bits .* the first at word_id 2"):
        read_texts(study / "words.parquet", study / "unigram.parquet", tmp_path / "lm.parquet")
    with pytest.raises(InputError, match="use `surprisal: plain`"):
        read_bits(tmp_path / "lm.parquet", "corrected_bits", 2)


def test_a_model_that_cannot_be_fitted_is_a_result(study, tmp_path):
    for name in ("fit", "exploratory"):
        rows = pd.read_parquet(study / f"{name}.parquet")
        rows[rows["subject"] == "s02"].to_parquet(tmp_path / f"{name}.parquet")
    for name in ("words", "lm", "unigram"):
        (tmp_path / f"{name}.parquet").write_bytes((study / f"{name}.parquet").read_bytes())
    failed = run(tmp_path, tmp_path / "full.json")
    assert not failed["converged"] and "lme4: " in failed["note"]
    assert failed["fixed"] == [] and set(failed["loglik"].values()) == {None}
    cell = {"lm": "lm", "label": "LM", "dataset": "d", "measure": "SPR", "design": "spr"}
    run(tmp_path, tmp_path / "base.json", model="base")
    delta_loglik.main(
        [tmp_path / "full.json"], [tmp_path / "base.json"], tmp_path / "t.csv", cells=[cell]
    )
    (row,) = csv.DictReader((tmp_path / "t.csv").open())
    assert row["delta_loglik"] == "" and row["converged"] == "False"
    assert row["note"].startswith("full: lme4: ")


def test_delta_loglik_table(study, tmp_path):
    full = run(study, tmp_path / "full.json")
    base = run(study, tmp_path / "base.json", model="base")
    cell = {"lm": "lm", "label": "L/M", "dataset": "d", "measure": "SPR", "design": "spr"}
    files = ([tmp_path / "full.json"] * 2, [tmp_path / "base.json"] * 2)
    delta_loglik.main(*files, tmp_path / "t.csv", cells=[cell, cell | {"measure": "FP"}])
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert [row["measure"] for row in rows] == ["SPR", "FP"]
    assert list(rows[0]) == delta_loglik.COLUMNS
    assert (rows[0]["endpoint"], rows[0]["n"]) == ("conditional", str(full["n"]["exploratory"]))
    assert rows[0]["delta_loglik"] == rows[0]["delta_loglik_conditional"]
    for column, key in delta_loglik.KEYS.items():
        assert float(rows[0][column]) == full["loglik"][key] - base["loglik"][key]
    base["n"]["fit"] += 1
    (tmp_path / "base.json").write_text(json.dumps(base))
    with pytest.raises(InputError, match="different observations"):
        delta_loglik.compare(tmp_path / "full.json", tmp_path / "base.json")
