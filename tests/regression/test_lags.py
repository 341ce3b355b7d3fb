"""Distributed lags: known functions are recovered; fits equal dense generalised least squares."""

import numpy as np
import pandas as pd
import pytest
from made_delays import LAGGED, TRUE_LAGS, by_lag, fitted, made
from made_readers import DESIGN, columns, files
from scipy.linalg import null_space

from recency.errors import InputError
from recency.regression.crossed import main as crossed
from recency.regression.delay_terms import delay_of
from recency.regression.designs import formula_of, read
from recency.regression.prediction import rows_for


@pytest.fixture(scope="module")
def lagged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lagged") / "data"
    made(folder, by_lag, mean=0)
    return folder


def test_lags_recover_a_known_function(lagged):
    (effect,) = fitted(lagged, LAGGED)["delays"]
    assert effect["x"] == [0, 1, 2, 3, 4] and effect["kind"] == "lags"
    z = (np.array(effect["effect"]) - TRUE_LAGS) / effect["se"]
    assert np.abs(z).max() < 3.5 and max(effect["se"]) < 0.3
    assert abs(effect["cumulative"] - TRUE_LAGS.sum()) < 3 * effect["cumulative_se"] < 1.5


def lag_matrix(folder, rows, most):
    """Return the surprisal of the words before (n, most + 1), by a loop over the words."""
    words = pd.read_parquet(folder / "words.parquet")
    bits, item = pd.read_parquet(folder / "lm.parquet").surprisal_bits, words["item"]
    found = np.zeros((len(rows), most + 1))
    for row, word in enumerate(rows.word_id):
        for lag in range(most + 1):
            if word >= lag and item[word - lag] == item[word]:
                found[row, lag] = bits[word - lag]
    return found


def test_lags_are_generalised_least_squares_under_the_constraint(tmp_path):
    """Coefficients of all lags, constrained to natural splines, of dense matrices: the same fit."""
    folder = tmp_path / "data"
    made(folder, by_lag, mean=0, subjects=10, sentences=20)
    design = LAGGED | {"formula": LAGGED["formula"].replace("surprisal, 4", "surprisal, 6, df = 3")}
    record = fitted(folder, design)
    (effect,) = record["delays"]
    rows = columns(folder)
    knots = delay_of("lags(surprisal, 6, df = 3)").knots
    assert knots.tolist() == [0, 2, 6]
    # The constraint: second differences are 0 at the lags between knots.
    second = np.diff(np.eye(7), 2, axis=0)
    free = null_space(second[[lag - 1 for lag in range(1, 6) if lag not in knots]])
    assert free.shape == (7, 3)
    X = np.column_stack([np.ones(len(rows)), rows.length, lag_matrix(folder, rows, 6) @ free])
    sds = {group: record["random"][group]["sd"][0] for group in ("subject", "sentence")}
    V = record["sigma"] ** 2 * np.eye(len(rows))
    for group, sd in sds.items():
        codes = pd.factorize(rows[group])[0]
        V += sd**2 * (codes[:, None] == codes)
    solved = np.linalg.solve(V, np.column_stack([X, rows.time_ms]))
    information = X.T @ solved[:, :-1]
    beta = np.linalg.solve(information, X.T @ solved[:, -1])
    covariance = free @ np.linalg.inv(information)[2:, 2:] @ free.T
    assert effect["effect"] == pytest.approx(free @ beta[2:], rel=1e-6)
    assert effect["se"] == pytest.approx(np.sqrt(np.diagonal(covariance)), rel=1e-6)
    assert effect["cumulative_se"] == pytest.approx(np.sqrt(covariance.sum()), rel=1e-6)
    e, (_, log_determinant) = rows.time_ms - X @ beta, np.linalg.slogdet(V)
    deviance = len(e) * np.log(2 * np.pi) + log_determinant + e @ np.linalg.solve(V, e)
    assert record["loglik"]["fit"] == pytest.approx(-deviance / 2, abs=1e-5)


def test_as_many_degrees_as_lags_are_the_columns_of_words_before(lagged):
    design = LAGGED | {"formula": LAGGED["formula"].replace("surprisal, 4", "surprisal, 2, df = 3")}
    plain = "surprisal + previous_surprisal + previous2_surprisal"
    whole = LAGGED | {"formula": LAGGED["formula"].replace("lags(surprisal, 4)", plain)}
    one, other = fitted(lagged, design), fitted(lagged, whole)
    assert one["loglik"] == pytest.approx(other["loglik"], abs=1e-6)
    slopes = [e["estimate"] / other["scaling"][e["term"]]["sd"] for e in other["fixed"][2:]]
    assert one["delays"][0]["effect"] == pytest.approx(slopes, rel=1e-6)


