"""`./run export_<dataset>`: tables that join, what a filter dropped, R code that gives the study's fit."""

import json
import re
import subprocess

import numpy as np
import pandas as pd
import pytest

import crosslmm
from crosslmm.factors import Levels
from crosslmm.recorded import scaling_of
from project import ROOT, TINY, environment, load, snakemake
from recency.export import dataset, lme4
from recency.export.lme4 import short_names
from recency.reading import observations
from recency.regression import fit, fitted
from recency.regression.inputs import Inputs
from recency.regression.predictors import Rows
from recency.workflow.plan import exports
from recency.workflow.plan.study import Study

RESULTS = "results/tiny/cores"
DESIGN = {"engine": "cross_products", "response": "raw", "surprisal": "plain"}


def read(path):
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


@pytest.fixture
def made(tmp_path):
    """Write words, responses, a unigram's and two LMs' surprisal of 12 sentences in 3 items."""
    random = np.random.default_rng(3)
    words = pd.DataFrame({"sentence": np.repeat(np.arange(12), 6)})
    words.insert(0, "item", [f"t{s // 4}" for s in words.sentence])
    words["position"], words["word_id"] = np.tile(np.arange(1, 7), 12), np.arange(72)
    words["word"] = ["w" * n for n in random.integers(1, 9, 72)]
    words.loc[5, "word"] = "NA"
    words["cloze"], words["length"] = random.random(72), 99
    words.to_parquet(tmp_path / "words.parquet")
    for name in ("unigram", "a-1", "a_1"):
        frame = pd.DataFrame({"word_id": np.arange(72), "surprisal_bits": random.gamma(4, 2, 72)})
        if name != "unigram":
            frame["tokens"] = 1
        if name == "a_1":
            frame.loc[frame.word_id.isin([0, 3]), "surprisal_bits"] = np.nan
        frame.to_parquet(tmp_path / f"{name}.parquet")
    rows = pd.DataFrame({"word_id": np.tile(np.arange(72), 8)})
    rows.insert(0, "subject", np.repeat([f"s{n}" for n in range(8)], 72))
    rows["time_ms"] = random.integers(50, 900, len(rows)).astype(float)
    rows["fixated"] = rows.time_ms > 200
    rows.to_parquet(tmp_path / "responses.parquet")
    return tmp_path


FILTERS = [{"name": "times", "keep": "time_ms > 100"}, {"name": "first", "keep": "not item_first"}]
MEASURE = {"measure": "FP", "filters": FILTERS, "event": None, "partitioned": True}


def test_words_have_predictors_and_every_lm(made):
    lms = {"a-1": made / "a-1.parquet", "a_1": made / "a_1.parquet"}
    frame, origins = dataset.word_table(made / "words.parquet", made / "unigram.parquet", lms)
    bits = pd.read_parquet(made / "a-1.parquet").surprisal_bits
    np.testing.assert_array_equal(frame.surprisal_bits_a_1, bits)
    item_first = ~frame["item"].duplicated()
    before = bits.shift().where(~item_first, 0.0)
    np.testing.assert_array_equal(frame.previous_surprisal_bits_a_1, before)
    assert list(frame.word_id[frame.surprisal_bits_a_1_2.isna()]) == [0, 3]
    # What an item's first word lacks is 0 of the word behind it, as in regressions.
    assert list(frame.word_id[frame.previous_surprisal_bits_a_1_2.isna()]) == [4]
    assert frame.previous_length[0] == 0
    assert list(frame.length) == list(frame.word.str.len()) and set(frame.length_own) == {99}
    assert "cloze" in frame and "previous_unigram_bits" in frame
    assert origins["tokens_a_1_2"] == ("a_1", "tokens")
    assert origins["previous_surprisal_bits_a_1"] == ("a-1", "previous_surprisal_bits")


def test_names_of_lms_differ():
    assert short_names(["A-1/4", "A_1_4", "A-1_4"]) == {
        "A-1/4": "A_1_4", "A_1_4": "A_1_4_2", "A-1_4": "A_1_4_3",
    }  # fmt: skip


