"""Families of LMs: gaps and relations that were put in, Table 9.3's own test, variance explained against statsmodels."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
import yaml
from scipy import stats
from statsmodels.stats.anova import anova_lm

from project import SCHEMA, load, merged, show
from recency.errors import InputError
from recency.evaluations.families import view
from recency.figures.comparison import View
from recency.workflow.config import checks

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
        | {"delta_loglik": each * (1 + (r["dataset"] == "two")), "n": 1000}
        for lm, each in LOGLIK.items()
        for r in RESPONSES
    ]
    plain = pd.DataFrame(rows)
    plain.to_csv(tmp_path / "without.csv", index=False)
    plain.assign(delta_loglik=2 * plain.delta_loglik).to_csv(tmp_path / "with.csv", index=False)
    seeds = [(f"{lm}@seed={s}", d, p * f) for lm, p in PERPLEXITY.items() for d in ("one", "two", "all") for s, f in ((1, 2), (2, 0.5))]  # fmt: skip
    frame = pd.DataFrame(seeds, columns=["lm", "dataset", "perplexity"])
    frame = frame.assign(label=frame.lm, tokens=90, words=60, word_perplexity=1.0)
    frame.to_csv(tmp_path / "perplexity.csv", index=False)
    return {
        "delta_loglik": tmp_path / "with.csv",
        "perplexity": tmp_path / "perplexity.csv",
        "groups": GROUPS,
        "responses": RESPONSES,
        "others": [tmp_path / "without.csv"],
        "one_for_seeds": {f"{lm}@seed={s}": lm for lm in PERPLEXITY for s in (1, 2)},
    }


def test_gaps_and_relations_are_those_put_in(files):
    rows = show(view.points, **files)
    assert len(rows) == 2 * 6 * 2
    assert rows.perplexity[rows.lm == "a2"].to_numpy() == pytest.approx(50)  # over seeds, geometric
    found = view.family_gaps(rows).set_index(["design", "family", "response"])
    assert found.gap["without", "rising", "one SPR"] == 25
    assert found.gap["with", "rising", "one SPR"] == 50
    assert found.gap["without", "falling", "two FP"] == 16
    assert found.best["with", "falling", "two FP"] == "B3"
    assert found.rho["with", "rising", "one SPR"] == pytest.approx(1)
    assert found.rho["with", "falling", "one SPR"] == pytest.approx(-1)
    t, p, n = view.widened(found.reset_index())
    without = np.array([25, 50, 8, 16])
    expected = stats.ttest_rel(2 * without, without)
    assert (t, p, n) == pytest.approx((expected.statistic, expected.pvalue, 4))


def test_the_published_gaps_give_the_published_test():
    """Table 9.3's nine pairs of gaps: t(8) = 2.7, p = .028."""
    known = pd.read_csv(SCHEMA.parent / "data" / "published" / "thesis_table9_3_pos_gap.csv")
    t, p, n = view.widened(view.published_gaps(known))
    assert (round(t, 1), round(p, 3), n) == (2.7, 0.028, 9)


