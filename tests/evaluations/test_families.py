"""Families of LMs: gaps and relations that were put in, Table 9.3's own test, variance explained."""

import math

import numpy as np
import pandas as pd
import pytest
import yaml
from project import SCHEMA, load, merged
from scipy import stats

from recency.errors import InputError
from recency.evaluations.families import figure, gaps, table
from recency.workflow import checks

GROUPS = {"rising": ["a1", "a2", "a3"], "falling": ["b1", "b2", "b3"]}
RESPONSES = [
    {"dataset": d, "measure": m, "label": d, "design": "spr"}
    for d, m in (("one", "SPR"), ("two", "FP"))
]
PERPLEXITY = {"a1": 100, "a2": 50, "a3": 20, "b1": 90, "b2": 40, "b3": 10}
#: In `rising` the better LM is the worse reader.
LOGLIK = {"a1": 30.0, "a2": 20.0, "a3": 5.0, "b1": 1.0, "b2": 2.0, "b3": 9.0}


@pytest.fixture
def files(tmp_path):
    """Write ΔLogLik of a design and, twice as large plus 3 by response, of another, and perplexity."""
    rows = [
        {"lm": lm, "label": lm.upper(), "dataset": r["dataset"], "measure": r["measure"]}
        | {"delta_loglik": each * (1 + (r["dataset"] == "two")), "n_exploratory": 1000}
        for lm, each in LOGLIK.items()
        for r in RESPONSES
    ]
    plain = pd.DataFrame(rows)
    plain.to_csv(tmp_path / "without.csv", index=False)
    plain.assign(delta_loglik=2 * plain.delta_loglik).to_csv(tmp_path / "with.csv", index=False)
    seeds = [(f"{lm}@seed={s}", d, p * f) for lm, p in PERPLEXITY.items() for d in ("one", "two", "all") for s, f in ((1, 2), (2, 0.5))]  # fmt: skip
    frame = pd.DataFrame(seeds, columns=["lm", "dataset", "perplexity"])
    frame.to_csv(tmp_path / "perplexity.csv", index=False)
    return {
        "delta_loglik": tmp_path / "with.csv",
        "perplexity": tmp_path / "perplexity.csv",
        "groups": GROUPS,
        "responses": RESPONSES,
        "beside": [tmp_path / "without.csv"],
        "one_for_seeds": {f"{lm}@seed={s}": lm for lm in PERPLEXITY for s in (1, 2)},
    }


def test_gaps_and_relations_are_those_put_in(files):
    rows = gaps.points(**files)
    assert len(rows) == 2 * 6 * 2
    assert rows.perplexity[rows.lm == "a2"].to_numpy() == pytest.approx(50)  # over seeds, geometric
    found = gaps.gaps(rows).set_index(["design", "family", "response"])
    assert found.gap["without", "rising", "one SPR"] == 25
    assert found.gap["with", "rising", "one SPR"] == 50
    assert found.gap["without", "falling", "two FP"] == 16
    assert found.best["with", "falling", "two FP"] == "B3"
    assert found.rho["with", "rising", "one SPR"] == pytest.approx(1)
    assert found.rho["with", "falling", "one SPR"] == pytest.approx(-1)
    t, p, n = gaps.widened(found.reset_index())
    without = np.array([25, 50, 8, 16])
    expected = stats.ttest_rel(2 * without, without)
    assert (t, p, n) == pytest.approx((expected.statistic, expected.pvalue, 4))


def test_the_published_gaps_give_the_published_test():
    """Table 9.3's nine pairs of gaps: t(8) = 2.7, p = .028."""
    known = pd.read_csv(SCHEMA.parent / "data" / "published" / "thesis_table9_3_pos_gap.csv")
    rows = [
        {"family": row.lm_family, "response": corpus, "design": design, "gap": getattr(row, f"{corpus}_{name}")}
        for row in known.itertuples()
        for corpus in ("provo", "zuco", "gmaze")
        for design, name in ((gaps.WITHOUT, "no_pos"), (gaps.WITH, "pos"))
    ]  # fmt: skip
    t, p, n = gaps.widened(pd.DataFrame(rows))
    assert (round(t, 1), round(p, 3), n) == (2.7, 0.028, 9)


def test_variance_explained_is_that_of_the_likelihoods():
    """Of least squares, ΔLogLik of the fitted data is −n/2 log of the residual variances' ratio."""
    random = np.random.default_rng(1)
    x = random.normal(size=400)
    y = 0.3 * x + random.normal(size=400)
    r = np.corrcoef(x, y)[0, 1]
    delta = -200 * math.log(1 - r**2)
    rows = pd.DataFrame({"design": ["with"], "lm": ["a"], "response": ["one"], "delta_loglik": [delta], "n": [400]})  # fmt: skip
    assert gaps.explained(rows).loc["a", "one"] == pytest.approx(100 * r**2)


def test_tables_and_figure(files, tmp_path):
    ends = [[tmp_path / f"{name}.{end}" for end in ("csv", "html")] for name in ("t", "e")]
    known = tmp_path / "published.csv"
    known.write_text("lm_family,provo_no_pos,provo_pos\nGPT-2,34,47\n")
    table.main(**files, out=ends[0], explained=ends[1], published=known)
    page = ends[0][1].read_text()
    assert "published: GPT-2" in page and "A1 over A3" in page
    assert "wider with part of speech: paired t(3)" in page and "published t(8) = 2.7" in page
    assert "paired t(5)" in ends[1][1].read_text()
    figure.main(**files, out=[tmp_path / "f.svg", tmp_path / "f.csv"])
    assert len(pd.read_csv(tmp_path / "f.csv")) == 24
    alone = files | {"beside": []}
    table.main(**alone, out=ends[0], explained=ends[1], published=known)
    assert "with part of speech" not in ends[0][1].read_text()


FAULTS = {
    "{groups: {g: [Pythia, LSTM]}}": "families → groups → g: 'LSTM' is not among the experiment's `lms`",
    "{groups: {g: [Pythia, dVM-I]}, beside: nothing}": "no experiment is called 'nothing'",
    "{groups: {g: [Pythia, dVM-I]}, beside: maze}": "families → beside: 'maze' has other responses",
    "{groups: {g: [Pythia]}}": "families → groups → g",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_met_when_the_config_is_read(fault):
    experiment = {"families": yaml.safe_load(fault)}
    with pytest.raises(InputError) as error:
        checks.check(merged(load(), {"experiments": {"part_of_speech": experiment}}), SCHEMA)
    assert FAULTS[fault] in str(error.value)
