"""Bootstrap intervals of ΔLogLik: against brute force, how often they hold the truth, the table."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from crosslmm.stats import bootstrap, interval
from crosslmm.stats.crossed_samples import Scores
from crosslmm.stats.totals import Draws
from recency.evaluations.reading_times import intervals
from recency.evaluations.reading_times.intervals import Sums


def brute_force(parts, cluster, replicates, seed):
    """Draw clusters one by one and add up their rows, dataset by dataset: (replicates, LMs)."""
    random = np.random.default_rng(seed)
    datasets = [
        [part[["a", "b"]].to_numpy() for _, part in own.groupby(cluster)]
        for _, own in parts.groupby("dataset")
    ]
    totals = np.zeros((replicates, 2))
    for total in totals:
        for rows in datasets:
            for place in random.choice(len(rows), len(rows)):
                total += rows[place].sum(0)
    return totals


def made(seed=0):
    """Make two LMs' parts of ΔLogLik on three responses of two datasets."""
    random, tables = np.random.default_rng(seed), []
    for dataset, measure, subjects, sentences in (
        ("d", "FP", 7, 5),
        ("d", "GP", 7, 5),
        ("e", "SPR", 6, 9),
    ):
        n = 120
        table = pd.DataFrame(
            {
                "dataset": dataset,
                "measure": measure,
                "subject": random.integers(0, subjects, n),
                "sentence": random.integers(0, sentences, n),
            }
        )
        effect = random.normal(0, 1.0, (2, subjects))[:, table.subject]
        effect += random.normal(0, 0.7, (2, sentences))[:, table.sentence]
        table["a"], table["b"] = effect + random.normal(0.2, 1, (2, n))
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def summed(parts):
    sums = Sums()
    for (dataset, measure), table in parts.groupby(["dataset", "measure"], sort=False):
        for lm in ("a", "b"):
            sums.add(lm, (dataset, measure, "x"), table.rename(columns={lm: "delta_loglik"}))
    return sums


@pytest.mark.parametrize("cluster", ["subject", "sentence"])
def test_totals_and_differences_are_those_of_a_brute_force_bootstrap(cluster):
    """A dataset's measures share their draws, datasets have draws of their own."""
    parts = made()
    drawn = brute_force(parts, cluster, 2500, seed=1)
    table = intervals.table(summed(parts).draw(40_000, seed=0), {"a": "b", "b": "b"})
    total = table[table.dataset == "all"].set_index(["lm", "against"])
    wanted = {("a", ""): drawn[:, 0], ("b", ""): drawn[:, 1], ("a", "b"): drawn[:, 0] - drawn[:, 1]}
    assert list(total.index) == list(wanted)
    for key, values in wanted.items():
        spread = values.std(ddof=1)
        assert total.loc[key, f"se_{cluster}"] == pytest.approx(spread, rel=0.08)
        ends = total.loc[key, [f"low_{cluster}", f"high_{cluster}"]].astype(float)
        assert np.allclose(ends, np.quantile(values, [0.025, 0.975]), atol=0.15 * spread)
    assert total.loc[("a", "b"), "low_all"] == total.loc[("a", "b"), "low"]  # the only pair
    assert total.loc[("a", "b"), "delta_loglik"] == pytest.approx((parts.a - parts.b).sum())


def test_the_wider_interval_counts_and_is_named():
    table = intervals.table(summed(made()).draw(2000, seed=0), {"a": "b"})
    for row in table.itertuples():
        widths = {
            k: getattr(row, f"high_{k}") - getattr(row, f"low_{k}") for k in ("subject", "sentence")
        }
        assert row.by == max(widths, key=widths.get)
        assert row.high - row.low == pytest.approx(widths[row.by])
        assert row.se == getattr(row, f"se_{row.by}")
    assert list(table.kind) == ["own", "own", "baseline"] * 4


