"""Intervals over subjects, sentences and seeds, against loops, statsmodels and simulations."""

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from crosslmm.stats import crossed_samples
from crosslmm.stats.crossed_samples import (
    Scores,
    Tables,
    half_width,
    simultaneous_critical_value,
    two_way,
)


def cells(random, R, S, sds=(3.0, 2.0, 1.0)):
    """Return values (R, S) that vary by subject, by sentence and by cell."""
    by_subject, by_sentence, by_cell = sds
    values = random.normal(0, by_subject, (R, 1)) + random.normal(0, by_sentence, (1, S))
    return values + random.normal(0, by_cell, (R, S))


@pytest.mark.parametrize("shape", [(12, 9), (5, 30), (2, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_the_variance_is_that_of_two_way_clustering(shape, seed):
    """The formula of Cameron, Gelbach & Miller (2011) for a sum, with loops over pairs of cells."""
    values = cells(np.random.default_rng(seed), *shape)
    values -= values.mean()
    R, S = shape
    terms = {"row": 0.0, "column": 0.0, "both": 0.0}
    for r, c in np.ndindex(shape):
        for other, another in np.ndindex(shape):
            product = values[r, c] * values[other, another]
            terms["row"] += product * (r == other)
            terms["column"] += product * (c == another)
            terms["both"] += product * (r == other) * (c == another)
    by_row, by_column = terms["row"] * R / (R - 1), terms["column"] * S / (S - 1)
    expected = max(by_row + by_column - terms["both"], by_row, by_column)
    variance, rows, columns = two_way(values)
    assert variance == pytest.approx(expected)
    assert rows == (pytest.approx(by_row), R - 1)
    assert columns == (pytest.approx(by_column), S - 1)


@pytest.mark.parametrize("shape", [(12, 9), (5, 30)])
def test_the_variance_is_statsmodels_of_an_intercept(shape):
    """N times the mean is the sum; statsmodels' own corrections of each way are the same."""
    values = cells(np.random.default_rng(4), *shape)
    subject, sentence = (index.ravel() for index in np.indices(shape))
    model = sm.OLS(values.ravel(), np.ones(values.size)).fit()
    n = values.size
    _, by_subject, by_sentence = (
        covariance.item() * n**2
        for covariance in cov_cluster_2groups(model, subject, sentence, use_correction=False)
    )
    R, S = shape
    variance, rows, columns = two_way(values - values.mean())
    assert rows[0] == pytest.approx(by_subject * R / (R - 1))
    assert columns[0] == pytest.approx(by_sentence * S / (S - 1))
    both = ((values - values.mean()) ** 2).sum()
    whole = by_subject * R / (R - 1) + by_sentence * S / (S - 1) - both
    assert variance == pytest.approx(max(whole, rows[0], columns[0]))


def test_the_variance_is_no_smaller_than_that_of_one_way():
    """Negative dependence within cells: the difference of the three terms would be too small."""
    random = np.random.default_rng(1)
    values = random.normal(size=(20, 20))
    values -= values.mean(0)
    values -= values.mean(1, keepdims=True)
    values += random.normal(0, 1, (20, 1))
    variance, rows, columns = two_way(values - values.mean())
    assert variance >= max(rows[0], columns[0]) > 0


@pytest.mark.parametrize("shape", [(1, 10), (10, 1)])
def test_one_subject_or_sentence_has_no_interval(shape):
    values = np.linspace(-1, 1, 10).reshape(shape)
    assert math.isnan(two_way(values)[0])
    ends = Scores(3.0, 10, {"Provo": values}).ends()
    assert all(math.isnan(ends[name]) for name in ("low", "high", "se"))
    assert ends["by"] == ""


def test_no_variance_is_an_interval_of_no_width():
    ends = Scores(0.0, 10, {"Provo": np.zeros((4, 5))}).ends()
    assert ends["low"] == ends["high"] == ends["se"] == 0


@pytest.mark.parametrize("df", [3, 12.5, math.inf])
def test_without_seeds_it_is_student_s(df):
    expected = stats.norm.ppf(0.975) if math.isinf(df) else stats.t.ppf(0.975, df)
    assert half_width(2.0, df) == pytest.approx(2 * expected)
    assert half_width(2.0, df, 0.0, 2) == pytest.approx(2 * expected)
    assert half_width(2.0, df, 5.0, 0) == pytest.approx(
        2 * expected
    )  # of one seed nothing is known


@pytest.mark.parametrize(
    ("se", "df", "by_seeds", "freedom"),
    [(1.0, 20, 1.0, 2), (1.0, 20, 0.1, 2), (1.0, 8, 4.0, 1), (2.0, math.inf, 1.0, 4)],
)
def test_with_seeds_it_is_the_quantile_of_the_sum(se, df, by_seeds, freedom):
    random, n = np.random.default_rng(0), 1_000_000
    first = random.standard_normal(n) if math.isinf(df) else random.standard_t(df, n)
    total = np.sort(np.abs(se * first + by_seeds * random.standard_t(freedom, n)))
    half = half_width(se, df, by_seeds, freedom)
    # Within four standard errors of a simulated quantile, in probability.
    covered = np.searchsorted(total, half) / n
    assert covered == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / n) + 2e-4)


def test_a_part_that_is_nearly_nothing_changes_nothing():
    alone, seeds = stats.t.ppf(0.975, 10), stats.t.ppf(0.975, 2)
    assert half_width(1.0, 10, 1e-6, 2) == pytest.approx(alone, rel=1e-3)
    assert half_width(1e-6, 10, 1.0, 2) == pytest.approx(seeds, rel=1e-3)
    assert half_width(0.0, math.inf, 1.0, 2) == pytest.approx(seeds)


def total_of(random, mean, R=25, S=20, seeds=1, by_seed=0.0, **more):
    """Return the scores of a simulated total, whose expectation is R S `mean`."""
    values = mean + cells(random, R, S, **more)
    apart, total = np.zeros(seeds), values.sum()
    if seeds > 1:
        shifts = random.normal(0, by_seed, seeds)
        total += shifts.mean()
        apart = (shifts - shifts.mean()) / math.sqrt(seeds * (seeds - 1))
    return Scores(total, R * S, {"made": values - values.mean()}, apart, seeds - 1)


@pytest.mark.parametrize(
    "sds", [(3, 2, 1), (1, 1, 8), (0.5, 3, 4)], ids=["levels", "cells", "sentences"]
)
def test_the_coverage_of_intervals(sds):
    random, truth = np.random.default_rng(11), 25 * 20 * 0.3
    ends = [total_of(random, 0.3, sds=sds).ends() for _ in range(1500)]
    share = np.mean([end["low"] <= truth <= end["high"] for end in ends])
    assert 0.93 <= share <= 0.97
    assert {end["by"] for end in ends} == {"crossed"}


@pytest.mark.merge
@pytest.mark.parametrize("by_seed", [100.0, 600.0])
def test_the_coverage_of_intervals_with_three_seeds(by_seed):
    random, truth = np.random.default_rng(12), 25 * 20 * 0.3
    ends = [total_of(random, 0.3, seeds=3, by_seed=by_seed).ends() for _ in range(300)]
    share = np.mean([end["low"] <= truth <= end["high"] for end in ends])
    assert share >= 0.93


def test_addition_and_subtraction():
    random = np.random.default_rng(2)
    one, two = cells(random, 6, 5), cells(random, 6, 5)
    a = Scores(7.0, 30, {"Provo": one}, np.array([0.3, -0.3, 0.0]), 1)
    b = Scores(4.0, 30, {"Provo": two}, np.array([0.1, 0.1, -0.2]), 2)
    difference = a - b
    assert (difference.value, difference.n, difference.freedom) == (3.0, 30, 1)
    assert difference.cells["Provo"] == pytest.approx(one - two)
    assert difference.seeds == pytest.approx([0.2, -0.4, 0.2])
    assert (a - a).sampling()[0] == 0
    # The sum over samples has the variances' sum; one's seeds count where the other has none.
    c = Scores(2.0, 12, {"Dundee": cells(random, 4, 3)})
    both = a + c
    assert (both.value, both.n, both.freedom) == (9.0, 42, 1)
    assert both.sampling()[0] ** 2 == pytest.approx(a.sampling()[0] ** 2 + c.sampling()[0] ** 2)
    assert np.linalg.norm(both.seeds) == pytest.approx(math.sqrt(0.18))
    # A correlated difference is more precise than its parts.
    noise = Scores(7.1, 30, {"Provo": one + random.normal(0, 0.01, one.shape)})
    assert (noise - a).sampling()[0] < 0.05 * a.sampling()[0]
    assert a.cells["Provo"] is one and list(a.cells) == ["Provo"]


def test_satterthwaite_s_degrees_of_freedom():
    values = cells(np.random.default_rng(3), 8, 40, sds=(3.0, 0.01, 0.01))
    _, df = Scores(0.0, 320, {"Provo": values - values.mean()}).sampling()
    assert df == pytest.approx(7, rel=0.05)  # subjects alone vary
    two = {name: cells(np.random.default_rng(k), 8, 40) for k, name in enumerate("ab")}
    two = {name: v - v.mean() for name, v in two.items()}
    dfs = [Scores(0.0, 320, {name: v}).sampling()[1] for name, v in two.items()]
    assert Scores(0.0, 640, two).sampling()[1] > max(dfs) > 7 - 1e-9


@pytest.mark.parametrize("shape", [(10, 60), (40, 25)])
def test_one_pair_is_held_by_a_t_quantile(shape):
    random = np.random.default_rng(5)
    totals = [Scores(float(k), 100, {"Provo": cells(random, *shape)}) for k in range(2)]
    expected = stats.t.ppf(0.975, min(shape) - 1)
    assert simultaneous_critical_value(totals, [(0, 1)]) == pytest.approx(expected, rel=0.03)


def test_more_pairs_need_more_standard_errors():
    random = np.random.default_rng(6)
    totals = [Scores(float(k), 100, {"Provo": cells(random, 30, 25)}) for k in range(8)]
    pairs = [(a, b) for a in range(8) for b in range(a)]
    needed = [simultaneous_critical_value(totals, pairs[:many]) for many in (1, 4, 28)]
    assert needed == sorted(needed) and needed[0] < 0.95 * needed[2]
    # Fewer than Bonferroni's, as the pairs depend on each other; those of each end are simulated.
    assert needed[2] < 1.03 * stats.t.ppf(1 - 0.025 / 28, 24)
    end = (totals[1] - totals[0]).ends(needed[2])
    assert end["low_all"] < end["low"] < end["high"] < end["high_all"]
    assert end["high_all"] - 1.0 == pytest.approx(needed[2] * end["se"])
    assert 1.0 - end["low_all"] == pytest.approx(needed[2] * end["se"])
    assert math.isnan((totals[1] - totals[0]).ends()["low_all"])
    assert simultaneous_critical_value(totals, pairs) == simultaneous_critical_value(totals, pairs)


def test_pairs_without_a_difference():
    same = Scores(1.0, 30, {"Provo": cells(np.random.default_rng(1), 6, 5)})
    assert math.isnan(simultaneous_critical_value([same, same], [(0, 1)]))


def test_few_seeds_need_more_standard_errors():
    random = np.random.default_rng(7)
    totals = [
        Scores(0.0, 30, {"Provo": cells(random, 30, 25)}, 400 * apart / np.sqrt(2), 1)
        for apart in (np.array([1.0, -1, 0, 0]), np.array([0, 0, 1.0, -1]))
    ]
    alone = [Scores(t.value, t.n, t.cells) for t in totals]
    assert simultaneous_critical_value(totals, [(0, 1)]) > 1.5 * simultaneous_critical_value(
        alone, [(0, 1)]
    )


def test_tables_become_scores():
    """Cells in any order, of other subjects too, and the mean over seeds."""
    frame = pd.DataFrame(
        {
            "subject": ["s2", "s1", "s1"],
            "sentence": ["1", "1", "2"],
            "n": [2, 3, 5],
            "delta_loglik": [4.0, -1.0, 7.0],
        }
    )
    other = frame.assign(subject=["s1", "s3", "s3"])
    tables = Tables()
    tables.add(("ALiBi", "Provo"), "Provo", frame, "1")
    tables.add(
        ("ALiBi", "Provo"), "Provo", frame.assign(delta_loglik=frame.delta_loglik + [1, 1, 4]), "2"
    )
    tables.add(("none", "Provo"), "Provo", other, "1")
    tables.add(("ALiBi", "Dundee"), "Dundee", frame, "1")
    scores = tables.scores()
    biased, plain = scores["ALiBi", "Provo"], scores["none", "Provo"]
    assert (biased.value, biased.n, biased.freedom) == (13.0, 10, 1)
    mean = np.array([[-0.5, 9.0], [4.5, 0.0], [0.0, 0.0]])
    n = np.array([[3, 5], [2, 0], [0, 0]])
    assert biased.cells["Provo"] == pytest.approx(mean - 1.3 * n)
    assert np.linalg.norm(biased.seeds) == pytest.approx(np.std([10, 16], ddof=1) / math.sqrt(2))
    assert np.array_equal(plain.seeds, np.zeros(2)) and plain.freedom == 0
    assert plain.cells["Provo"].shape == (3, 2)
    assert (biased - plain).value == pytest.approx(3.0)
    assert scores["ALiBi", "Dundee"].cells["Dundee"].shape == (2, 2)
    for total in scores.values():
        for values in total.cells.values():
            assert values.sum() == pytest.approx(0, abs=1e-12)
    assert crossed_samples.BY == "crossed"


def test_the_interval_says_whether_texts_decide():
    random = np.random.default_rng(5)
    texts = np.repeat(np.arange(12), 8)
    cells = random.normal(0, 1, (20, 96)) + random.normal(0, 1, (20, 1))
    for by_text, by in ((0.0, "crossed"), (1.5, "crossed_texts")):
        values = cells + by_text * random.normal(0, 1, 12)[texts]
        if not by_text:  # sentences of a text differ as much as others, by construction
            values = values + np.tile([3.0, -3.0], 48)
        scores = Scores(0.0, 1, {"d": values - values.mean()}, texts={"d": texts})
        assert scores.ends()["by"] == by
