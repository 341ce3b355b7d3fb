"""Perplexity of a text: alone, interpolated with the best weight, and that of n-grams on PTB."""

import json
import os
import shutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from project import ROOT
from tokenizers import Tokenizer, models, pre_tokenizers

from recency.errors import InputError
from recency.evaluations.text_perplexity import rare as table_rare
from recency.evaluations.text_perplexity import score, table
from recency.networks import architectures
from recency.scoring import estimate_ngrams, interpolation
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
    model, tokens = folder / "lm", (folder / "t.bin", folder / "t.json")
    score.main(*tokens, model, model / "tokenizer.json", folder / "o.parquet", "lm", reset=reset)
    found = pd.read_parquet(folder / "o.parquet")
    assert found.token_id.tolist() == ids.tolist()
    assert set(found.parameters) == {architectures.parameter_count(network)}
    assert found.known.tolist() == (ids != 1).tolist()
    cuts = [0, 3, 5, 9] if reset == "document" else [0, 9]
    expected = []
    for first, last in pairwise(cuts):
        with torch.no_grad():
            log = network(torch.tensor([[0, *ids[first : last - 1]]])).logits[0].log_softmax(-1)
        expected += (-log[range(last - first), ids[first:last]]).tolist()
    np.testing.assert_allclose(found.nats, expected, atol=1e-5)


def scores(tmp_path, name, nats, parameters):
    paths = []
    for part, values in zip(("validation", "test"), nats):
        paths.append(tmp_path / f"{name}.{part}.parquet")
        score.write(paths[-1], np.zeros(len(values)), values, values > 0, parameters)
    return paths


def lm(name, label):
    return {"lm": name, "label": label, "bias": {"form": "none"}, "applied": "none"}


def test_the_table_has_what_was_published_beneath(tmp_path, nats):
    lms = [lm("PTB-FOFE-4", "FOFE, n − 1 = 4"), lm("PTB-KN5", "KN5"), lm("mine", "mine")]
    halves = [(each[:2000], each[2000:]) for each in (*nats, nats[0] + 1)]
    files = [scores(tmp_path, each["lm"], half, 6_320_000) for each, half in zip(lms, halves)]
    out = [tmp_path / f"table_perplexity.{ending}" for ending in ("csv", "html", "tex")]
    published = ROOT / "data" / "published" / "thesis_ptb_perplexity.csv"
    settings = {"lms": lms, "interpolated_with": "PTB-KN5", "title": "T", "published": published}
    table.main(scores=[path for pair in files for path in pair], out=out, **settings)
    rows = pd.read_csv(out[0]).set_index("lm")
    fofe = rows.loc["PTB-FOFE-4"]
    assert fofe.test_ppl == pytest.approx(np.exp(nats[0][2000:].mean()))
    shares = interpolation.best_shares(np.array(nats)[:, :2000])
    together = interpolation.mixed(np.array(nats)[:, 2000:], shares)
    assert fofe.interpolated_ppl == pytest.approx(np.exp(together.mean()))
    assert (fofe.published_ppl, fofe.published_interpolated_ppl) == (112, 101)
    assert rows.loc["PTB-KN5"].published_ppl == 141 and np.isnan(rows.loc["mine"].published_ppl)
    assert np.isnan(rows.loc["PTB-KN5"].interpolated_ppl)
    page = out[1].read_text()
    assert "published 112" in page and "6.3 M" in page and "with KN5" in page
    assert "FOFE" in table.summary(out[0])[0]


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
        score.write(files[name], np.zeros(len(values)), values, known, 1000)
    return tmp_path, words, files


def test_perplexity_over_rare_words(rare):
    folder, words, files = rare
    out = [folder / f"t.{end}" for end in ("csv", "html", "tex")]
    table_rare.main(
        scores=[each for path in files.values() for each in (folder / "unread", path)],
        texts=[folder / "test.parquet", folder / "train.parquet"],
        out=out, lms=[lm(name, name) for name in files], baseline="base", title="T",
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
    assert "pieces: its tokens are no words" in page and "0.61 (0.61 to 0.61)" in page
    assert "Published, Turkish (Babel)".lower() in page.lower() and "260,000" in page
    assert "once" in table_rare.summary(out[0])[0]


def test_other_words_are_not_interpolated(tmp_path, nats):
    lms = [lm("a", "A"), lm("b", "B")]
    files = scores(tmp_path, "a", nats, 1) + scores(tmp_path, "b", (nats[0], nats[1][:-1]), 1)
    with pytest.raises(InputError, match="a scored 5,000 words of the test text, b 4,999"):
        table.main(scores=files, out=[], lms=lms, interpolated_with="b", title="T")


def test_published_values_are_those_of_the_thesis_s_tables():
    old = pd.read_csv(ROOT / "data" / "published" / "thesis_tables3_3_and_4_2_ptb.csv")
    new = pd.read_csv(ROOT / "data" / "published" / "thesis_ptb_perplexity.csv").set_index("label")
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
    score.of_ngrams(tmp_path / "test", arpa, tmp_path / "o.parquet")
    found = pd.read_parquet(tmp_path / "o.parquet").nats
    assert len(found) == 82_430 and np.exp(found.mean()) == pytest.approx(185.7, abs=0.05)
