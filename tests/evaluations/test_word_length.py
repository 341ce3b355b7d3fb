"""Surprisal and length by type: texts whose surprisal is a function of length, shares against R."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from crosslmm.stats.shares import sequential
from project import show
from readingtimes.contracts import word_table
from recency.errors import REFUSALS
from recency.evaluations.word_length import types, view

LMS = [{"lm": lm, "label": lm.upper(), "bias": {"form": "none"}, "applied": "none"} for lm in ("length", "noise", "against")]  # fmt: skip


def text(size=3000, seed=0):
    """Draw words of 1 to 12 letters, common ones shorter on the whole; some are no types."""
    random = np.random.default_rng(seed)
    letters = np.array(list("abcdefghij"))
    vocabulary = list(dict.fromkeys("".join(random.choice(letters, 1 + min(11, random.poisson(1 + k / 60)))) for k in range(400)))  # fmt: skip
    weights = 1 / np.arange(1, len(vocabulary) + 1)
    drawn = list(random.choice(vocabulary, size, p=weights / weights.sum()))
    drawn[::50] = ["The"] * len(drawn[::50])
    drawn[1::50] = ["end."] * len(drawn[1::50])
    return word_table(["a"] * size, [1] * size, drawn)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Score a text by three LMs: one whose surprisal is the length, one of noise, one the other way."""
    folder = tmp_path_factory.mktemp("lengths")
    words = text()
    words.to_parquet(folder / "words.parquet")
    random = np.random.default_rng(1)
    length = words.word.str.len().to_numpy(float)
    counts = words.word.map(words.word.value_counts()).to_numpy()
    bits = {
        "length": 2 + 1.5 * length + random.normal(0, 0.3, len(words)),
        "noise": random.normal(10, 1, len(words)),
        "against": 30 - 2 * length,
        "unigram": -np.log2(counts / len(words)) + random.normal(0, 0.2, len(words)),
    }
    files = {}
    for lm, each in bits.items():
        files[lm] = folder / f"{lm}.parquet"
        surprisal = np.where(words.word_id == 0, np.nan, each)
        pd.DataFrame({"word_id": words.word_id, "surprisal_bits": surprisal}).to_parquet(files[lm])
    types.main(folder / "words.parquet", [files[lm["lm"]] for lm in LMS], files["unigram"], folder / "out.csv", LMS, common=50)  # fmt: skip
    return folder, words, bits


def test_a_surprisal_that_is_a_function_of_length_is_found(made):
    folder, words, bits = made
    rows = pd.read_csv(folder / "out.csv")
    overall = rows[rows.level == "overall"].set_index("lm")
    assert overall.rho["length"] > 0.98 and overall.rho["against"] == pytest.approx(-1)
    assert abs(overall.rho["noise"]) < 0.15 and overall.low["noise"] < 0 < overall.high["noise"]
    assert overall.steiger_t["length"] > 10 and overall.steiger_t["against"] < -10
    # The mean of surprisal over a type's occurrences, by hand.
    kept = words.word.str.fullmatch("[a-j]+")
    kept &= words.word_id > 0
    means = pd.Series(bits["noise"][kept]).groupby(words.word[kept].to_numpy()).mean()
    expected = stats.spearmanr(means, means.index.str.len()).statistic
    assert overall.rho["noise"] == pytest.approx(expected)
    assert overall.types["noise"] == len(means) and overall.words["noise"] == kept.sum()
    assert overall.perplexity["noise"] == pytest.approx(2 ** bits["noise"][kept].mean())
    assert overall.length_surprisal["length"] > 10 * abs(overall.length_surprisal["noise"])
    assert overall.slope_surprisal["length"] == pytest.approx(1, abs=0.05)
    assert overall.slope_surprisal["against"] == pytest.approx(-1)
    assert (rows[rows.level == "common"].types == 50).all()
    assert list(rows[(rows.level == "size") & (rows.lm == "noise")]["size"]) == [128, 256, 512, 1024, 2048]  # fmt: skip


