"""The baseline model of ΔLogLik: which one the fits have, and other endpoints next to the ranking."""

import json

import numpy as np
import pandas as pd
import pytest

from project import show
from recency.errors import InputError
from recency.evaluations.reading_times import delta_loglik, intervals, tables_of_fits, verdict
from recency.figures import bases, comparison, papers
from recency.figures import intervals as interval_files
from recency.regression import designs

SLOPES = {
    "formula": "time_ms ~ length + surprisal + entropy + (1 + surprisal | subject)",
    "of_interest": ["surprisal"],
    "base": ["fixed", "all"],
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}
NONE = SLOPES | {"formula": "time_ms ~ length + surprisal + (1 | subject)"}


def test_each_file_of_a_design_with_two_bases_has_its_own():
    own, shared = designs.with_one_base(SLOPES, True), designs.with_one_base(SLOPES, False)
    assert str(designs.formula_of(own, "base")) == (
        "time_ms ~ 1 + length + entropy + (1 + surprisal | subject)"
    )
    assert str(designs.formula_of(shared, "base")) == "time_ms ~ 1 + length + (1 | subject)"
    assert [designs.kind_of_base(each) for each in (own, shared)] == ["fixed", "all"]
    # Used as it is, by a study of power, say, it has the first.
    assert designs.formula_of(SLOPES, "base") == designs.formula_of(own, "base")


def test_without_slopes_both_bases_are_one():
    assert {designs.kind_of_base(NONE | {"base": base}) for base in ("fixed", "all")} == {"all"}


def test_controls_may_spill_over():
    design = NONE | {"formula": "time_ms ~ length + unigram + surprisal + (1 | subject)"}
    full = designs.formula_of(design | {"controls": "spillover"}, "full")
    assert full.fixed[1:] == (
        "length",
        "unigram",
        "previous_length",
        "previous_unigram",
        "surprisal",
    )
    base = designs.formula_of(design | {"controls": "spillover"}, "base")
    assert base.fixed == full.fixed[:-1]  # controls stay in the base
    assert designs.formula_of(design | {"controls": "own"}, "full") == designs.formula_of(
        design, "full"
    )
    own = design | {"formula": "time_ms ~ previous_length + length + surprisal + (1 | subject)"}
    assert designs.formula_of(own | {"controls": "spillover"}, "full") == designs.formula_of(
        own, "full"
    )
    bare = design | {"formula": "time_ms ~ surprisal + (1 | subject)", "controls": "spillover"}
    with pytest.raises(InputError, match="adds previous_length .* it has neither"):
        designs.formula_of(bare, "full")


def test_a_base_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="base is 'slopes' and must be one of fixed, all"):
        designs.formula_of(SLOPES | {"base": ["fixed", "slopes"]}, "full")


