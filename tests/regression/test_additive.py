"""Additive models: against mgcv called directly, and on effects that are known to be lines or not."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from made_readers import DESIGN, columns, files, parted, readings, texts
from project import ROOT, SCHEMA, load
from scipy.stats import multivariate_normal, norm

from recency.errors import InputError
from recency.evaluations.smooths import curves, figure, table
from recency.mixed import additive, lme4, mgcv
from recency.regression import fit as regression
from recency.regression.designs import formula_of
from recency.regression.prediction import predict, rows_for
from recency.workflow import checks

GROUPS = ("subject", "sentence", "item")
SMOOTH = DESIGN | {
    "engine": "gam",
    "formula": 'time_ms ~ length + s(surprisal, bs="cr", k=8) + s(subject, bs="re") '
    '+ s(subject, surprisal, bs="re")',
}


def fitted(folder, model="full", design=SMOOTH, **changed):
    path = folder / f"lm.{model}.json"
    regression.main(
        replace(files(folder), **changed), out=path, out_observations=path.with_suffix(".parquet"),
        lm="lm", design=design, model=model,
    )  # fmt: skip
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the folders of readers whose effect is a line, and of such whose effect is a parabola."""
    found = {}
    effects = {"line": lambda bits: 6 * bits, "parabola": lambda bits: 0.9 * (bits - 8) ** 2}
    for name, effect in effects.items():
        folder = tmp_path_factory.mktemp(name)
        words = texts(folder)
        parted(folder, readings(words, effect), words)
        found[name] = folder
    return found


def in_r(folder):
    """Fit and predict by mgcv itself; return coefficients, edf, logLik and predictions."""
    from rpy2 import robjects

    for name in ("fit", "exploratory"):
        columns(folder, name).to_csv(folder / f"{name}.csv", index=False)
    run = robjects.r("""function(folder) {
        library(mgcv)
        fit <- read.csv(file.path(folder, "fit.csv"), stringsAsFactors = TRUE)
        other <- read.csv(file.path(folder, "exploratory.csv"), stringsAsFactors = TRUE)
        model <- bam(time_ms ~ length + s(surprisal, bs = "cr", k = 8) + s(subject, bs = "re") +
                     s(subject, surprisal, bs = "re"), data = fit, method = "fREML")
        list(coef = coef(model)[1:2], edf = summary(model)$s.table[1, c(1, 4)],
             fit = c(logLik(model), AIC(model), BIC(model), model$sig2),
             vcomp = suppressWarnings(capture.output(v <- gam.vcomp(model))),
             sd = v, predicted = as.numeric(predict(model, other)))
    }""")
    found = run(str(folder))
    return dict(zip(found.names, found, strict=True))


def test_the_fit_is_mgcvs(made):
    folder = made["parabola"]
    ours, theirs = fitted(folder), in_r(folder)
    assert [e["estimate"] for e in ours["fixed"]] == pytest.approx(list(theirs["coef"]), rel=1e-8)
    (smooth,) = ours["smooths"]
    assert [smooth["edf"], smooth["p"]] == pytest.approx(list(theirs["edf"]), rel=1e-6)
    figures = [ours["loglik"]["fit"], ours["aic"], ours["bic"], ours["sigma"] ** 2]
    assert figures == pytest.approx(list(theirs["fit"]), rel=1e-9)
    sd = np.array(theirs["sd"])
    sd = sd[:, 0] if sd.ndim == 2 else sd
    assert sd[1:3] == pytest.approx(ours["random"]["subject"]["sd"], rel=1e-6)
    rows = rows_for(ours, folder / "exploratory.parquet",
                    files(folder).texts(ours))  # fmt: skip
    assert predict(ours, rows) == pytest.approx(np.array(theirs["predicted"]), rel=1e-9)
    expected = norm.logpdf(rows.y, theirs["predicted"], ours["sigma"]).sum()
    assert ours["loglik"]["exploratory"] == pytest.approx(expected)


