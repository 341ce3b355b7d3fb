"""Figures beside those of ΔLogLik: legible, and nothing overlaps."""

import itertools

import numpy as np
import pandas as pd
import pytest
from test_figures import SIX, check_texts, lm, texts, words

import made_corpus
from benchmark_scripts import import_benchmark
from readingtimes import checks as dataset_checks
from recency.evaluations.dataset_check import page as check_dataset
from recency.evaluations.power import figure as figure_power
from recency.evaluations.reading_times import recovery
from recency.figures import comparison, style, tables


def test_recovery_is_legible():
    names = [recovery.INTERCEPT, "length", "position", "unigram", "surprisal", "previous_surprisal"]
    rows = []
    for a in SIX:
        for k, term in enumerate(names):
            truth = 340.0 if k == 0 else 3.0 * k
            rows.append((lm(a)["lm"], a, "fixed", term, truth, truth - 1, truth - 2, truth + 1))
        spreads = [("subject sd", term) for term in names]
        for part, term in [*spreads, ("sentence sd", ""), ("residual sd", "")]:
            rows.append((lm(a)["lm"], a, part, term, 5.0, 4.0, np.nan, np.nan))
    columns = ["lm", "label", "part", "term", "truth", "estimate", "low", "high"]
    models, _ = comparison.records([lm(a) for a in SIX], [])
    with style.use():
        table = pd.DataFrame(rows, columns=columns)
        figure = recovery.draw(table, "ALiBi-1_4-TI", models, ["Not fitted: dVM-I."])
        found = texts(figure)
    check_texts("recovery", figure, found)
    said = words(found).split("\n")
    assert {*SIX, "ms", "ms per sd", "put in"} <= set(said)
    assert any("Bold: ALiBi-1/4-TI" in text for text in said)


def test_power_is_legible():
    sizes = itertools.product([1, 3], [10, 20, 40, 80], [60, 120])
    rows = [(*size, 2, 40, 3.0 - size[0] / 4 + 20 / size[1], 2.5) for size in sizes]
    columns = ["seeds", "subjects", "sentences", "responses", "repeats"]
    columns += ["detectable_per_1000", "lead_per_1000"]
    with style.use():
        figure = figure_power.draw(pd.DataFrame(rows, columns=columns))
        found = texts(figure)
    check_texts("power", figure, found)
    said = words(found).split("\n")
    for text in (
        "1 training seed",
        "3 training seeds",
        "subjects",
        "120 sentences",
        "simulated lead",
    ):
        assert text in said, text


def test_endpoints_are_legible():
    candidates = import_benchmark("endpoint_candidates")
    views = import_benchmark("endpoint_views")
    settings = {"default": (30, 0.5), "subjects=10": (10, 0.5), "slope_sd=0.15": (30, 0.15)}
    rows = [
        {"setting": name, "subjects": subjects, "slope_sd": slope_sd}
        | {"baseline": baseline, "likelihood": likelihood, "data": data}
        | {"power": 0.2 + subjects / 50, "size": 0.04, "repeats": 100}
        for name, (subjects, slope_sd) in settings.items()
        for baseline, likelihood, data in candidates.CANDIDATES
    ]
    with style.use():
        figure = views.draw(pd.DataFrame(rows))
        found = texts(figure)
    check_texts("endpoint", figure, found)
    said = words(found).split("\n")
    for text in ("crossed, marginal", "exploratory, Modelblocks", "baseline fixed", "10, 30"):
        assert text in said, text


@pytest.mark.parametrize("measures", [1, 5])
def test_check_of_a_corpus_is_legible(measures, tmp_path):
    names = ["FFD", "FP", "GP", "RB", "TFT"][:measures]
    frames = {name: made_corpus.times() for name in names}
    shifts = {
        name: dataset_checks.alignment(
            made_corpus.WORDS,
            dataset_checks.means(made_corpus.WORDS, frame, "time_ms"),
        )
        for name, frame in frames.items()
    }
    values = dict.fromkeys(names, "time_ms")
    with style.use():
        figure = check_dataset.draw(made_corpus.WORDS, frames, values, shifts)
        found = texts(figure)
    check_texts("check", figure, found)
    said = words(found).split("\n")
    assert {*names, "Distribution", "word length (letters)", "ms"} <= set(said)


@pytest.mark.parametrize(
    ("value", "signed", "tick"),
    [(1234.56, "+1,234.6", "1,234.56"), (-0.04, "0.0", "−0.04"), (-29, "−29.0", "−29")],
)
def test_numbers(value, signed, tick):
    assert style.signed(value) == signed and style.tick(value) == tick


def test_texts_are_set_like_their_columns():
    rows = [["a", "1", "x"], [tables.Cell("both", span=2), "y"]]
    table = tables.Table("", ["LM", "n", "Why"], rows, [], left=("LM", "Why"))
    assert [cell.left for cell in table.header[0]] == [True, False, True]
    assert [[cell.left for cell in row] for row in table.rows] == [[1, 0, 1], [0, 1]]


def test_intervals_and_p_values_are_written_or_left_out():
    assert style.interval(-1.25, 3, decimals=2) == "\N{MINUS SIGN}1.25 to 3.00"
    assert style.interval(1, 2, style.signed) == "+1.0 to +2.0"
    assert style.interval(float("nan"), 2) == ""
    assert [style.p_value(p) for p in (0.0004, 0.25, None)] == ["< 0.001", "0.250", "\N{EN DASH}"]
