"""Accuracy on minimal pairs by hand and against statsmodels; its table and figures."""

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from project import show
from recency.errors import InputError
from recency.evaluations.minimal_pairs import pairs as pair_accuracy
from recency.evaluations.minimal_pairs import view
from table_files import check_shape

ROOT = Path(__file__).resolve().parents[2]


def made_scores(folder, lms, seed=0, swap=False, sizes=((30, 50), (20,))):
    """Write pairs and scores of LMs (name → shift towards the good sentence); return their files."""
    random, rows = np.random.default_rng(seed), []
    for phenomenon, paradigms in enumerate(sizes):
        for paradigm, size in enumerate(paradigms):
            rows += [(f"p{phenomenon}{paradigm}", f"phenomenon {phenomenon}")] * size
    pairs = pd.DataFrame(rows, columns=["paradigm", "phenomenon"]).assign(field="")
    pairs.insert(0, "pair", np.arange(len(pairs), dtype=np.int32))
    pairs.to_parquet(folder / "pairs.parquet")
    files = []
    for lm, shift in lms.items():
        table = {"pair": pairs["pair"]}
        for name in ("bits", "rest_bits"):
            good, bad = random.normal(50, 5, (2, len(pairs)))
            good -= shift
            good, bad = (bad, good) if swap else (good, bad)
            table |= {f"good_{name}": good, f"bad_{name}": bad}
        (folder / lm).mkdir(exist_ok=True)
        files.append(folder / lm / "pairs.parquet")
        pd.DataFrame(table).to_parquet(files[-1])
    return folder / "pairs.parquet", files


def described(*lms):
    none = {"bias": {"form": "none"}, "applied": "none"}
    return [{"lm": lm, "label": f"the {lm}"} | none for lm in lms]


def accuracy(folder, lms, **settings):
    pairs, files = made_scores(folder, lms, **settings)
    out = folder / "pair_accuracy.csv"
    pair_accuracy.compare_accuracy(pairs, files, described(*lms), next(iter(lms)), out)
    return pd.read_csv(out).set_index(["lm", "tokens", "level", "group"])


def test_accuracy_by_hand(tmp_path):
    """Two paradigms in one phenomenon, one in another: means of means, ties wrong."""
    paradigm = ["a"] * 4 + ["b"] * 2 + ["c"] * 2
    pairs = pd.DataFrame({"pair": np.arange(8, dtype=np.int32), "paradigm": paradigm})
    pairs["phenomenon"] = ["x"] * 6 + ["y"] * 2
    pairs.to_parquet(tmp_path / "pairs.parquet")
    good = {"one": [1, 1, 1, 2, 1, 3, 2, 2], "two": [1, 1, 1, 1, 1, 1, 1, 2]}
    for lm, values in good.items():
        scores = {"pair": pairs["pair"], "good_bits": values, "bad_bits": [2.0] * 8}
        none = dict.fromkeys(("good_rest_bits", "bad_rest_bits"), math.nan)
        pd.DataFrame(scores).assign(**none).to_parquet(tmp_path / f"{lm}.parquet")
    out = tmp_path / "out.csv"
    files = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    pair_accuracy.compare_accuracy(
        tmp_path / "pairs.parquet", files, described("one", "two"), "one", out
    )
    found = pd.read_csv(out)
    assert list(found.columns) == pair_accuracy.ACCURACY_COLUMNS and set(found.tokens) == {
        "all tokens"
    }
    value = found.set_index(["lm", "group"])
    assert value.loc[("one", "a"), "accuracy"] == 75 and value.loc[("one", "b"), "accuracy"] == 50
    assert value.loc[("one", "x"), "accuracy"] == 62.5  # not 4 of 6
    assert value.loc[("one", "overall"), "accuracy"] == pytest.approx((75 + 50 + 0) / 3)
    assert value.loc[("two", "overall"), "accuracy"] == pytest.approx((100 + 100 + 50) / 3)
    assert value.loc[("one", "overall"), "ties"] == 3 and value.loc[("one", "x"), "ties"] == 1
    assert value.loc[("two", "overall"), "difference"] == pytest.approx((25 + 50 + 50) / 3)
    assert np.isnan(value.loc[("one", "overall"), "difference"])
    # Three pairs gained, none lost; three paradigms whose differences are all above 0.
    assert value.loc[("two", "overall"), "p_pairs"] == pytest.approx(2 * 0.5**3)
    assert value.loc[("two", "overall"), "p_paradigms"] == pytest.approx(2 / 2**3, abs=0.02)
    assert np.isnan(value.loc[("two", "y"), "p_paradigms"])


