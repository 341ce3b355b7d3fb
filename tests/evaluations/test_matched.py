"""LMs at the same perplexity: curves whose ΔLogLik depends on perplexity alone, or not alone."""

import math

import numpy as np
import pandas as pd
import pytest

from crosslmm.stats.totals import Draws, NewSeeds
from project import show
from recency.evaluations.curves import points, view

STEPS = (8, 64, 500)
BITS = {"base": (9.0, 7.0, 6.0), "better": (8.5, 6.2, 5.0)}


def curves(lead=0.0, seeds=(0.0,), bits=BITS, noise=10.0):
    """Return fits and bits; ΔLogLik is 100 nats for each bit below 10, and `lead` more for `better`.

    `seeds` are what is added to the bits of each seed, and so to its ΔLogLik.
    """
    random = np.random.default_rng(0)
    names = [str(number) for number in range(len(seeds))]
    further, fits, texts = NewSeeds([names], 2000, 1), {}, {}
    for lm, values in bits.items():
        drawn = {"subject": random.normal(0, noise, 2000)}
        for step, value in zip(STEPS, values, strict=True):
            own = {name: value + more for name, more in zip(names, seeds, strict=True)}
            extra = lead if lm == "better" else 0.0
            scores = {name: 100 * (10 - b) + extra for name, b in own.items()}
            mean = sum(scores.values()) / len(scores)
            fits[lm, step] = further.mean(scores, {k: v + mean for k, v in drawn.items()}, 50)
            texts[lm, step] = further.mean(own, {})
    return fits, texts


def one(*args, **more):
    (row,) = points.compare_at_same_perplexity(
        *curves(*args, **more), {"base": "base", "better": "base"}
    ).itertuples()
    return row


def test_a_lead_that_is_perplexity_s_is_gone():
    row = one()
    assert row.perplexity == pytest.approx(2**6) and row.step_against == 500
    assert row.step == pytest.approx(64 + (500 - 64) * 0.2 / 1.2)
    assert row.difference == pytest.approx(0.0, abs=1e-9) and row.low < 0 < row.high
    fits, _ = curves()
    assert (fits["better", 500] - fits["base", 500]).value == 100


def test_a_lead_at_the_same_perplexity_remains():
    row = one(lead=60.0)
    assert row.difference == pytest.approx(60.0) and row.low > 0
    assert (row.low_all, row.high_all) == (row.low, row.high)


def test_the_worse_lm_is_read_at_its_end_whichever_it_is():
    swapped = {"base": BITS["better"], "better": BITS["base"]}
    row = one(lead=60.0, bits=swapped)
    assert row.step == 500 and row.step_against < 500 and row.difference == pytest.approx(60.0)


def test_seeds_that_differ_in_perplexity_alone_do_not_differ_at_the_same_one():
    """Their ΔLogLik differs by 100 nats per bit: by nothing at one perplexity."""
    fits, bits = curves(seeds=(-0.3, 0.0, 0.3), noise=0.0)
    assert np.linalg.norm(fits["base", 500].seeds) > 10
    for lm in ("base", "better"):  # at its end, and between two steps
        _, at = points._at(6.0, lm, fits, bits)
        assert np.linalg.norm(at.seeds) == pytest.approx(0, abs=1e-9)
        assert np.ptp(at.noise) == pytest.approx(0, abs=1e-9)
    row = one(seeds=(-0.3, 0.0, 0.3), noise=0.0)
    assert (row.low, row.high) == pytest.approx((0, 0), abs=1e-9)


def test_a_curve_that_begins_below_that_perplexity_has_no_value():
    low = BITS | {"better": (5.9, 5.5, 5.0)}
    row = one(bits=low)
    assert math.isnan(row.difference) and row.perplexity == pytest.approx(64)


def test_several_lms_have_simultaneous_intervals_and_a_table(tmp_path):
    bits = BITS | {"third": (8.0, 6.5, 5.5), "fourth": (5.9, 5.5, 5.0)}
    bits["fifth"] = bits["fourth"]
    fits, texts = curves(bits=bits)
    baselines = dict.fromkeys(bits, "base")
    rows = points.compare_at_same_perplexity(fits, texts, baselines).set_index("lm")
    assert list(rows.index) == ["better", "third", "fourth", "fifth"]
    for lm in ("better", "third"):
        assert rows.low_all[lm] < rows.low[lm] and rows.high[lm] < rows.high_all[lm]
    rows.reset_index().to_csv(tmp_path / "m.csv", index=False)
    lms = [
        {"lm": lm, "label": lm.upper(), "bias": {"form": "none"}, "applied": "none"} for lm in bits
    ]
    show(
        view.table_matched,
        matched=tmp_path / "m.csv",
        out=[tmp_path / "t.csv", tmp_path / "t.html"],
        lms=lms,
    )
    written = pd.read_csv(tmp_path / "t.csv")
    assert list(written.label) == ["BETTER", "THIRD", "FOURTH", "FIFTH"] and set(
        written.against_label
    ) == {"BASE"}
    rows_of = view.table_matched_layout(written, "token").rows
    assert {len(row) for row in rows_of} == {8}
    assert [row[3].text for row in rows_of[2:]] == ["\N{EN DASH}"] * 2
    html = (tmp_path / "t.html").read_text()
    assert "FOURTH" in html and "begins below" in html
    assert isinstance(fits["base", 8], Draws)
