"""Bayesian models: the call of brm() that a design becomes, refusals, and real fits against recency.lmer."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "regression"))
from made_readers import MIXED, columns, files, parted, readings, texts
from project import ROOT, SCHEMA, assert_is_refused, load, merged
from scipy.stats import gamma, norm

import recency
from recency.errors import InputError
from recency.evaluations.loo import table
from recency.mixed import brms, brms_model, density_record, formula
from recency.mixed.fitting import Result, figures
from recency.mixed.levels import Levels
from recency.mixed.summary import FitSummary
from recency.regression import fit as regression
from recency.regression.designs import check_model, formula_of, read
from recency.workflow import checks, installed
from recency.workflow.faults import ConfigError

BAYESIAN = MIXED | {
    "engine": "brms",
    "formula": "time_ms ~ length + surprisal + (1 + surprisal | subject) + (1 | sentence)",
    "sampling": {"chains": 2, "iterations": 1500},
}
TEXT = "time_ms ~ length*log(cloze) + `surprisal[LM]` + (1 + `surprisal[LM]` || subject) + (1 | subject:item)"


def called(text=TEXT, scale=None, **design):
    parsed = formula.parse(text)
    if scale:
        parsed = formula.replace(parsed, scale=formula.parse(scale))
    return brms_model.call(parsed, design)


def test_a_formula_has_names_that_brms_takes():
    call = called()
    assert call.formula == "y ~ 1 + x1 + x2 + x3 + x1:x2 + (1 + x3 || g1) + (1 | g2)"
    assert call.groups == {"subject": "g1", "subject:item": "g2"}
    assert call.scale is None and (call.family, call.link) == ("gaussian", "identity")
    assert [call.term(name) for name in ("Intercept", "x2:x1", "x3")] == [
        "(Intercept)", "length:log(cloze)", "`surprisal[LM]`",
    ]  # fmt: skip
    assert call.sampling == {"chains": 4, "iterations": 2000, "seed": 1, "cores": 1, "warmup": 1000}
    without = called("time_ms ~ 0 + length + (0 + length | subject)", sampling={"iterations": 300})
    assert without.formula == "y ~ 0 + x1 + (0 + x1 | g1)" and without.sampling["warmup"] == 150


@pytest.mark.parametrize(
    ("design", "family", "link"),
    [
        ({"family": "lognormal"}, "lognormal", "identity"),
        ({"family": "shifted_lognormal"}, "shifted_lognormal", "identity"),
        ({"family": "shifted_lognormal", "shift": 100}, "lognormal", "identity"),
        ({"family": "gamma"}, "gamma", "log"),
        ({"family": "gamma", "link": "identity"}, "gamma", "identity"),
        ({"family": "inverse_gaussian"}, "inverse.gaussian", "log"),
        ({"family": "exgaussian"}, "exgaussian", "identity"),
        ({"family": "binomial"}, "bernoulli", "logit"),
    ],
)
def test_families_are_brms_s(design, family, link):
    call = called(**design)
    assert (call.family, call.link) == (family, link)


@pytest.mark.parametrize(
    ("family", "parameter"), [("gaussian", "sigma"), ("gamma", "shape"), ("exgaussian", "sigma")]
)
def test_a_formula_of_sigma_is_one_of_brms_s_scale_parameter(family, parameter):
    call = called(
        "time_ms ~ length + (1 | subject)", "sigma ~ length + (1 | subject)", family=family
    )
    assert call.scale == f"{parameter} ~ 1 + x1 + (1 | g1)"


def test_priors_are_of_brms_s_names_and_left_out_with_their_terms():
    priors = [
        {"prior": "normal(0, 10)"},
        {"prior": "normal(0, 5)", "coef": "surprisal"},
        {"prior": "exponential(0.1)", "class": "sd", "group": "subject", "coef": "surprisal"},
        {"prior": "lkj(2)", "class": "cor"},
    ]
    full = called("time_ms ~ length + surprisal + (1 + surprisal | subject)", priors=priors).priors
    assert [p["coef"] for p in full] == ["", "x2", "x2", ""]
    assert [p["group"] for p in full] == ["", "", "g1", ""]
    base = called("time_ms ~ length + (1 | subject)", priors=priors).priors
    assert [p["prior"] for p in base] == ["normal(0, 10)", "lkj(2)"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"priors": [{"prior": "normal(0, 10); print(1)"}]}, "priors → 1: 'normal(0, 10); print(1)' is no prior"),
        ({"priors": [{"prior": "normal(0, 1)", "coef": "surprisl"}]}, "no 'surprisl'; did you mean 'surprisal'?"),
        ({"priors": [{"prior": "normal(0, 1)", "class": "sd", "group": "item"}]}, "→ group: the formula has no 'item'"),
        ({"engine": "cross_products", "priors": [{"prior": "normal(0, 1)"}]}, "priors needs `engine: brms`"),
        ({"engine": "lme4"}, "sampling needs `engine: brms`"),
        ({"family": "shifted_lognormal", "sigma": "~ surprisal"}, "has no formula of sigma; state its `shift`"),
    ],
)  # fmt: skip
def test_faults_of_a_design_are_refused(change, said):
    design = BAYESIAN | change
    with pytest.raises(InputError) as error:
        check_model(design, read(design))
    assert said in str(error.value) and "\n" not in str(error.value)


def test_faults_are_met_when_the_config_is_read():
    design = json.dumps(BAYESIAN | {"priors": [{"prior": "normal(0, 1)", "coef": "lenght"}]})
    assert_is_refused(
        f"designs: {{b: {design}}}", "designs → b: priors → 1 → coef: the formula has no"
    )
    folds = "cross_validation: {folds: 2, by: sentence, seed: 1}"
    overlay = f"designs: {{b: {json.dumps(BAYESIAN)}}}\nexperiments: {{exp1: {{responses: {{b: [provo.FP]}}, {folds}}}}}"
    assert_is_refused(overlay, "'b' has `engine: brms`, whose models are not refitted")


def test_the_documentation_s_design_is_right():
    text = (ROOT / "docs" / "regression.md").read_text().partition("## Bayesian models")[2]
    overlay = yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])
    checks.check(merged(load("config.open.yaml"), overlay), SCHEMA)
    assert "surprisal" not in str(formula_of(overlay["designs"]["bayesian"], "base"))


def test_an_r_without_brms_is_refused_with_the_command_that_installs_it(tmp_path, monkeypatch):
    rscript = tmp_path / "Rscript"
    rscript.write_text("#!/bin/sh\nexit 1\n")
    rscript.chmod(0o755)
    for path in (str(tmp_path), str(tmp_path / "nothing")):
        monkeypatch.setenv("PATH", path)
        with pytest.raises(ConfigError, match="apt-get install r-cran-brms .*conda install"):
            installed.require_brms()
    rscript.write_text("#!/bin/sh\nexit 0\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    installed.require_brms()


class Listed(list):
    """A list of R's, with names."""

    def __init__(self, **values):
        super().__init__(values.values())
        self.names = list(values)


