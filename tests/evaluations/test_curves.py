"""Learning curves: their points against the tables of single experiments and brute force, their figures."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from crosslmm.stats.totals import NewSeeds
from project import show
from recency.evaluations.curves import points, view
from recency.evaluations.reading_times import delta_loglik, intervals

STEPS = (8, 64, 500)
RESPONSES = [
    {"dataset": "d", "measure": "SPR", "design": "spr", "label": "UCL"},
    {"dataset": "e", "measure": "FP", "design": "eye", "label": "Provo"},
]
LMS = [
    {"lm": "Pythia", "label": "no bias", "bias": {"form": "none"}, "applied": "none"},
    {"lm": "mix", "label": "mix-TI", "bias": {"form": "linear"}, "applied": "training"},
    {"lm": "dVM", "label": "dVM-I", "bias": {"form": "exponential"}, "applied": "inference"},
]


def name(lm, step, seed):
    return f"{lm}@seed={seed},step={step}"


def made(folder, seeds=(1,)):
    """Write what a run leaves of three LMs, three steps and these seeds; return main's arguments.

    ΔLogLik rises to step 64, and falls after it but for mix, which goes on.
    """
    random = np.random.default_rng(0)
    grid = [(lm["lm"], step, seed) for lm in LMS for step in STEPS for seed in seeds]
    about = [
        {"lm": name(lm, step, seed), "of": lm, "step": step, "tokens": 8192 * step, "seed": seed}
        | {"baseline": name("Pythia", step, seed)}
        for lm, step, seed in grid
    ]
    found = {"points": about, "cells": [], "surprisal": [], "scores": [], "attention": []}
    found |= {key: [] for key in ("full", "base", "full_observations", "base_observations")}
    for response in RESPONSES:
        n = 600
        units = pd.DataFrame({"subject": np.arange(n) % 20, "sentence": np.arange(n) % 37})
        units["word_id"], noise = np.arange(n), random.normal(0, 0.3, n)
        place = f"{response['design']}.{response['dataset']}"
        units.assign(loglik=0.0).to_parquet(folder / f"{place}.base.parquet")
        fit = {"n": {"exploratory": n, "fit": n}, "converged": True, "note": "", "model": "base"}
        fit["loglik"] = dict.fromkeys(("exploratory", "exploratory_marginal", "fit"), 0.0)
        (folder / f"{place}.base.json").write_text(json.dumps(fit))
        for lm, step, seed in grid:
            rise = {8: 0.02, 64: 0.3, 500: 0.35 if lm == "mix" else 0.15}[step]
            part = rise + noise + random.normal(0, 0.02, n) + 0.01 * random.normal()
            cell = folder / f"{place}.{name(lm, step, seed)}"
            units.assign(loglik=part).to_parquet(f"{cell}.parquet")
            failed = (lm, step, response["dataset"]) == ("dVM", 8, "e")
            own = fit | {
                "loglik": dict.fromkeys(fit["loglik"], part.sum()),
                "converged": not failed,
            }
            (folder / f"{place}.{name(lm, step, seed)}.json").write_text(json.dumps(own))
            keys = ("dataset", "measure", "design")
            found["cells"].append({"lm": name(lm, step, seed)} | {k: response[k] for k in keys})
            found["full"].append(f"{cell}.json")
            found["full_observations"].append(f"{cell}.parquet")
            found["base"].append(folder / f"{place}.base.json")
            found["base_observations"].append(folder / f"{place}.base.parquet")
            path = folder / name(lm, step, seed) / f"{response['dataset']}.parquet"
            path.parent.mkdir(exist_ok=True)
            bits = np.full(50, 12.0 - math.log(step)) + 0.1 * seed
            pd.DataFrame({"surprisal_bits": bits, "tokens": 2}).to_parquet(path)
            found["surprisal"].append(path)
    paradigm = np.repeat(["a", "b", "c", "d"], 25)
    pairs = pd.DataFrame({"pair": np.arange(100), "paradigm": paradigm, "phenomenon": "p"})
    pairs.to_parquet(folder / "pairs.parquet")
    found["pairs"] = folder / "pairs.parquet"
    for lm, step, seed in grid:
        right = np.arange(100) % 25 < 12 + 3 * STEPS.index(step) + (lm == "mix") * (paradigm == "a")
        columns = {"good_bits": np.where(right, 1.0, 3.0), "bad_bits": 2.0}
        columns |= {"good_rest_bits": np.nan, "bad_rest_bits": np.nan}
        path = folder / f"{name(lm, step, seed)}.pairs.parquet"
        pd.DataFrame(columns | {"pair": np.arange(100)}).to_parquet(path)
        found["scores"].append(path)
        path = folder / f"{name(lm, step, seed)}.by_head.csv"
        heads = pd.DataFrame({"layer": [1, 1, 2, 2], "mean_distance": [2.0, 4.0, 10.0, 4.0 + seed]})
        heads.to_csv(path, index=False)
        found["attention"].append(path)
    return found


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """One seed: arguments, and the rows that they come to."""
    folder = tmp_path_factory.mktemp("one")
    arguments = made(folder)
    points.main(folder / "curves.csv", **arguments, replicates=500, seed=3)
    return arguments, folder / "curves.csv"


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Three seeds: arguments, and the rows that they come to."""
    folder = tmp_path_factory.mktemp("three")
    arguments = made(folder, (1, 2, 3))
    points.main(folder / "curves.csv", **arguments, replicates=500, seed=3)
    return arguments, folder / "curves.csv"