def test_lags_leave_the_base_and_are_scored_as_any_term(lagged):
    base = fitted(lagged, LAGGED, "base")
    assert base["formula"] == "time_ms ~ 1 + length + (1 | subject) + (1 | sentence)"
    full = fitted(lagged, LAGGED)
    gain = full["loglik"]["exploratory_marginal"] - base["loglik"]["exploratory_marginal"]
    one = fitted(
        lagged, LAGGED | {"formula": LAGGED["formula"].replace("lags(surprisal, 4)", "surprisal")}
    )
    assert gain > one["loglik"]["exploratory_marginal"] - base["loglik"]["exploratory_marginal"] > 0
    for model in ("full", "base"):
        crossed(files(lagged), lagged / f"{model}.parquet", lm="lm", design=LAGGED, model=model,
                dataset="made", draws=80)  # fmt: skip
    scores = [
        pd.read_parquet(lagged / f"{model}.parquet").loglik.sum() for model in ("full", "base")
    ]
    assert scores[0] > scores[1]


def test_lags_are_smooths_random_slopes_and_of_any_function(lagged):
    formula = "time_ms ~ lags(log1p(surprisal), 3) + (1 + lags(length, 2, df = 2) | subject)"
    record = fitted(lagged, LAGGED | {"formula": formula, "of_interest": ["surprisal"]})
    assert [e["predictor"] for e in record["delays"]] == ["log1p(surprisal)"]
    assert len(record["random"]["subject"]["terms"]) == 3
    rows = columns(lagged)
    weights = record["columns"]["`lags(log1p(surprisal), 3)0`"]["lags"]
    texts_ = files(lagged).texts(LAGGED)
    read_rows = rows_for(record, lagged / "fit.parquet", texts_)
    expected = np.log1p(lag_matrix(lagged, rows, 3)) @ weights
    assert read_rows.predictors["`lags(log1p(surprisal), 3)0`"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("term", "knots"),
    [
        ("lags(x, 1)", [0, 1]),
        ("lags(x, 4)", [0, 1, 2, 4]),
        ("lags(x, 8)", [0, 1, 2, 4, 8]),
        ("lags(x, 8, df = 9)", [*range(9)]),
        ("lags(x, 40, df = 2)", [0, 40]),
    ],
)
def test_knots_are_dense_at_short_lags(term, knots):
    assert delay_of(term).knots.tolist() == knots


def test_a_sharp_drop_leaves_no_waves(tmp_path):
    """An effect of the word alone is 0 at each later lag, between knots too."""
    folder = tmp_path / "data"
    made(folder, lambda lags, _, bits: (4 * bits[lags == 0]).sum(), mean=0)
    (effect,) = fitted(folder, LAGGED)["delays"]
    z = np.array(effect["effect"])[1:] / effect["se"][1:]
    assert np.abs(z).max() < 3 and effect["effect"][0] == pytest.approx(4, abs=0.4)


@pytest.mark.merge
@pytest.mark.parametrize(
    "changed",
    [
        {"family": "lognormal"},
        {"family": "gamma"},
        {"family": "shifted_lognormal"},
        {"sigma": "~ lags(surprisal, 2)"},
        {"engine": "lme4"},
        {"engine": "ols", "formula": "time_ms ~ length + lags(surprisal, 4)"},
    ],
)
def test_lags_are_of_every_family_and_engine(lagged, changed):
    (effect,) = fitted(lagged, LAGGED | changed)["delays"]
    values = np.array(effect["effect"])
    assert np.isfinite(effect["se"]).all() and values[0] > values[2] > values[4]
    assert values[0] > 10 * effect["se"][0]


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("lags(surprisal)", "write lags"),
        ("lags(surprisal, 0)", "whole number from 1 to 40"),
        ("lags(surprisal, 2.5)", "whole number from 1 to 40"),
        ("lags(surprisal, 4, df = 9)", "df is 9, and is a whole number from 2 to 5"),
        ("lags(surprisal, 4, k = 3)", "write lags"),
        ("lags(poly(surprisal, 2), 4)", "numeric predictor"),
        ("lags(1, 4)", "numeric predictor"),
        ("deconvolve(2, kernel = gamma)", "numeric predictor"),
        ("deconvolve(surprisal)", "write deconvolve"),
        ("deconvolve(surprisal, 4)", "write deconvolve"),
        ("deconvolve(surprisal, kernel = gama)", "did you mean 'gamma'"),
    ],
)
def test_wrong_terms_are_refused(term, message):
    design = DESIGN | {"formula": f"time_ms ~ {term} + (1 | subject)"}
    with pytest.raises(InputError, match=message):
        read(design)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"engine": "gam", "formula": "time_ms ~ lags(surprisal, 4)"}, "gam"),
        ({"family": "gamma", "formula": "time_ms ~ deconvolve(surprisal, kernel = gamma) + (1 | subject)"},
         "linear mixed model"),
        ({"engine": "ols", "formula": "time_ms ~ deconvolve(surprisal, kernel = gamma)"},
         "linear mixed model"),
        ({"formula": "time_ms ~ lags(condition, 2) + (1 | subject)"}, "condition"),
    ],
)  # fmt: skip
def test_delays_of_other_engines_and_columns_are_refused(changed, message):
    with pytest.raises(InputError, match=message):
        formula_of(DESIGN | changed, "full", {"responses": ["condition"]})


def test_a_data_frame_has_no_lags():
    import recency

    frame = pd.DataFrame({"y": np.arange(20.0), "x": np.arange(20.0) ** 2, "g": ["a", "b"] * 10})
    with pytest.raises(InputError, match="words in reading order"):
        recency.lmer("y ~ lags(x, 2) + (1 | g)", frame, engine="search")
