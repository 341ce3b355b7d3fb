"""ERP amplitudes through filters, regression, structure search and permutation test."""

import csv
import json
import math

import numpy as np
import pandas as pd
import pytest

from recency.errors import REFUSALS
from recency.evaluations.reading_times import permutation
from recency.reading import observations, responses, words
from recency.regression import fit as regression
from recency.regression import random_effects
from recency.regression.inputs import Inputs
from recency.regression.predictors import read_rows
from recency.regression.texts import read_texts

MIXED = {
    "formula": "amplitude_uv ~ length + surprisal + (1 + surprisal | subject) + (1 | sentence)",
    "of_interest": ["surprisal"],
    "base": "all",
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}
MEANS = MIXED | {"formula": "amplitude_uv ~ length + unigram + surprisal", "engine": "ols"}


def of_times(design):
    return design | {"formula": design["formula"].replace("amplitude_uv", "time_ms")}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Write, in uv/ and ms/, amplitudes of 8 readers of 24 sentences, and times of 100 + 25 × each."""
    folder = tmp_path_factory.mktemp("study")
    random = np.random.default_rng(5)
    n = 24 * 7
    text = pd.DataFrame({"item": np.repeat(["a", "b"], n // 2), "sentence": np.arange(n) // 7})
    text["position"], text["word_id"] = np.arange(n) % 7 + 1, np.arange(n)
    text["word"] = ["w" * k for k in random.integers(1, 10, n)]
    text.to_parquet(folder / "words.parquet")
    bits = {name: random.gamma(4, 2, n) for name in ("unigram", "lm", "other")}
    for name, values in bits.items():
        frame = pd.DataFrame({"word_id": np.arange(n), "surprisal_bits": values})
        frame.to_parquet(folder / f"{name}.parquet")
    subject, word = np.divmod(np.arange(8 * n), n)
    uv = 2 + random.normal(0, 1, 8)[subject] - 0.3 * bits["lm"][word] + random.normal(0, 1, 8 * n)
    slopes = random.permutation(np.linspace(-0.15, 0.15, 8))
    uv += random.normal(0, 0.5, 24)[word // 7] + slopes[subject] * bits["lm"][word]
    rows = pd.DataFrame({"subject": [f"s{s}" for s in subject], "word_id": word.astype("int32")})
    for unit, column, values in (("uv", "amplitude_uv", uv), ("ms", "time_ms", 100 + 25 * uv)):
        rows[column] = values
        rows.to_parquet(folder / f"{unit}.parquet", index=False)
        partition(folder, unit, [{"name": "low", "keep": f"{column} < {values.max() - 1e-9}"}])
        rows = rows.drop(columns=column)
    assert uv.min() < 0
    return folder


def partition(folder, unit, filters):
    (folder / unit).mkdir()
    observations.main(
        words=folder / "words.parquet",
        responses=folder / f"{unit}.parquet",
        filters=filters,
        **{f"out_{p}": folder / unit / f"{p}.parquet" for p in ("fit", "exploratory", "held_out")},
        out_counts=folder / unit / "counts.csv",
    )


def run(study, unit, out, design, model="full", lm="lm"):
    regression.main(
        Inputs(
            words=study / "words.parquet",
            fit=study / unit / "fit.parquet",
            exploratory=study / unit / "exploratory.parquet",
            surprisal=study / f"{lm}.parquet",
            unigram=study / "unigram.parquet",
        ),
        out=out,
        lm=lm,
        design=design,
        model=model,
    )
    return json.loads(out.read_text())


@pytest.mark.merge
@pytest.mark.parametrize("design", [MIXED, MEANS], ids=["mixed", "means"])
def test_amplitudes_fit_as_times_of_another_unit_do(study, tmp_path, design):
    fits = {}
    for model in ("full", "base"):
        uv = run(study, "uv", tmp_path / "uv.json", design, model)
        ms = run(study, "ms", tmp_path / "ms.json", of_times(design), model)
        assert uv["formula"].startswith("amplitude_uv ~ ") and ms["formula"].startswith(
            "time_ms ~ "
        )
        assert uv["converged"] and uv["n"] == ms["n"]
        for a, b in zip(uv["fixed"], ms["fixed"], strict=True):
            moved = 100 if a["term"] == "(Intercept)" else 0
            assert b["estimate"] == pytest.approx(25 * a["estimate"] + moved, abs=2e-3)
        for name, n in (("fit", "fit"), ("exploratory", "exploratory")):
            change = ms["n"][n] * math.log(25)
            assert uv["loglik"][name] - ms["loglik"][name] == pytest.approx(change, abs=1e-3)
        fits[model] = uv
    surprisal = next(e for e in fits["full"]["fixed"] if e["term"] == "surprisal")
    slope = surprisal["estimate"] / fits["full"]["scaling"]["surprisal"]["sd"]
    assert slope == pytest.approx(-0.3, abs=0.1)
    assert fits["full"]["loglik"]["exploratory"] > fits["base"]["loglik"]["exploratory"] + 10


def test_the_search_for_a_structure_keeps_the_response(study, tmp_path):
    files = {name: study / f"{name}.parquet" for name in ("words", "unigram")}
    for unit, design in (("uv", MIXED), ("ms", of_times(MIXED))):
        random_effects.main(
            Inputs(
                **files,
                fit=study / unit / "fit.parquet",
                surprisal=study / "lm.parquet",
            ),
            out=[tmp_path / f"{unit}.csv"],
            design=design,
            maximal="(1 + surprisal | subject) + (1 + length | sentence)",
        )
    uv, ms = (pd.read_csv(tmp_path / f"{unit}.csv") for unit in ("uv", "ms"))
    assert uv.formula.str.startswith("amplitude_uv ~ ").sum() == uv.chosen.sum() > 0
    assert [f.replace("amplitude_uv", "time_ms") for f in uv.formula.dropna()] == list(
        ms.formula.dropna()
    )


def test_a_design_of_the_other_kind_is_named(study, tmp_path):
    with pytest.raises(REFUSALS, match=r"fit.parquet has no column amplitude_uv, .* but time_ms;"):
        run(study, "ms", tmp_path / "a.json", MIXED)
    with pytest.raises(REFUSALS, match=r"fit.parquet has no column time_ms, .* but amplitude_uv;"):
        run(study, "uv", tmp_path / "a.json", of_times(MEANS))
    texts = read_texts(*(study / f"{name}.parquet" for name in ("words", "unigram", "lm")))
    with pytest.raises(REFUSALS, match="has no column time_ms"):
        read_rows(study / "uv" / "fit.parquet", texts, ["length"])


def test_amplitudes_have_no_logarithm(tmp_path):
    with pytest.raises(REFUSALS, match="amplitude_uv has no logarithm.*`response: raw`"):
        run(tmp_path, "uv", tmp_path / "a.json", MIXED | {"response": "log"})


def test_errors_of_times_and_amplitudes_are_not_pooled(study, tmp_path, capsys):
    fits = {}
    for lm in ("lm", "other"):
        for unit, design in (("uv", MIXED), ("ms", of_times(MIXED))):
            fits[lm, unit] = tmp_path / f"{lm}.{unit}.json"
            run(study, unit, fits[lm, unit], design, lm=lm)

    def table(*units):
        comparisons = [
            {"lm_a": "lm", "lm_b": "other", "dataset": "d", "measure": u, "design": u}
            for u in units
        ]
        permutation.main(
            held_out=[study / unit / "held_out.parquet" for unit in units],
            words=[study / "words.parquet"] * len(units),
            unigram=[study / "unigram.parquet"] * len(units),
            surprisal_a=[study / "lm.parquet"] * len(units),
            surprisal_b=[study / "other.parquet"] * len(units),
            fit_a=[fits["lm", unit] for unit in units],
            fit_b=[fits["other", unit] for unit in units],
            out=tmp_path / "p.csv",
            comparisons=comparisons,
            permutations=99,
        )
        return list(csv.DictReader((tmp_path / "p.csv").open()))

    uv, ms, pooled = table("uv", "ms")
    assert uv["n"] == ms["n"] and float(uv["difference"]) < 0
    assert float(ms["mse_a"]) == pytest.approx(625 * float(uv["mse_a"]), rel=1e-4)
    assert pooled["measure"] == "all" and pooled["n"] == "0"
    assert pooled["p"] == pooled["p_holm"] == pooled["mse_a"] == ""
    assert "errors of amplitude_uv and time_ms are not tested together" in capsys.readouterr().err
    alone, together = table("uv")
    assert (
        alone["difference"] == together["difference"]
        and together["p_observation_anticonservative"] == "0.01"
    )
    assert float(together["p"]) == pytest.approx(float(alone["p"]))
    assert float(alone["p"]) < 0.05


def test_erps_of_real_sentences_are_regressed(shared_data, tmp_path):
    """N400 of the 205 sentences, from the file to least squares, against statsmodels."""
    import statsmodels.api as sm

    file = {"measures": shared_data / "devarda2024" / "all_measures.human.tsv.gz"}
    words.main(file, "devarda2024", {}, tmp_path / "words.parquet")
    responses.main(
        file, tmp_path / "words.parquet", "devarda2024", "N400", {}, tmp_path / "uv.parquet"
    )
    partition(tmp_path, "uv", [{"name": "e", "keep": "not sentence_first and not sentence_last"}])
    text = pd.read_parquet(tmp_path / "words.parquet")
    random = np.random.default_rng(0)
    for name in ("unigram", "lm"):  # stand-ins for surprisal that grow with length
        bits = text.word.str.len() + random.gamma(4, 1, len(text))
        frame = pd.DataFrame({"word_id": text.word_id, "surprisal_bits": bits})
        frame.to_parquet(tmp_path / f"{name}.parquet")
    ours = run(tmp_path, "uv", tmp_path / "fit.json", MEANS)
    rows = pd.read_parquet(tmp_path / "uv" / "fit.parquet").set_index("word_id")
    x = pd.DataFrame({"length": text.word.str.len()})
    for name in ("unigram", "lm"):
        x[name] = pd.read_parquet(tmp_path / f"{name}.parquet").surprisal_bits
    theirs = sm.OLS(rows.amplitude_uv, sm.add_constant(x.loc[rows.index])).fit()
    assert ours["n"]["fit"] == len(rows) > 500 and rows.amplitude_uv.min() < 0
    assert ours["loglik"]["fit"] == pytest.approx(theirs.llf, rel=1e-12)