def test_designs_that_are_apart_have_totals_of_their_own():
    parts, both = made(), Sums()
    for times, factor in (("raw", 1), ("log", 2)):
        for (dataset, measure), table in parts.groupby(["dataset", "measure"], sort=False):
            for lm in ("a", "b"):
                rows = table.assign(delta_loglik=factor * table[lm])
                both.add(lm, (dataset, measure, f"x@{times}"), rows)
    apart = {"x@raw": "times=raw", "x@log": "times=log"}
    found = intervals.table(both.draw(500, 0), {"a": "b"}, apart)
    totals = found[found.dataset == "all"].set_index(["design", "kind", "lm"])
    alone = intervals.table(summed(parts).draw(500, 0), {"a": "b"})
    alone = alone[alone.dataset == "all"].set_index(["kind", "lm"])
    for key, row in alone.iterrows():
        for times, factor in (("raw", 1), ("log", 2)):
            ours = totals.loc[(f"times={times}", *key), ["delta_loglik", "low", "high"]]
            wanted = factor * row[["delta_loglik", "low", "high"]].astype(float)
            assert np.allclose(ours.astype(float), wanted)


def test_equal_seeds_give_equal_intervals_whatever_else_is_compared():
    """An LM's interval does not hang on which other LMs the experiment has."""
    parts = made()
    one, other = (intervals.table(summed(parts).draw(500, seed), {"a": "b"}) for seed in (1, 2))
    again = intervals.table(summed(parts).draw(500, 1), {"a": "b"})
    pd.testing.assert_frame_equal(one, again)
    assert not np.allclose(one.low, other.low)
    alone = Sums()
    first = parts[parts.measure == "FP"].rename(columns={"a": "delta_loglik"})
    alone.add("a", ("d", "FP", "x"), first)
    row = intervals.table(alone.draw(500, 1), {}).iloc[0]
    assert row.low == pytest.approx(one.iloc[0].low) and row.high == pytest.approx(one.iloc[0].high)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Forty subjects drawn from many: 95 % intervals of the difference hold it in 90 to 98 %."""
    random, held = np.random.default_rng(5), 0
    for repeat in range(400):
        subjects = random.normal(0.3, 1.0, 40)
        difference = (subjects[:, None] + random.normal(0, 1, (40, 5))).ravel()
        low, high = interval(difference, np.repeat(np.arange(40), 5), 800, seed=repeat)
        held += low <= 0.3 * 200 <= high
    assert 0.90 <= held / 400 <= 0.98


def test_intervals_of_all_pairs_hold_together():
    """Of six equal LMs no pair is told apart in 95 % of studies; single intervals are, far more often."""
    random, pairs = np.random.default_rng(6), list(itertools.combinations(range(6), 2))
    together = single = 0
    for repeat in range(300):
        sums = random.normal(0, 1, (50, 6))
        drawn, totals = bootstrap.draws(sums, 600, repeat), sums.sum(0)
        reach = bootstrap.largest_t(drawn, pairs)
        ts = [
            abs(totals[a] - totals[b]) / (drawn[:, a] - drawn[:, b]).std(ddof=1) for a, b in pairs
        ]
        together += max(ts) > reach
        single += max(ts) > 1.96
    assert together / 300 < 0.11 and single / 300 > 0.25


def test_all_pairs_are_wider_and_ready():
    random, sums = np.random.default_rng(7), Sums()
    n = 300
    base = {"subject": random.integers(0, 20, n), "sentence": random.integers(0, 15, n)}
    for lm in "abcd":
        parts = pd.DataFrame(base | {"delta_loglik": random.normal(0, 1, n)})
        sums.add(lm, ("d", "FP", "x"), parts)
    table = intervals.table(sums.draw(4000, 0), dict.fromkeys("abcd", "a"))
    pairs = table[(table.dataset == "all") & (table.kind != "own")]
    assert [(r.lm, r.against) for r in pairs.itertuples()] == [
        ("b", "a"), ("c", "a"), ("d", "a"), ("b", "c"), ("b", "d"), ("c", "d"),
    ]  # fmt: skip
    assert (pairs.high_all - pairs.low_all > pairs.high - pairs.low).all()
    assert table[table.kind == "own"].low_all.isna().all()


def test_a_response_that_an_lm_lacks_is_in_no_total():
    parts = made()
    sums = summed(parts[parts.measure != "GP"])
    whole = parts[parts.measure == "GP"].rename(columns={"a": "delta_loglik"})
    sums.add("a", ("d", "GP", "x"), whole)
    lost = parts[parts.measure == "GP"].rename(columns={"b": "delta_loglik"})
    sums.add("b", ("d", "GP", "x"), lost.assign(delta_loglik=math.nan))
    table = intervals.table(sums.draw(300, 0), {"a": "b"}).set_index(["lm", "against", "measure"])
    total = table.loc[("a", "b", "all")]
    kept = parts[parts.measure != "GP"]
    assert total.delta_loglik == pytest.approx((kept.a - kept.b).sum()) and total.n == 240
    assert math.isnan(table.loc[("b", "", "GP")].low) and table.loc[("b", "", "GP")].by == ""
    assert table.loc[("a", "", "GP")].low < table.loc[("a", "", "GP")].high


def test_one_subject_leaves_the_interval_by_sentence():
    parts = made()
    table = intervals.table(summed(parts.assign(subject=0)).draw(300, 0), {"a": "b"})
    assert (table.by == "sentence").all() and table.low_subject.isna().all()
    alone = intervals.table(summed(parts.assign(subject=0, sentence=0)).draw(300, 0), {"a": "b"})
    assert (alone.by == "").all() and alone.low.isna().all()


def fieller(difference, whole, critical):
    """Return the ends of Fieller's interval by its quadratic equation; the variances by polarisation."""

    def covariance(a, b):
        """Of the two-way variance, which is a quadratic form where all three parts are positive."""
        (x,), (y,) = a.cells.values(), b.cells.values()
        R, S = x.shape
        rows = x.sum(1) @ y.sum(1) * R / (R - 1)
        return rows + x.sum(0) @ y.sum(0) * S / (S - 1) - (x * y).sum() + a.seeds @ b.seeds

    c = critical**2
    terms = (
        whole.value**2 - c * covariance(whole, whole),
        -2 * (difference.value * whole.value - c * covariance(difference, whole)),
        difference.value**2 - c * covariance(difference, difference),
    )
    return np.sort(np.roots(terms))


