"""Sizes of a corpus's parts and unknown words, by hand, and of the thesis's own split."""

import gzip

import pandas as pd
import pytest

from project import ROOT, show
from recency.evaluations.corpus_sizes import table

PTB = ROOT.parent / "shared" / "data" / "ptb_mikolov"
TEXTS = {"train": ["a b a [u]", "b c"], "test": ["a c d", "[u]"]}


def make(folder, texts, unknown, cutoffs=13, published=None):
    paths = []
    for part, documents in texts.items():
        paths.append(folder / f"{part}.parquet")
        pd.DataFrame({"text": documents}).to_parquet(paths[-1])
    sizes = {"parts": dict.fromkeys(texts, "mine"), "unknown": unknown, "cutoffs": cutoffs}
    out = [folder / f"t.{end}" for end in ("csv", "html", "tex")]
    show(table.main, texts=paths, out=out, sizes=sizes, title="T", published=published)
    return pd.read_csv(out[0]), out[1].read_text()


def test_words_that_training_has_too_rarely_are_unknown(tmp_path):
    (tmp_path / "p.csv").write_text("part,tokens,oov_percent\ntrain,8,25\ntest,6,50\n")
    rows, page = make(tmp_path, TEXTS, "[u]", 2, tmp_path / "p.csv")
    of = rows.set_index(["minimum", "part"])
    assert of.tokens[1, "train"] == 8 and of.tokens[1, "test"] == 6
    assert of.types[1, "train"] == 4 and of.words[1, "test"] == 4
    unknown = {(1, "train"): 1 / 8, (1, "test"): 2 / 6, (2, "train"): 2 / 8, (2, "test"): 3 / 6}
    for key, share in unknown.items():
        assert of.unknown_percent[key] == pytest.approx(100 * share)
    assert not of.nearest[1, "train"] and of.nearest[2, "train"]
    assert "published 8" in page and "known from a frequency of 2 on" in page


@pytest.mark.merge
@pytest.mark.skipif(not PTB.is_dir(), reason="../shared/data/ptb_mikolov is not there")
def test_the_penn_treebank_has_the_thesis_s_tokens_and_not_its_unknown_words(tmp_path):
    """At no minimum frequency: that of 8, with 6.25, 7.28 and 7.24 %, is nearest (docs/fidelity.md)."""
    texts = {
        part: gzip.decompress((PTB / f"ptb.{part}.txt.gz").read_bytes()).decode().splitlines()
        for part in ("train", "valid", "test")
    }
    published = ROOT / "data" / "published" / "thesis_table3_1.csv"
    rows, _ = make(tmp_path, texts, "<unk>", published=published)
    first = rows[rows.minimum == 1]
    assert first.tokens.tolist() == [929_589, 73_760, 82_430]
    assert first.types.tolist()[0] == 9_999
    nearest = rows[rows.nearest]
    assert set(nearest.minimum) == {8}
    assert nearest.unknown_percent.round(2).tolist() == [6.25, 7.28, 7.24]
    assert (rows.unknown_percent - rows.published_percent).abs().groupby(
        rows.minimum
    ).max().min() > 0.5
    page = " ".join((ROOT / "docs" / "fidelity.md").read_text().split())
    assert "is nearest: 6.25, 7.28 and 7.24 %" in page and "4.84, 4.72 and 5.82 %" in page