@pytest.mark.merge
def test_swapping_good_and_bad_turns_accuracy_round(tmp_path):
    a = accuracy(tmp_path, {"base": 0, "lm": 3})
    b = accuracy(tmp_path, {"base": 0, "lm": 3}, swap=True)
    np.testing.assert_allclose(a.accuracy + b.accuracy, 100)
    np.testing.assert_allclose(a.low + b.high, 100)
    np.testing.assert_allclose(a.difference.dropna(), -b.difference.dropna())
    np.testing.assert_allclose(a.p_pairs.dropna(), b.p_pairs.dropna())
    # What both say of one group, they say of the others: sums of both kinds, every level.
    assert len(a) == 2 * 2 * (1 + 2 + 3) and a.compared.sum() == len(a) / 2


@pytest.mark.merge
def test_intervals_and_tests_are_those_of_statsmodels(tmp_path):
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.proportion import proportion_confint

    found = accuracy(tmp_path, {"base": 0, "lm": 3}, sizes=((40, 40), (40,)))
    pairs = pd.read_parquet(tmp_path / "pairs.parquet")
    right = {}
    for lm in ("base", "lm"):
        scores = pd.read_parquet(tmp_path / lm / "pairs.parquet")
        right[lm] = (scores.good_bits < scores.bad_bits).to_numpy()
        row = found.loc[(lm, "all tokens", "overall", "overall")]
        low, high = proportion_confint(right[lm].sum(), 120, method="wilson")
        assert (row.low, row.high) == pytest.approx((100 * low, 100 * high))
    table = pd.crosstab(right["base"], right["lm"])
    row = found.loc[("lm", "all tokens", "overall", "overall")]
    assert row.p_pairs == pytest.approx(mcnemar(table, exact=True).pvalue)
    one = found.loc[("lm", "all tokens", "paradigm", "p10")]
    low, high = proportion_confint(right["lm"][pairs.paradigm == "p10"].sum(), 40, method="wilson")
    assert (one.low, one.high) == pytest.approx((100 * low, 100 * high))


@pytest.mark.merge
def test_paradigms_are_tested_as_all_sign_flips_would(tmp_path):
    sizes = ((10, 20, 10), (30, 10), (10, 20, 10))
    found = accuracy(tmp_path, {"base": 0, "lm": 2}, sizes=sizes).loc["lm"].loc["all tokens"]
    row, each = found.loc["overall"].iloc[0], found.loc["paradigm"]
    gaps = each.difference.to_numpy()
    flips = np.array(list(itertools.product([1, -1], repeat=8))) @ gaps
    exact = (np.abs(flips) >= abs(gaps.sum()) - 1e-9).mean()
    assert row.p_paradigms == pytest.approx(exact, abs=0.015)
    assert row.difference == pytest.approx(gaps.mean())
    means = np.random.default_rng(5).choice(gaps, (20_000, 8)).mean(axis=1)
    expected = np.quantile(means, [0.025, 0.975])
    assert (row.difference_low, row.difference_high) == pytest.approx(expected, abs=0.5)
    assert row.low_paradigms < row.accuracy < row.high_paradigms


def test_holm_is_over_the_lms(tmp_path):
    found = accuracy(tmp_path, {"base": 0, "a": 1, "b": 2, "c": 3})
    for tokens in pair_accuracy.CONVENTIONS:
        rows = found.xs(("overall", "overall"), level=("level", "group")).xs(tokens, level="tokens")
        p = rows.p_pairs.dropna()
        assert len(p) == 3 and rows.p_pairs_holm[p.idxmin()] == pytest.approx(min(1, 3 * p.min()))
        assert rows.p_pairs_holm.max() == pytest.approx(
            max(p.max(), rows.p_pairs_holm.drop(p.idxmax()).max())
        )
    assert found.xs("paradigm", level="level").p_pairs_holm.isna().all()


def test_lms_are_compared_by_sums_that_all_have(tmp_path):
    """One LM without a begin token: all are compared without the first token."""
    pairs, files = made_scores(tmp_path, {"base": 0, "lm": 3})
    scores = pd.read_parquet(files[1]).assign(good_bits=math.nan, bad_bits=math.nan)
    scores.to_parquet(files[1])
    out = tmp_path / "out.csv"
    pair_accuracy.compare_accuracy(pairs, files, described("base", "lm"), "base", out)
    found = pd.read_csv(out)
    assert set(found.tokens[found.compared]) == {"without the first"}
    assert set(found.lm[found.tokens == "all tokens"]) == {"base"}
    # A masked LM has all tokens alone: nothing is shared, each is compared by its own.
    masked = pd.read_parquet(files[0]).assign(good_rest_bits=math.nan, bad_rest_bits=math.nan)
    masked.to_parquet(files[0])
    pair_accuracy.compare_accuracy(pairs, files, described("base", "lm"), "base", out)
    found = pd.read_csv(out)
    assert found.compared.all() and found[found.lm == "lm"].difference.notna().all()


