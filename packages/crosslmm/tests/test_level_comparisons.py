"""Contrasts of fitted models: other codings of the same model, and averages of predictions."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from crosslmm import lmer
from crosslmm.design import CODINGS
from crosslmm.errors import InputError
from test_lmer import reading

FORMULA = "reading.time ~ condition * centred + native + (1 + condition | reader) + (1 | text)"


@pytest.fixture(scope="module")
def data():
    made = reading()
    return made.assign(centred=made["length"] - made["length"].mean())


@pytest.mark.parametrize("kind", [*CODINGS, "pairwise"])
def test_comparisons_are_coefficients_of_another_coding(data, kind):
    """At the mean of a centred covariate a coefficient of a coding is the comparison it is named for."""
    ours = lmer(FORMULA, data, engine="search").contrasts("condition", kind)
    if kind == "pairwise":
        for pair, row in ours.iterrows():
            first, second = pair.split(" - ")
            order = [second, first, *({"easy", "hard", "odd"} - {first, second})]
            releveled = data.assign(condition=pd.Categorical(data["condition"], order))
            term = lmer(FORMULA, releveled, engine="search").fixed.loc[f"condition{first}"]
            assert (row["estimate"], row["se"]) == pytest.approx((term.estimate, term.se), rel=1e-4)
        return
    coded = lmer(FORMULA, data, engine="search", contrasts={"condition": kind})
    terms = coded.fixed.iloc[1:3]
    scale = np.array([2.0, 3.0]) if kind == "helmert" else np.ones(2)  # R's helmert is unscaled
    assert ours["estimate"].to_numpy()[:2] == pytest.approx(
        terms["estimate"].to_numpy() * scale, rel=1e-4
    )
    assert ours["se"].to_numpy()[:2] == pytest.approx(terms["se"].to_numpy() * scale, rel=1e-4)
    if kind == "sum":
        assert ours["estimate"].sum() == pytest.approx(0, abs=1e-8) and len(ours) == 3


def test_means_weigh_other_columns_levels_equally(data):
    fit = lmer("reading.time ~ condition * native + length + (1 | reader)", data, engine="search")
    found = fit.contrasts("condition", "treatment")["estimate"]
    at = {
        condition: np.mean(
            [
                fit.predict(
                    pd.DataFrame({"condition": [condition], "native": [native], "length": [5.0]}),
                    random=False,
                )
                for native in (True, False)
            ]
        )
        for condition in ("easy", "hard", "odd")
    }
    assert found["hard - easy"] == pytest.approx(at["hard"] - at["easy"])
    assert found["odd - easy"] == pytest.approx(at["odd"] - at["easy"])
    native = fit.contrasts("native")
    assert list(native.index) == ["FALSE - TRUE"]


def test_p_values_are_corrected_by_holm(data):
    table = lmer(FORMULA, data, engine="search").contrasts("condition")
    p = 2 * norm.sf(np.abs(table["estimate"] / table["se"]))
    assert table["p"].to_numpy() == pytest.approx(p)
    order = np.argsort(p)
    expected = np.minimum(np.maximum.accumulate(np.array([3, 2, 1]) * p[order]), 1)
    assert table["p_holm"].to_numpy()[order] == pytest.approx(expected)


def test_lme4s_models_have_comparisons_too(data):
    data = data.assign(hit=(data["reading.time"] > 340) * 1)
    fit = lmer("hit ~ condition + (1 | reader)", data, family="binomial")
    found = fit.contrasts("condition", "treatment")
    assert found["estimate"].to_numpy() == pytest.approx(fit.fixed["estimate"].to_numpy()[1:])
    assert found["se"].to_numpy() == pytest.approx(fit.fixed["se"].to_numpy()[1:])


def test_what_is_refused(data):
    fit = lmer(FORMULA, data, engine="search")
    with pytest.raises(InputError, match="no categorical column 'conditions'; did you mean"):
        fit.contrasts("conditions")
    with pytest.raises(InputError, match="no categorical column"):
        fit.contrasts("centred")
    with pytest.raises(InputError, match="'pairs'; known: pairwise|did you mean 'pairwise'"):
        fit.contrasts("condition", "pairs")


def test_empty_cells_and_separation_are_said(data):
    lacking = data[~((data["condition"] == "hard") & data["native"])]
    fit = lmer("reading.time ~ condition * native + (1 | reader)", lacking, engine="search")
    assert (
        "1 of 6 cells of condition:native are empty, the first condition hard, native TRUE"
        in fit.note
    )
    assert "conditionhard:nativeTRUE" in fit.note
    full = lmer("reading.time ~ condition * native + (1 | reader)", data, engine="search")
    assert "empty" not in full.note
    random = np.random.default_rng(0)
    hit = np.where(data["condition"] == "odd", 1, random.integers(0, 2, len(data)))
    separated = lmer("hit ~ condition + (1 | text)", data.assign(hit=hit), family="binomial")
    odd = int((data["condition"] == "odd").sum())
    assert f"separation: conditionodd predicts the event without error in {odd}" in separated.note
    fine = data.assign(hit=random.integers(0, 2, len(data)))
    assert "separation" not in lmer("hit ~ condition + (1 | text)", fine, family="binomial").note