def test_draws_of_a_shape_are_recorded_as_those_of_sigma():
    """The density at the record's values is scipy's, with brms's shape."""
    text = "time_ms ~ length + (1 + length | subject)"
    call = called(text, "sigma ~ length + (1 | subject)", family="gamma")
    group = Listed(
        group=["g1"], columns=["Intercept", "x1", "shape_Intercept"], sd=[0.2, 0.1, 0.4],
        correlation=[1, 0.5, 0, 0.5, 1, 0, 0, 0, 1], levels=["l0", "l1"],
        modes=[0.3, -0.3, 0.05, -0.05, 0.2, -0.2],
    )  # fmt: skip
    parts = {
        "fixed": ["Intercept", "shape_Intercept", "x1", "shape_x1"],
        "estimates": [5.8, 2.0, 0.1, -0.3], "se": [0.1, 0.2, 0.01, 0.05],
        "covariance": np.diag([0.01, 0.04, 0.0001, 0.0025]).ravel(), "random": [group],
        "parameters": [], "means": [], "logs": [],
    }  # fmt: skip
    location, of_scale = brms._effects(call, parts, {"subject": ["anna", "ben"]})
    assert location["fixed"] == {"(Intercept)": 5.8, "length": 0.1}
    assert location["modes"]["subject"] == {"anna": [0.3, 0.05], "ben": [-0.3, -0.05]}
    assert location["random"]["subject"]["correlation"].tolist() == [[1, 0.5], [0.5, 1]]
    summary = FitSummary(**location, theta=[], sigma=0.0, loglik=0.0, singular=False, messages=[],
                         converged=True)  # fmt: skip
    more = brms._scale(call, {"family": "gamma"}, parts, of_scale, summary)
    assert more["density"]["scale"]["random"]["subject"]["sd"] == [0.2]
    record = figures(Result(summary, True, "")) | more | {"family": "gamma"}
    x, groups = np.array([-1.0, 2.0]), {"subject": Levels(np.array([0, 1]), ["anna", "ben"])}
    eta = density_record.linear_predictors(record, {"length": x}, groups, 2, ())
    mean = np.exp(5.8 + 0.1 * x + np.array([0.3 - 0.05, -0.3 - 0.1]))
    shape = np.exp(2.0 - 0.3 * x + np.array([0.2, -0.2]))
    y = np.array([350.0, 280.0])
    expected = gamma.logpdf(y, shape, scale=mean / shape)
    assert density_record.log_densities(record, y, eta) == pytest.approx(expected)


