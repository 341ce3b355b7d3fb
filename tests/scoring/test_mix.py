"""LMs interpolated: the best shares there are, the cache by its definition, unknown and missing words."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from readingtimes.contracts import word_table
from recency.errors import REFUSALS
from recency.scoring import mix, results
from recency.scoring.mix import estimate_shares, mix_nats


def test_the_shares_are_the_best_there_are():
    rng = np.random.default_rng(1)
    nats = rng.gamma([[3], [4], [2.5]], 1.5, (3, 4000))
    nats[1, ::7] = np.inf  # as a cache has of new words

    def loss(free):
        shares = np.exp(free) / np.exp(free).sum()
        return -np.log((shares[:, None] * np.exp(-nats)).sum(0)).mean()

    found, best = estimate_shares(nats), minimize(loss, np.zeros(3), tol=1e-12)
    expected = np.exp(best.x) / np.exp(best.x).sum()
    assert (found > 0.01).all() and found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert mix_nats(nats, found).mean() == pytest.approx(best.fun, abs=1e-9)
    # An LM that is better everywhere has everything, and 800 nats are no overflow.
    np.testing.assert_allclose(
        estimate_shares(np.array([nats[0] + 800, nats[0]])), [0, 1], atol=2e-6
    )


def test_an_lm_beside_a_mix_that_holds_it_is_worth_nothing():
    """EM's own steps take for ever there: 5-grams beside the same with a cache, both on one text."""
    rng = np.random.default_rng(3)
    one = rng.gamma(3, 1.5, 4000)
    other = np.where(rng.random(4000) < 0.3, one - 1.5, one + 3)
    both = np.array([one, other])
    mix = mix_nats(both, estimate_shares(both))
    for found in (
        estimate_shares(np.array([mix, one])),
        estimate_shares(np.array([one, mix]))[::-1],
    ):
        np.testing.assert_allclose(found, [1, 0], atol=1e-5)
        assert found.min() >= 0.99e-6  # it may be the only one to know a word elsewhere
    np.testing.assert_allclose(estimate_shares(np.array([one, one])).sum(), 1)


def test_shares_are_those_that_em_goes_to():
    nats = np.random.default_rng(4).gamma([[3], [4], [2.5], [3.5]], 1.5, (4, 3000))
    shares = np.full(4, 0.25)
    for _ in range(2000):
        parts = shares[:, None] * np.exp(-nats)
        shares = (parts / parts.sum(0)).mean(1)
    np.testing.assert_allclose(estimate_shares(nats), shares, atol=1e-6)


def test_a_cache_is_the_share_of_the_words_last_read():
    rng = np.random.default_rng(2)
    text = [f"w{n}" for n in rng.integers(0, 30, 400)]
    found = mix.score(text, words=50)
    for place, word in enumerate(text):
        last = text[max(0, place - 50) : place]
        share = last.count(word) / len(last) if last else 0
        assert np.exp(-found[place]) == pytest.approx(share)


@pytest.fixture
def scored(tmp_path):
    """Write words of two texts and the files of two LMs, one of which does not know all of them."""
    words = word_table(["a"] * 4 + ["b"] * 2, [1] * 4 + [2] * 2, list("xyxzxx"))
    words.to_parquet(tmp_path / "words.parquet")
    nats = np.array([[1, 2, 3, 4, 5, np.nan], [2, 2, 1, 6, 1, 1]], float)
    unknown = [[], [(3, "<unk>", "unknown", "probability of <unk>")]]
    empty = np.full(6, np.nan)
    for name, own, rows in zip("AB", nats, unknown):
        one = np.ones(6)
        corrected = own + 0.5 if name == "A" else empty
        made = results.table(words, own, corrected, one, one)
        made.to_parquet(tmp_path / f"{name}.parquet")
        results.ledger(words, rows).to_csv(tmp_path / f"{name}.csv", index=False)
    files = {
        "words": tmp_path / "words.parquet",
        "scores": [tmp_path / f"{name}.parquet" for name in "AB"],
        "ledgers": [tmp_path / f"{name}.csv" for name in "AB"],
        "lms": ["A", "B"],
    }
    return files, nats, tmp_path


