"""Contrasts between words in any measure: differences of synthetic readers, against scipy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from project import assert_is_refused, show
from recency.errors import InputError
from recency.evaluations.contrasts import item_effects, paired, table
from recency.evaluations.contrasts.paired import mark

UNBIASED = {"bias": {"form": "none"}, "applied": "none"}
LMS = [{"lm": "a", "label": "A", **UNBIASED}, {"lm": "b", "label": "B", **UNBIASED}]
CONTRAST = {"contrast": "path", "label": "garden path", "region": "region == 'critical'"}
CONTRAST |= {"high": "condition == 'none'", "low": "condition == 'comma'"}
ITEMS, READERS = 12, 6


@pytest.fixture
def study(tmp_path):
    """Write 12 items in two conditions of four words, two measures of six readers, and two LMs' surprisal."""
    words = pd.DataFrame({"word_id": range(ITEMS * 2 * 4)})
    words["stimulus"] = np.repeat([f"{n}" for n in range(ITEMS)], 8)
    words["item"] = np.repeat([f"{n}" for n in range(2 * ITEMS)], 4)
    words["condition"] = np.tile(np.repeat(["comma", "none"], 4), ITEMS)
    words["position"] = np.tile([1, 2, 3, 4], 2 * ITEMS)
    words["region"] = words.position.map({3: "critical", 4: "spillover_1"})
    words.to_parquet(tmp_path / "words.parquet")
    random = np.random.default_rng(3)
    rows = pd.concat(words.assign(subject=f"s{n}", own=n) for n in range(READERS))
    rows = rows[rows.position >= 3].reset_index(drop=True)
    effect = (rows.condition == "none") * (rows.position == 3)
    noise = random.normal(size=len(rows))
    rows["time_ms"] = np.exp(6 + 0.2 * rows.own + 0.3 * effect + 0.1 * noise)
    rows["amplitude_uv"] = rows.own - 2.0 * effect + noise
    rows["event"] = (random.random(len(rows)) < 0.4 + 0.3 * effect).astype(int)
    files = {}
    for name, value in (("SPR", "time_ms"), ("N400", "amplitude_uv"), ("skip", "event")):
        files[name] = [tmp_path / f"{name}.fit.parquet", tmp_path / f"{name}.exploratory.parquet"]
        frame = rows[["subject", "word_id", value]]
        frame[::2].to_parquet(files[name][0])
        frame[1::2].to_parquet(files[name][1])
    bits = {}
    for lm, size in (("a", 4.0), ("b", -1.0)):
        bits[lm] = (
            8
            + random.normal(size=len(words))
            + size * ((words.condition == "none") & (words.position == 3))
        )
        frame = pd.DataFrame({"word_id": words.word_id, "surprisal_bits": bits[lm]})
        frame.to_parquet(tmp_path / f"{lm}.parquet")
    return tmp_path, words, rows, files, bits


def run(study, measures, contrasts=(CONTRAST,), observations=None, **more):
    folder, _, _, files, _ = study
    observations = observations or [path for name in measures for path in files[name]]
    out = folder / "contrasts.csv", folder / "effects.csv"
    item_effects.main(
        folder / "words.parquet", observations, [folder / "a.parquet", folder / "b.parquet"], *out,
        lms=LMS, measures=measures, contrasts=list(contrasts), **{"by": "stimulus"} | more,
    )  # fmt: skip
    return pd.read_csv(out[0]).set_index(["measure", "lm"]), pd.read_csv(out[1])


def by_hand(words, value):
    """Return high less low of each item."""
    there = words.region == "critical"
    cells = pd.Series(value, words.index)[there].groupby([words.stimulus, words.condition])
    cells = cells.mean().unstack()
    return cells["none"] - cells["comma"]


@pytest.mark.parametrize(
    ("measure", "column", "unit"),
    [("SPR", "time_ms", "log ms"), ("N400", "amplitude_uv", "µV"), ("skip", "event", "share")],
)
def test_readers_and_lms_of_any_measure_are_scipys(study, measure, column, unit):
    _, words, rows, _, bits = study
    found, effects = run(study, [measure])
    value = np.log(rows[column]) if column == "time_ms" else rows[column].astype(float)
    value = value - value.groupby(rows.subject).transform("mean")
    mean = value.groupby(rows.word_id).mean().reindex(words.word_id).to_numpy()
    compared = {"readers": mean} | {name: each.to_numpy() for name, each in bits.items()}
    for lm, values in compared.items():
        expected = by_hand(words, values)
        row = found.loc[measure, lm]
        assert row["items"] == ITEMS and row.unit == (unit if lm == "readers" else "bits")
        test = stats.ttest_1samp(expected, 0)
        assert (row.t, row.p) == pytest.approx((test.statistic, test.pvalue))
        assert row.difference == pytest.approx(expected.mean())
        interval = test.confidence_interval()
        assert (row.low, row.high) == pytest.approx((interval.low, interval.high))
        assert row.passed == (test.pvalue < 0.05 and test.statistic > 0)
        own = effects[effects.lm == lm].set_index("item").difference
        expected.index = expected.index.astype(int)
        assert own.to_numpy() == pytest.approx(expected[own.index].to_numpy())