def fits(folder, logliks):
    """Write the fits of two LMs with these exploratory log-likelihoods, and both bases."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (value, base) in logliks.items():
        record = {
            "model": "base" if base else "full", "n": {"exploratory": 9, "fit": 18}, "note": "",
            "converged": True, "loglik": dict.fromkeys(delta_loglik.KEYS.values(), value),
        } | ({"base": base} if base else {})  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps(record))


def table(folder, lms, base_of):
    cells = [
        {"lm": lm, "label": lm, "dataset": "ucl", "measure": "SPR", "design": "x"} for lm in lms
    ]
    out = folder / f"{base_of('a')}.csv"
    delta_loglik.main(
        [folder / f"{lm}.json" for lm in lms], [folder / f"{base_of(lm)}.json" for lm in lms],
        out, cells=cells,
    )  # fmt: skip
    return pd.read_csv(out).set_index("lm")


def test_over_the_shared_base_differences_are_those_of_the_full_models(tmp_path):
    logliks = {"a": (-100.0, None), "b": (-90.0, None), "a.base": (-120.0, "fixed")}
    logliks |= {"b.base": (-95.0, "fixed"), "none.base": (-300.0, "all")}
    fits(tmp_path, logliks)
    fixed = table(tmp_path, "ab", lambda lm: f"{lm}.base")
    shared = table(tmp_path, "ab", lambda lm: "none.base")
    assert fixed.delta_loglik.tolist() == [20, 5] and set(fixed.base) == {"fixed"}
    assert shared.delta_loglik.tolist() == [200, 210] and set(shared.base) == {"all"}
    # The two bases rank the LMs differently, and only one ranks the full models.
    assert shared.delta_loglik.diff().iloc[1] == -90 - -100


def rows(folder, base, second=None, endpoint="modelblocks"):
    """Write ΔLogLik of two LMs on two responses relative to a baseline model, or to two."""
    made = [
        {"lm": lm, "dataset": dataset, "measure": "SPR", "base": kind, "delta_loglik": value + n,
         "endpoint": endpoint, "n": 9, "converged": True, "delta_loglik_conditional": value / 2}
        for n, (dataset, kind) in enumerate((("ucl", base), ("ns", second or base)))
        for lm, value in (("Pythia", 160.0), ("ALiBi-mix-TI", 180.0))
    ]  # fmt: skip
    path = folder / f"{base}{second}{endpoint}.csv"
    pd.DataFrame(made).to_csv(path, index=False)
    return path


LMS = [
    {"lm": "Pythia", "label": "Pythia", "bias": {"form": "none"}, "applied": "none"},
    {"lm": "ALiBi-mix-TI", "label": "ALiBi-mix-TI", "bias": {"form": "linear", "slopes": "mix"},
     "applied": "training"},
]  # fmt: skip
RESPONSES = [
    {"dataset": "ucl", "measure": "SPR", "label": "UCL"},
    {"dataset": "ns", "measure": "SPR", "label": "Natural Stories"},
]


def compared(folder, path):
    result = show(comparison.read, delta_loglik=path, lms=LMS, responses=RESPONSES)
    sure = folder / "sure.csv"
    pd.DataFrame(columns=interval_files.COLUMNS).to_csv(sure, index=False)
    published = papers.delta("data/published/clark2025_table2.csv", result.lms)
    known = interval_files.read(sure, result)
    found = tables_of_fits.data(result, known, published)
    page = tables_of_fits.layout(result, known, found, baseline="Pythia")
    return found.set_index(["lm", "response"]), page


def test_published_values_of_the_same_endpoint_have_a_difference(tmp_path):
    found, page = compared(tmp_path, rows(tmp_path, "all"))
    row = found.loc[("Pythia", "UCL SPR")]
    assert (row.published, row.published_base) == (57.1, "all")
    assert row.published_endpoint == "modelblocks"
    assert row.difference == pytest.approx(160 - 57.1)
    assert found.loc[("Pythia", "Total"), "difference"] == pytest.approx(321 - 57.1 - 66)
    assert "(base: all)" in page.notes[0] and "different endpoints" not in " ".join(page.notes)


@pytest.mark.parametrize(("base", "endpoint"), [("fixed", "modelblocks"), ("all", "crossed")])
def test_no_difference_between_different_endpoints(tmp_path, base, endpoint):
    found, page = compared(tmp_path, rows(tmp_path, base, endpoint=endpoint))
    assert found.published.notna().all() and found.difference.isna().all()
    assert f"(base: {base})" in page.notes[0]
    assert any("no difference is given" in note for note in page.notes)
    cells = [cell for row in page.rows for cell in row[1:]]
    assert all(cell.below[-1] == "" for cell in cells)


def test_a_total_of_different_baselines_has_no_difference(tmp_path):
    found, page = compared(tmp_path, rows(tmp_path, "all", "fixed"))
    known = found.difference.notna()
    assert set(found.index[known]) == {("Pythia", "UCL SPR"), ("ALiBi-mix-TI", "UCL SPR")}
    assert "baseline models of several kinds" in page.notes[0]


def test_tables_match_published_values_by_their_stated_name(tmp_path):
    """A table of surprisals has no bias that is known; it is not the paper's LM without one."""
    plain = {"label": "x", "bias": {"form": "none"}, "applied": "none"}
    table = {"surprisals": {"columns": {}}}
    lms = [
        plain | {"lm": "a", "label": "A", "network": {"table": {"published_as": "ALiBi-mix-TI"}}},
        plain | {"lm": "b", "label": "B", "network": {"table": {}}},
        plain | {"lm": "c", "network": {"ngram": table}},
    ]
    models = comparison.records(lms, [])[0]
    published = papers.delta("data/published/clark2025_table2.csv", models)
    assert published.index.tolist() == ["a"] and published.loc["a", "UCL SPR"] == 68.1