@pytest.mark.parametrize("partitioned", [True, False])
def test_responses_say_what_became_of_them(made, partitioned):
    words, path = pd.read_parquet(made / "words.parquet"), made / "responses.parquet"
    frame = dataset.response_table(words, MEASURE | {"partitioned": partitioned}, path, [])
    outs = {name: made / f"{name}.parquet" for name in ("fit", "exploratory", "held_out")}
    if not partitioned:
        outs = {"fit": outs["fit"]}
    observations.main(
        made / "words.parquet",
        path,
        FILTERS,
        out_counts=made / "counts.csv",
        **{f"out_{name}": out for name, out in outs.items()},
    )
    for name, out in outs.items():
        expected = pd.read_parquet(out)[["subject", "word_id", "time_ms"]]
        found = frame.loc[frame.partition == name, list(expected)]
        pd.testing.assert_frame_equal(found.reset_index(drop=True), expected, check_dtype=False)
    counts = pd.read_csv(made / "counts.csv", index_col="step")
    assert len(frame) == counts.kept["presented"] == 576
    for step in ("times", "first"):
        assert (frame.dropped_by == step).sum() == counts.dropped[step] > 0
    assert (frame.dropped_by.isna() == frame.partition.notna()).all()


def test_an_event_is_said_of_what_filters_leave(made):
    words = pd.read_parquet(made / "words.parquet")
    event = MEASURE | {"measure": "skip", "event": "not fixated"}
    frame = dataset.response_table(words, event, made / "responses.parquet", [])
    kept = frame.partition.notna()
    assert (frame.event[kept] == ~frame.fixated[kept]).all() and frame.event[~kept].isna().all()


def export(made, **settings):
    about = {"label": "Made", "study": "tests", "supplied": False, "partitioned": True, "lms": {}}
    dataset.main(
        words=made / "words.parquet",
        responses=[made / "responses.parquet"],
        unigram=made / "unigram.parquet",
        surprisal=[made / "a-1.parquet"],
        scored=[],
        texts_and_times=True,
        **{
            "out": made / "out",
            "dataset": "made",
            "lms": ["a-1"],
            "measures": [MEASURE],
            "fits": [],
            "about": about,
        }
        | settings,
    )
    return made / "out"


def test_both_formats_say_the_same_and_every_column_is_described(made):
    out = export(made)
    listed = read(out / "columns.csv").set_index(["table", "name"])
    for name in ("words", "responses"):
        frame, text = pd.read_parquet(out / f"{name}.parquet"), read(out / f"{name}.csv")
        assert list(frame) == list(text) == list(listed.loc[name].index)
        for column in frame.select_dtypes("number"):
            np.testing.assert_array_equal(frame[column].astype(float), text[column].astype(float))
    assert read(out / "words.csv").word[5] == "NA"
    assert set(read(out / "responses.csv").fixated) == {True, False}
    assert "TRUE" in (out / "responses.csv").read_text()
    assert tuple(listed.loc[("words", "surprisal_bits_a_1")].fillna("")) == (
        "bits", "surprisal of the word", "a-1",
    )  # fmt: skip
    assert "times: time_ms > 100" in listed.what["responses", "dropped_by"]
    assert "None of the study's experiments" in (out / "made.R").read_text()
    assert dataset.OF_LM.keys() >= {"surprisal_bits", "corrected_bits", "tokens", "context_tokens"}


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"licence": "CC BY 4.0", "supplied": False}, "only under its terms"),
        ({"licence": "none stated", "supplied": False}, "Ask its authors"),
        ({"supplied": False}, "states no licence"),
        ({"licence": "own", "supplied": True, "cite": "N. (1999)"}, "are not public here"),
    ],
)
def test_rights_are_said(about, said):
    assert said in dataset.rights(about)


@pytest.mark.parametrize(
    ("dataset", "placed"),
    [("natural_stories", False), ("simulated_spr", False), ("dundee", True), ("geco", True)],
)
def test_files_that_a_user_placed(dataset, placed):
    study = Study(load(*TINY), ROOT)
    assert exports.dataset_settings(study, dataset)["about"]["supplied"] == placed


@pytest.mark.parametrize(
    ("changes", "plain"),
    [
        ({}, True),
        ({"formula": "time_ms ~ surprisal + (1 | item)", "response": "log"}, True),
        ({"formula": "time_ms ~ surprisal + (1 + surprisal | subject) + (1 | stimulus)"}, True),
        ({"formula": "time_ms ~ surprisal + (1 | subject:item)"}, False),
        ({"engine": "ols", "formula": "time_ms ~ surprisal"}, False),
        ({"formula": "time_ms ~ surprisal[Pythia] + (1 | subject)"}, False),
        ({"formula": "time_ms ~ log(length) + (1 | subject)"}, False),
        ({"formula": "time_ms ~ cloze + (1 | subject)"}, False),
        ({"formula": "event ~ length + (1 | subject)", "family": "binomial"}, False),
        ({"spillover": "sentence"}, False),
    ],
)
def test_which_designs_are_r_code(changes, plain):
    design = DESIGN | {"formula": "time_ms ~ length * surprisal + (1 | subject)"} | changes
    assert (lme4.plain_formula(design) is not None) == plain