@pytest.fixture(scope="module")
def brms_here():
    """Skip without R's brms."""
    code = 'quit(status = !nzchar(system.file(package = "brms")))'
    rscript = shutil.which("Rscript")
    if not rscript or subprocess.run([rscript, "-e", code], check=False).returncode:
        pytest.skip("R's package brms is not installed")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, brms_here):
    """Sample both models of small synthetic readers; return the folder and the records."""
    folder = tmp_path_factory.mktemp("brms")
    words = texts(folder, sentences=16)
    parted(folder, readings(words, lambda bits: 6 * bits, subjects=12), words)
    records = {}
    for model in ("full", "base"):
        out = folder / f"{model}.json"
        regression.main(files(folder), out, lm="lm", design=BAYESIAN, model=model,
                        out_observations=out.with_suffix(".parquet"))  # fmt: skip
        records[model] = json.loads(out.read_text())
    return folder, records


@pytest.mark.long
def test_posterior_means_are_near_the_maximum_of_the_likelihood(fitted):
    """Fixed effects are within a tenth of a standard error and Monte Carlo error, with flat priors."""
    folder, records = fitted
    record, rows = records["full"], columns(folder)
    for name in ("length", "surprisal"):
        rows[name] = (rows[name] - record["scaling"][name]["mean"]) / record["scaling"][name]["sd"]
    text = "time_ms ~ length + surprisal + (1 + surprisal | subject) + (1 | sentence)"
    ours = recency.lmer(text, rows, engine="search")
    assert record["converged"] and record["figures_by"] == "brms"
    assert record["brms"]["divergences"] == 0 and record["brms"]["rhat"] < 1.05
    assert record["sigma"] == pytest.approx(ours.sigma, rel=0.02)
    for effect in record["fixed"]:
        estimate, se = ours.fixed.loc[effect["term"], ["estimate", "se"]]
        error = 4 * effect["se"] / np.sqrt(record["brms"]["ess"])
        assert effect["estimate"] == pytest.approx(estimate, abs=0.1 * se + error)
        assert effect["low"] < estimate < effect["high"]
        assert 0.85 < effect["se"] / se < 1.5  # which has the uncertainty of variances as well
    modes = ours.modes["subject"]["(Intercept)"]
    sampled = pd.Series({k: v[0] for k, v in record["ranef"]["subject"].items()})
    assert np.corrcoef(modes, sampled[modes.index])[0, 1] > 0.995