def test_shares_are_those_of_an_analysis_of_variance(tmp_path):
    """Against statsmodels' of type I, readers as a factor first and the LM's terms last."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(300, 3)), columns=["length", "surprisal", "pos_noun"])
    frame["subject"] = pd.Categorical(random.choice(list("abcde"), 300))
    frame["time_ms"] = (
        3 * frame.subject.cat.codes + frame.length + frame.surprisal * (1 + frame.pos_noun)
    ) + random.normal(size=300)
    formula = "time_ms ~ C(subject) + length + pos_noun + surprisal + pos_noun:surprisal"
    squares = anova_lm(smf.ols(formula, frame).fit(), typ=1).sum_sq
    expected = 100 * squares / squares.sum()
    terms = ["length", "surprisal", "pos_noun", "pos_noun:surprisal"]
    found = view.explained_shares(frame, "time_ms", terms)
    assert found["readers"] == pytest.approx(expected["C(subject)"])
    for term in terms:
        assert found[term] == pytest.approx(expected[term]), term
    both = expected["surprisal"] + expected["pos_noun:surprisal"]
    assert view.grouped(found)["surprisal"] == pytest.approx(both)
    frame.to_parquet(tmp_path / "d.parquet")
    fixed = [{"term": term} for term in ("(Intercept)", *terms)]
    (tmp_path / "f.json").write_text(json.dumps({"formula": "time_ms ~ 1 + …", "fixed": fixed}))
    cells = [{"lm": lm, "label": lm, "dataset": d, "measure": m} for lm in "xyz" for d, m in (("one", "SPR"), ("two", "FP"))]  # fmt: skip
    ends = [[tmp_path / f"{name}.{end}" for end in two] for name, two in (("t", ("csv", "html")), ("f", ("svg", "csv")))]  # fmt: skip
    files = {"fitted": [tmp_path / "d.parquet"] * 6, "fits": [tmp_path / "f.json"] * 6}
    show(
        view.table_explained, **files, out=ends[0], figure=ends[1], cells=cells, responses=RESPONSES
    )
    assert pd.read_csv(ends[0][0]).surprisal.to_numpy() == pytest.approx(both)


def test_measures_are_compared_as_published():
    """Within a dataset where one has both measures, else across; what is not here is left out."""
    responses = [{"dataset": d, "measure": m, "label": d, "design": "spr"} for d, m in (("eye", "FFD"), ("eye", "FP"), ("other", "FP"), ("maze", "Maze"), ("maze", "TFT"))]  # fmt: skip
    names = [f"{r['label']} {r['measure']}" for r in responses]
    measured = View.of_job({"responses": responses}).responses
    wide = pd.DataFrame({name: [n, n + 1.0, n + 2.5] for n, name in enumerate(names)})
    wide.loc[0, "maze Maze"] += 1
    published = pd.DataFrame({"more": ["FP", "Maze", "GP"], "less": ["FFD", "FP", "FP"], "t": [19.3, 2, 1], "df": [18] * 3})  # fmt: skip
    found = view.tests(wide, names[:4], published, measured)
    assert [each.partition(":")[0] for each in found] == ["maze Maze over eye FP", "maze Maze over other FP"]  # fmt: skip
    wide.loc[0, "eye FP"] += 1
    first, *_ = view.tests(wide, names[:4], published, measured)
    expected = stats.ttest_rel(wide["eye FP"], wide["eye FFD"])
    assert first.startswith(f"eye FP over eye FFD: paired t(2) = {expected.statistic:.2f} (p ")
    assert first.endswith("; published t(18) = 19.3")
    assert len(view.tests(wide, names[:4], None, measured)) == 3


def test_tables_and_figure(files, tmp_path):
    ends = [tmp_path / f"t.{end}" for end in ("csv", "html")]
    known = SCHEMA.parent / "data" / "published" / "thesis_table9_3_pos_gap.csv"
    show(view.table_families, **files, out=ends, published=known)
    page = ends[1].read_text()
    assert "published: GPT-2" in page and "A1 over A3" in page
    assert "do not differ reliably from those without: paired t(3) = 2.72 (p 0.073)" in page
    assert "published t(8) = 2.7" in page
    told = [(d, "f", n, "SPR", n, 3, n * 10 + (n % 2) + (d == "with") * 9, "a", "b", 1.0) for d in ("without", "with") for n in range(4)]  # fmt: skip
    wider = pd.DataFrame(told, columns=view.GAPS)
    wider.loc[5, "gap"] += 1
    (said,) = view.gap_notes(wider, None)
    assert said.startswith("gaps are wider with part of speech: paired t(3)")
    show(view.figure_families, **files, out=[tmp_path / "f.svg", tmp_path / "f.csv"])
    assert len(pd.read_csv(tmp_path / "f.csv")) == 24
    alone = files | {"others": []}
    show(view.table_families, **alone, out=ends, published=known)
    assert "with part of speech" not in ends[1].read_text()


@pytest.mark.merge
@pytest.mark.parametrize("many", [2, 5, 6])
def test_every_point_is_in_its_panel(files, many):
    """Of one response or two beside each other; a response's panels have one axis."""
    rows = show(view.points, **files)
    one = rows[rows.dataset == "one"]
    higher = 50 * (one.design == "with")
    parts = [one.assign(response=f"r{n}", delta_loglik=one.delta_loglik + n * higher) for n in range(many)]  # fmt: skip
    rows = pd.concat(parts)
    drawn = view.draw(rows, ["told"])
    drawn.canvas.draw()
    panels = [axes for axes in drawn.axes if axes.get_visible()]
    assert len(panels) == 2 * many and sum(bool(axes.get_xlabel()) for axes in panels) in (2, 4)
    for axes in panels:
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        for line in axes.lines:
            assert all(left < x < right for x in line.get_xdata())
            assert all(low < y < high for y in line.get_ydata())
        if axes.get_xlabel():
            assert any(tick.label1.get_visible() for tick in axes.xaxis.get_major_ticks())


FAULTS = {
    "{groups: {g: [Pythia, LSTM]}}": "families → groups → g: 'LSTM' is not among the experiment's `lms`",
    "{groups: {g: [Pythia, dVM-I]}, without_part_of_speech: nothing}": "no experiment is called 'nothing'",
    "{groups: {g: [Pythia, dVM-I]}, without_part_of_speech: maze}": "families → without_part_of_speech: 'maze' has other responses",
    "{groups: {g: [Pythia]}}": "families → groups → g",
}


@pytest.mark.merge
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_met_when_the_config_is_read(fault):
    experiment = {"families": yaml.safe_load(fault)}
    with pytest.raises(InputError) as error:
        checks.check(merged(load(), {"experiments": {"part_of_speech": experiment}}), SCHEMA)
    assert FAULTS[fault] in str(error.value)
