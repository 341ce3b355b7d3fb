"""Pooled analyses: effects per observation with their standard errors, by language and overall."""

import math

import numpy as np
import pandas as pd
import pytest

from crosslmm.stats.meta_analysis import combine
from project import show
from recency.errors import InputError
from recency.evaluations.pooled import effects as computing
from recency.evaluations.pooled import view
from recency.evaluations.pooled.effects import ALL

DATASETS = [
    {"dataset": "a", "label": "A", "language": "en"},
    {"dataset": "b", "label": "B", "language": "en"},
    {"dataset": "c", "label": "C", "language": "de"},
    {"dataset": "d", "label": "D", "language": "de"},
]
#: (dataset, measure) → the LM's lead over the baseline, nats per observation.
LEADS = {
    ("a", "FP"): 0.002,
    ("a", "GP"): 0.004,
    ("b", "SPR"): 0.001,
    ("c", "FP"): 0.01,
    ("d", "FP"): 0.008,
}
LMS = [
    {"lm": lm, "label": lm.upper(), "bias": {"form": "none"}, "applied": "none"}
    for lm in ("base", "bias")
]
RESPONSES = [
    {"dataset": dataset, "measure": measure, "label": dataset.upper()} for dataset, measure in LEADS
]


@pytest.fixture
def files(tmp_path):
    """Write crossed scores of both LMs and their baseline models; return the arguments of `main`."""
    random, full, base, cells = np.random.default_rng(1), [], [], []
    for number, ((dataset, measure), lead) in enumerate(LEADS.items()):
        grid = pd.MultiIndex.from_product(
            [map(str, range(20)), range(15)], names=["subject", "unit"]
        )
        frame = grid.to_frame(index=False).assign(n=5 + number)
        shared = random.normal(0, 0.3, len(frame))
        for lm in ("base", "bias"):
            gain = 0.05 * frame.n + shared + (lm == "bias") * lead * frame.n
            gain = gain + (lm == "bias") * random.normal(0, 0.02, len(frame))
            where = tmp_path / f"{dataset}.{measure}.{lm}"
            frame.assign(loglik=-1.0).to_parquet(f"{where}.base.parquet")
            frame.assign(loglik=-1.0 + gain).to_parquet(f"{where}.full.parquet")
            full.append(f"{where}.full.parquet")
            base.append(f"{where}.base.parquet")
            cells.append(
                {"lm": lm, "label": lm, "dataset": dataset, "measure": measure, "design": "x"}
            )
    outputs = {"out_effects": tmp_path / "effects.csv", "out_pooled": tmp_path / "pooled.csv"}
    return {"full": full, "base": base, "cells": cells, "datasets": DATASETS} | outputs


def computed(files, **more):
    computing.main(**files, lms=["bias"], baseline="base", **more)
    return pd.read_csv(files["out_effects"]), pd.read_csv(files["out_pooled"])


def test_effects_are_leads_per_1000_observations(files):
    effects, _ = computed(files)
    by_response = effects[effects.measure != ALL].set_index(["dataset", "measure"])
    for (dataset, measure), lead in LEADS.items():
        row = by_response.loc[dataset, measure]
        assert row.effect == pytest.approx(1000 * lead, abs=4 * row.se)
        assert row.effect == pytest.approx(1000 * row.total / row.n)
        assert row.se == pytest.approx(1000 * row.total_se / row.n)
        assert row.low < row.effect < row.high


def test_measures_of_a_corpus_are_one_study(files):
    effects, pooled = computed(files)
    whole = effects[effects.measure == ALL].set_index("dataset")
    parts = effects[(effects.dataset == "a") & (effects.measure != ALL)]
    assert whole.n["a"] == parts.n.sum()
    assert whole.total["a"] == pytest.approx(parts.total.sum())
    # Measures of the same readers: the standard error is of the summed scores, not of a sum of squares.
    scores = []
    for measure in ("FP", "GP"):
        read = [
            pd.read_parquet(path.replace(".bias.", f".{lm}."))
            for lm in ("bias", "base")
            for path in files["full"]
            if f"a.{measure}.bias." in path
        ]
        lead = read[0].loglik - read[1].loglik
        scores.append(lead - lead.sum() / read[0].n.sum() * read[0].n)
    cells = (scores[0] + scores[1]).to_numpy().reshape(20, 15)
    rows, columns = (cells.sum(axis) for axis in (1, 0))
    ways = [float(v @ v) * len(v) / (len(v) - 1) for v in (rows, columns)]
    variance = max(sum(ways) - float((cells**2).sum()), *ways)
    assert whole.total_se["a"] == pytest.approx(math.sqrt(variance))
    assert pooled.set_index("language").k.to_dict() == {"en": 2, "de": 2, ALL: 4}


def test_languages_and_all_are_meta_analyses_of_their_corpora(files):
    effects, pooled = computed(files)
    whole, by = effects[effects.measure == ALL], pooled.set_index("language")
    for language, part in [*whole.groupby("language"), (ALL, whole)]:
        expected = combine(part.effect, part.se)
        for name in ("fixed", "random", "random_low", "tau2", "q", "i2"):
            assert by.loc[language, name] == pytest.approx(getattr(expected, name), abs=1e-9)
    groups = [combine(part.effect, part.se) for _, part in whole.groupby("language", sort=False)]
    weight = np.array([group.random_se for group in groups]) ** -2.0
    mean = np.array([group.random for group in groups])
    q = weight @ (mean - weight @ mean / weight.sum()) ** 2
    assert by.q_between[ALL] == pytest.approx(q)
    assert by.df_between[ALL] == 1 and by.q_between.drop(ALL).isna().all()


