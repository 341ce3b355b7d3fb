"""Psychometric predictive power as the docs configure it, and a study whose regressions all fail."""

import re

import numpy as np
import pandas as pd
import pytest
import yaml

from crosslmm import lme4
from project import ROOT, SCHEMA, copy_project, load, merged, snakemake
from recency.workflow.config import checks

pytestmark = pytest.mark.merge

SECTION = (
    (ROOT / "docs" / "regression.md").read_text().partition("### Psychometric predictive power")[2]
)
YAML = re.search(r"```yaml\n(.*?)```", SECTION, re.DOTALL)[1]
COLUMNS = "{subject: subject, item: item, sentence: sentence, position: position, word: word, trial: trial}"
LM = (
    "{surprisals: {table: {local: lm.csv}, columns: {surprisal: %s, word_id: word_id}, unit: bits}}"
)
MINE = f"""
study: mine
scales: {{paper: {{unigram: counted}}}}
unigrams: {{counted: {{counts: {{local: counts.csv}}, columns: [word, n]}}}}
lms: {{A: {LM % "a"}, B: {LM % "b"}}}
datasets:
  mine:
    label: Mine
    parser: table
    licence: none
    cite: none
    options: {{columns: {COLUMNS[:-1]}, SPR: rt}}}}
    words: {{table: {{local: times.csv}}}}
    responses: {{table: {{local: times.csv}}}}
    measures: {{SPR: {{filters: [f]}}}}
    filters: {{f: time_ms > 1}}
    partitioned: false
"""
TARGET = "results/mine/paper/experiments/ppp/delta_loglik.csv"


def overlay():
    """Return the YAML of the docs for the LMs and the dataset of these tests."""
    text = YAML.replace("provo.FP", "mine.SPR").replace("provo", "mine")
    return text.replace("lms: [Pythia, ALiBi-mix-TI], baseline: Pythia", "lms: [A, B], baseline: A")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = copy_project(tmp_path_factory.mktemp("ppp") / "project")
    random = np.random.default_rng(0)
    rows = [
        (f"t{s // 5}", s % 5 + 1, p + 1, "w" * int(random.integers(1, 9)))
        for s, n in enumerate(random.integers(6, 11, 20))
        for p in range(n)
    ]
    words = pd.DataFrame(rows, columns=["item", "sentence", "position", "word"])
    words = words.assign(word_id=range(len(words)), a=random.gamma(3, 2.5, len(words)))
    words["b"] = 0.6 * words.a + random.gamma(2, 2, len(words))
    words.to_csv(folder / "lm.csv", index=False)
    counts = {"word": ["w" * k for k in range(1, 9)], "n": [800, 700, 500, 400, 300, 90, 40, 10]}
    pd.DataFrame(counts).to_csv(folder / "counts.csv", index=False)
    parts = []
    for reader in range(8):
        time = 300 + 5 * words.a + 4 * words.word.str.len() + random.normal(0, 30)
        time += random.normal(0, 40, len(words))
        parts.append(words.assign(subject=f"s{reader}", rt=time.round(3)))
    times = pd.concat(parts, ignore_index=True).assign(trial=lambda rows: np.arange(len(rows)))
    times.drop(columns=["a", "b", "word_id"]).to_csv(folder / "times.csv", index=False)
    (folder / "mine.yaml").write_text(MINE)
    return folder


def test_the_docs_yaml_is_short_and_right():
    assert len(YAML.splitlines()) < 15
    checks.check(merged(load(), yaml.safe_load(YAML)), SCHEMA)


@pytest.mark.apart
def test_ppp_is_that_of_lme4_called_directly(project):
    (project / "ppp.yaml").write_text(overlay())
    run = snakemake(project, "--nocolor", TARGET, configs=["mine.yaml", "ppp.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    found = pd.read_csv(project / TARGET).set_index("lm")
    words = pd.read_csv(project / "lm.csv")
    words["unigram"] = pd.read_parquet(
        project / "results/mine/paper/surprisal/counted/mine.parquet"
    ).surprisal_bits
    words["length"] = words.word.str.len().astype(float)
    for name in ("length", "unigram"):
        words[f"previous_{name}"] = words.groupby("item")[name].shift(fill_value=0.0)
    at = ["item", "sentence", "position"]
    rows = pd.read_csv(project / "times.csv").merge(words.drop(columns="word"), on=at)
    lme4._r()
    from rpy2 import robjects

    data = {
        name: robjects.FloatVector(rows[name])
        for name in ("rt", "a", "b", "length", "unigram", "previous_length", "previous_unigram")
    }
    data = robjects.r["data.frame"](**data, subject=robjects.StrVector(rows.subject))
    loglik = robjects.r("""function(d, added) {
      base <- "rt ~ length + unigram + previous_length + previous_unigram %s + (1 | subject)"
      for (name in setdiff(names(d), c("rt", "subject"))) d[[name]] <- as.numeric(scale(d[[name]]))
      as.numeric(logLik(lme4::lmer(as.formula(sprintf(base, added)), d, REML = FALSE)))
    }""")
    base = loglik(data, "")[0]
    for lm, column in {"A": "a", "B": "b"}.items():
        theirs = loglik(data, f"+ {column}")[0] - base
        assert found.delta_loglik[lm] == pytest.approx(theirs, abs=1e-3)
        assert found.n[lm] == len(rows)
        per = found.delta_loglik_per_observation[lm]
        assert per == pytest.approx(theirs / len(rows), abs=1e-6)


@pytest.mark.apart
def test_a_run_whose_regressions_all_fail_fails(project):
    """A random effect for each observation: lme4 refuses it."""
    formula = "time_ms ~ length + surprisal + (1 | subject:trial)"
    design = {"of_interest": ["surprisal"], "base": "all", "engine": "lme4", "response": "raw"}
    config = yaml.safe_load(overlay())
    config["designs"] = {"ppp": design | {"surprisal": "plain", "formula": formula}}
    config["run"] = ["ppp"]
    (project / "failing.yaml").write_text(yaml.safe_dump(config))
    verdict = TARGET.replace("delta_loglik.csv", "verdict.json")
    run = snakemake(project, "--nocolor", verdict, configs=["mine.yaml", "failing.yaml"])
    assert run.returncode != 0
    assert "all regressions failed in experiments → ppp: lme4: number of levels" in run.stdout
    written = (project / verdict).read_text()
    assert "This experiment failed: no response has a regression of all its LMs." in written
    assert "failed: Mine SPR (full: lme4: number of levels" in written and "not run" not in written
