"""ΔLogLik of the observations that were fitted, whoever fits: R's and statsmodels' own values."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from made_readers import DESIGN, MIXED, columns, files, parted, readings, texts

from crosslmm import lme4
from recency.evaluations.reading_times import delta_loglik
from recency.regression import fit as regression

NAMES = {"lm": "lm", "label": "LM", "dataset": "d", "measure": "m", "design": "x"}
EVENT = "event ~ length + surprisal + (1 | subject)"
DESIGNS = {
    "mixed": MIXED,
    "lme4": MIXED | {"engine": "lme4", "response": "log"},
    "ols": DESIGN | {"engine": "ols", "formula": "time_ms ~ length + surprisal"},
    "events": DESIGN | {"family": "binomial", "formula": EVENT},
}
LMER = "time_ms ~ length {} + (1 | subject) + (1 | sentence)"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    words = texts(folder)
    rows = readings(words, lambda bits: 5 * bits, subjects=12)
    parted(folder, rows.assign(event=(rows.time_ms > 360) * 1.0), words)
    return folder


def in_r(code, frame, *arguments):
    """Call R's function with a data frame of columns, text as factors."""
    lme4._r()
    from rpy2 import robjects

    made = {
        name: robjects.FloatVector(values)
        if values.dtype.kind in "fi"
        else robjects.r["factor"](robjects.StrVector(list(values)))
        for name, values in frame.items()
    }
    return robjects.r(code)(robjects.r["data.frame"](**made), *arguments)[0]


def own_lme4(frame, change="identity"):
    code = f"""function(d, full, base) {{
      d$time_ms <- {change}(d$time_ms)
      fit <- function(formula) logLik(lme4::lmer(as.formula(formula), d, REML = FALSE))
      as.numeric(fit(full) - fit(base))
    }}"""
    return in_r(code, frame, LMER.format("+ surprisal"), LMER.format(""))


def own_ols(frame):
    means = frame.groupby("word_id", as_index=False).mean(numeric_only=True)
    full, base = (smf.ols(f"time_ms ~ {side}", means).fit() for side in ("length + surprisal", "length"))  # fmt: skip
    return full.llf - base.llf


def own_glmer(frame):
    code = """function(d) {
      fit <- function(f) logLik(lme4::glmer(f, d, family = binomial))
      as.numeric(fit(event ~ length + surprisal + (1 | subject)) - fit(event ~ length + (1 | subject)))
    }"""
    return in_r(code, frame)


THEIRS = {
    "mixed": own_lme4,
    "lme4": lambda frame: own_lme4(frame, "log"),
    "ols": own_ols,
    "events": own_glmer,
}


@pytest.mark.merge
@pytest.mark.parametrize("partitioned", [True, False])
@pytest.mark.parametrize("kind", DESIGNS)
def test_in_sample_delta_loglik_is_that_of_others(study, tmp_path, kind, partitioned):
    paths = {}
    for model in ("full", "base"):
        json_, rows = (tmp_path / f"{model}.{ending}" for ending in ("json", "parquet"))
        regression.main(
            files(study, partitioned, model == "full"), out=json_, out_observations=rows,
            lm="lm", design=DESIGNS[kind], model=model, in_sample=True,
        )  # fmt: skip
        paths[model] = [json_], [rows]
    delta_loglik.main(
        paths["full"][0], paths["base"][0], tmp_path / "out.csv", cells=[NAMES],
        endpoint="in_sample", full_observations=paths["full"][1],
        base_observations=paths["base"][1], out_subjects=tmp_path / "subjects.parquet",
    )  # fmt: skip
    (row,) = pd.read_csv(tmp_path / "out.csv").to_dict("records")
    frame = columns(study)
    theirs = THEIRS[kind](frame)
    n = frame.word_id.nunique() if kind == "ols" else len(frame)
    assert row["n"] == row["n_fit"] == n
    assert row["delta_loglik"] == pytest.approx(theirs, abs=1e-3)
    assert row["delta_loglik_per_observation"] == pytest.approx(row["delta_loglik"] / n)
    assert row["low"] < row["delta_loglik"] < row["high"]
    assert row["delta_aic"] == pytest.approx(2 - 2 * row["delta_loglik"])  # one parameter more
    for (json_,), (rows,) in paths.values():
        table = pd.read_parquet(rows)
        fitted = table[table.partition == "fit"]
        assert len(fitted) == n and fitted.loglik_in_sample.notna().all()
        total = json.loads(json_.read_text())["loglik"]["fit"]
        assert fitted.loglik_in_sample.sum() == pytest.approx(total)
        assert ((table.partition == "exploratory").any()) == partitioned


def test_parts_of_least_squares_are_the_words_own(study, tmp_path):
    regression.main(
        files(study, exploratory=False), out=tmp_path / "fit.json",
        out_observations=tmp_path / "rows.parquet", lm="lm", design=DESIGNS["ols"], model="full",
    )  # fmt: skip
    means = columns(study).groupby("word_id", as_index=False).mean(numeric_only=True)
    theirs = smf.ols("time_ms ~ length + surprisal", means).fit()
    variance = theirs.ssr / len(means)
    parts = -0.5 * (np.log(2 * np.pi * variance) + theirs.resid**2 / variance)
    ours = pd.read_parquet(tmp_path / "rows.parquet").sort_values("word_id").loglik_in_sample
    np.testing.assert_allclose(ours, parts, atol=1e-8)


def test_a_held_out_endpoint_reads_the_exploratory_rows_alone(study, tmp_path):
    outputs = {}
    for in_sample in (False, True):
        outputs[in_sample] = tmp_path / f"{in_sample}.parquet"
        regression.main(
            files(study), out=tmp_path / "fit.json", out_observations=outputs[in_sample],
            lm="lm", design=MIXED, model="full", in_sample=in_sample,
        )  # fmt: skip
    assert "partition" not in pd.read_parquet(outputs[False])
    plain, both = (delta_loglik._read_scored(path, "conditional") for path in outputs.values())
    assert len(plain) == len(both) == len(pd.read_parquet(study / "exploratory.parquet"))
    np.testing.assert_array_equal(plain.loglik, both.loglik)