def test_likelihoods_of_new_readers_are_those_of_brute_force(made):
    """Their effects are drawn anew from what mgcv found; nothing of them is in the prediction."""
    folder = made["line"]
    record = fitted(folder)
    rows = columns(folder, "exploratory")
    random = record["random"]["subject"]
    assert random["terms"] == ["(Intercept)", "surprisal"]
    fixed = dict(record, ranef={}, random={})
    read = rows_for(record, folder / "exploratory.parquet",
                    files(folder).texts(record))  # fmt: skip
    mean = predict(fixed, read)
    same = rows.subject.to_numpy()[:, None] == rows.subject.to_numpy()
    bits = rows.surprisal.to_numpy()
    variance = random["sd"][0] ** 2 + random["sd"][1] ** 2 * np.outer(bits, bits)
    covariance = same * variance + record["sigma"] ** 2 * np.eye(len(rows))
    expected = multivariate_normal.logpdf(read.y, mean, covariance)
    assert record["loglik"]["exploratory_marginal"] == pytest.approx(expected)


@pytest.mark.merge
def test_a_line_is_a_line_and_a_parabola_is_none(made, tmp_path):
    found = {}
    for name, folder in made.items():
        fits = {model: fitted(folder, model) for model in ("full", "linear", "base")}
        paths = {model: [folder / f"lm.{model}.json"] for model in fits}
        cell = {"lm": "lm", "label": "LM", "dataset": name, "measure": "SPR", "design": "d"}
        out = [tmp_path / f"{name}.csv", tmp_path / f"{name}_curves.csv"]
        curves.main(
            **paths,
            full_observations=[folder / "lm.full.parquet"],
            linear_observations=[folder / "lm.linear.parquet"],
            out=out[0],
            out_curves=out[1],
            cells=[cell | {"of_interest": ["surprisal"]}],
        )
        (row,) = pd.read_csv(out[0]).itertuples()
        assert row.delta_smooth == pytest.approx(row.delta_linear + row.delta_nonlinear)
        found[name] = row
        points = pd.read_csv(out[1])
        assert points[points.kind == "count"].value.sum() == len(columns(folder))
    line, parabola = found["line"], found["parabola"]
    assert line.edf == pytest.approx(1, abs=0.3) and abs(line.delta_nonlinear) < 2
    assert line.slope == pytest.approx(6, abs=4 * line.slope_se) and line.delta_linear > 50
    assert parabola.edf > 3 and parabola.low_sentence > 50
    points = pd.read_csv(tmp_path / "parabola_curves.csv").query("kind == 'smooth'")
    bits, truth = points.x.to_numpy(), 0.9 * (points.x.to_numpy() - 8) ** 2
    all_bits = columns(made["parabola"]).surprisal
    truth -= (0.9 * (all_bits - 8) ** 2).mean()
    dense = bits < all_bits.quantile(0.98)
    assert (np.abs(points.value - truth) < 8)[dense].all()
    for name in ("smooths", "curves"):
        both = [f"{each}{'_curves' * (name == 'curves')}.csv" for each in found]
        frame = pd.concat([pd.read_csv(tmp_path / each) for each in both])
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    lms = [{"lm": "lm", "label": "LM", "bias": {"form": "none"}, "applied": "none"}]
    responses = [{"dataset": name, "measure": "SPR", "label": name} for name in (*found, "lost")]
    given = {"smooths": tmp_path / "smooths.csv", "lms": lms, "responses": responses}
    for stem in "ab":
        out = [tmp_path / f"{stem}.{ending}" for ending in ("pdf", "svg", "png")]
        figure.main(**given, curves=tmp_path / "curves.csv", out=[*out, tmp_path / f"{stem}_f.csv"])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.svg").read_text().count('id="smooth lm"') == 2
    table.main(**given, out=[tmp_path / f"t.{ending}" for ending in ("csv", "html", "tex")])
    page = (tmp_path / "t.html").read_text()
    assert "Not run: lost SPR" in page and "&lt; 0.001" in page


def test_all_may_be_fitted_and_times_may_be_logarithms(made):
    design = SMOOTH | {"response": "log"}
    record = fitted(made["line"], design=design, exploratory=None)
    assert record["loglik"]["exploratory"] is None and record["converged"]
    assert record["sigma"] < 1 and record["aic"] < 0