def test_shares_and_slopes_are_those_of_r_s_anova_and_lm():
    from rpy2 import robjects

    random = np.random.default_rng(2)
    frame = pd.DataFrame(random.normal(size=(200, 3)), columns=["small", "large", "bits"])
    frame["large"] += 0.7 * frame.small
    frame["length"] = np.round(4 + frame.small + frame.bits + 0.4 * frame.bits * frame.large + random.normal(size=200))  # fmt: skip
    z = (frame - frame.mean()) / frame.std(ddof=0)
    given = robjects.DataFrame({name: robjects.FloatVector(z[name]) for name in z})
    found = types.explained(frame, "bits")
    asked = {"length": "small + large + bits + large:bits", "surprisal": "length + small + large"}
    for what, terms in asked.items():
        response = what.replace("surprisal", "bits")
        squares = robjects.r(f"function(z) anova(lm({response} ~ {terms}, z))[['Sum Sq']]")(given)
        names = {"length": types.OF_LENGTH, "surprisal": types.OF_SURPRISAL}[what]
        ours = [found[f"{what}_{name}"] for name in names]
        np.testing.assert_allclose(ours, np.array(squares) / sum(squares), rtol=1e-9)
    slopes = robjects.r("function(z) coef(summary(lm(length ~ large + bits, z)))[-1, 1:2]")(given)
    ours = [
        found[f"slope_{name}"]
        for name in ("frequency", "surprisal", "frequency_se", "surprisal_se")
    ]
    np.testing.assert_allclose(ours, np.array(slopes).ravel("F"), rtol=1e-9)
    # A term of those before takes nothing, and shares sum to one.
    columns = {"a": z.small.to_numpy(), "twice": 2 * z.small.to_numpy() + 1}
    again = sequential(z.length.to_numpy(), columns)
    assert again["twice"] == 0 and math.fsum(again.values()) == pytest.approx(1)


def test_words_with_marks_or_capitals_are_no_types():
    words = pd.DataFrame({"word": ["the", "The", "dog.", "don't", "42", "naïve", "a_b"]})
    assert words.word[types.chosen(words)].tolist() == ["the", "naïve"]


def test_a_short_text_is_refused(tmp_path):
    words = word_table(["a"] * 3, [1] * 3, ["a", "b", "c"])
    words.to_parquet(tmp_path / "w.parquet")
    pd.DataFrame({"word_id": range(3), "surprisal_bits": 1.0}).to_parquet(tmp_path / "s.parquet")
    with pytest.raises(REFUSALS, match="3 types of lower-case letters"):
        types.main(tmp_path / "w.parquet", [tmp_path / "s.parquet"], tmp_path / "s.parquet", tmp_path / "o.csv", LMS[:1])  # fmt: skip


def test_table_and_figures(made, tmp_path):
    folder, *_ = made
    known = tmp_path / "published.csv"
    known.write_text("lm,t,p,rho\n2-gram,1.52,0.13,\nperplexity,,0.12,-0.46\n")
    ends = [tmp_path / f"t.{end}" for end in ("csv", "html", "tex")]
    show(view.table_word_length, lengths=folder / "out.csv", out=ends, lms=LMS, frequency_of="a text", published=known)  # fmt: skip
    page = ends[1].read_text()
    assert "published: 2-gram" in page and "published −0.46 (p 0.120)" in page
    assert page.index("LENGTH") < page.index("NOISE") < page.index("AGAINST")
    assert "frequency in a text" in page
    drawn = [tmp_path / "f.svg", tmp_path / "f.csv"], [tmp_path / "g.svg", tmp_path / "g.csv"]
    show(view.figure_word_length, lengths=folder / "out.csv", out=drawn[0], growth=drawn[1], lms=LMS, frequency_of="a text")  # fmt: skip
    assert set(pd.read_csv(drawn[1][1]).lm) == {"length", "noise", "against", "small", "large"}
