"""Kernels: known ones are recovered, convolutions equal loops, and lags agree at a constant pace."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_delays import LAGGED, by_lag, fitted, kernel_design, made
from made_readers import columns, files
from scipy.stats import gamma as gamma_distribution

from recency.errors import InputError
from recency.evaluations.delays import delay_curves, figure, table
from recency.reading.onsets import onsets
from recency.regression import fit as regression
from recency.regression import kernels
from recency.regression.prediction import predict, read_fit, rows_for


@pytest.fixture(scope="module")
def exponential(tmp_path_factory):
    """Return readings with the kernel 6 exp(-t / 0.4 s)."""
    folder = tmp_path_factory.mktemp("exponential") / "data"
    made(folder, lambda _, t, bits: (6 * np.exp(-t / 0.4) * bits).sum(), pace=(300, 120))
    return folder


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


def test_a_regression_without_onsets_is_refused(exponential):
    with pytest.raises(InputError, match="a kernel needs onsets"):
        regression.main(files(exponential), exponential / "no.json", lm="lm", model="full",
                        design=kernel_design("exponential"))  # fmt: skip


def test_a_row_without_an_onset_is_named(exponential):
    table_ = pd.read_parquet(exponential / "onsets.parquet")
    fit = pd.read_parquet(exponential / "fit.parquet")
    gone = (table_.subject == fit.subject[5]) & (table_.word_id == fit.word_id[5])
    table_[~gone].to_parquet(exponential / "fewer.parquet")
    inputs = replace(files(exponential), onsets=exponential / "fewer.parquet")
    with pytest.raises(InputError, match=rf"word_id {fit.word_id[5]} has no onset for subject s"):
        regression.main(inputs, exponential / "no.json", lm="lm", model="full",
                        design=kernel_design("exponential"))  # fmt: skip


def test_table_and_figure_have_each_lag_and_the_sum(exponential, tmp_path):
    lagged = tmp_path / "lagged"
    made(lagged, by_lag, subjects=6, sentences=40, mean=0)
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
