"""Delayed effects: lags and kernels recover known response functions, and agree with each other."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_readers import DESIGN, columns, files, parted, texts
from scipy.interpolate import CubicSpline
from scipy.linalg import null_space
from scipy.stats import gamma as gamma_distribution
from scipy.stats import multivariate_normal

from recency.errors import InputError
from recency.evaluations.delays import delay_curves, figure, table
from recency.reading.onsets import onsets
from recency.regression import fit as regression
from recency.regression import kernels
from recency.regression.crossed import main as crossed
from recency.regression.delay_terms import delay_of
from recency.regression.designs import formula_of, read
from recency.regression.prediction import predict, read_fit, rows_for

LAGGED = DESIGN | {
    "formula": "time_ms ~ length + lags(surprisal, 4) + (1 | subject) + (1 | sentence)"
}
TRUE_LAGS = np.array([4.0, 3.0, 1.5, 0.7, 0.3])


def kernel_design(kernel, inner="surprisal"):
    term = f"deconvolve({inner}, kernel = {kernel})"
    return DESIGN | {"formula": f"time_ms ~ length + {term} + (1 | subject)", "of_interest": [term]}


def made(folder, effect, subjects=14, sentences=90, pace=(300.0, 40.0), seed=3, items=9, mean=None):
    """Write readings in which `effect(lags, seconds, bits)` is what the words so far add to a time.

    Each word's onset is that of the word before plus its time; bits are minus their `mean`.
    """
    words = texts(folder, sentences, seed, items)
    random = np.random.default_rng(seed)
    mean = words.bits.mean() if mean is None else mean
    item, bits = words["item"].to_numpy(), words.bits.to_numpy() - mean
    first = np.array([np.flatnonzero(item == each)[0] for each in item])
    length = words.word.str.len().to_numpy()
    rows = []
    for subject in range(subjects):
        own, onset = random.normal(0, 30), np.zeros(len(words))
        for w in range(len(words)):
            if w > first[w]:
                onset[w] = onset[w - 1] + rows[-1][2]
            so_far = np.arange(first[w], w + 1)
            added = effect(w - so_far, (onset[w] - onset[so_far]) / 1000, bits[so_far])
            time = pace[0] + own + added + 4 * length[w] + random.normal(0, pace[1])
            rows.append((f"s{subject:02}", w, max(time, 60.0)))
    rows = pd.DataFrame(rows, columns=["subject", "word_id", "time_ms"]).astype(
        {"word_id": "int32"}
    )
    parted(folder, rows, words)
    plain = pd.read_parquet(folder / "words.parquet")
    onsets(plain, rows, "made.SPR").to_parquet(folder / "onsets.parquet", index=False)
    return rows


def by_lag(lags, _, bits):
    near = lags < len(TRUE_LAGS)
    return (TRUE_LAGS[lags[near]] * bits[near]).sum()


def fitted(folder, design, model="full", **more):
    path = folder / f"{model}.json"
    inputs = replace(files(folder), onsets=folder / "onsets.parquet")
    regression.main(inputs, path, lm="lm", design=design, model=model, confirm=False, **more)
    return read_fit(path)


@pytest.fixture(scope="module")
def lagged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lagged") / "data"
    made(folder, by_lag, mean=0)
    return folder


@pytest.fixture(scope="module")
def exponential(tmp_path_factory):
    """Return readings with the kernel 6 exp(-t / 0.4 s)."""
    folder = tmp_path_factory.mktemp("exponential") / "data"
    made(folder, lambda _, t, bits: (6 * np.exp(-t / 0.4) * bits).sum(), pace=(300, 120))
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
    # The null space of the constraints: deviations from the spline through the values at knots.
    through = CubicSpline(knots, np.eye(7)[knots], bc_type="natural")(np.arange(7))
    free = null_space(np.eye(7) - through)
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
    loglik = multivariate_normal.logpdf(rows.time_ms, X @ beta, V)
    assert record["loglik"]["fit"] == pytest.approx(loglik, abs=1e-5)


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


def test_a_kernel_is_recovered_with_its_coefficient(exponential):
    (effect,) = fitted(exponential, kernel_design("exponential"))["delays"]
    mean, log_se = effect["parameters"]["mean_s"], effect["parameters_se_of_log"]["mean_s"]
    assert abs(np.log(mean / 0.4)) < 3 * log_se < 0.6
    truth = 6 * np.exp(-np.array(effect["x"]) / 0.4)
    z = (np.array(effect["effect"]) - truth) / effect["se"]
    assert np.abs(z[:60]).max() < 3.5
    assert abs(effect["coefficient"] - 6 * 0.4) < 3 * effect["coefficient_se"] < 1.0


@pytest.mark.merge
@pytest.mark.parametrize("kernel", ["gamma", "shifted_gamma"])
def test_a_gamma_kernel_is_recovered(tmp_path, kernel):
    shift = 0.3 if kernel == "shifted_gamma" else 0.0
    scale, folder = 0.15, tmp_path / "data"

    def effect(_, t, bits):
        return (3 * gamma_distribution.pdf(t + shift, 4, scale=scale) * bits).sum()

    made(folder, effect, subjects=24, pace=(250, 120))
    (found,) = fitted(folder, kernel_design(kernel))["delays"]
    x = np.array(found["x"])
    truth = 3 * gamma_distribution.pdf(x + shift, 4, scale=scale)
    inside = x < 1.2
    assert np.abs(found["effect"] - truth)[inside].max() < 0.25 * truth.max()
    se = np.maximum(found["se"], 0.02 * truth.max())
    assert (np.abs(found["effect"] - truth) / se)[inside].max() < 4
    if kernel == "gamma":
        for name, value in {"shape": 4.0, "mean_s": 4 * scale}.items():
            error = np.log(found["parameters"][name] / value)
            assert abs(error) < 3 * found["parameters_se_of_log"][name]


@pytest.mark.merge
def test_a_kernel_of_the_rate_is_estimated_beside_another(tmp_path):
    """Fast readers' words follow one another closely: the rate takes that, surprisal its own part."""
    folder = tmp_path / "data"

    def effect(_, t, bits):
        return (6 * np.exp(-t / 0.4) * bits).sum() - (20 * np.exp(-t / 1.0)).sum()

    made(folder, effect, subjects=20, pace=(360, 120))
    design = kernel_design("exponential")
    rate = "deconvolve(1, kernel = exponential)"
    design["formula"] = design["formula"].replace("length", f"length + {rate}")
    record = fitted(folder, design)
    surprisal, of_rate = sorted(record["delays"], key=lambda each: each["predictor"] == "rate")
    assert of_rate["predictor"] == "rate"
    for found, size, mean in ((surprisal, 6, 0.4), (of_rate, -20, 1.0)):
        z = (found["coefficient"] - size * mean) / found["coefficient_se"]
        error = (
            np.log(found["parameters"]["mean_s"] / mean) / found["parameters_se_of_log"]["mean_s"]
        )
        assert abs(z) < 3.5 and abs(error) < 3.5
    base = fitted(folder, design, "base")
    assert [each["predictor"] for each in base["delays"]] == ["rate"]