def test_stale_and_broken_scores_are_named(tmp_path):
    pairs, files = made_scores(tmp_path, {"base": 0})
    scores = pd.read_parquet(files[0])
    scores.assign(good_bits=[math.inf] + [1.0] * (len(scores) - 1)).to_parquet(files[0])
    with pytest.raises(
        InputError, match=r"bits of pair 0 is inf .*base assigns a sentence no prob"
    ):
        pair_accuracy.compare_accuracy(
            pairs, files, described("base"), "base", tmp_path / "out.csv"
        )
    scores[1:].to_parquet(files[0])
    with pytest.raises(InputError, match="was computed for other pairs than the table's; delete"):
        pair_accuracy.compare_accuracy(
            pairs, files, described("base"), "base", tmp_path / "out.csv"
        )


# Table and figures


@pytest.fixture
def windows(tmp_path):
    """Accuracy of a baseline, two windows and an inference-only LM, in that order of the config."""
    lms = {"base": 0, "W4": 3, "W7": 8, "late": -3}
    accuracy(tmp_path, lms)
    known = described(*lms)
    for lm, width in zip(known[1:3], (4, 7), strict=True):
        lm |= {"bias": {"form": "window", "width": width}, "applied": "training"}
    known[3] |= {"bias": {"form": "exponential"}, "applied": "inference"}
    return tmp_path, known


def test_table_with_published_values(windows):
    """61 beside the baseline and 68 beside the better window, of 10 M words alone."""
    folder, lms = windows
    out = [folder / f"t.{end}" for end in ("csv", "html", "tex")]
    settings = {"published": ROOT / "data" / "published" / "wm2026_text.csv", "baseline": "base"}
    source = {"accuracy": folder / "pair_accuracy.csv", "lms": lms}
    show(view.table_minimal_pairs, **source, **settings, training_words="10M", out=out)
    rows = check_shape(folder)
    table = pd.read_csv(out[0])
    overall = table[table.compared & (table.level == "overall")].set_index("lm")
    order = list(overall.accuracy.sort_values(ascending=False).index)
    names = [row[0][0].split("|")[0] for row in rows[1:]]
    assert names == [f"the {lm}" for lm in order] and order[0] == "W7"
    assert overall.published.dropna().to_dict() == {"base": 61, "W7": 68}
    by_name = {row[0][0]: [cell for cell, _ in row] for row in rows[1:]}
    assert "published 68" in by_name["the W7"][1] and "61" in by_name["the base"][1]
    assert by_name["the base"][2:5] == [""] * 3
    assert by_name["the W7"][1].startswith(f"{overall.accuracy['W7']:.1f}|")
    header = [cell for cell, _ in rows[0]]
    assert header[-2:] == ["phenomenon 0", "phenomenon 1"] and "without the first" in header
    assert "summed over all tokens" in (folder / "t.html").read_text()

    show(view.table_minimal_pairs, **source, **settings, training_words="100M", out=out)
    assert pd.read_csv(out[0]).published.dropna().to_list() == [71]
    show(view.table_minimal_pairs, **source, baseline="base", out=out)
    assert "ublished" not in (folder / "t.html").read_text()


@pytest.mark.merge
def test_figures_show_what_the_table_says(windows):
    folder, lms = windows
    ends = ("svg", "png", "csv")
    show(
        view.figure_minimal_pairs,
        accuracy=folder / "pair_accuracy.csv",
        total=[folder / f"a.{end}" for end in ends],
        by_phenomenon=[folder / f"b.{end}" for end in ends],
        lms=lms,
        baseline="base",
    )
    models, rows = show(view.read, accuracy=folder / "pair_accuracy.csv", lms=lms)
    rows = rows[rows.compared]
    models = view.ranked(models, rows)
    overall = rows[rows.level == "overall"].set_index("lm").assign(published=np.nan)
    figure = view.bars(models, overall, "base")
    (axes,) = figure.axes
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches]
    assert ends == pytest.approx([overall.accuracy[lm.lm] for lm in models])
    lines = {line.get_linestyle(): line.get_xdata()[0] for line in axes.lines}
    assert lines["--"] == overall.accuracy["base"] and lines[":"] == 50
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("n.s.") == (overall.p_paradigms_holm >= 0.05).sum() == 3  # 3 paradigms
    wide = pd.read_csv(folder / "b.csv").set_index("lm")
    assert list(wide.index) == [lm.lm for lm in models]
    assert wide.columns[0] == "Overall" and len(wide.columns) == 3
    assert wide.iloc[:, 1].mean() >= wide.iloc[:, 2].mean()
    figure = view.grid(models, wide, "base")
    cells = {text.get_gid(): text.get_text() for text in figure.axes[0].texts}
    for lm in wide.index:
        assert cells[f"cell {lm} 0"] == f"{wide.Overall[lm]:.1f}"
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert "the base (baseline)" in labels and labels[0] == "the W7"