def test_formulas_are_read_and_reduced():
    text = (
        "time_ms ~ length*position + s(surprisal, k=6, bs='cr') + te(length, surprisal) "
        '+ s(previous_surprisal) + s(subject, bs="re") + s(subject, surprisal, bs="re")'
    )
    formula = additive.parse(text, GROUPS)
    assert str(formula) == (
        'time_ms ~ 1 + length + position + length:position + s(surprisal, k=6, bs="cr") '
        '+ te(length, surprisal) + s(previous_surprisal) + s(subject, bs="re") '
        '+ s(subject, surprisal, bs="re")'
    )
    assert formula.predictors == ["length", "position", "surprisal", "previous_surprisal"]
    assert formula.groups == ["subject"]
    base = additive.without(formula, ["surprisal"], slopes=True)
    assert str(base).endswith('length:position + s(previous_surprisal) + s(subject, bs="re")')
    kept = additive.without(formula, ["surprisal"], slopes=False)
    assert 's(subject, surprisal, bs="re")' in str(kept)
    straight = additive.linear(formula, ["previous_surprisal"])
    assert "length:position + previous_surprisal + s(surprisal" in str(straight)
    with pytest.raises(InputError, match=r"te\(length, surprisal\) has"):
        additive.linear(formula, ["surprisal"])


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("(1 | subject)", 's(subject, bs="re") for an intercept'),
        ("s(surprisal, bs='rc')", "has the basis 'rc'"),
        ("s(surprisal, knots=3)", "has the option 'knots'"),
        ("s(subject)", "a random smooth has one grouping variable"),
        ("s(surprisal, bs='re')", "a random smooth has one grouping variable"),
        ("te(surprisal)", "te(surprisal) has 1 variables"),
        ("s(log(surprisal))", "smooths are of columns"),
        ("s(surprisal) + ", "a term is missing next to a '+'"),
        ("s(surprisl)", "no predictor is called 'surprisl'; did you mean 'surprisal'?"),
    ],
)
def test_formulas_that_cannot_be_read_are_refused(made, term, said):
    with pytest.raises(InputError) as error:
        fitted(made["line"], design=SMOOTH | {"formula": f"time_ms ~ length + {term}"})
    assert said in str(error.value) and "\n" not in str(error.value)


def test_many_rows_are_fitted_on_a_grid_of_their_predictors(made, monkeypatch):
    """Which changes little: mgcv's `discrete` rounds to a thousand values."""
    exact = fitted(made["parabola"])
    monkeypatch.setattr(mgcv, "ROWS", 1000)
    rounded = fitted(made["parabola"])
    assert rounded["discrete"] and not exact["discrete"]
    assert rounded["smooths"][0]["edf"] == pytest.approx(exact["smooths"][0]["edf"], abs=0.05)
    for name in ("exploratory", "exploratory_marginal"):
        assert rounded["loglik"][name] == pytest.approx(exact["loglik"][name], abs=1)


def test_designs_of_the_documentation_are_right():
    text = (ROOT / "docs" / "regression.md").read_text()
    designs, experiments = {}, {}
    for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL):
        read = yaml.safe_load(block)
        experiments |= read.get("experiments", {})
        designs |= read.get("designs", {} if "experiments" in read else read)
    del designs["over_pythia"]  # of a corpus that has `cloze` and `condition`
    expected = {"skipping", "smooth", "ppp", "skewed"}
    assert set(designs) == expected
    config = load("config.open.yaml")
    config["experiments"] |= experiments
    responses = {
        "smooth": ["provo.FP"],
        "skipping": ["ucl_eye_tracking.skip"],
        "skewed": ["ucl_spr.SPR"],
    }
    config["experiments"]["mine"] = config["experiments"]["open"] | {"responses": responses}
    config["designs"] |= designs
    checks.check(config, SCHEMA)
    assert "surprisal" not in str(formula_of(designs["smooth"], "base"))
    line = str(formula_of(designs["smooth"], "linear"))
    assert line.startswith("time_ms ~ 1 + surprisal + previous_surprisal + te(length, unigram")
    assert str(formula_of(designs["skipping"], "base")).startswith("event ~ 1 + length + unigram +")


def test_what_mgcv_refuses_is_a_result(made):
    design = SMOOTH | {"formula": 'time_ms ~ s(surprisal, bs="cr", k=600)'}
    record = fitted(made["line"], design=design)
    assert not record["converged"] and record["note"].startswith("mgcv: ")
    assert record["loglik"]["exploratory"] is None


def test_a_missing_package_is_named(tmp_path):
    (tmp_path / "nothing.R").write_text("library(packageThatThereIsNot)\n")
    with pytest.raises(InputError, match="packageThatThereIsNot"):
        lme4.source_r(tmp_path / "nothing.R")