def test_a_fitted_frame_is_called_as_its_formula():
    values = {name: np.array([1.0, 3.0]) for name in ("length", "`surprisal[B]`")}
    groups = {"subject": Levels(np.array([1, 0]), ["a", "b"])}
    record = {"response": "log", "formula": "time_ms ~ 1", "scaling": scaling_of(values)}
    frame = fitted.data_frame(record, Rows(values, np.array([5.0, 6.0]), groups, np.array([7, 8])))
    assert frame.round(3).to_dict("list") == {
        "word_id": [7, 8],
        "subject": ["b", "a"],
        "log_time_ms": [5.0, 6.0],
        "surprisal[B]": [-0.707, 0.707],
        "length": [-0.707, 0.707],
        "surprisal[B]_raw": [1.0, 3.0],
        "length_raw": [1.0, 3.0],
    }


ASK = """
library(lme4)
numbers <- function(x) paste(sprintf("%.17g", x), collapse = ", ")
cat(sprintf('{{"loglik": %s, "fixed": [%s], "terms": "%s"}}\\n', numbers(logLik({model})),
            numbers(fixef({model})), paste(names(fixef({model})), collapse = " ")))
"""


def asked_of_r(code, folder):
    run = subprocess.run(
        ["Rscript", "-"], check=False, input=code, cwd=folder, env=environment(), text=True,
        capture_output=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.merge
@pytest.mark.apart
def test_a_finished_study_s_fits_come_out_of_its_export_in_r(study):
    where = "regression/spr/simulated_spr.SPR/Pythia.full"
    (study / "asked.yaml").write_text("export: {texts_and_times: true}\n")
    run = snakemake(
        study,
        "--keep-going",
        "export_simulated_spr",
        "export_simulated_eye_tracking",
        f"{RESULTS}/{where}.data.parquet",
        configs=[*TINY, "asked.yaml"],
    )
    assert run.returncode == 0, run.stdout[-3000:]
    assert f"In {RESULTS}/: report.html (open it in a browser), summary.txt" in run.stdout
    assert "exports (for others)" in run.stdout
    results = study / RESULTS
    for name, design in {"simulated_spr": "spr", "simulated_eye_tracking": "eye_tracking"}.items():
        (fits,) = results.glob(f"regression/{design}/{name}.*")
        folder = results / "exports" / name
        code = (folder / f"{name}.R").read_text()
        for lm in ("Pythia", "dVM-I", "ALiBi-mix-TI"):
            record = json.loads((fits / f"{lm}.full.json").read_text())
            file = f"regression/{design}/{fits.name}/{lm}.full.json"
            assert f"brm({record['formula']}, data = data, family = gaussian())" in code
            same(asked_of_r(code + ASK.format(model=f"models[['{file}']]"), folder), record)
    counts = pd.read_csv(results / "observations/simulated_spr.SPR/counts.csv", index_col="step")
    responses = pd.read_parquet(results / "exports/simulated_spr/responses.parquet")
    for name in ("fit", "exploratory", "held_out"):
        assert (responses.partition == name).sum() == counts.kept[name]
    words = pd.read_parquet(results / "exports/simulated_spr/words.parquet")
    for lm in ("Pythia", "dVM-I", "ALiBi-mix-TI"):
        given = pd.read_parquet(results / f"surprisal/{lm}/simulated_spr.parquet")
        for column in given.columns.drop("word_id"):
            assert (words[f"{column}_{lm.replace('-', '_')}"] == given[column]).all()

    # The frame that was fitted, by the formula of its record.
    record = json.loads((results / f"{where}.json").read_text())
    frame = pd.read_parquet(results / f"{where}.data.parquet")
    assert len(frame) == record["n"]["fit"]
    for name, by in record["scaling"].items():
        np.testing.assert_allclose(frame[f"{name}_raw"].mean(), by["mean"])
        np.testing.assert_allclose(frame[f"{name}_raw"].std(), by["sd"])
        np.testing.assert_allclose(frame[name], (frame[f"{name}_raw"] - by["mean"]) / by["sd"])
    theta = ", ".join(map(repr, record["theta"]))
    code = f"""library(lme4)
model <- lmer({record["formula"]}, read.csv("Pythia.full.data.csv"), REML = FALSE,
  start = c({theta}), control = lmerControl(optimizer = NULL, calc.derivs = FALSE))
"""
    same(asked_of_r(code + ASK.format(model="model"), (results / where).parent), record)


#: What the tables alone do not give: model → changes of the design.
OTHERS = {
    "nested": {"formula": "time_ms ~ surprisal + (1 + surprisal | subject) + (1 | subject:item)"},
    "function": {"formula": "time_ms ~ log(length) * surprisal + (1 | subject)", "response": "log"},
    "sentence": {"formula": "time_ms ~ previous_length + (1 | subject)", "spillover": "sentence"},
    "means": {"formula": "time_ms ~ surprisal + length", "engine": "ols"},
    "skips": {"formula": "event ~ length + (1 | subject)", "family": "binomial"},
    "lognormal": {"formula": "time_ms ~ surprisal + (1 | subject)", "family": "lognormal"},
    "shifted": {
        "formula": "time_ms ~ surprisal + (1 | subject)",
        "family": "shifted_lognormal",
        "shift": 40,
    },
    "gamma": {"formula": "time_ms ~ surprisal + (1 | subject)", "family": "gamma", "link": "log"},
    "exgaussian": {"formula": "time_ms ~ surprisal + (1 | subject)", "family": "exgaussian"},
}


@pytest.mark.merge
def test_models_of_other_kinds_are_fitted_by_the_export_s_calls(made, monkeypatch):
    results, fits, records = made / "results", [], []
    (results / "regression").mkdir(parents=True)
    for name, changes in OTHERS.items():
        event = "not fixated" if name == "skips" else None
        observations.main(
            made / "words.parquet",
            made / "responses.parquet",
            FILTERS[:1],
            event=event,
            out_fit=made / f"{name}.fit.parquet",
            out_counts=made / "counts.csv",
        )
        inputs = Inputs(
            made / "words.parquet",
            made / f"{name}.fit.parquet",
            None,
            made / "unigram.parquet",
            made / "a-1.parquet",
        )
        design = DESIGN | {"base": "fixed", "of_interest": ["surprisal"]} | changes
        if "surprisal" not in design["formula"]:
            design["of_interest"] = [design["formula"].split()[2]]
        file = f"regression/{name}.json"
        fit.main(inputs, results / file, lm="a-1", design=design, model="full", confirm=False)
        rows = results / f"regression/{name}.data"
        fitted.main(results / file, inputs, f"{rows}.parquet", f"{rows}.csv")
        fits.append({"design": design, "lm": "a-1", "measure": "FP", "file": file})
        records.append(json.loads((results / file).read_text()))
    fits.append(fits[0] | {"file": "regression/absent.json"})
    (results / "regression/absent.json").write_text(json.dumps(records[0]))
    out = results / "exports/made"
    paths = [results / each["file"] for each in fits]
    (results / "exports").mkdir()
    export(made, fits=fits, records=paths, out=out)
    code = (out / "made.R").read_text()
    ask = """
values <- sapply(names(models), function(name) logLik(models[[name]]) + jacobians[[name]])
cat("{", paste(sprintf('"%s": %.17g', names(models), values), collapse = ", "), "}\\n")
"""
    found = asked_of_r(code + ask, out)
    calls = dict(re.findall(r"# (regression/.*json): family .*\n# In Python: (.*)", code))
    monkeypatch.chdir(out)
    found |= {
        file: eval(call, {"crosslmm": crosslmm, "pandas": pd}).loglik
        for file, call in calls.items()
    }
    expected = {
        each["file"]: record["loglik"]["fit"] for each, record in zip(fits, records, strict=False)
    }
    assert found.keys() == expected.keys() and len(calls) == 2
    assert found == pytest.approx(expected, rel=1e-7)
    assert f'"{results}/regression/absent.data.csv")' in code
    for path in (results / "regression").glob("*.csv"):
        path.unlink()
    assert not asked_of_r(code + 'cat("[]")', out)  # says what it leaves out


def same(found, record):
    """Compare R's log-likelihood and fixed effects with a fit's record."""
    np.testing.assert_allclose(found["loglik"], record["loglik"]["fit"], rtol=1e-9)
    assert found["terms"].split() == [each["term"] for each in record["fixed"]]
    estimates = [each["estimate"] for each in record["fixed"]]
    np.testing.assert_allclose(found["fixed"], estimates, rtol=1e-6)
