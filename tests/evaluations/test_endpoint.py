"""Candidate endpoints in simulated studies, against the functions that the workflow uses."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmark_scripts import import_benchmark
from crosslmm import recorded
from crosslmm.factors import Levels, crossed_factors
from crosslmm.stats import bootstrap
from crosslmm.stats.crossed_samples import Tables
from crosslmm.stats.permutation import permutation_p
from project import load
from recency.regression import crossed
from recency.regression.designs import formula_of
from recency.regression.predictors import Rows
from recency.simulation import repeats, studies, study_scores
from recency.simulation.studies import Settings

simulate = import_benchmark("endpoint")
candidates, views = simulate.candidates, simulate.endpoint_views
CLOSENESS = {"a": 0.96, "b": 0.64}
SMALL = Settings(subjects=10, sentences=14, words=6, residual_sd=60, slope=25)


def observed(settings=SMALL, kept=None, seed=3):
    """Return the observations of the first LM in the cells `kept`."""
    response = studies.simulate(settings, CLOSENESS, np.random.default_rng(seed))[0]
    shape = settings.subjects, settings.sentences
    kept = np.ones(shape, dtype=bool) if kept is None else kept
    return study_scores.observations(response, "a", 0, slice(None), slice(None), kept)


def flat(scored):
    """Return predictors, times, subject and sentence of each observation."""
    subject, word = np.nonzero(scored.kept[:, scored.sentence])
    predictors = {name: values[word] for name, values in scored.predictors.items()}
    return predictors, scored.times[subject, word], subject, scored.sentence[word]


def record_of(fitted):
    """Return a fit as crosslmm.recorded reads it."""
    found, sigma = {"sigma": fitted.fit.solution.sigma, "random": {}, "ranef": {}}, 1.0
    sigma = found["sigma"]
    at = fitted.fit.solution
    factors = crossed_factors(fitted.formula)
    for factor, L, modes in zip(
        factors, (fitted.fit.La, fitted.fit.Lb), (at.modes_a, at.modes_b), strict=True
    ):
        S = sigma**2 * L @ L.T
        sd = np.sqrt(np.diag(S))
        with np.errstate(invalid="ignore"):
            correlation = S / sd[:, None] / sd
        terms = list(factor.columns)
        found["random"][factor.group] = {"terms": terms, "sd": sd, "correlation": correlation}
        found["ranef"][factor.group] = {f"{i:03}": list(row) for i, row in enumerate(modes)}
    return found


@pytest.mark.parametrize("subjects", [10, 20])
@pytest.mark.parametrize("model", ["full", "all", "fixed"])
def test_likelihoods_of_cells_are_those_of_rows(subjects, model):
    """Below and above the number of sentences, which Modelblocks' script depends on."""
    formula = study_scores.FULL if model == "full" else study_scores.BASELINES[model]
    settings = replace(SMALL, subjects=subjects)
    part = study_scores.partition(subjects, settings.sentences)
    fitting, scored = observed(settings, part < 2), observed(settings, part == 2)
    cells = fitting.cells(formula)
    fitted = candidates.Fitted(formula, cells.fit(*study_scores.once(cells)), cells.shift)
    by_cell = candidates.score_seen(fitted, scored, scored.cells(formula))

    record = record_of(fitted)
    predictors, y, subject, sentence = flat(scored)
    groups = {"subject": subject, "sentence": sentence}
    groups = {
        name: Levels(codes, [f"{i:03}" for i in range(codes.max() + 1)])
        for name, codes in groups.items()
    }
    X = np.column_stack([predictors.get(name, np.ones(len(y))) for name in formula.fixed])
    residuals = y - fitted.shift - X @ fitted.fit.solution.beta
    modes = recorded.random_part(record, predictors, groups, len(y))
    sizes = {"subject": subjects, "sentence": settings.sentences}
    expected = {
        "conditional": recorded.independent(residuals - modes, record["sigma"]),
        "marginal_subject": recorded.marginal(residuals, record, predictors, groups, ["subject"]),
        "marginal": recorded.marginal(residuals, record, predictors, groups),
        "fixed_effects": recorded.independent(residuals, record["sigma"]),
        "modelblocks": recorded.modelblocks(residuals, record, predictors, groups, sizes),
    }
    for name, found in zip(candidates.SEEN, by_cell, strict=True):
        rows = np.zeros(scored.kept.shape)
        np.add.at(rows, (subject, sentence), expected[name])
        assert found == pytest.approx(rows, rel=1e-6, abs=1e-6), name


def test_unseen_levels_have_no_modes():
    scored = observed()
    cells = scored.cells(study_scores.FULL)
    fit = cells.fit(*study_scores.once(cells))
    fitted = candidates.Fitted(study_scores.FULL, fit, cells.shift)
    by_subject, marginal, fixed = candidates.score_unseen(cells, fit, study_scores.once(cells))
    zero = np.zeros(SMALL.sentences)
    assert by_subject == pytest.approx(candidates.subjects_integrated(fitted, scored, zero))
    seen = dict(zip(candidates.SEEN, candidates.score_seen(fitted, scored, cells), strict=True))
    assert marginal == pytest.approx(seen["marginal"])
    assert fixed == pytest.approx(seen["fixed_effects"])
    assert marginal.sum() == pytest.approx(fit.loglik)