def test_lms_over_unlike_bases_are_not_compared(tmp_path):
    path = rows(tmp_path, "all")
    made = pd.read_csv(path)
    made.loc[1, "base"] = "fixed"
    made.to_csv(path, index=False)
    with pytest.raises(InputError, match="UCL SPR has the bases all and fixed"):
        show(comparison.read, delta_loglik=path, lms=LMS, responses=RESPONSES)


def test_a_published_table_without_a_base_is_refused(tmp_path):
    made = pd.read_csv("data/published/clark2025_table2.csv")
    made.drop(columns="base").to_csv(tmp_path / "t.csv", index=False)
    models = comparison.records(LMS, [])[0]
    with pytest.raises(InputError, match="no column base; .*README"):
        papers.delta(tmp_path / "t.csv", models)
    made.assign(base="some").to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match="base is 'some' but must be fixed or all"):
        papers.delta(tmp_path / "t.csv", models)


def sure(folder, path, reach):
    """Write intervals of ± `reach` about the totals' difference of a file of `rows`."""
    made = pd.read_csv(path).groupby("lm", sort=False).delta_loglik.sum()
    drawn = {
        (lm, ("ucl", "SPR", "x")): intervals.Draws(value, 9, {
            c: value + offset * np.linspace(-1, 1, 101) for c in intervals.CLUSTERS})
        for (lm, value), offset in zip(made.items(), (0, reach), strict=True)
    }  # fmt: skip
    out = folder / f"sure_{path.name}"
    intervals.table(drawn, {"ALiBi-mix-TI": "Pythia"}).to_csv(out, index=False)
    return out


def test_the_verdict_names_baseline_and_endpoint(tmp_path):
    first = rows(tmp_path, "all", endpoint="crossed")
    show(verdict.main, 
        delta_loglik=first, intervals=sure(tmp_path, first, 60), out=tmp_path / "v.json", lms=LMS,
        responses=RESPONSES, baseline="Pythia", baselines={lm["lm"]: "Pythia" for lm in LMS},
    )  # fmt: skip
    content = json.loads((tmp_path / "v.json").read_text())
    assert (content["base"], content["endpoint"]) == ("all", "crossed")
    assert content["sentences"][-1] == (
        f"ΔLogLik is relative to {bases.NAMED['all']}; its log-likelihood is "
        "of unseen subjects and sentences (crossed bootstrap)."
    )


def test_the_table_of_endpoints_ranks_by_each(tmp_path):
    first, second = rows(tmp_path, "all", endpoint="crossed"), rows(tmp_path, "fixed")
    made = pd.read_csv(second).assign(endpoint="conditional")
    made["delta_loglik_conditional"] = [3.0, 1.0, 3.0, 1.0]
    made.to_csv(second, index=False)
    out = [tmp_path / name for name in ("t.html", "t.csv", "t.tex")]
    show(tables_of_fits.table_endpoints, 
        delta_loglik=first, others=[second], out=out, lms=LMS, responses=RESPONSES,
        published="data/published/clark2025_table2.csv",
    )  # fmt: skip
    found = pd.read_csv(out[1])
    kinds = found[["base", "endpoint"]].drop_duplicates().to_numpy().tolist()
    assert kinds == [["all", "crossed"], ["all", "conditional"], ["fixed", "conditional"]]
    mix = found[(found.lm == "ALiBi-mix-TI") & (found.response == "UCL SPR")]
    assert mix.delta_loglik.tolist() == [180.0, 90.0, 1.0] and set(mix.published) == {68.1}
    assert "unseen subjects and sentences" in out[0].read_text()


def test_agreement_with_published_values():
    published = pd.DataFrame(
        {"UCL SPR": [1.0, 2.0, 4.0], "Provo FP": [3.0, 5.0, 9.0]}, ["a", "b", "c"]
    )
    found = {("all", "x"): published + 2, ("fixed", "x"): -published}
    near = tables_of_fits.agreement(found, published)
    assert near.correlation.tolist() == pytest.approx([1, -1])
    assert near.rms_difference.tolist() == pytest.approx([2, np.sqrt(4 * 136 / 6)])
    assert near.mean_difference[0] == pytest.approx(2) and near.cells.tolist() == [6, 6]
