"""The explorer's data: columns as they are packed, sums by word and reader, data frames, hostile text."""

import base64
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recency
from recency.command.main import main
from recency.errors import InputError
from recency.evaluations.explore import self_contained, view_data

HOSTILE = "</script><script>window.hostile = 1</script><b>\u202e"


def words(n=9):
    text = ["The", "cat", "sat", "on", "it.", "A", "dog", "ran", "away."]
    return pd.DataFrame({"item": ["a"] * 5 + ["b"] * 4, "word": text})[:n]


def times():
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "subject": np.repeat(["s1", "s2"], 8),
            "word_id": np.tile(np.arange(8), 2),
            "time_ms": random.normal(300, 50, 16).round(),
        }
    )


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e7])
def test_columns_keep_five_digits_of_their_spread_and_what_is_missing(scale):
    values = np.random.default_rng(1).normal(0, scale, 5000)
    values[::7] = np.nan
    values[3] = np.inf
    kept = view_data.unpacked(view_data.packed(values))
    there = np.isfinite(values)
    assert np.isnan(kept[~there]).all()
    step = view_data.step_of(values)
    assert step <= 10**-4 * values[there].std() * 1.0001
    np.testing.assert_allclose(kept[there], values[there], rtol=0, atol=0.51 * step)


def test_whole_numbers_and_constants_are_kept_exactly():
    for values in ([0, 1, 2, 70_000], [5.0, 5.0], [np.nan], [], [0.25, 0.25]):
        kept = view_data.unpacked(view_data.packed(values))
        np.testing.assert_allclose(kept, np.asarray(values, float), rtol=1e-8)
    large = np.array([1e-3, 2e9 + 0.5, -3.5])  # one value far outside the others' spread
    assert np.abs(view_data.unpacked(view_data.packed(large)) - large).max() <= view_data.step_of(
        large
    )


NUMBERS = st.one_of(
    st.floats(allow_subnormal=False),  # torch may flush them to 0 here
    st.integers(-(2**53), 2**53).map(float),
    st.sampled_from([2.0**31 - 1, -(2.0**31) + 1, 2.0**31, -(2.0**31), 5e9, 1e300, -1e300, 5e-324]),
)
COUNTS = st.integers(-(2**53), 2**53).map(float)
NODE = shutil.which("node")


def rounded(values):
    """Return values as the page has them: within half a step, or exactly, and NaN where missing."""
    values = np.array(values, float)
    return np.where(np.isfinite(values), values, np.nan), view_data.step_of(values) or 0.0


@given(st.lists(NUMBERS, max_size=12))
def test_every_finite_number_survives(values):
    expected, step = rounded(values)
    kept = view_data.unpacked(view_data.packed(values))
    np.testing.assert_array_equal(np.isnan(kept), np.isnan(expected))
    np.testing.assert_allclose(kept, expected, rtol=1e-15, atol=0.500001 * step)


@given(st.lists(st.one_of(COUNTS, st.just(np.nan)), max_size=12))
def test_whole_numbers_are_exact_to_2_to_the_53(values):
    """Counts from 2^31 on vanished: those of the most frequent words."""
    np.testing.assert_array_equal(view_data.unpacked(view_data.packed(values)), values)


def test_large_and_tiny_numbers_do_not_erase_others():
    for values in ([5e9, 1, 2], [-(2**31), 0], [1e300, 0.5, -3], [5e-324, 0.0], [1.5, 2**31]):
        np.testing.assert_array_equal(view_data.unpacked(view_data.packed(values)), values)
    assert view_data.packed([None, 5e9, np.inf])["step"] is None
    np.testing.assert_array_equal(
        view_data.unpacked(view_data.packed([None, 5e9, np.inf])), [np.nan, 5e9, np.nan]
    )


def test_ordinary_columns_have_32_bits_each():
    drawn = np.random.default_rng(0).normal(300, 80, 1000)
    for values in (drawn, np.round(drawn), np.append(drawn, 2**31 - 1), np.zeros(1000)):
        column = view_data.packed(values)
        planes = zlib.decompress(base64.b64decode(column["data"]))
        assert len(planes) == 4 * len(values) and column["step"] > 0


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_page_unpacks_the_same_numbers(tmp_path):
    draw = np.random.default_rng(0)
    columns = [
        draw.normal(300, 80, 20),
        draw.integers(-(2**53), 2**53, 20).astype(float),
        [5e9, 1, 2, None],
        [1e300, -1e300, 0.5, 5e-324, np.inf],
        [2.0**31 - 1, -(2.0**31) + 1, 0],
        [5e-324, 0.0],
        [],
    ]
    packs = [view_data.packed(column) for column in columns]
    source = Path(view_data.__file__).with_name("explore_data.js").read_text()
    script = tmp_path / "unpack.js"
    script.write_text(
        f"{source}\nPromise.all({json.dumps(packs)}.map(Explorer.unpack)).then((all) =>"
        " console.log(JSON.stringify(all.map((values) => [...values].map(String)))));"
    )
    run = subprocess.run([NODE, script], capture_output=True, text=True, check=True)
    for shown, pack in zip(json.loads(run.stdout), packs, strict=True):
        expected = view_data.unpacked(pack)
        np.testing.assert_allclose(np.array(shown, float), expected, rtol=1e-15)
    assert [float(value) for value in json.loads(run.stdout)[1]] == columns[1].tolist()