def read(path):
    return show(view.read, path=path, lms=LMS, responses=RESPONSES)[0]


@pytest.mark.merge
@pytest.mark.parametrize("seeds", ["one", "three"])
def test_the_intervals_are_those_of_any_experiment(seeds, request):
    """Of each step as if it were an LM of an experiment without steps: its tables, row by row."""
    arguments, path = request.getfixturevalue(seeds)
    found, sums = read(path), intervals.Sums()
    about = {each["lm"]: each for each in arguments["points"]}
    pairs = zip(arguments["full_observations"], arguments["base_observations"], strict=True)
    for cell, pair in zip(arguments["cells"], pairs, strict=True):
        response, point = (cell["dataset"], cell["measure"], cell["design"]), about[cell["lm"]]
        parts = delta_loglik.contributions(*pair)
        sums.add(f"{point['of']} {point['step']}", response, parts, str(point["seed"]))
    baselines = {f"{lm['lm']} {step}": f"Pythia {step}" for lm in LMS for step in STEPS}
    expected = intervals.table(sums.draw(500, 3), baselines).fillna({"against": ""})
    compared = 0
    for row in expected[expected.kind != "pair"].itertuples():
        lm, step = row.lm.split()
        mine = found[(found.quantity == "delta_loglik") & (found.lm == lm)]
        mine = mine[(mine.step == int(step)) & (mine.dataset == row.dataset)]
        (mine,) = mine[mine.measure == row.measure].itertuples()
        if row.kind == "own":
            got = (mine.value, mine.low, mine.high)
        else:
            got = (mine.over_baseline, mine.low_over_baseline, mine.high_over_baseline)
        assert got == pytest.approx((row.delta_loglik, row.low, row.high), rel=1e-9)
        compared += 1
    assert compared == 3 * 9 + 3 * 6  # each response and the sum: own, and over the baseline


def test_perplexity_pairs_and_attention_are_those_of_their_files(one):
    found = read(one[1])
    of = found[(found.lm == "mix") & (found.step == 64)].set_index(
        ["quantity", "dataset", "measure"]
    )
    of_token = 2 ** ((12.1 - math.log(64)) / 2)
    assert of.value["perplexity", "all", "token"] == pytest.approx(of_token)
    assert of.value["accuracy", "", ""] == pytest.approx(100 * (16 + 3 * 15) / 100)
    assert of.over_baseline["accuracy", "", ""] == pytest.approx(1)
    assert of.value["mean_distance", "", "all"] == pytest.approx((2 + 4 + 10 + 5) / 4)
    assert of.value["mean_distance", "", "layer 2"] == pytest.approx(7.5)
    assert of.loc["perplexity"].low.isna().all()  # one seed, and nothing drawn anew


def test_perplexity_is_per_word_where_an_lm_has_tokens_of_its_own(tmp_path):
    about, paths = {}, []
    for lm, tokens in (("a", [2, 2]), ("b", [3, 1]), ("c", [3, 2])):
        paths.append(tmp_path / lm / "d.parquet")
        paths[-1].parent.mkdir()
        pd.DataFrame({"surprisal_bits": [4.0, 8.0], "tokens": tokens}).to_parquet(paths[-1])
        about[lm] = {"of": lm, "step": 8, "seed": 1}
    for some, unit, bits in ((paths[:2], "token", 3), (paths, "word", 6)):
        found, by_dataset = points._perplexities(some, about, NewSeeds([["1"]], 9, 0))
        assert found == unit and set(by_dataset) == {"d", "all"}
        for curves in by_dataset.values():
            values = [each.value for each in curves.values()]
            assert values == pytest.approx([bits] * len(some))


