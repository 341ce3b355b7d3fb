"""Linking functions: a design's effects of interest as powers or logarithms of their predictors."""

import json

import numpy as np
import pytest
from made_readers import MIXED, files, parted, readings, texts

from recency.errors import InputError
from recency.regression import fit as regression
from recency.regression.designs import formula_of

COLUMNS = {"words": (), "responses": ()}
FORMULA = "time_ms ~ length + surprisal + (1 + surprisal | subject) + (1 | sentence)"
DESIGN = {**MIXED, "formula": FORMULA}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Write readers whose times grow with the root of surprisal."""
    folder = tmp_path_factory.mktemp("study")
    words = texts(folder, sentences=60)
    parted(folder, readings(words, lambda bits: 60 * np.sqrt(bits), residual=30.0), words)
    return folder


def fitted(folder, **design):
    out = folder / "lm.json"
    regression.main(files(folder), out=out, lm="lm", design=DESIGN | design, model="full")
    return json.loads(out.read_text())


def test_the_true_power_fits_best_in_sample_and_held_out(study):
    functions = ["log", 0.25, 0.5, 1.0, 1.5, "linear"]
    records = {function: fitted(study, linking=function) for function in functions}
    for key in ("fit", "exploratory_marginal"):
        loglik = {function: record["loglik"][key] for function, record in records.items()}
        assert max(loglik, key=loglik.get) == 0.5
        assert loglik[1.0] == pytest.approx(loglik["linear"], abs=1e-6)
        assert loglik[1.5] < loglik["linear"]


@pytest.mark.parametrize(
    ("function", "written"), [(0.5, "I(surprisal^0.5)"), ("log", "log1p(surprisal)")]
)
def test_it_is_the_formula_with_the_function_written_out(study, function, written):
    by_hand = FORMULA.replace("surprisal", written)
    expected = fitted(study, formula=by_hand, of_interest=[written])
    record = fitted(study, linking=function)
    assert record["loglik"] == expected["loglik"]
    assert record["fixed"] == expected["fixed"]


def test_the_base_is_that_of_the_linear_model():
    linear = formula_of(DESIGN, "base", COLUMNS)
    assert str(formula_of(DESIGN | {"linking": "log"}, "base", COLUMNS)) == str(linear)


def test_an_effect_that_is_no_plain_predictor_is_refused():
    design = DESIGN | {"formula": FORMULA.replace("surprisal", "log(surprisal)"), "linking": 0.5}
    with pytest.raises(InputError, match="plain predictors, and 'surprisal' is none"):
        formula_of(design, "full", COLUMNS)