def test_two_measures_are_two_blocks_of_one_table(study):
    found, effects = run(study, ["SPR", "N400"])
    assert list(found.index) == [(m, lm) for m in ("SPR", "N400") for lm in ("readers", "a", "b")]
    assert len(effects) == 6 * ITEMS
    assert found.difference["SPR", "readers"] == pytest.approx(0.3, abs=0.1)
    assert found.difference["N400", "readers"] == pytest.approx(-2, abs=0.5)
    assert found.passed["SPR", "readers"] and not found.passed["N400", "readers"]
    folder = study[0]
    ends = [folder / f"table.{end}" for end in ("csv", "html", "tex")]
    show(table.main, contrasts=folder / "contrasts.csv", out=ends, lms=LMS)
    page = ends[1].read_text()
    assert "garden path" in page and "N400" in page and "readers" in page
    assert pd.read_csv(ends[0], keep_default_na=False).mark.tolist()[:2] == ["***", "***"]
    assert (
        table.summary(ends[0]).rows
        == table.layout(pd.read_csv(ends[0], keep_default_na=False), "").rows
    )


def test_responses_to_several_words_are_compared_with_the_sum_of_their_surprisal(study):
    folder, words, rows, _, bits = study
    critical = rows[rows.position == 3]
    frame = critical[["subject", "word_id", "time_ms"]].assign(span=2)
    frame.to_parquet(folder / "span.parquet")
    found, _ = run(study, ["SPR"], observations=[folder / "span.parquet"])
    both = bits["a"] + bits["a"].shift(-1)
    assert found.difference["SPR", "a"] == pytest.approx(by_hand(words, both.to_numpy()).mean())


def test_lms_are_compared_where_readers_responded(study):
    folder, words, rows, _, bits = study
    some = rows[rows.stimulus.astype(int) < 5]
    some[["subject", "word_id", "time_ms"]].to_parquet(folder / "some.parquet")
    found, effects = run(study, ["SPR"], observations=[folder / "some.parquet"])
    assert found["items"].tolist() == [5, 5, 5]
    expected = by_hand(words, bits["b"].to_numpy())
    assert found.difference["SPR", "b"] == pytest.approx(
        expected[[str(n) for n in range(5)]].mean()
    )
    assert sorted(effects.item.unique()) == [0, 1, 2, 3, 4]


def test_a_filter_leaves_words_out_and_too_few_items_are_refused(study):
    found, _ = run(study, ["SPR"], filter="stimulus in ['1', '2', '3']")
    assert found["items"].tolist() == [3, 3, 3]
    with pytest.raises(
        InputError, match=r"contrasts \(SPR\) → path: 1 groups of 'stimulus' have words"
    ):
        run(study, ["SPR"], filter="stimulus == '1'")
    with pytest.raises(InputError, match="have no column 'frame'; change contrasts → by"):
        run(study, ["SPR"], by="frame")


def test_marks():
    cases = [
        (3.0, 0.0005, "***"),
        (3.0, 0.005, "**"),
        (2.0, 0.04, "*"),
        (2.0, 0.07, "."),
        (1.0, 0.4, ""),
    ]
    assert [mark(t, p) for t, p, _ in cases] == [sign for *_, sign in cases]
    assert mark(-3.0, 0.001) == "X" and mark(float("nan"), float("nan")) == ""


BASE = "{{experiments: {{exp1: {{contrasts: {{dataset: provo, measures: [{m}], {more}contrasts: {{x: {{high: {high}, low: position == 3}}}}}}}}}}}}"
FAULTS = {
    BASE.format(
        m="FPP", more="", high="position == 2"
    ): "contrasts → measures: provo has no measure",
    BASE.format(
        m="FP", more="by: frame, ", high="position == 2"
    ): "contrasts → by: the words of provo have no column",
    BASE.format(m="FP", more="", high="placee == 2"): "contrasts → contrasts → x → high: ",
    BASE.format(m="FP", more="filter: wordd, ", high="position == 2"): "contrasts → filter: ",
}


@pytest.mark.merge
@pytest.mark.parametrize("overlay", FAULTS, ids=range(len(FAULTS)))
def test_what_a_dataset_does_not_have_is_refused_when_the_config_is_read(overlay):
    assert_is_refused(overlay, FAULTS[overlay])


def test_times_are_logarithms_and_words_without_one_have_none(study):
    _, words, _, files, _ = study
    values, unit, span = paired.responses(files["SPR"], len(words))
    assert unit == "log ms" and set(span) == {1}
    assert np.isnan(values).tolist() == (words.position < 3).tolist()
