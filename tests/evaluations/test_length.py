"""Perplexity by length: a made model whose answer is known, and networks with and without positions."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from masked_networks import roberta
from project import load
from recency.errors import InputError
from recency.evaluations.length import score, spec, view
from recency.scoring.lm_spec import LMSpec
from recency.scoring.masked import Frame, cut_pieces

WORDS, BACK, SURE = 20, 30, 0.9
MASK = WORDS
AROUND = Frame([WORDS + 1], [WORDS + 2], MASK, 0)


class Recall(nn.Module):
    """Knows a token that stands BACK tokens on from its like, if it sees that; guesses otherwise."""

    def __init__(self):
        super().__init__()
        self.config = SimpleNamespace(get_text_config=lambda: SimpleNamespace())
        self.out = nn.Identity()

    device = torch.device("cpu")

    def get_output_embeddings(self):
        return self.out

    def forward(self, input_ids, attention_mask):
        known = torch.full((*input_ids.shape, WORDS), (1 - SURE) / (WORDS - 1))
        before = nn.functional.pad(input_ids, (BACK, 0), value=MASK)[:, : input_ids.shape[1]]
        seen = before < WORDS
        known[~seen] = 1 / WORDS
        known[seen] = known[seen].scatter(1, before[seen][:, None], SURE)
        return (self.out(known.log()),)


def test_the_perplexity_of_a_model_that_looks_back_thirty_tokens_is_the_known_one():
    """Brute force: a masked token is known where its like is in its piece, and is not masked itself."""
    room, lengths = 258 - 2, [34, 66, 130, 258]
    random = np.random.default_rng(0)
    ids = np.tile(random.integers(0, WORDS, BACK), 20)[:room]
    places = score.drawn(1, room, 0.15, 1)[0]
    assert len(places) == round(0.15 * room) and set(places) <= set(range(room))
    for length in lengths:
        found = score.read(Recall(), AROUND, ids, places, length)
        size, expected = length - 2, []
        for place in places:
            begin = min(place // size * size, room - size)
            like = place - BACK
            knows = like >= begin and like not in set(places)
            expected.append(-np.log(SURE if knows else 1 / WORDS))
        assert found == pytest.approx(expected, abs=1e-5), length
    # The longer, the more is known: here all but the first BACK and those whose like is masked.
    means = [score.read(Recall(), AROUND, ids, places, each).mean() for each in lengths]
    assert means == sorted(means, reverse=True) and means[0] > means[-1] + 1


@pytest.mark.parametrize("room, size", [(256, 32), (100, 32), (64, 64), (254, 126)])
def test_every_token_is_read_once_in_a_whole_piece(room, size):
    read = []
    for begin, new in cut_pieces(room, size):
        assert 0 <= begin <= new and begin + size <= room
        read += range(new, begin + size)
    assert read == list(range(room))


def test_differences_are_paired_and_networks_averaged_token_by_token(tmp_path):
    random = np.random.default_rng(1)
    document, place = np.repeat(np.arange(12), 20), np.tile(np.arange(20), 12)
    hard = random.gamma(2, 2, 240)  # most of the spread, and the same at each length
    paths = []
    for number, change in enumerate((0.3, 0.5)):
        parts = []
        for length, add in ((32, change), (64, 0.0), (128, np.nan)):
            nats = hard + add * (1 + 0.1 * random.standard_normal(240))
            columns = {"document": document, "place": place, "length": length, "nats": nats}
            parts.append(pd.DataFrame(columns))
        paths.append(tmp_path / f"{number}.parquet")
        pd.concat(parts).to_parquet(paths[-1])
    about = {"lm": "a", "label": "A", "bias": {"form": "none"}, "applied": "none"}
    variants = [about | {"variant": "a"}, about | {"variant": "a@seed=2"}]
    rows = view.read(paths, variants, 64).set_index("length")
    assert rows.ppl[64] == pytest.approx(np.exp(hard.mean()))
    assert rows.difference[32] == pytest.approx(0.4, abs=0.01) and rows.networks.unique() == [2]
    assert rows.low[32] == pytest.approx(0.4, abs=0.02) == rows.high[32]  # not as wide as `hard` is
    assert rows.difference[64] == rows.low[64] == 0 and np.isnan(rows.ppl[128])

    out = [tmp_path / f"table_length.{ending}" for ending in ("csv", "html", "tex")]
    settings = {"trained": 64}
    view.table_length(
        lengths=paths, out=out, variants=variants, length_settings=settings, title="Made"
    )
    html = out[1].read_text()
    assert "no positions" in html and "64 (trained)" in html and "+49." in html
    drawn = [tmp_path / f"figure_length.{ending}" for ending in ("svg", "csv")]
    view.figure_length(lengths=paths, out=drawn, variants=variants, length_settings=settings)
    assert drawn[0].stat().st_size


def test_learned_positions_end_and_others_go_on(tmp_path, capsys):
    words = [f"w{number}" for number in range(20)]
    folder = roberta(tmp_path / "learned", words, context=40)
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(words, size)) for size in (100, 20, 100, 90, 100)]
    pd.DataFrame({"text": texts}).to_parquet(tmp_path / "text.parquet")
    given = {"text": tmp_path / "text.parquet", "lm": LMSpec("rob", folder), "share": 0.15,
             "documents": 2, "seed": 1, "out": tmp_path / "out.parquet"}  # fmt: skip
    score.main(lengths=[20, 40, 80], **given)
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert list(found.columns) == score.COLUMNS and found.document.nunique() == 2
    by = found.groupby("length").nats
    assert by.count().to_dict() == {20: 24, 40: 24, 80: 0} and by.size().nunique() == 1
    assert "80 tokens are more than its 40 learned positions" in capsys.readouterr().err
    with pytest.raises(InputError, match="0 documents have at least 198 tokens"):
        score.main(lengths=[20, 200], **given)

    from recency.networks import roberta as networks

    shape = {"layers": 1, "heads": 4, "width": 32, "feed_forward": 64, "context": 40}
    for positions in ("none", "sinusoidal"):
        bias = {"form": "linear_both", "offset": 0.5} if positions == "none" else None
        network = networks.new(shape | {"positions": positions}, bias, 30, 0).eval()
        assert score.reach(network) == float("inf")
        ids, places = random.integers(5, 30, 120), np.array([3, 77, 118])
        nats = score.read(network, Frame([0], [2], 4, 1), ids, places, 100)
        assert np.isfinite(nats).all()


def test_lengths_go_from_64_to_eight_times_the_training_length():
    config = load("config/open.yaml")
    experiment = {"title": "T", "lms": ["MLM-alibi"], "baseline": "MLM-alibi"}
    config["experiments"]["mine"] = experiment | {"length": {"corpus": "open_english"}}
    settings = spec.settings_of(config, "mine")
    assert settings["trained"] == 256
    assert settings["lengths"] == [64, 128, 256, 512, 1024, 2048]
    config["experiments"]["mine"]["length"]["lengths"] = [1000, 100]
    assert spec.settings_of(config, "mine")["lengths"] == [100, 256, 1000]