def test_crossed_scores_are_those_of_the_regression():
    scored = observed(kept=study_scores.partition(10, 14) != 3)
    found = study_scores.crossed_scores(scored.cells(study_scores.FULL), 60, (4, "x"))[0]
    predictors, y, subject, sentence = flat(scored)
    groups = {
        "subject": Levels(subject, [str(i) for i in range(10)]),
        "sentence": Levels(sentence, [str(i) for i in range(14)]),
    }
    rows = Rows(predictors, y, groups, np.arange(len(y)))
    frame = crossed.scores(study_scores.FULL, rows, predictors, 60, 4, "x")
    expected = np.zeros((10, 14))
    expected[frame.subject.astype(int), frame.unit.astype(int)] = frame.loglik
    assert found == pytest.approx(expected, rel=1e-8)


def test_a_cell_that_no_draw_leaves_out_has_the_mean_of_the_others():
    cells = observed().cells(study_scores.FULL)
    found = study_scores.crossed_scores(cells, 4, (4, "x"))[0]
    values, many = np.unique(found.round(9), return_counts=True)
    common = values[many.argmax()]
    assert 1 < many.max() < found.size
    others = found[~np.isclose(found, common)]
    assert common == pytest.approx(others.mean())


@pytest.mark.parametrize("seeds", [1, 3])
def test_totals_are_those_of_the_workflow(seeds):
    random = np.random.default_rng(2)
    n = random.integers(1, 9, (9, 11)).astype(float)
    cells = random.normal(0.3, 1, (seeds, 9, 11)) * n
    tables = Tables()
    for seed, values in enumerate(cells):
        subject, sentence = np.indices(n.shape).reshape(2, -1)
        columns = {"subject": subject, "sentence": sentence, "n": n.ravel()}
        columns |= {"delta_loglik": values.ravel()}
        tables.add(("a",), "x", pd.DataFrame(columns), str(seed))
    expected, found = tables.scores()["a",], study_scores.total(cells, n, "x")
    for name, value in expected.ends().items():
        assert found.ends()[name] == pytest.approx(value, nan_ok=True), name
    assert found.n == expected.n


def test_intervals_given_fits_are_those_of_the_bootstrap():
    random = np.random.default_rng(3)
    cells = random.normal(0.2, 1, (40, 60)) + random.normal(0, 0.3, 60)
    scores = study_scores.total(cells[None], np.ones((40, 60)), "x")
    low, high = candidates.ends(scores, "given_fits")
    drawn = bootstrap.draws(cells.sum(0)[:, None], 20_000, 1)[:, 0]
    assert (low, high) == pytest.approx(bootstrap.percentiles(drawn), rel=0.05)


def test_baselines_are_those_of_the_published_design():
    design = load("config.yaml")["designs"]["spr"]
    assert formula_of(design | {"base": "all"}, "full") == study_scores.FULL
    for name, formula in study_scores.BASELINES.items():
        assert formula_of(design | {"base": name}, "base") == formula


@pytest.mark.merge
def test_a_study_prefers_the_closer_lm():
    study = candidates.run(SMALL, CLOSENESS, 0, 1, draws=30, permutations=199)
    assert list(study.scores) and set(study.scores) == set(candidates.CANDIDATES)
    primary = study.scores[candidates.Candidate(*views.PRIMARY)]
    assert primary["a"].value > primary["b"].value
    truth = study.truth["all", "crossed"]
    assert truth["a"] > max(truth["b"], truth["c"])
    for by_test in study.p.values():
        assert by_test["larger"] == max(by_test["subject"], by_test["sentence"])
    without = candidates.run(SMALL, CLOSENESS, 0, 1, 30, 199, crossed_fixed=False)
    assert without.scores.keys() == {
        c for c in study.scores if c.data != "crossed" or c.baseline != "fixed"
    }


SIMULATION = {
    "closeness": CLOSENESS,
    "readers": {"subjects": 8, "sentences": 8, "words": 4, "slope": 30},
    "vary": {"slope_sd": [1.5]},
    "repeats": 2,
    "draws": 20,
    "crossed_fixed": 1,
    "permutations": 99,
}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("endpoint")
    files = folder / "candidates.csv", folder / "tests.csv"
    simulate.simulate_studies(*files, **SIMULATION, processes=2)
    return files


@pytest.mark.merge
def test_tables_have_every_candidate_and_test_of_every_setting(simulated):
    rows, tests = map(pd.read_csv, simulated)
    assert list(rows) == simulate.COLUMNS and list(tests) == simulate.TEST_COLUMNS
    assert list(dict.fromkeys(rows.setting)) == ["default", "slope_sd=1.5"]
    assert len(rows) == 2 * (2 * 10 * 2 + 2 * 3) and len(tests) == 2 * 4
    fixed = (rows.data == "crossed") & (rows.baseline == "fixed")
    assert (rows.repeats[fixed] == 1).all()
    assert (rows.repeats[~fixed] == 2).all()
    for name in ("size", "power"):
        assert (rows[f"{name}_low"] <= rows[name]).all()
        assert (rows[name] <= rows[f"{name}_high"]).all()
    assert not list(simulated[0].parent.glob(".*"))


