"""LMs that were trained from several seeds: means, intervals and tests that hold for further seeds."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from crosslmm.factors import levels
from crosslmm.stats.permutation import permutation_p
from recency.errors import InputError
from recency.evaluations.reading_times import delta_loglik, intervals, permutation
from recency.evaluations.reading_times.intervals import Sums

RESPONSE = ("d", "SPR", "x")


def summed(parts):
    """Add parts (LMs, seeds, clusters) of one observation a cluster to Sums."""
    sums = Sums()
    for lm, seeds in zip("ab", parts, strict=False):
        for seed, values in enumerate(seeds):
            n = len(values)
            frame = pd.DataFrame({"subject": np.arange(n), "sentence": 0, "delta_loglik": values})
            sums.add(lm, RESPONSE, frame, str(seed))
    return sums


def total(table, lm="a", against="b"):
    return table[(table.dataset == "all") & (table.lm == lm) & (table.against == against)].iloc[0]


def test_where_seeds_alone_vary_the_interval_is_students():
    """Against SciPy's t of the seeds' differences; the subjects differ in nothing."""
    random = np.random.default_rng(0)
    for S in (3, 5):
        seeds = random.normal(0, 1, (2, S))
        parts = np.repeat(seeds[:, :, None], 40, axis=2)
        row = total(intervals.table(summed(parts).draw(100_000, 1), {"a": "b"}))
        differences = 40 * (seeds[0] - seeds[1])
        assert row.delta_loglik == pytest.approx(differences.mean())
        assert row.se == pytest.approx(stats.sem(differences))
        wanted = stats.t.interval(0.95, S - 1, differences.mean(), stats.sem(differences))
        assert (row.low, row.high) == pytest.approx(wanted, rel=0.03, abs=0.3)
        assert (row.low_all, row.high_all) == (row.low, row.high)  # the only pair


def test_where_seeds_do_not_vary_nothing_changes():
    parts = np.random.default_rng(1).normal(1, 2, (2, 1, 50))
    one = intervals.table(summed(parts).draw(3000, 1), {"a": "b"})
    three = intervals.table(summed(np.repeat(parts, 3, axis=1)).draw(3000, 1), {"a": "b"})
    pd.testing.assert_frame_equal(one, three)


def test_what_seeds_have_in_common_leaves_the_difference():
    """LMs of one seed share its weights' beginning: what it adds to both is no doubt about the difference."""
    random = np.random.default_rng(2)
    common = random.normal(0, 20, (1, 3, 1))
    parts = random.normal(0, 1, (2, 3, 60)) + common
    table = intervals.table(summed(parts).draw(3000, 1), {"a": "b"})
    own, pair = total(table, "a", ""), total(table)
    assert own.high - own.low > 20 * (pair.high - pair.low)


def drawn(random, S, clusters, apart):
    """Draw two LMs that are equal over all seeds and clusters, with all that may vary varying."""
    seed, cluster = random.normal(0, apart, (2, S, 1)), random.normal(0, 1, (2, 1, clusters))
    return seed + cluster + random.normal(0, 1, (2, S, clusters))


@pytest.mark.merge
@pytest.mark.parametrize("apart", [0.0, 0.15, 0.6])
def test_intervals_hold_the_truth_for_further_seeds_and_subjects(apart):
    """95 % intervals of the difference hold 0 in 93 % or more; those that know one seed do not."""
    random, held, naive, repeats = np.random.default_rng(3), 0, 0, 120
    for repeat in range(repeats):
        parts = drawn(random, 3, 40, apart)
        row = total(intervals.table(summed(parts).draw(400, repeat), {"a": "b"}))
        held += row.low <= 0 <= row.high
        row = total(intervals.table(summed(parts[:, :1]).draw(400, repeat), {"a": "b"}))
        naive += row.low <= 0 <= row.high
    assert held / repeats > 0.93
    if apart == 0.6:
        assert naive / repeats < 0.6


@pytest.mark.parametrize("apart", [0.0, 0.6])
def test_the_permutation_test_keeps_its_level_over_seeds(apart):
    random, found, naive, repeats = np.random.default_rng(4), 0, 0, 200
    for repeat in range(repeats):
        a, b = drawn(random, 3, 60, apart)
        differences = a - b
        by_seed = differences.mean(1)
        p = permutation_p(differences.mean(0), 400, repeat, by_seed=by_seed)
        found += p < 0.05
        naive += permutation_p(differences.mean(0), 400, repeat) < 0.05
    assert found / repeats < 0.085
    if apart:
        assert naive / repeats > 0.3