def test_a_share_has_fieller_s_interval():
    """Also where seeds vary; it excludes 0 where the difference's interval does."""
    random = np.random.default_rng(2)
    for lead in (0.0, 3.0, 6.0):
        cells = [
            random.normal(0, 1, (20, 1))
            + random.normal(0, 1, (1, 60))
            + random.normal(0, 0.3, (20, 60))
            for _ in range(2)
        ]
        whole, difference = (
            Scores(value, 1200, {"d": cell - cell.mean()}, random.normal(0, 2, 4), 3)
            for value, cell in zip((3000.0, 200 * lead), cells, strict=True)
        )
        found = intervals.share(difference, whole, 2.5)
        assert found["share"] == pytest.approx(lead / 15)
        expected = fieller(difference, whole, 2.5)
        assert [found["share_low"], found["share_high"]] == pytest.approx(expected, rel=1e-5)
        low = difference.ends(2.5)["low_all"]
        assert (found["share_low"] > 0) == (low > 0)
    unsure = intervals.share(difference, Scores(1.0, 1200, whole.cells, whole.seeds, 3), 2.5)
    assert all(math.isnan(value) for value in unsure.values())


def test_a_share_of_draws_includes_0_where_the_difference_s_interval_does():
    random = np.random.default_rng(3)
    drawn = random.normal(0, 20, (2, 4000))
    whole = Draws(500.0, 1, {"subject": 500 + drawn[0]})
    for value in (10.0, 50.0, 130.0):
        difference = Draws(value, 1, {"subject": value + drawn[1] + 0.2 * drawn[0]})
        found, own = intervals.share(difference, whole), difference.ends()
        assert (found["share_low"] > 0) == (own["low"] > 0)
        # The quantiles of the drawn ratios are another way to the same interval.
        ratios = np.quantile((value + drawn[1] + 0.2 * drawn[0]) / (500 + drawn[0]), [0.025, 0.975])
        assert [found["share_low"], found["share_high"]] == pytest.approx(ratios, abs=0.004)
