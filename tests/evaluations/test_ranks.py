"""Ranks by refits: a refit is that of lme4 on the drawn rows, ranks are counted as they fall."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "regression"))
from made_readers import MIXED, columns, files, parted, readings, texts

import recency
from recency.errors import InputError
from recency.evaluations.ranks import figure, refits
from recency.regression import fit

SLOPES = MIXED | {
    "formula": "time_ms ~ length + surprisal + (1 + surprisal | subject) + (1 | sentence)",
    "base": ["fixed", "all"],
}
REPLICATES = 3


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    words = texts(folder, sentences=24)
    parted(folder, readings(words, lambda bits: 3 * bits, subjects=12), words)
    return folder


def refitted(folder, model, lm=True, design=SLOPES):
    out = folder / f"{lm}.{model}.parquet"
    refits.main(
        files(folder, lm=lm), out, lm="lm", design=design, model=model, dataset="d",
        replicates=REPLICATES, seed=1,
    )  # fmt: skip
    return pd.read_parquet(out).loglik


@pytest.mark.merge
@pytest.mark.parametrize(("model", "lm"), [("full", True), ("base", True), ("base", False)])
def test_the_data_themselves_give_the_regressions_own(made, model, lm):
    fit.main(files(made, lm=lm), made / "f.json", lm="lm", design=SLOPES, model=model)
    record = pd.read_json(made / "f.json", typ="series")
    assert refitted(made, model, lm)[0] == pytest.approx(record["loglik"]["exploratory"], abs=0.01)


def brute_force(folder, formula, times):
    """Copy the drawn subjects' rows, fit them by lme4's search, and score the copies' others."""

    def copied(rows):
        parts = [
            rows[rows.subject == name].assign(subject=f"{name}.{copy}")
            for name, many in times.items()
            for copy in range(many)
        ]
        return pd.concat(parts, ignore_index=True)

    rows, test = copied(columns(folder)), copied(columns(folder, "exploratory"))
    model = recency.lmer(formula, rows, engine="search")
    residuals = test.time_ms - model.predict(test)
    sigma = model.sigma
    return float((-0.5 * (np.log(2 * np.pi * sigma**2) + (residuals / sigma) ** 2)).sum())


@pytest.mark.parametrize(("model", "fixed"), [("full", "length + surprisal"), ("base", "length")])
def test_a_draw_is_a_fit_to_the_drawn_rows(made, model, fixed):
    found = refitted(made, model)
    names = sorted(pd.read_parquet(made / "fit.parquet").subject.unique())
    drawn = refits.draws(names, REPLICATES, 1, "d")
    assert (drawn.sum(1) == len(names)).all() and (drawn[0] == 1).all() and drawn.max() > 1
    for number in (1, 2, 3):
        formula = f"time_ms ~ {fixed} + (1 + surprisal | subject) + (1 | sentence)"
        wanted = brute_force(made, formula, dict(zip(names, drawn[number], strict=True)))
        assert found[number] == pytest.approx(wanted, abs=0.02)


def test_draws_are_the_same_for_all_measures_and_others_for_another_dataset():
    one, two = (refits.draws(list("abcdef"), 9, 1, d) for d in ("d", "e"))
    assert (one == refits.draws(list("abcdef"), 9, 1, "d")).all() and (one != two).any()


def test_what_refits_do_not_cover_is_refused(made):
    nested = "(1 | subject) + (1 | sentence) + (1 | sentence:subject)"
    for random in ("(1 | item)", "(1 | subject) + (1 | sentence) + (1 | item)", nested):
        design = SLOPES | {"formula": f"time_ms ~ length + surprisal + {random}"}
        with pytest.raises(InputError, match="a ranking by refits (resamples|covers no nested)"):
            refitted(made, "full", design=design)


CELLS = [
    {"lm": lm, "dataset": "d", "measure": m, "design": "x"} | ({"seed": s} if s else {})
    for m in ("FP", "GP") for lm in "abc" for s in (1, 2)
]  # fmt: skip


def written(folder, draws=40):
    """Write made refits of three LMs of two seeds in two responses; return ΔLogLik by cell."""
    random, made, paths = np.random.default_rng(0), [], {"full": [], "base": []}
    for number, cell in enumerate(CELLS):
        gain = random.normal("abc".index(cell["lm"]), 2.0, draws + 1)
        made.append(gain)
        for model, values in (("full", gain - 50), ("base", np.full(draws + 1, -50.0))):
            path = folder / f"{number}.{model}.parquet"
            pd.DataFrame({"replicate": range(draws + 1), "loglik": values}).to_parquet(path)
            paths[model].append(path)
    return np.array(made), paths


def test_ranks_are_counted_over_responses_and_seeds(tmp_path):
    gains, paths = written(tmp_path)
    drawn, notes = figure.totals(paths["full"], paths["base"], CELLS)
    assert notes == [] and list(drawn) == list("abc")
    by = gains.reshape(2, 3, 2, -1)
    assert np.allclose(drawn.iloc[0], by[:, :, :, 0].mean(2).sum(0))  # the data: plain means
    # A draw of two seeds has the first twice, the second twice, or both: the same for all LMs.
    for number in range(1, 41):
        ways = [by[:, :, :, number] @ np.array(w) / 2 for w in ([2, 0], [1, 1], [0, 2])]
        assert any(np.allclose(drawn.iloc[number], way.sum(0)) for way in ways)
    rows = figure.data(drawn, [figure.LM(k, k.upper(), {}, "none") for k in "abc"], "a")
    brute = (-drawn.iloc[1:].to_numpy()).argsort(1).argsort(1)
    for _, row in rows.iterrows():
        for rank in range(3):
            share = (brute[:, "abc".index(row.lm)] == rank).mean()
            assert row[f"rank_{rank + 1}"] == pytest.approx(share)
    assert rows.set_index("lm").above_baseline["c"] == (drawn.c[1:] > drawn.a[1:]).mean()


def test_a_draw_without_a_fit_is_left_out_and_said(tmp_path):
    _, paths = written(tmp_path)
    table = pd.read_parquet(paths["full"][0])
    table.loc[7, "loglik"] = np.nan
    table.to_parquet(paths["full"][0])
    drawn, notes = figure.totals(paths["full"], paths["base"], CELLS)
    assert len(drawn) == 40 and notes == ["1 draws with a failed fit excluded"]


def test_figure_and_table(tmp_path):
    _, paths = written(tmp_path)
    lms = [
        {"lm": k, "label": f"LM {k}", "bias": {"form": "none"}, "applied": "none"} for k in "abc"
    ]
    responses = [{"dataset": "d", "measure": m, "label": "D"} for m in ("FP", "GP", "SP")]
    out = {end: tmp_path / f"r.{end}" for end in ("svg", "csv", "html")}
    figure.main(
        **paths, figure=[out["svg"]], table=[out["csv"], out["html"]], cells=CELLS, lms=lms,
        responses=responses, baseline="a", baseline_model="fixed",
    )  # fmt: skip
    rows = pd.read_csv(out["csv"])
    assert np.allclose(rows[[f"rank_{k}" for k in (1, 2, 3)]].sum(axis=1), 1)
    page = out["html"].read_text()
    assert "(base: fixed)" in page and "not run: D SP" in page.lower().replace("d sp", "D SP")
    assert "LM c" in page and "40 draws of subjects and seeds" in page
    assert figure.summary(out["csv"]).rows