def test_a_profile_is_the_best_of_the_direct_likelihoods(exponential):
    """Columns convolved by a loop, as columns of the words: no mean on a grid fits better."""
    record = fitted(exponential, kernel_design("exponential"))
    (effect,) = record["delays"]
    rows, onset = columns(exponential), pd.read_parquet(exponential / "onsets.parquet")
    bits = pd.read_parquet(exponential / "lm.parquet").surprisal_bits.to_numpy()
    item = pd.read_parquet(exponential / "words.parquet")["item"]
    of = {key: group for key, group in onset.groupby(["subject", onset.word_id.map(item)])}
    sample = rows.iloc[::97]
    column = []
    for row in sample.itertuples():
        group = of[row.subject, row.item]
        here = group.onset_ms[group.word_id == row.word_id].iloc[0]
        so_far = group[group.onset_ms <= here]
        density = kernels.exponential(
            (here - so_far.onset_ms) / 1000, effect["parameters"]["mean_s"]
        )
        column.append((density * (bits - bits.mean())[so_far.word_id]).sum())
    texts_ = replace(files(exponential), onsets=exponential / "onsets.parquet").texts(LAGGED)
    read_rows = rows_for(record, exponential / "fit.parquet", texts_)
    name = "`deconvolve(surprisal, kernel = exponential)`"
    assert read_rows.predictors[name][::97] == pytest.approx(np.array(column), rel=1e-7)
    assert np.isfinite(predict(record, read_rows)).all()
    # Its maximum: changed parameters of the record lower the likelihood of least squares.
    values = []
    for factor in (0.8, 1.0, 1.25):
        changed = json.loads(json.dumps(record))
        changed["columns"][name]["parameters"]["mean_s"] *= factor
        x = rows_for(changed, exponential / "fit.parquet", texts_).predictors[name]
        subject = read_rows.groups["subject"].codes
        X = np.column_stack([read_rows.predictors["length"], x, np.eye(14)[subject]])
        values.append(np.linalg.lstsq(X, read_rows.y)[1][0])
    assert values[1] < values[0] and values[1] < values[2]


