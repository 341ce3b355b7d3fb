"""Effects in the reader's unit: by the fits' own files, over seeds, and against a regression of raw columns."""

import json

import numpy as np
import pandas as pd
import pytest

from project import show
from recency.evaluations.reading_times import tables_of_fits


def fit(estimate, se, sd=2.0, term="surprisal", response="raw", left="time_ms"):
    return {
        "formula": f"{left} ~ 1 + {term}",
        "response": response,
        "n": {"fit": 500},
        "fixed": [{"term": "(Intercept)", "estimate": 300.0, "se": 9.0}]
        + [{"term": term, "estimate": estimate, "se": se}],
        "scaling": {term: {"mean": 1.0, "sd": sd}},
    }


def cell(lm, **more):
    return {
        "lm": lm,
        "but_for_seed": lm.split("@")[0],
        "dataset": "d",
        "measure": "SPR",
        "design": "x",
    } | more


def test_effects_are_per_bit():
    (row,) = tables_of_fits.effects([fit(10.0, 3.0)], [cell("a")]).itertuples()
    assert (row.estimate, row.se, row.unit, row.seeds, row.n) == (5.0, 1.5, "ms per bit", 1, 500)
    assert row.low == pytest.approx(5 - 1.96 * 1.5, abs=1e-3)
    units = [
        tables_of_fits.effects([fit(1, 1, **more)], [cell("a")]).unit[0]
        for more in (
            {"response": "log"},
            {"left": "amplitude_uv"},
            {"term": "previous_word_entropy"},
            {"term": "surprisal_context_2"},
            {"term": "rank"},
            {"term": "tokens"},
        )
    ]
    assert units[:2] == ["log ms per bit", "µV per bit"]
    assert units[2:] == ["ms per bit", "ms per bit", "ms per unit", "ms per token"]


def test_seeds_are_averaged_and_their_variation_is_included():
    fits = [fit(8.0, 2.0), fit(12.0, 4.0)]
    (row,) = tables_of_fits.effects(fits, [cell("a@1"), cell("a@2")]).itertuples()
    assert row.estimate == 5.0 and row.seeds == 2
    assert row.se == pytest.approx(np.sqrt((1 + 4) / 2 + np.var([4, 6], ddof=1) / 2))


def test_designs_are_apart_and_words_own_predictors_left_out():
    fits = [fit(8.0, 2.0), fit(4.0, 2.0), fit(4.0, 2.0, term="length")]
    rows = tables_of_fits.effects(fits, [cell("a"), cell("a", design="y"), cell("a")])
    assert list(rows.design) == ["x", "y"] and list(rows.estimate) == [4.0, 2.0]


def test_without_a_fit_there_is_no_row(tmp_path):
    assert tables_of_fits.effects([{"fixed": [], "formula": "time_ms ~ 1"}], [cell("a")]).empty


def test_the_table(tmp_path):
    paths = [tmp_path / f"{name}.json" for name in "ab"]
    for path, estimate in zip(paths, (10.0, 1.0), strict=True):
        path.write_text(json.dumps(fit(estimate, 2.0)))
    out = [tmp_path / f"table_effects.{ending}" for ending in ("html", "csv", "tex")]
    lms = [
        {"lm": name, "label": name.upper(), "bias": {"form": "none"}, "applied": "none"}
        for name in "ab"
    ]
    responses = [{"dataset": "d", "measure": "SPR", "label": "D", "design": "x"}]
    show(
        tables_of_fits.table_effects,
        fits=paths,
        out=out,
        lms=lms,
        responses=responses,
        cells=[cell("a"), cell("b")],
    )
    rows = pd.read_csv(out[1])
    assert list(rows.label) == ["A", "B"] and list(rows.estimate) == [5.0, 0.5]
    assert "5.00" in out[0].read_text() and "3.04 to 6.96" in out[0].read_text()