def test_the_permutation_test_over_seeds_still_finds_what_is_there():
    random, found = np.random.default_rng(5), 0
    for repeat in range(60):
        a, b = drawn(random, 3, 60, 0.15)
        p = permutation_p((a - b).mean(0) + 1.2, 400, repeat, by_seed=(a - b).mean(1) + 1.2)
        found += p < 0.05
    assert found > 50


def errors(values):
    n = len(values)
    groups = {"subject": levels(np.arange(n) % 5), "sentence": levels(np.arange(n) % 7)}
    return permutation.Errors(np.asarray(values), groups)


def test_errors_of_several_seeds_are_means():
    random = np.random.default_rng(6)
    a, b = random.normal(5, 1, (2, 3, 70)) ** 2
    pairs = [
        ("d", permutation.replace(errors(a[s]), seed=str(s)), permutation.replace(errors(b[s]), seed=str(s)))
        for s in range(3)
    ]  # fmt: skip
    found = permutation.compare(pairs, 500, 1)
    assert found["n"] == 70 and found["mse_a"] == pytest.approx(a.mean())
    assert found["difference"] == pytest.approx((a - b).mean())
    wanted = permutation_p((a - b).mean(0), 500, 1, by_seed=(a - b).mean(1))
    assert found["p_observation_anticonservative"] == wanted
    assert 0 < found["p"] <= 1
    once = permutation.compare([("d", errors(a[0]), errors(b[0]))], 500, 1)
    assert once["p_observation_anticonservative"] == permutation_p(a[0] - b[0], 500, 1)


def record(folder, name, value, base=None, converged=True):
    keys = [endpoint.key for endpoint in delta_loglik.ENDPOINTS.values()]
    made = {"model": "base" if base else "full", "n": {"exploratory": 4, "fit": 8},
            "note": "" if converged else "flat", "converged": converged,
            "loglik": dict.fromkeys(keys, value)}  # fmt: skip
    made |= {"base": base} if base else {}
    (folder / f"{name}.json").write_text(json.dumps(made))
    parts = pd.DataFrame({"subject": ["s", "s", "t", "t"], "sentence": [1, 2, 1, 2],
                          "word_id": range(4), "loglik": value / 4})  # fmt: skip
    parts.to_parquet(folder / f"{name}.parquet")


def collected(folder, seeds):
    cells = [
        {"lm": "a", "label": "A", "dataset": "d", "measure": "SPR", "design": "x", "seed": seed}
        for seed in seeds
    ]
    record(folder, "base", -40.0, "all")
    files = [folder / f"{n}.json" for n, _ in enumerate(seeds)]
    parts = [path.with_suffix(".parquet") for path in files]
    out = {name: folder / f"{name}.csv" for name in ("out", "out_intervals", "out_seeds")}
    delta_loglik.main(
        files, [folder / "base.json"] * len(files), cells=cells, full_observations=parts,
        base_observations=[folder / "base.parquet"] * len(files), out_subjects=folder / "s.parquet", **out,
    )  # fmt: skip
    return {name: pd.read_csv(path) for name, path in out.items()}


def test_one_row_for_all_seeds_and_each_seed_in_a_file_of_its_own(tmp_path):
    for n, value in enumerate((-30.0, -20.0, -25.0)):
        record(tmp_path, str(n), value, converged=n != 1)
    found = collected(tmp_path, [1, 2, 3])
    (row,) = found["out"].itertuples()
    assert row.delta_loglik == pytest.approx(15) and row.seeds == 3 and row.base == "all"
    assert not row.converged and row.note == "seed 2: full: flat"
    assert found["out_seeds"].delta_loglik.tolist() == [10, 20, 15]
    assert found["out_seeds"].seed.tolist() == [1, 2, 3]
    subjects = pd.read_parquet(tmp_path / "s.parquet")
    assert subjects.delta_loglik.tolist() == pytest.approx([7.5, 7.5])
    own = total(found["out_intervals"].assign(against=""), "a", "")
    assert own.se == pytest.approx(5 / math.sqrt(3))


def test_a_seed_that_stands_twice_is_refused(tmp_path):
    for n in range(2):
        record(tmp_path, str(n), -30.0)
    with pytest.raises(InputError, match="a has the seed '1' twice on d SPR"):
        collected(tmp_path, [1, 1])