def test_aic_counts_the_parameters_of_kernels(exponential):
    inputs = replace(files(exponential, exploratory=False), onsets=exponential / "onsets.parquet")
    path, design = exponential / "whole.json", kernel_design("exponential")
    regression.main(inputs, path, lm="lm", design=design, model="full", confirm=False)
    record = read_fit(path)
    assert record["aic"] == pytest.approx(2 * (3 + 1 + 1 + 1) - 2 * record["loglik"]["fit"])


def test_lags_and_deconvolution_agree_at_a_constant_pace(tmp_path):
    """A word every 250 ms: the kernel at multiples of it is the lag function, and so are the sums."""
    folder = tmp_path / "data"
    truth = 5 * np.exp(-np.arange(30) * 0.25 / 0.3)
    rows = made(
        folder, lambda lags, _, bits: (truth[lags[lags < 30]] * bits[lags < 30]).sum(), items=2
    )
    item = pd.read_parquet(folder / "words.parquet")["item"].to_numpy()[rows.word_id]
    place = rows.groupby(["subject", item]).cumcount()
    rows.assign(onset_ms=place * 250.0).drop(columns="time_ms").to_parquet(
        folder / "onsets.parquet"
    )
    (kernel,) = fitted(folder, kernel_design("exponential"))["delays"]
    design = kernel_design("exponential") | {
        "formula": "time_ms ~ length + lags(surprisal, 8, df = 6) + (1 | subject)",
        "of_interest": ["surprisal"],
    }
    (lags,) = fitted(folder, design)["delays"]
    at = np.interp(np.arange(5) * 0.25, kernel["x"], kernel["effect"])
    assert np.abs((at - lags["effect"][:5]) / lags["se"][:5]).max() < 3.5
    assert at == pytest.approx(truth[:5], abs=0.4)
    inside = kernel["cumulative"] / lags["cumulative"]
    assert inside == pytest.approx(1, abs=0.08)


def test_densities_of_delays_have_mass_one():
    t = np.linspace(0, 60, 600_001)
    cases = {"exponential": (0.4,), "gamma": (2.5, 0.6), "shifted_gamma": (3.0, 0.8, 0.3)}
    assert cases.keys() == kernels.KERNELS.keys()
    for name, values in cases.items():
        kernel = kernels.KERNELS[name]
        density = kernel.density(t, *values)
        assert np.trapezoid(density, t) == pytest.approx(1, abs=1e-4)
        reach = kernel.reach(0.1, *values)
        assert np.trapezoid(density[t >= reach], t[t >= reach]) == pytest.approx(0.1, abs=1e-4)