def test_readers_slopes_are_the_fixed_effect_and_their_own_per_bit():
    fit = {
        "formula": "time_ms ~ 1 + surprisal + (1 + surprisal | subject)",
        "response": "raw",
        "fixed": [{"term": "(Intercept)", "estimate": 300}, {"term": "surprisal", "estimate": 12}],
        "scaling": {"surprisal": {"mean": 5, "sd": 4}},
        "random": {"subject": {"terms": ["(Intercept)", "surprisal"]}},
        "ranef": {"subject": {"s1": [20.0, 2.0], "s2": [-20.0, -4.0]}},
    }
    slopes, unit = view_data.reader_slopes(fit, ["s2", "s1"])
    assert slopes == [2.0, 3.5] and unit == "ms per bit"
    fit["random"]["subject"]["terms"] = ["(Intercept)"]
    assert view_data.reader_slopes(fit, ["s1"])[0] == [3.0]
    assert view_data.reader_slopes({"fixed": []}, ["s1"]) is None


@pytest.mark.merge
def test_data_frames_become_columns_in_the_words_order():
    bits = np.arange(9) / 4
    shuffled = pd.DataFrame({"word_id": np.arange(9)[::-1], "GPT-2_bits": bits[::-1]})
    page = data_of(recency.explore(words(), shuffled, times()).html)
    (dataset,), (response,) = page["datasets"], page["responses"]
    assert [lm["label"] for lm in page["lms"]] == ["GPT-2"]
    np.testing.assert_allclose(view_data.unpacked(dataset["surprisal"][0]), bits)
    assert dataset["starts"] == [0, 5] and dataset["items"] == ["a", "b"]
    np.testing.assert_array_equal(
        view_data.unpacked(dataset["position"]), [1, 2, 3, 4, 5, 1, 2, 3, 4]
    )
    means = times().groupby("word_id")["time_ms"].mean().reindex(range(9))
    np.testing.assert_allclose(view_data.unpacked(response["mean"]), means, atol=0.006)
    np.testing.assert_array_equal(view_data.unpacked(response["n"]), [2] * 8 + [0])


@pytest.mark.parametrize(
    "given, why",
    [
        ({"words": words().drop(columns="word")}, "no column 'word'"),
        ({"words": words(0)}, "no words"),
        ({"surprisals": {"a": [1.0, 2.0]}}, "a has 2 values for 9 words"),
        ({"surprisals": {"a": ["x"] * 9}}, "row 0: 'x' is not a number"),
        ({"surprisals": pd.DataFrame({"word": ["x"]})}, "give one column per LM"),
        (
            {"surprisals": pd.DataFrame({"word_id": [1, 1], "a": [1.0, 2.0]})},
            "word_id 1 occurs twice",
        ),
        ({"times": times().assign(word_id=9)}, "word_id 9 is not a row number of the 9 words"),
        ({"times": times().rename(columns={"time_ms": "rt"})}, "columns that end in _ms or _uv"),
    ],
)
def test_what_does_not_fit_together_is_refused(given, why):
    with pytest.raises(InputError, match=re.escape(why)):
        recency.explore(**{"words": words(), **given})


def test_hostile_text_stands_in_the_page_as_data_alone():
    frame = words().assign(word=HOSTILE, item=HOSTILE)
    page = recency.explore(frame, {HOSTILE: np.ones(9)}, title=HOSTILE)
    assert "<script>window.hostile" not in page.html and "window.hostile = 1" in page.html
    assert data_of(page.html)["lms"][0]["label"] == HOSTILE
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page.html)[1]
    scripts = re.search("script-src ([^;]+);", policy)[1].split()
    assert len(scripts) == 4 and scripts[-1] == "blob:"
    assert all(each.startswith("'sha256-") for each in scripts[:-1])
    assert "<script>window" not in page._repr_html_()
    assert self_contained.as_json({"a": "<\u2028"}) == r'{"a":"\u003c\u2028"}'


@pytest.mark.merge
def test_the_command_writes_a_page_and_cites_itself(tmp_path, capsys):
    table, out = tmp_path / "my words.csv", tmp_path / "page.html"
    words().assign(surprisal_bits=1.5, SPR_ms=300.0).to_csv(table, index=False)
    assert main(["explore", str(table), "--out", str(out)]) == 0
    page = data_of(out.read_text())
    assert page["command"] == f"recency explore '{table}' --out {out}"
    assert [each["label"] for each in page["responses"]] == ["SPR"]
    assert main(["explore", str(table), "--out", "page.pdf"]) == 2
    assert "the name of a page must end in .html" in capsys.readouterr().err