def test_words_are_mixed_where_both_have_them(scored):
    files, nats, folder = scored
    mix.shares(**files, out=folder / "shares.json", given=[0.5, 0.3, 0.2], cache={"words": 3})
    out, ledger = folder / "out.parquet", folder / "ledger.csv"
    mix.surprisal(
        **files, shares=folder / "shares.json", out=out, ledger=ledger, cache={"words": 3}
    )
    found = pd.read_parquet(out)
    of_cache = [0, 0, 1 / 2, 0, 0, 1]  # anew in each text
    p = 0.5 * np.exp(-nats[0]) + 0.3 * np.exp(-nats[1]) + 0.2 * np.array(of_cache)
    p[3] = 0.5 * np.exp(-4)  # of the word that B does not know, B has none
    np.testing.assert_allclose(found.surprisal_bits, -np.log2(p), rtol=1e-12)
    assert np.isnan(found.surprisal_bits[5]) and found.corrected_bits.isna().all()
    rows = pd.read_csv(ledger)
    assert rows.treatment.tolist() == ["p = 0 for B, to which it is unknown"]
    assert rows.word_id.tolist() == [3]


def test_shares_leave_out_what_one_has_not(scored):
    files, nats, folder = scored
    mix.shares(**files, out=folder / "s.json")
    facts = json.loads((folder / "s.json").read_text())
    nats[1, 3] = np.inf
    expected = estimate_shares(nats[:, :5])
    np.testing.assert_allclose(list(facts["shares"].values()), expected)
    assert facts["held_out_words"] == 5 and list(facts["shares"]) == ["A", "B"]


def test_other_words_are_refused(scored):
    files, _, folder = scored
    pd.read_parquet(files["scores"][1])[:-1].to_parquet(files["scores"][1])
    with pytest.raises(REFUSALS, match="B scored 5 words, there are 6"):
        mix.shares(**files, out=folder / "s.json")


def test_a_masked_lm_is_refused(scored):
    files, _, folder = scored
    table = pd.read_parquet(files["scores"][1])
    table.attrs["masked"] = True  # as recency.scoring.surprisal says of one
    table.to_parquet(files["scores"][1])
    with pytest.raises(REFUSALS, match="B is a masked LM.* take it out of `interpolate`"):
        mix.shares(**files, out=folder / "s.json")


def test_a_text_s_words_that_one_does_not_know(tmp_path):
    """What the text itself writes for unknown words is a word; another one's unknown word is none."""
    pd.DataFrame({"document": ["1", "2"], "text": ["a [unk] rare", "a"]}).to_parquet(
        tmp_path / "t.parquet"
    )
    nats = np.arange(1.0, 13).reshape(2, 6)
    known = [[True, False, False, True, True, True], [True] * 6]
    for name, own, row in zip("AB", nats, known):
        table = pd.DataFrame({"token_id": -1, "nats": own, "known": row, "parameters": 3})
        table.to_parquet(tmp_path / f"{name}.parquet")
    files = [tmp_path / "A.parquet", tmp_path / "B.parquet"]
    told = tmp_path / "t.parquet", ["A", "B"], files, ["[unk]", None]
    found, unknown, parameters = mix.read_text_scores(*told, cache=None)
    assert unknown.tolist() == [[False, False, True, False, False, False], [False] * 6]
    assert parameters == 6 and np.isinf(mix.without_unknown(found, unknown)[0, 2])
    _, of_ngrams, _ = mix.read_text_scores(*told[:3], [None, None], cache=None)
    assert of_ngrams.tolist() == [[not each for each in row] for row in known]
    with_cache, _, _ = mix.read_text_scores(*told, cache={"words": 9})
    # a [unk] rare </s> a </s>: the cache runs on from sentence to sentence.
    np.testing.assert_allclose(np.exp(-with_cache[2]), [0, 0, 0, 0, 1 / 4, 1 / 5])
    pd.read_parquet(files[0])[1:].to_parquet(files[0])
    with pytest.raises(
        REFUSALS, match="LMs with different words cannot be interpolated over a text: A 5"
    ):
        mix.read_text_scores(*told, cache=None)


def test_a_corpus_s_words(tmp_path):
    pd.DataFrame({"document": ["1", "2"], "text": ["a b\n\nc", "d"]}).to_parquet(
        tmp_path / "t.parquet"
    )
    mix.write_words(tmp_path / "t.parquet", tmp_path / "w.parquet")
    found = pd.read_parquet(tmp_path / "w.parquet")
    assert found.word.tolist() == list("abcd") and found.item.tolist() == ["1", "1", "1", "2"]
    assert found.sentence.tolist() == [1, 1, 2, 3]