@pytest.mark.merge
def test_equal_perplexities_compare_the_last_steps(three, tmp_path):
    """These LMs have the same perplexity after each step, so that the row is that of the last one.

    The interval is no wider: seeds of a lower perplexity have a larger ΔLogLik.
    """
    arguments, path = three
    points.main(tmp_path / "c.csv", **arguments, matched=tmp_path / "m.csv", replicates=500, seed=3)
    rows, found = pd.read_csv(tmp_path / "m.csv"), read(path)
    assert list(rows.lm) == ["mix", "dVM"] and set(rows.against) == {"Pythia"}
    last = found[
        (found.quantity == "delta_loglik") & (found.step == 500) & (found.dataset == "all")
    ]
    for row in rows.itertuples():
        mine = last[last.lm == row.lm].iloc[0]
        assert [row.step, row.step_against, row.seeds] == [500, 500, 3]
        assert row.difference == pytest.approx(mine.over_baseline)
        assert row.low < row.difference < row.high
        wide = mine.high_over_baseline - mine.low_over_baseline
        assert row.high - row.low < (0.7 if row.lm == "mix" else 1.01) * wide


def test_the_sum_and_what_did_not_converge(one):
    found = read(one[1])
    fits = found[found.quantity == "delta_loglik"]
    both = fits[fits.response != "Total"].groupby(["lm", "step"]).value.sum()
    whole = fits[fits.response == "Total"].set_index(["lm", "step"]).value
    pd.testing.assert_series_equal(both, whole.sort_index(), check_names=False)
    failed = fits[~fits.converged]
    assert set(zip(failed.lm, failed.step, failed.response)) == {
        ("dVM", 8, "Provo FP"), ("dVM", 8, "Total")
    }  # fmt: skip


def test_since_the_highest_holds_for_all_steps_together(one, three):
    for path in (one[1], three[1]):
        found = read(path)
        whole = view.of(found, "delta_loglik", "Total").set_index(["lm", "step"])
        last = whole.loc[("Pythia", 500)]
        assert math.isnan(last.over_last) and last.value < whole.value["Pythia", 64]
        assert whole.over_last["Pythia", 64] == pytest.approx(
            whole.value["Pythia", 64] - last.value
        )
        assert whole.low_over_last["Pythia", 64] > 0 and whole.high_over_last["mix", 8] < 0
    assert (view.of(read(three[1]), "perplexity").low.notna()).all()


@pytest.mark.merge
def test_figures_table_and_summary(three, tmp_path):
    known = {"curves": three[1], "lms": LMS, "responses": RESPONSES, "baseline": "Pythia"}
    outs = {}
    for stem, make in (
        ("figure", view.figure_curves),
        ("figure_perplexity", view.figure_curves_perplexity),
    ):
        outs[stem] = [tmp_path / f"{stem}.{e}" for e in ("pdf", "svg", "png", "csv")]
        show(make, out=outs[stem], **known)
    svg = outs["figure"][1].read_text()
    for lm in LMS:
        assert f'id="value {lm["lm"]}"' in svg
        assert (f'id="band over_baseline {lm["lm"]}"' in svg) == (lm["lm"] != "Pythia")
    along = pd.read_csv(outs["figure_perplexity"][3])
    assert set(zip(along[along.highest].lm, along[along.highest].step)) == {
        ("Pythia", 64), ("dVM", 64), ("mix", 500)
    }  # fmt: skip
    out = [tmp_path / f"table_curves.{ending}" for ending in ("csv", "html", "tex")]
    show(view.table_curves, out=out, title="Along", **known)
    html = out[1].read_text()
    assert html.count("<tr") == 1 + 9 and "− no bias" in html and "Means over 3 seeds" in html
    told = view.summary(out[0])
    assert [row[0].text for row in told.rows] == ["no bias", "mix-TI", "dVM-I"]
    assert told.rows[0][1].text == "step 64, 0.52 M tokens" and told.rows[0][-2].bold
    assert any(
        note.startswith("no bias fits best at step 64; since then (perplexity ")
        and note.endswith(") it fits less well")
        for note in told.notes
    )
    assert "mix-TI fits best at the end of its training" in told.notes
    again = tmp_path / "again.svg"
    show(view.figure_curves, out=[again], **known)
    assert again.read_text() == svg