def test_pooled_effects_cover_both_languages(files):
    _, pooled = computed(files)
    by = pooled.set_index("language")
    assert by.random["de"] > by.random["en"] > 0
    assert by.random["de"] == pytest.approx(9, abs=3)


def test_endpoints_given_the_fits_are_pooled_too(files, tmp_path):
    random, kept = np.random.default_rng(2), {"full": [], "base": []}
    for number, cell in enumerate(files["cells"]):
        lead = LEADS[cell["dataset"], cell["measure"]] if cell["lm"] == "bias" else 0.0
        frame = pd.DataFrame({"subject": np.repeat([*"abcdefgh"], 60), "word_id": [*range(60)] * 8})
        frame["sentence"] = frame.word_id // 5
        gains = {"full": 10 * lead + random.normal(0, 0.01, len(frame)), "base": 0.0}
        for model, gain in gains.items():
            path = tmp_path / f"{number}.{model}.parquet"
            frame.assign(loglik=-1.0 + gain).to_parquet(path)
            kept[model].append(path)
    effects, pooled = computed(files | kept, endpoint="conditional", bootstrap="given_fits")
    whole = effects[effects.measure == ALL].set_index("dataset")
    assert whole.n.to_dict() == {"a": 960, "b": 480, "c": 480, "d": 480}
    assert whole.effect["c"] == pytest.approx(100, abs=4 * whole.se["c"])
    assert whole.effect["a"] == pytest.approx(30, abs=4 * whole.se["a"])
    assert pooled.set_index("language").random["de"] == pytest.approx(90, abs=15)


def test_a_corpus_without_a_fit_is_named(files):
    frame = pd.read_parquet(files["full"][3])
    frame.assign(loglik=math.nan).to_parquet(files["full"][3])
    with pytest.raises(
        InputError, match=r"pooled: a.GP has no ΔLogLik of 'bias' or 'base'; remove it"
    ):
        computed(files)


def test_figure_and_table_have_every_corpus_and_language(files, tmp_path):
    effects, pooled = computed(files)
    given = {"effects": files["out_effects"], "pooled": files["out_pooled"], "lms": LMS}
    given |= {"responses": RESPONSES, "baseline": "base"}
    out = [tmp_path / f"figure.{ending}" for ending in ("svg", "png", "csv")]
    show(view.figure_pooled, **given, out=out)
    drawn = view.lines(effects, pooled, "bias")
    assert list(drawn.text) == [
        "A FP, GP", "B SPR", drawn.text[2], "C FP", "D FP", drawn.text[5], drawn.text[6],
    ]  # fmt: skip
    assert [*drawn.kind].count("language") == 2 and drawn.kind.iloc[-1] == "overall"
    assert drawn.text[2].startswith("English (2 corpora, I² ")
    svg = out[0].read_text()
    assert all(f'id="corpus {y} bias"' in svg for y in (0, 1, 3, 4))
    assert all(f'id="{kind} {y} bias"' in svg for kind, y in (("language", 2), ("overall", 6)))
    assert len(pd.read_csv(out[2])) == len(effects)
    files_of_table = [tmp_path / f"table.{ending}" for ending in ("csv", "html", "tex")]
    del given["baseline"]
    show(view.table_pooled, **given, out=files_of_table)
    page = files_of_table[1].read_text()
    for text in (
        "A FP",
        "A GP",
        "B SPR",
        "English",
        "German",
        "All languages",
        "difference between",
    ):
        assert text.casefold() in page.casefold(), text
    summary = view.summary(files_of_table[0])
    assert [row[0].text for row in summary.rows] == ["BIAS", "", ""]
    assert any("difference between languages, BIAS" in note for note in summary.notes)


def test_a_language_of_one_corpus_has_no_diamond(files):
    files["datasets"] = [*DATASETS[:3], {**DATASETS[3], "language": "fi"}]
    effects, pooled = computed(files)
    drawn = view.lines(effects, pooled, "bias")
    assert [*drawn.kind].count("language") == 1
    assert pooled.set_index("language").k.to_dict() == {"en": 2, "de": 1, "fi": 1, ALL: 4}


def test_corpora_that_share_texts_are_one_study(files, tmp_path):
    """A and b of the same sentences: one row for both, one study fewer, no smaller a standard error."""
    words = []
    for about in DATASETS:
        name = about["dataset"]
        text = "shared" if name in "ab" else name
        path = tmp_path / name / "words.parquet"
        path.parent.mkdir()
        rows = [(f"t{n}", n, f"{text} sentence of this story, number {n}") for n in range(15)]
        pd.DataFrame(rows, columns=["item", "sentence", "word"]).to_parquet(path)
        words.append(path)
    apart, pooled_apart = computed(files)
    effects, pooled = computed(files, words=words)
    whole = effects[effects.measure == ALL].set_index("dataset")
    assert list(whole.index) == ["a+b", "c", "d"] and whole.label["a+b"] == "A and B"
    before = apart[apart.measure == ALL].set_index("dataset")
    assert whole.total["a+b"] == pytest.approx(before.total["a"] + before.total["b"])
    assert whole.n["a+b"] == before.n["a"] + before.n["b"]
    k = [table.set_index("language").k for table in (pooled_apart, pooled)]
    assert (k[0]["en"], k[1]["en"], k[0][ALL], k[1][ALL]) == (2, 1, 4, 3)
    assert view.lines(effects, pooled, "bias").text[0] == "A and B FP, GP, SPR"
