"""Skewed and heteroscedastic responses, from files to records: log-likelihoods in milliseconds."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_readers import MIXED, columns, files, parted, readings, texts
from scipy import stats

from crosslmm.densities import exgaussian, gamma
from recency.errors import InputError
from recency.regression import fit as regression
from recency.regression.designs import formula_of
from recency.regression.prediction import predict, rows_for

SHIFT = 120.0
FAMILIES = ["lognormal", "shifted_lognormal", "gamma", "inverse_gaussian", "exgaussian"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Write readers whose times are a shifted lognormal of surprisal: skewed, above 120 ms."""
    folder = tmp_path_factory.mktemp("study")
    words = texts(folder)
    rows = readings(words, lambda bits: 6 * bits, residual=0.0)
    random = np.random.default_rng(2)
    noise = np.exp(random.normal(0, 0.3, len(rows)))
    rows["time_ms"] = SHIFT + (rows.time_ms - SHIFT) * noise
    parted(folder, rows, words)
    return folder


def fitted(folder, **design):
    """Return a model's record and its observations' log-likelihoods; each model is fitted once."""
    key = "-".join(f"{key}={value}" for key, value in sorted(design.items()))
    out = folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
    if out.exists():
        return json.loads(out.read_text()), pd.read_parquet(
            out.with_suffix(".observations.parquet")
        )
    design = {**MIXED, **design}
    observations = out.with_suffix(".observations.parquet")
    regression.main(
        files(folder), out=out, out_observations=observations, lm="lm", design=design, model="full"
    )
    return json.loads(out.read_text()), pd.read_parquet(observations)


def exploratory(folder, record):
    """Return the exploratory times (n,), and predictions with fixed effects alone (n,)."""
    frame = columns(folder, "exploratory")
    total = 0.0
    for effect in record["fixed"]:
        name = effect["term"]
        if name == "(Intercept)":
            total = total + effect["estimate"]
        else:
            by = record["scaling"][name]
            total = total + effect["estimate"] * (frame[name] - by["mean"]) / by["sd"]
    return frame, total.to_numpy()


def test_the_true_family_fits_best_in_milliseconds(study):
    loglik = {"gaussian": fitted(study)[0]["loglik"]["exploratory_marginal"]}
    for family in FAMILIES:
        record, _ = fitted(study, family=family)
        assert record["converged"], record["note"]
        loglik[family] = record["loglik"]["exploratory_marginal"]
    assert max(loglik, key=loglik.get) == "shifted_lognormal"
    assert min(loglik, key=loglik.get) == "gaussian"
    # All are log densities of times in ms: within a few per cent of one another.
    assert max(loglik.values()) / min(loglik.values()) > 0.9


def test_lognormal_likelihoods_have_the_jacobian(study):
    record, rows = fitted(study, family="lognormal")
    as_log, _ = fitted(study, response="log")
    frame, mean = exploratory(study, record)
    total = np.log(columns(study).time_ms).sum()
    assert record["loglik"]["fit"] == pytest.approx(as_log["loglik"]["fit"] - total, rel=1e-10)
    by_scipy = stats.lognorm.logpdf(frame.time_ms, record["sigma"], scale=np.exp(mean))
    assert record["loglik"]["exploratory_fixed_effects"] == pytest.approx(by_scipy.sum(), rel=1e-9)
    covariance = record["sigma"] ** 2 * np.eye(len(frame))
    for group, column in (("subject", frame.subject), ("sentence", frame.sentence)):
        same = column.to_numpy()[:, None] == column.to_numpy()
        covariance += record["random"][group]["sd"][0] ** 2 * same
    # By a Cholesky factor: LAPACK's eigenvalues of so many equal ones do not always converge.
    lower = np.linalg.cholesky(covariance)
    scaled = np.linalg.solve(lower, np.log(frame.time_ms) - mean)
    density = stats.norm.logpdf(scaled).sum() - np.log(np.diag(lower)).sum()
    expected = density - np.log(frame.time_ms).sum()
    assert record["loglik"]["exploratory_marginal"] == pytest.approx(expected, rel=1e-8)
    assert rows.loglik_marginal.sum() == pytest.approx(expected, rel=1e-8)


def test_the_shift_is_estimated_by_profile_likelihood(study):
    record, _ = fitted(study, family="shifted_lognormal")
    assert record["shift"] == pytest.approx(SHIFT, abs=25)
    for other in (record["shift"] - 15, record["shift"] + 15):
        stated, _ = fitted(study, family="shifted_lognormal", shift=other)
        assert stated["shift"] == other
        assert stated["loglik"]["fit"] < record["loglik"]["fit"]
    frame, mean = exploratory(study, record)
    by_scipy = stats.lognorm.logpdf(
        frame.time_ms, record["sigma"], loc=record["shift"], scale=np.exp(mean)
    )
    assert record["loglik"]["exploratory_fixed_effects"] == pytest.approx(by_scipy.sum(), rel=1e-9)