@pytest.mark.long
def test_loo_and_the_held_out_density_are_those_of_the_record(fitted, tmp_path):
    folder, records = fitted
    full = pd.read_parquet(folder / "full.parquet")
    loo = full[full.partition == "fit"].loglik_in_sample
    record = records["full"]
    assert loo.sum() == pytest.approx(record["brms"]["loo"]["elpd"])
    assert record["loglik"]["fit"] == pytest.approx(loo.sum())
    # The density at posterior means is higher for rows that were fitted, by about p_loo.
    gap = record["loglik"]["fit_conditional"] - loo.sum()
    assert gap == pytest.approx(record["brms"]["loo"]["p"], rel=0.5)
    held_out = full[full.partition == "exploratory"].loglik
    assert record["loglik"]["exploratory"] == pytest.approx(held_out.sum())
    rows = columns(folder, "exploratory")
    widest = norm.logpdf(rows.time_ms, rows.time_ms.mean(), rows.time_ms.std()).sum()
    assert held_out.sum() > widest
    ends = [tmp_path / f"table.{end}" for end in ("csv", "html", "tex")]
    cell = {
        "lm": "lm",
        "label": "LM",
        "response": "made",
        "dataset": "made",
        "measure": "SPR",
        "design": "b",
    }
    parts = {f"{m}_observations": [folder / f"{m}.parquet"] for m in records}
    table.main(**{m: [folder / f"{m}.json"] for m in records}, **parts, cells=[cell], out=ends)
    (row,) = pd.read_csv(ends[0]).itertuples()
    assert row.elpd_difference == pytest.approx(
        record["loglik"]["fit"] - records["base"]["loglik"]["fit"]
    )
    assert row.elpd_difference > 3 * row.se > 0 and "Pareto k" in ends[1].read_text()


@pytest.mark.long
def test_the_scale_of_gamma_is_the_coefficient_of_variation(tmp_path, brms_here):
    """Brms has its shape, 1 / sigma^2; our Laplace approximation has log sigma itself."""
    words = texts(tmp_path, sentences=16)
    rows = readings(words, lambda bits: 6 * bits, subjects=12, residual=0.0)
    sd = np.exp(-2.5 + 0.08 * words.bits.to_numpy()[rows.word_id])
    rows["time_ms"] *= np.exp(np.random.default_rng(1).normal(0, sd))
    parted(tmp_path, rows, words)
    given = {
        "family": "gamma",
        "sigma": "~ surprisal",
        "formula": "time_ms ~ surprisal + (1 | subject)",
    }
    found = {}
    for engine in ("brms", "cross_products"):
        design = {k: v for k, v in BAYESIAN.items() if engine == "brms" or k != "sampling"}
        out = tmp_path / f"{engine}.json"
        regression.main(files(tmp_path), out, lm="lm", design=design | given | {"engine": engine},
                        model="full")  # fmt: skip
        found[engine] = json.loads(out.read_text())
    scales = [found[e]["density"]["scale"]["fixed"] for e in ("brms", "cross_products")]
    for sampled, maximised in (
        *zip(*scales, strict=True),
        *zip(*(f["fixed"] for f in found.values()), strict=True),
    ):
        assert sampled["term"] == maximised["term"]
        assert sampled["estimate"] == pytest.approx(
            maximised["estimate"], abs=0.5 * maximised["se"]
        )
    assert scales[0][1]["estimate"] > 0
    conditional = [f["loglik"]["fit_conditional"] for f in found.values()]
    assert conditional[0] == pytest.approx(conditional[1], abs=3)
