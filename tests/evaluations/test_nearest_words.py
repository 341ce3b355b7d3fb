"""Nearest words: those put near, by cosine and by distance; a word that is not in the vocabulary."""

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from project import ROOT, show
from recency.errors import InputError
from recency.evaluations.nearest_words import score, table
from recency.networks import architectures
from recency.scoring.lm_spec import LMSpec

WORDS = ["</s>", "[unk]", "cat", "dog", "eats", "sees", "of"]


@pytest.fixture
def model(tmp_path):
    """Write a WD-SRNN in which cat is near dog by U (a multiple of it), and eats by C."""
    tokenizer = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[unk]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["</s>"])
    memory = {"form": "srnn", "context": "word", "start": "separate"}
    shape = {"family": "recurrent", "layers": 1, "width": 6, "memory": memory}
    network = architectures.new(shape, {"form": "none"}, len(WORDS), 1)
    with torch.no_grad():
        U, C = network.get_input_embeddings().weight, network.model.layers[0].context
        U[3] = 5 * U[2]
        C[4] = C[2] + 1e-3
    network.save_pretrained(tmp_path / "lm")
    tokenizer.save(str(tmp_path / "lm" / "tokenizer.json"))
    return tmp_path / "lm", C.detach().numpy()


def test_those_that_are_near(model, tmp_path):
    folder, C = model
    told = LMSpec("WD", folder, folder / "tokenizer.json"), tmp_path / "wd.csv"
    score.main(*told, words=["cat", "of"], neighbours=3)
    found = pd.read_csv(tmp_path / "wd.csv").set_index(["space", "word", "rank"]).sort_index()
    assert found.neighbour["U", "cat", 1] == "dog" and found.value["U", "cat", 1] == pytest.approx(
        1
    )
    assert found.neighbour["C", "cat", 1] == "eats"
    places = [n for n in range(1, len(WORDS)) if n != 6]  # no special token
    distance = [np.sqrt(((C[n].astype(float) - C[6]) ** 2).sum()) for n in places]
    order = np.argsort(distance)[:3]
    assert found.neighbour["C", "of"].tolist() == [WORDS[places[n]] for n in order]
    np.testing.assert_allclose(found.value["C", "of"], np.array(distance)[order], rtol=1e-6)

    lms = [{"lm": "WD", "label": "WD-SRNN", "bias": {"form": "none"}, "applied": "none"}]
    out = [tmp_path / f"t.{end}" for end in ("csv", "html", "tex")]
    show(table.main, neighbours=[tmp_path / "wd.csv"], out=out, lms=lms, title="T")
    assert "dog, " in out[1].read_text() and "By C: Euclidean" in out[1].read_text()
    published = ROOT / "data" / "published" / "thesis_table3_2.csv"
    show(
        table.main,
        neighbours=[tmp_path / "wd.csv"],
        out=out,
        lms=lms,
        title="T",
        published=published,
    )
    rows = pd.read_csv(out[0]).query("label == 'published'")
    assert len(rows) == 30 and "switzerland, england" in out[1].read_text()
    with pytest.raises(InputError, match="the vocabulary of WD has no 'catt'; did you mean 'cat'"):
        score.main(*told, words=["catt"], neighbours=3)