def test_likelihoods_without_random_effects_are_the_densities(study):
    record, rows = fitted(study, family="gamma")
    frame, mean = exploratory(study, record)
    eta = np.column_stack([np.exp(mean), np.full(len(frame), np.log(record["sigma"]))])
    expected = gamma.log_density(frame.time_ms.to_numpy(), eta)
    np.testing.assert_allclose(rows.loglik_fixed_effects, expected, rtol=1e-9)
    record, rows = fitted(study, family="exgaussian")
    frame, mean = exploratory(study, record)
    beta = record["density"]["others"]["beta"]
    eta = np.column_stack([mean, np.full((len(frame), 2), [np.log(record["sigma"]), beta])])
    expected = exgaussian.log_density(frame.time_ms.to_numpy(), eta)
    np.testing.assert_allclose(rows.loglik_fixed_effects, expected, rtol=1e-9)


@pytest.mark.parametrize("family", ["gamma", "exgaussian"])
def test_marginal_likelihoods_are_between_the_others(study, family):
    """New subjects and sentences are less certain than known ones, and more than no random effects."""
    record, rows = fitted(study, family=family)
    loglik = record["loglik"]
    assert loglik["exploratory_fixed_effects"] < loglik["exploratory_marginal"]
    assert loglik["exploratory_marginal"] < loglik["exploratory"]
    assert rows.loglik.sum() == pytest.approx(loglik["exploratory"], rel=1e-9)


@pytest.mark.parametrize("family", [None, "lognormal"])
def test_a_formula_of_sigma(study, family):
    design = {"sigma": "~ surprisal + (1 | subject)"} | ({"family": family} if family else {})
    record, _ = fitted(study, **design)
    scale = record["density"]["scale"]
    assert [effect["term"] for effect in scale["fixed"]] == ["(Intercept)", "surprisal"]
    assert list(scale["random"]) == ["subject"]
    if family is None:  # the standard deviation of these times grows with their mean
        assert scale["fixed"][1]["estimate"] > 3 * scale["fixed"][1]["se"]
    plain, _ = fitted(study, **({"family": family} if family else {}))
    assert record["loglik"]["fit"] > plain["loglik"]["fit"] - 1e-6


def test_the_base_has_no_effect_on_the_scale_either():
    design = {**MIXED, "sigma": "~ surprisal + length + (1 + surprisal | subject)"}
    base = formula_of(design, "base", {"words": (), "responses": ()})
    assert base.scale.fixed == ("(Intercept)", "length")
    assert base.scale.random[0].columns == ("(Intercept)",)


@pytest.mark.parametrize("family", FAMILIES)
def test_predictions_are_means(study, family):
    record, _ = fitted(study, family=family)
    rows = rows_for(record, study / "fit.parquet", files(study).texts(record))
    mean = predict(record, rows)
    observed = rows.y.mean()
    assert mean.mean() == pytest.approx(observed, rel=0.02)
    assert np.corrcoef(mean, rows.y)[0, 1] > 0.3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"family": "gama"}, "did you mean 'gamma'"),
        ({"family": "gamma", "link": "logit"}, "has the links log and identity"),
        ({"family": "lognormal", "link": "log"}, "family lognormal has one link"),
        ({"family": "gamma", "engine": "lme4"}, "family gamma is fitted by Laplace"),
        ({"family": "gamma", "response": "log"}, "write `response: raw`"),
        ({"shift": 100}, "shift needs the family shifted_lognormal"),
        ({"sigma": "surprisal"}, "must begin with '~'"),
        ({"sigma": "~ surprisal", "family": "shifted_lognormal"}, "state its `shift`"),
        ({"sigma": "~ surprisal", "engine": "lme4"}, "a model with a formula of sigma is fitted"),
        ({"sigma": "~ surprisl"}, "surprisl"),
    ],
)
def test_designs_that_do_not_go_together(change, message):
    with pytest.raises(InputError, match=message):
        formula_of({**MIXED, **change}, "full", {"words": (), "responses": ()})


@pytest.mark.parametrize("family", ["gamma", "inverse_gaussian", "shifted_lognormal"])
def test_times_that_are_not_above_0_are_named(study, tmp_path, family):
    rows = pd.read_parquet(study / "fit.parquet")
    rows.loc[[3, 8], "time_ms"] = [0.0, -5.0]
    path = tmp_path / "fit.parquet"
    rows.to_parquet(path, index=False)
    with pytest.raises(
        InputError, match=r"2 of [\d,]+ are not: 0 \(subject s\d\d, word_id \d+\), -5"
    ):
        regression.main(
            replace(files(study), fit=path), out=tmp_path / "lm.json", lm="lm",
            design={**MIXED, "family": family}, model="full",
        )  # fmt: skip


def test_a_shift_above_the_smallest_time_is_refused(study):
    with pytest.raises(InputError, match=r"shift is 400, and [\d,]+ of [\d,]+ responses are not"):
        fitted(study, family="shifted_lognormal", shift=400)


def test_held_out_times_below_the_shift_are_counted(study, tmp_path):
    rows = pd.read_parquet(study / "exploratory.parquet")
    rows.loc[0, "time_ms"] = 5.0
    path = tmp_path / "exploratory.parquet"
    rows.to_parquet(path, index=False)
    with pytest.raises(
        InputError, match="1 of .* exploratory observations are not above the shift"
    ):
        regression.main(
            replace(files(study), exploratory=path), out=tmp_path / "lm.json", lm="lm",
            design={**MIXED, "family": "shifted_lognormal"}, model="full",
        )  # fmt: skip
