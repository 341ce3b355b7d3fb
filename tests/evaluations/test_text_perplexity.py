"""Perplexity of a text: alone, interpolated with the best weight, and that of n-grams on PTB."""

import json
import os
import re
import shutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from loaded import study_of
from project import ROOT, load, show
from recency.errors import InputError
from recency.evaluations.summary import plain
from recency.evaluations.text_perplexity import rare_words, runs, score, view
from recency.evaluations.text_perplexity.spec import EVALUATION
from recency.networks import architectures
from recency.scoring import estimate_ngrams, mix
from recency.scoring.lm_spec import LMSpec
from recency.text import prepare

PTB = ROOT.parent / "shared" / "data" / "ptb_mikolov"


@pytest.fixture
def nats():
    rng = np.random.default_rng(1)
    return rng.gamma(3, 2, 5000), rng.gamma(4, 1.5, 5000)


@pytest.fixture
def text(tmp_path):
    """Write a network and its tokenizer, and the tokens of a text of three sentences."""
    words = Tokenizer(models.WordLevel({"</s>": 0, "[unk]": 1, "a": 2, "b": 3}, unk_token="[unk]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.add_special_tokens(["</s>"])
    shape = {"family": "recurrent", "layers": 1, "width": 8, "memory": {"form": "gru"}}
    network = architectures.new(shape, {"form": "none"}, 4, 1)
    with torch.no_grad():
        network.lm_head.weight *= 9
    network.save_pretrained(tmp_path / "lm")
    words.save(str(tmp_path / "lm" / "tokenizer.json"))
    ids = np.array([2, 3, 0, 3, 0, 1, 2, 3, 0], "<u2")
    ids.tofile(tmp_path / "t.bin")
    facts = {"dtype": "uint16", "end_of_document": 0}
    (tmp_path / "t.json").write_text(json.dumps(facts))
    return network.eval(), ids.astype(np.int64), tmp_path


@pytest.mark.parametrize("reset", ["never", "document"])
def test_every_word_and_end_of_sentence_is_scored(text, reset):
    network, ids, folder = text
    lm = LMSpec("lm", folder / "lm", folder / "lm" / "tokenizer.json")
    score.main(folder / "t.bin", folder / "t.json", lm, folder / "o.parquet", reset=reset)
    found = pd.read_parquet(folder / "o.parquet")
    assert found.token_id.tolist() == ids.tolist()
    assert set(found.parameters) == {architectures.parameter_count(network)}
    assert found.known.tolist() == (ids != 1).tolist()
    assert found.document.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 2]
    cuts = [0, 3, 5, 9] if reset == "document" else [0, 9]
    expected = []
    for first, last in pairwise(cuts):
        with torch.no_grad():
            log = network(torch.tensor([[0, *ids[first : last - 1]]])).logits[0].log_softmax(-1)
        expected += (-log[range(last - first), ids[first:last]]).tolist()
    np.testing.assert_allclose(found.nats, expected, atol=1e-5)


def scores(tmp_path, name, nats, parameters):
    """Write what an LM gives two texts of documents of 20 words."""
    paths = []
    for part, values in zip(("validation", "test"), nats):
        paths.append(tmp_path / f"{name}.{part}.parquet")
        documents = np.arange(len(values)) // 20
        score.write(paths[-1], np.zeros(len(values)), values, values > 0, documents, parameters)
    return paths


def lm(name, label, seed=1):
    variant = {"variant": name if seed == 1 else f"{name}@seed={seed}", "seed": seed}
    return {"lm": name, "label": label, "bias": {"form": "none"}, "applied": "none"} | variant


def test_the_table_has_what_was_published_beneath(tmp_path, nats):
    lms = [lm("PTB-FOFE-4", "FOFE, n − 1 = 4"), lm("PTB-KN5", "KN5"), lm("mine", "mine")]
    halves = [(each[:2000], each[2000:]) for each in (*nats, nats[0] + 1)]
    files = [scores(tmp_path, each["lm"], half, 6_320_000) for each, half in zip(lms, halves)]
    out = [tmp_path / f"table_perplexity.{ending}" for ending in ("csv", "html", "tex")]
    published = ROOT / "data" / "published" / "thesis_table4_2.csv"
    settings = {
        "variants": lms,
        "interpolated_with": "PTB-KN5",
        "title": "T",
        "published": published,
    }
    show(
        view.table_perplexity, scores=[path for pair in files for path in pair], out=out, **settings
    )
    rows = pd.read_csv(out[0]).set_index("lm")
    fofe = rows.loc["PTB-FOFE-4"]
    assert fofe.test_ppl == pytest.approx(np.exp(nats[0][2000:].mean()))
    shares = mix.estimate_shares(np.array(nats)[:, :2000])
    together = mix.mix_nats(np.array(nats)[:, 2000:], shares)
    assert fofe.interpolated_ppl == pytest.approx(np.exp(together.mean()))
    assert (fofe.published_ppl, fofe.published_interpolated_ppl) == (112, 101)
    assert rows.loc["PTB-KN5"].published_ppl == 141 and np.isnan(rows.loc["mine"].published_ppl)
    assert np.isnan(rows.loc["PTB-KN5"].interpolated_ppl)
    page = out[1].read_text()
    # Labels that no LM here has are rows of published values alone.
    assert rows.loc[np.nan].label.tolist()[-1] == "D-LSRC(200)" and "not run here" in page
    assert "published 112" in page and "6.3 M" in page and "with KN5" in page
    assert "FOFE" in plain(view.summary_of_perplexity(out[0]))[1]


@pytest.fixture
def rare(tmp_path):
    """Write a text trained on and a test, and scores whose perplexity over each class is known."""
    trained_on = ["b c c " + "d " * 20, "c " + "e " * 10]
    test = ["a b c b d", "d a e b", "d d b"]
    for name, documents in (("train", trained_on), ("test", test)):
        pd.DataFrame({"text": documents}).to_parquet(tmp_path / f"{name}.parquet")
    words = " </s> ".join(test).split() + ["</s>"]
    nats = {"a": 9.0, "b": 7.0, "c": 5.0, "e": 5.0, "d": 2.0, "</s>": 1.0}
    base = np.array([nats[word] for word in words])
    better = base - 0.5 * np.isin(words, ["b"])
    files = {}
    for name, values in (("base", base), ("better", better), ("pieces", base[:-1]), ("kn", base)):
        files[name] = tmp_path / f"{name}.parquet"
        known = np.array(words[: len(values)]) != ("a" if name == "kn" else "")
        score.write(files[name], np.zeros(len(values)), values, known, np.zeros(len(values)), 1000)
    return tmp_path, words, files


def test_perplexity_over_rare_words(rare):
    folder, words, files = rare
    out = [folder / f"t.{end}" for end in ("csv", "html", "tex")]
    show(rare_words.table_rare_perplexity, 
        scores=[each for path in files.values() for each in (folder / "unread", path)],
        texts=[folder / "test.parquet", folder / "train.parquet"],
        out=out, variants=[lm(name, name) for name in files], baseline="base", title="T",
        published=ROOT / "data" / "published" / "thesis_table5_6.csv",
    )  # fmt: skip
    rows = pd.read_csv(out[0]).set_index(["lm", "class"])
    numbers = {name: rows.words["base", name] for name in ("all", "0", "1", "2–10", "more")}
    assert numbers == {"all": len(words), "0": 2, "1": 4, "2–10": 2, "more": 4}
    assert rows.ppl["base", "1"] == pytest.approx(np.exp(7))
    assert rows.ppl["better", "1"] == pytest.approx(np.exp(6.5))
    ratio = rows.loc[("better", "1"), ["low", "high"]]  # the same in every document
    assert ratio.tolist() == pytest.approx([np.exp(-0.5)] * 2)
    assert rows.ppl["base", "all"] == pytest.approx(
        np.exp((2 * 9 + 4 * 7 + 5 + 5 + 4 * 2 + 3) / 15)
    )
    assert np.isnan(rows.ppl["kn", "0"]) and rows.ppl["kn", "1"] == rows.ppl["base", "1"]
    page = out[1].read_text()
    assert "pieces: its tokens are not words" in page and "0.61 (0.61 to 0.61)" in page
    assert "Published, Turkish (Babel)".lower() in page.lower() and "260,000" in page
    assert "once" in plain(rare_words.summary_of_rare_perplexity(out[0]))[0]


def test_other_words_are_not_interpolated(tmp_path, nats):
    lms = [lm("a", "A"), lm("b", "B")]
    files = scores(tmp_path, "a", nats, 1) + scores(tmp_path, "b", (nats[0], nats[1][:-1]), 1)
    with pytest.raises(InputError, match="a scored 5,000 words of the test text, b 4,999"):
        show(
            view.table_perplexity,
            scores=files,
            out=[],
            variants=lms,
            interpolated_with="b",
            title="T",
        )


@pytest.fixture
def shorter(tmp_path):
    """Write A, which knows all words, and B, which gives a fifth of them one probability together."""
    rare = np.random.default_rng(0).random(2000) < 0.2
    nats = {"a": -np.log(np.where(rare, 1e-4, 0.02)), "b": -np.log(np.where(rare, 0.2, 0.02))}
    files = {}
    for name, known in (("a", np.ones(2000, bool)), ("b", ~rare)):
        for part in ("validation", "test"):
            files[name, part] = tmp_path / f"{name}.{part}.parquet"
            ids, documents = np.full(2000, -1), np.arange(2000) // 100
            score.write(files[name, part], ids, nats[name], known, documents, 10, 1.0)
    return files, rare, nats


def test_a_word_unknown_to_one_lm_is_interpolated_as_in_a_mixture(shorter):
    """B's shared probability is not that of one word: it counted as such, and B's weight was 1."""
    files, rare, nats = shorter
    read = runs.read(files.values(), [lm("a", "A"), lm("b", "B")], "b")
    (row, _) = view.tabulate(read).to_dict("records")
    allowed = np.array([nats["a"], np.where(rare, np.inf, nats["b"])])
    shares = mix.estimate_shares(allowed)
    assert shares[0] > 0.999 and row["weight"] == pytest.approx(shares[0])
    together = np.exp(mix.mix_nats(allowed, shares).mean())
    assert row["interpolated_ppl"] == pytest.approx(together) == pytest.approx(151.7, abs=0.1)


def test_a_cache_knows_the_words_that_it_has(tmp_path):
    """The word x is unknown to the n-gram model, and in the cache only when it comes again."""
    pd.DataFrame({"text": ["x a", "x"]}).to_parquet(tmp_path / "t.parquet")
    known, documents = np.array([False, True, True, False, True]), [0, 0, 0, 1, 1]
    kn, shares = tmp_path / "kn.parquet", tmp_path / "shares.json"
    score.write(kn, np.full(5, -1), np.ones(5), known, np.array(documents), 1)
    shares.write_text(json.dumps({"shares": {"kn": 0.5, "cache": 0.5}}))
    out = tmp_path / "o.parquet"
    score.score_mix([kn], shares, tmp_path / "t.parquet", out, ["kn"], [None], {"words": 9})
    found = pd.read_parquet(out)
    assert found.known.tolist() == [False, True, True, True, True]
    assert found.nats[0] == pytest.approx(1 + np.log(2))
    assert found.nats[3] == pytest.approx(-np.log(0.5 / 3))  # the cache's share alone


def test_words_that_one_lm_does_not_know_are_noted_and_not_compared(shorter, tmp_path):
    files, rare, _ = shorter
    read = runs.read(files.values(), [lm("a", "A"), lm("b", "B")], "b")
    rows = view.tabulate(read)
    assert rows.unknown.tolist() == [0, rare.sum()] and rows.same_words.nunique() == 2
    notes = view.layout_of_lms("T", rows, "b").notes
    assert f"{rare.sum()} words unknown to B, whose shared probability counts" in notes
    assert "Interpolated: an LM gives p = 0 to words that only the other one knows" in notes
    pairs = view.compare_pairs(read, [("a", "b")])
    assert pairs.ratio.isna().all()
    assert any(
        "different unknown words" in note for note in view.layout_of_pairs("T", pairs, None).notes
    )
    alone = view.tabulate(runs.read([*files.values()][2:], [lm("b", "B")], None))
    assert not any("unknown" in note for note in view.layout_of_lms("T", alone, None).notes)


def test_interpolated_lms_know_the_words_of_either(shorter):
    """B and C do not know the same words; with A, which knows all, their perplexities compare."""
    files, _, nats = shorter
    paths = list(files.values())
    for name in ("c.validation", "c.test"):
        paths.append(paths[0].with_name(f"{name}.parquet"))
        known, documents = np.arange(2000) > 5, np.arange(2000) // 100
        score.write(paths[-1], np.full(2000, -1), nats["a"] + 0.1, known, documents, 10, 1.0)
    variants = [lm("a", "A"), lm("b", "B"), lm("c", "C")]
    pairs = view.compare_pairs(runs.read(paths, variants, "a"), [("b", "c")]).set_index("text")
    assert np.isnan(pairs.ratio["test"]) and pairs.ratio["interpolated"] > 0


def test_lms_with_other_units_are_noted(shorter, tmp_path):
    files, _, _ = shorter
    paths = list(files.values())[:2]
    for name in ("c", "d"):
        for part in ("validation", "test"):
            paths.append(tmp_path / f"{name}.{part}.parquet")
            nats, documents = np.full(4000, np.log(20)), np.arange(4000) // 200
            score.write(paths[-1], np.zeros(4000), nats, nats > 0, documents, 10, 1.0)
    rows = view.tabulate(runs.read(paths, [lm(n, n.upper()) for n in "acd"], None))
    first, second, *rest = view.layout_of_lms("T", rows, None).notes
    assert first == (
        "Test text: 2,000 (A), 4,000 (C and D) words or tokens with the ends of sentences"
    )
    assert "units differ, and perplexities do not compare" in second
    assert not any("unknown" in note for note in rest)
    alone = view.layout_of_lms("T", rows[:1], None).notes
    assert alone[:2] == [
        "Test text: 2,000 words with the ends of sentences",
        "Perplexity counts every word and the end of every sentence",
    ]
    assert view._listed("ABCDE") == "A, B, C and 2 more" and view._listed("ABCD") == "A, B, C and D"


def test_a_text_s_own_token_for_unknown_words_is_a_word(shorter, tmp_path):
    """As in the Penn Treebank: [unk] is a word of the text, which n-grams list."""
    files, rare, nats = shorter
    texts = []
    for part in ("validation", "test"):
        words = np.where(rare, "[unk]", "w").reshape(20, 100)
        words = [" ".join(document[:-1]) for document in words]
        texts.append(tmp_path / f"{part}.text.parquet")
        pd.DataFrame({"text": words}).to_parquet(texts[-1])
    variants = [lm("a", "A"), lm("b", "B") | {"unknown_as": "[unk]"}]
    ends = np.arange(2000) % 100 == 99  # which are not [unk] in this text
    b = np.where(rare & ends, np.inf, nats["b"])
    row = view.tabulate(runs.read(files.values(), variants, "b", texts)).iloc[0]
    both = np.array([nats["a"], b])
    assert row.weight == pytest.approx(mix.estimate_shares(both)[0])
    assert 0.001 < row.weight < 0.5


def test_texts_are_read_where_a_token_for_unknown_words_may_be_in_them():
    study = study_of(load("config/ptb.yaml"))
    name = next(n for n, e in study.config["experiments"].items() if "perplexity" in e)
    variants = EVALUATION.settings["every_variant"](study, name)
    signs = {row["variant"]: row["unknown_as"] for row in variants}
    assert set(signs.values()) == {None, "[unk]"} and signs["PTB-KN5"] is None
    assert EVALUATION.inputs["scored_texts"](study, name) == [
        f"<results>/corpora/ptb-{part}/text.parquet" for part in ("valid", "test")
    ]


@pytest.fixture
def seeds(tmp_path):
    """Write two LMs of three seeds, `near` 0.1 nats below `far` in every seed, and an n-gram model."""
    rng = np.random.default_rng(2)
    base, kn = rng.gamma(3, 2, (2, 2000)), rng.gamma(4, 1.5, (2, 2000))
    nats, about, files = {}, [], []
    for name, lower in (("near", 0.1), ("far", 0.0)):
        for seed, off in ((1, -0.02), (2, 0.01), (3, 0.04)):
            about.append(lm(name, name.title(), seed))
            nats[name, seed] = base - lower + off
    about.append(lm("kn", "KN5"))
    nats["kn", 1] = kn
    for each in about:
        own = nats[each["lm"], each["seed"]]
        files += scores(tmp_path, each["variant"].replace("@", "."), own, 1000)
    return tmp_path, about, files, nats


def made(make, seeds, published, **more):
    """Make a table of `seeds`, interpolated with the n-gram model; return its files."""
    folder, variants, files, _ = seeds
    out = [folder / f"made.{ending}" for ending in ("csv", "html", "tex")]
    values = folder / "published.csv"
    values.write_text(f"label,ppl,ppl_interpolated\n{published}")
    settings = {"interpolated_with": "kn", "title": "T", "published": values} | more
    show(make, scores=files, out=out, variants=variants, **settings)
    return out


def test_seeds_of_an_lm_are_one_row_with_their_spread(seeds):
    nats, out = seeds[-1], made(view.table_perplexity, seeds, "Near,100,90\n")
    rows = pd.read_csv(out[0]).set_index("lm")
    assert rows.index.tolist() == ["near", "far", "kn"] and rows.seeds.tolist() == [3, 3, 1]
    of = [np.exp(nats["near", seed][1].mean()) for seed in (1, 2, 3)]
    assert rows.test_ppl["near"] == pytest.approx(np.exp(np.log(of).mean()))
    assert rows.test_sd["near"] == pytest.approx(np.std(of, ddof=1))
    assert np.isnan(rows.test_sd["kn"]) and rows.published_ppl["near"] == 100
    with_kn, shares = [], []
    for seed in (1, 2, 3):
        validation, test = (np.array([nats["near", seed][n], nats["kn", 1][n]]) for n in (0, 1))
        shares.append(mix.estimate_shares(validation))
        with_kn.append(np.exp(mix.mix_nats(test, shares[-1]).mean()))
    assert rows.interpolated_ppl["near"] == pytest.approx(np.exp(np.log(with_kn).mean()))
    assert rows.interpolated_sd["near"] == pytest.approx(np.std(with_kn, ddof=1))
    assert rows.weight["near"] == pytest.approx(np.mean([each[0] for each in shares]))
    page = out[1].read_text()
    assert f"± {np.std(of, ddof=1):.1f}, 3 seeds" in page and "geometric mean" in page
    assert f"± {np.std(of, ddof=1):.1f}" in plain(view.summary_of_perplexity(out[0]))[1]


def test_pairs_are_compared_seed_by_seed_and_document_by_document(seeds):
    asked = [("near", "far"), ("near", "kn")]
    out = made(view.table_perplexity_pairs, seeds, "Near,90,80\nFar,100,\n", pairs=asked)
    rows = pd.read_csv(out[0]).set_index(["other", "text"])
    # What documents and seeds have in common leaves the difference: nothing varies.
    ends = rows.loc[("far", "test"), ["ratio", "low", "high", "low_all", "high_all"]]
    assert ends.tolist() == pytest.approx([np.exp(-0.1)] * 5)
    assert rows.published_ratio["far", "test"] == pytest.approx(0.9)
    assert np.isnan(rows.published_ratio["far", "interpolated"])
    assert ("kn", "interpolated") not in rows.index and ("far", "interpolated") in rows.index
    assert rows.documents.eq(100).all()
    page = out[1].read_text()
    assert "\N{MINUS SIGN}9.5 %" in page and "published \N{MINUS SIGN}10.0 %" in page
    assert re.search("Near +Far", plain(view.summary_of_perplexity_pairs(out[0]))[1])


def test_the_interval_of_a_pair_is_that_of_its_documents_and_of_further_seeds(seeds):
    """Against the formulas: the standard error of a mean over documents, and t of the seeds' differences."""
    folder, variants, files, nats = seeds
    rng, noisy = np.random.default_rng(3), []
    for each in variants[:6]:
        own = nats[each["lm"], each["seed"]]
        noisy += scores(
            folder, "n" + each["variant"].replace("@", "."), own + rng.normal(0, 0.02), 1
        )
    one = view.compare_pairs(
        runs.read(files[:2] + files[-2:], [variants[0], variants[-1]], None),
        [("near", "kn")],
    ).iloc[0]
    apart = (nats["near", 1][1] - nats["kn", 1][1]).reshape(100, 20).mean(1)
    reach = 1.96 * apart.std(ddof=1) / 10
    assert one.ratio == pytest.approx(np.exp(apart.mean()))
    assert np.log(one.low) == pytest.approx(apart.mean() - reach, abs=0.1 * reach)
    assert np.log(one.high) == pytest.approx(apart.mean() + reach, abs=0.1 * reach)
    assert np.isnan(one.low_all)  # one pair alone
    read = runs.read(noisy, variants[:6], None)
    several = view.compare_pairs(read, [("near", "far")]).iloc[0]
    by_seed = [
        np.diff([s.test.mean() for s in pair])[0] for pair in zip(read[1].seeds, read[0].seeds)
    ]
    reach = 4.303 * np.std(by_seed, ddof=1) / np.sqrt(3)  # t with two degrees of freedom
    assert np.log(several.ratio) == pytest.approx(np.mean(by_seed))
    assert np.log([several.low, several.high]) == pytest.approx(
        [np.mean(by_seed) - reach, np.mean(by_seed) + reach], abs=0.1 * reach
    )


def test_other_words_are_not_compared(seeds):
    folder, variants, files, nats = seeds
    short = [each[:-1] for each in nats["kn", 1]]
    files = files[:2] + scores(folder, "short", short, 1)
    out = [folder / f"p.{ending}" for ending in ("csv", "html", "tex")]
    show(view.table_perplexity_pairs, 
        scores=files, out=out, variants=[variants[0], variants[-1]], pairs=[("near", "kn")],
        interpolated_with=None, title="T",
    )  # fmt: skip
    assert np.isnan(pd.read_csv(out[0]).ratio[0]) and "other words" in out[1].read_text()
    assert view.summary_of_perplexity_pairs(out[0]).rows == []


def test_of_one_document_nothing_tells_how_sure_a_pair_is(tmp_path):
    about, files = [lm("a", "A"), lm("b", "B")], []
    for each, height in zip(about, (2.0, 3.0)):
        for part in ("validation", "test"):
            files.append(tmp_path / f"{each['lm']}.{part}")
            score.write(files[-1], np.zeros(9), np.full(9, height), np.ones(9), np.zeros(9), 1)
    out = [tmp_path / f"p.{ending}" for ending in ("csv", "html", "tex")]
    show(
        view.table_perplexity_pairs,
        scores=files,
        out=out,
        variants=about,
        pairs=[("a", "b")],
        interpolated_with=None,
        title="T",
    )
    row = pd.read_csv(out[0]).iloc[0]
    assert row.ratio == pytest.approx(np.exp(-1)) and np.isnan([row.low, row.high]).all()
    assert "one document" in out[1].read_text()
    (shown,) = view.summary_of_perplexity_pairs(out[0]).rows
    assert [cell.text for cell in shown] == ["A", "B", "\N{MINUS SIGN}63.2 %", ""]
    assert not shown[2].bold


def test_rare_words_of_several_seeds_are_their_mean(rare):
    folder, _, files = rare
    other = pd.read_parquet(files["base"])
    other.assign(nats=other.nats + 0.4).to_parquet(folder / "second.parquet")
    out = [folder / f"t.{end}" for end in ("csv", "html", "tex")]
    show(rare_words.table_rare_perplexity, 
        scores=[x for path in (files["base"], folder / "second.parquet") for x in ("", path)],
        texts=[folder / "test.parquet", folder / "train.parquet"],
        out=out, variants=[lm("a", "A"), lm("a", "A", 2)], baseline="a", title="T",
    )  # fmt: skip
    rows = pd.read_csv(out[0]).set_index("class")
    assert rows.lm.eq("a").all() and rows.ppl["1"] == pytest.approx(np.exp(7.2))


def test_published_values_are_those_of_the_thesis_s_tables():
    old = pd.read_csv(ROOT / "data" / "published" / "thesis_tables3_3_and_4_2_ptb.csv")
    new = [
        pd.read_csv(ROOT / "data" / "published" / f"thesis_table{table}.csv").set_index("label")
        for table in ("4_2", "3_3")
    ]
    new = pd.concat([new[0], new[1].drop(new[0].index.intersection(new[1].index))])
    for row in old.itertuples():
        for n in (1, 2, 4):
            value, with_kn5 = getattr(row, f"n{n}_ppl"), getattr(row, f"n{n}_ppl_kn5")
            two = ", 2 layers" if row.hidden_layers == 2 else ""
            names = [row.architecture, f"{row.architecture}, n − 1 = {n}{two}"]
            names.append(row.architecture.replace("KN", f"KN{ {1: 2, 2: 3, 4: 5}[n] }"))
            if not np.isnan(value):
                found = new.loc[next(name for name in reversed(names) if name in new.index)]
                assert found.ppl == value
                np.testing.assert_equal(found.ppl_interpolated, with_kn5)


def test_an_lm_that_stands_for_a_published_one_names_it(tmp_path, nats):
    lms = [lm("PTB-KN3", "KN3"), lm("PTB-Skip-8", "Skip 8")]
    files = [scores(tmp_path, each["lm"], (half, half), 10) for each, half in zip(lms, nats)]
    told = {"variants": lms, "interpolated_with": None, "title": "T"}
    told |= {"published": ROOT / "data" / "published" / "thesis_table2_1.csv"}
    told |= {"scores": [path for pair in files for path in pair]}
    out = [tmp_path / f"t.{ending}" for ending in ("csv", "html", "tex")]
    show(view.table_perplexity, out=out, **told)
    rows = pd.read_csv(out[0]).set_index("label")
    assert rows.published_label["KN3"] == "UniSt3" and rows.published_ppl["KN3"] == 162.1
    assert np.isnan(rows.test_ppl["RNNLM 50"]) and "UniSt3" not in rows.index
    assert "published 162.1 (UniSt3)" in out[1].read_text()
    show(view.table_perplexity_pairs, out=out, pairs=[("PTB-Skip-8", "PTB-KN3")], **told)
    ratio = pd.read_csv(out[0]).published_ratio.iloc[0]
    assert ratio == pytest.approx(153.2 / 162.1)


@pytest.mark.merge
@pytest.mark.skipif(not PTB.is_dir(), reason="../shared/data/ptb_mikolov is not there")
def test_kneser_ney_has_the_published_perplexity(tmp_path):
    """185.7 on PTB's test part with bigrams: by an implementation of its own, and published as 186."""
    lmplz = shutil.which("lmplz") or str(ROOT / ".tools" / "kenlm" / "bin" / "lmplz")
    if not os.path.exists(lmplz):
        pytest.skip("KenLM's lmplz is not built")
    for part, words in (("train", 887_521), ("test", 78_669)):
        files, options = [PTB / f"ptb.{part}.txt.gz"], {"sentences": {"words": words}}
        prepare.main(files, tmp_path / part, reader="sentences", options=options)
    arpa = tmp_path / "2.arpa"
    estimate_ngrams.main(tmp_path / "train", arpa, memory="200M", order=2, lmplz=lmplz)
    score.score_ngrams(tmp_path / "test", arpa, tmp_path / "o.parquet")
    found = pd.read_parquet(tmp_path / "o.parquet").nats
    assert len(found) == 82_430 and np.exp(found.mean()) == pytest.approx(185.7, abs=0.05)