@pytest.mark.merge
def test_a_stopped_simulation_goes_on(simulated, tmp_path, monkeypatch):
    files = tmp_path / "candidates.csv", tmp_path / "tests.csv"
    calls = []

    def stopped(settings, *arguments):
        calls.append(settings)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return measured(settings, *arguments)

    measured = simulate.measured
    monkeypatch.setattr(simulate, "measured", stopped)
    with pytest.raises(KeyboardInterrupt):
        simulate.simulate_studies(*files, **SIMULATION)
    state = tmp_path / ".candidates.state.jsonl"
    assert [json.loads(line).get("part") for line in state.open()] == [None, "default"]
    simulate.simulate_studies(*files, **SIMULATION)
    assert len(calls) == 4 + 2  # the default setting is not simulated again
    for one, other in zip(files, simulated, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert not state.exists()


def test_results_of_another_specification_are_not_used(tmp_path, capsys):
    path = tmp_path / "state.jsonl"
    repeats.Finished(path, {"a": 1}).add("x", 2)
    with path.open("a") as file:
        file.write('{"part": "y", "res')
    assert repeats.Finished(path, {"a": 1}).results == {"x": 2}
    assert repeats.Finished(path, {"a": 2}).results == {}
    assert "has another specification" in capsys.readouterr().err


def test_one_factor_at_a_time_and_fewer_studies_of_several_responses_or_seeds():
    vary = {"word_sd": [0], "responses": [3], "seeds": [3]}
    found = simulate.grid({"subjects": 12}, vary, 100)
    assert {each.name: each.repeats for each in found} == {
        "default": 100, "word_sd=0": 100, "responses=3": 33, "seeds=3": 33
    }  # fmt: skip
    assert found[2].settings == Settings(subjects=12, responses=3)
    assert found[1].columns()["word_sd"] == 0


def test_p_values_are_those_of_the_workflows_test():
    settings = Settings(subjects=9, sentences=10, words=4, responses=2, seeds=2)
    held_out = study_scores.partition(9, 10) == 3
    random = np.random.default_rng(5)
    differences = [random.normal(0.4, 1, (2, held_out.sum() * 4)) for _ in range(2)]
    found = candidates.p_values(differences, settings, 999, 3)
    subject, sentence = (np.repeat(index, 4) for index in np.nonzero(held_out))
    values = np.concatenate(differences, axis=1)
    by_seed = values.mean(1)
    for name, codes, many in (("subject", subject, 9), ("sentence", sentence, 10)):
        cluster = np.concatenate([codes, codes + many])
        expected = permutation_p(values.mean(0), 999, 3, cluster, by_seed)
        assert found[name] == expected
    assert found["observation"] == permutation_p(values.mean(0), 999, 3, None, by_seed)
    assert found["larger"] == max(found["subject"], found["sentence"])


def test_summary_counts_claims_and_coverage():
    def study(total, lead, null):
        return {
            "scores": {
                place: {
                    "n": 500,
                    "delta_loglik_a": {"value": total, "truth": 2.0, "ends": ends(total)},
                    "lead": {"value": lead, "truth": 1.0, "ends": ends(lead)},
                    "null": {"value": null, "ends": ends(null)},
                }
                for place in range(len(candidates.CANDIDATES))
            }
        }

    def ends(value):
        return {"given_fits": (value - 2, value + 2), "two_way": (value - 4, value + 4)}

    setting = simulate.grid({}, {}, 4)[0]
    found = simulate.summary(setting, [study(10, 3, -3), study(14, -3, 1), study(12, 3, 1)])
    row = next(r for r in found if r["interval"] == "given_fits" and r["baseline"] == "all")
    assert row["delta_loglik_a"] == 12 and row["lead"] == 1 and row["power"] == pytest.approx(2 / 3)
    assert row["size"] == pytest.approx(1 / 3) and row["reversed"] == pytest.approx(1 / 3)
    assert row["coverage_delta_loglik_a"] == 1 and row["coverage_lead"] == pytest.approx(2 / 3)
    assert row["delta_loglik_a_bias"] == pytest.approx(24 - 2) and row[
        "lead_bias"
    ] == pytest.approx(2 - 1)
    row = next(r for r in found if r["interval"] == "two_way" and r["baseline"] == "all")
    assert row["power"] == 0 and row["coverage_lead"] == 1


@pytest.mark.merge
def test_figure_and_table(simulated, tmp_path):
    views.write(*map(pd.read_csv, simulated), tmp_path)
    drawn = pd.read_csv(tmp_path / "figure_endpoint.csv")
    assert len(drawn) == 2 * 26 and set(drawn.interval[drawn.data == "crossed"]) == {"two_way"}
    page = (tmp_path / "table_endpoint.html").read_text()
    assert "permutation, larger of both" in page and "<b>" in page
    assert page.count("<tr") == 1 + 46 + 4