def test_onsets_are_of_all_words_of_a_reader():
    words = pd.DataFrame({"item": ["a"] * 4 + ["b"] * 2, "word_id": range(6)})
    rows = pd.DataFrame(
        {
            "subject": ["s", "s", "s", "s", "s", "t", "t", "t"],
            "word_id": [0, 1, 3, 4, 5, 1, 2, 3],
            "time_ms": [300.0, 200, 400, 500, 100, 10, 20, 30],
        }
    )
    found = onsets(words, rows, "own.SPR").set_index(["subject", "word_id"]).onset_ms
    assert found["s"].to_dict() == {0: 0, 1: 300, 2: 500, 3: 800, 4: 0, 5: 500}  # 300: the median
    assert found["t"].to_dict() == {1: 0, 2: 10, 3: 30}
    given = rows.assign(onset_ms=[5.0, 9, np.nan, 1, 2, 3, 4, 5])
    assert len(onsets(words, given, "own.FP")) == 7
    assert len(onsets(words, rows, "own.RT", task="self_paced")) == 9


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, "no column onset_ms and are not self-paced"),
        ({"fixation": 1}, "fixations"),
        ({"span": 2}, "several words"),
    ],
)
def test_a_kernel_without_onsets_is_refused(changed, message):
    words = pd.DataFrame({"item": ["a"], "word_id": [0]})
    rows = pd.DataFrame({"subject": ["s"], "word_id": [0], "time_ms": [100.0]}).assign(**changed)
    with pytest.raises(InputError, match=message) as raised:
        onsets(words, rows, "eyes.FP", "eye_tracking")
    assert "\n" not in str(raised.value)


def test_a_regression_without_onsets_is_refused(lagged):
    with pytest.raises(InputError, match="a kernel needs onsets"):
        regression.main(files(lagged), lagged / "no.json", lm="lm", model="full",
                        design=kernel_design("exponential"))  # fmt: skip


def test_a_row_without_an_onset_is_named(lagged):
    table_ = pd.read_parquet(lagged / "onsets.parquet")
    fit = pd.read_parquet(lagged / "fit.parquet")
    gone = (table_.subject == fit.subject[5]) & (table_.word_id == fit.word_id[5])
    table_[~gone].to_parquet(lagged / "fewer.parquet")
    inputs = replace(files(lagged), onsets=lagged / "fewer.parquet")
    with pytest.raises(InputError, match=rf"word_id {fit.word_id[5]} has no onset for subject s"):
        regression.main(inputs, lagged / "no.json", lm="lm", model="full",
                        design=kernel_design("exponential"))  # fmt: skip


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
         "linear mixed models"),
        ({"engine": "ols", "formula": "time_ms ~ deconvolve(surprisal, kernel = gamma)"},
         "linear mixed models"),
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


def test_table_and_figure_have_each_lag_and_the_sum(lagged, exponential, tmp_path):
    paths = []
    for folder, design in ((lagged, LAGGED), (exponential, kernel_design("exponential"))):
        fitted(folder, design)
        paths.append(folder / "full.json")
    cells = [
        {"lm": "lm", "label": "LM", "dataset": name, "measure": "SPR", "design": name}
        for name in ("one", "two")
    ]
    delay_curves.main(paths, tmp_path / "delays.csv", tmp_path / "curves.csv", cells=cells)
    rows = pd.read_csv(tmp_path / "delays.csv")
    assert rows.kind.tolist() == ["lags", "exponential"]
    assert ((rows.low < rows.cumulative) & (rows.cumulative < rows.high)).all()
    assert rows.parameters[1].startswith("mean_s 0.")
    given = {
        "delays": tmp_path / "delays.csv",
        "curves": tmp_path / "curves.csv",
        "lms": [{"lm": "lm", "label": "LM", "bias": {"form": "none"}, "applied": "none"}],
        "responses": [{"dataset": n, "measure": "SPR", "label": n} for n in ("one", "two")],
    }
    table.main(**given, out=[tmp_path / f"t.{e}" for e in ("csv", "html", "tex")])
    html = (tmp_path / "t.html").read_text()
    assert "4 words" in html and "0.25 s" in html and html.count("cumulative</td>") == 2
    figure.main(**given, out=[tmp_path / f"f.{e}" for e in ("pdf", "svg", "png", "csv")])
    svg = (tmp_path / "f.svg").read_text()
    assert 'id="lags lm"' in svg or "lags lm" in svg
    assert "kernel lm" in svg
