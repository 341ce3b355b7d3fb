"""Attention over one sentence: transformers' own weights, and the figure of all heads."""

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from project import show
from recency.errors import InputError
from recency.evaluations.attention_maps import figure as figure_attention_maps
from recency.evaluations.attention_maps import score as attention_map
from recency.figures import comparison, style
from recency.networks import architectures, checkpoints
from recency.scoring.lm_spec import LMSpec
from small_networks import MIX, NONE, TINY, byte_tokenizer

TEXT = "The unforgettable cat  saw the dog"
LMS = [
    {"lm": "Pythia", "label": "Pythia", "bias": {"form": "none"}, "applied": "none"},
    {
        "lm": "mix",
        "label": "ALiBi-mix-TI",
        "bias": {"form": "linear", "slopes": "mix"},
        "applied": "training",
    },
]


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer()


@pytest.fixture(scope="module")
def made(tmp_path_factory, tokenizer):
    folder = tmp_path_factory.mktemp("made")
    for name, spec in (("Pythia", NONE), ("mix", MIX)):
        architectures.new(TINY, spec, tokenizer.get_vocab_size(), 5).save_pretrained(folder / name)
        PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder / name)
        lm = LMSpec(name, folder / name, folder / name / "tokenizer.json")
        attention_map.main(TEXT, lm, folder / f"{name}.parquet")
    return folder


def test_attention_is_that_of_transformers(made, tokenizer):
    table = pd.read_parquet(made / "Pythia.parquet")
    ids = [0, *tokenizer.encode(" ".join(TEXT.split())).ids]
    model = checkpoints.load(made / "Pythia")
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        expected = model(torch.tensor([ids]), output_attentions=True).attentions
    size = len(ids)
    assert len(table) == 2 * 4 * size * (size + 1) // 2
    for (layer, head), rows in table.groupby(["layer", "head"]):
        found = np.zeros((size, size))
        found[rows["query"], rows.key] = rows.attention
        np.testing.assert_allclose(found, expected[layer - 1][0, head - 1].numpy(), atol=1e-6)
    first = table[table["query"] == size - 1].drop_duplicates("key")
    assert first.key_token.iloc[0] == "<|endoftext|>"
    assert "".join(first.key_token[1:]).replace("Ġ", "") == TEXT.replace(" ", "")


def test_a_bias_shows(made):
    """Under ALiBi, the first head looks back less far than the unbiased network's does."""

    def reach(name):
        table = pd.read_parquet(made / f"{name}.parquet")
        table = table[table["head"] == 1]
        return (table.attention * (table["query"] - table.key)).sum()

    assert reach("mix") < 0.7 * reach("Pythia")


def test_a_sentence_longer_than_the_window_is_refused(made, tmp_path):
    text, tokens = "unforgettable " * 60, made / "mix" / "tokenizer.json"
    with pytest.raises(
        InputError, match="sentences: 'unforgettable .* more than mix reads at once"
    ):
        attention_map.main(text, LMSpec("mix", made / "mix", tokens), tmp_path / "x.parquet")


@pytest.mark.merge
def test_every_head_has_a_panel(made, tmp_path):
    maps = [made / f"{each['lm']}.parquet" for each in LMS]
    out = [tmp_path / f"f.{ending}" for ending in ("svg", "pdf", "png", "csv")]
    show(figure_attention_maps.main, maps=maps, out=out, lms=LMS, layers=1)
    data = pd.read_csv(tmp_path / "f.csv")
    assert set(data.layer) == {1} and set(data.lm) == {"Pythia", "mix"}
    models, _ = comparison.records(LMS, [])
    rows = pd.concat([pd.read_parquet(path).assign(lm=lm.lm) for lm, path in zip(models, maps)])
    said = figure_attention_maps.sentences(rows, models, 1)
    assert "Pythia has 2 layers; its Parquet file has them all" in said
    assert said[-1].startswith("All tokens of Pythia, ALiBi-mix-TI: (begin) ")
    for layers, columns in ((1, 2), (2, 4), (5, 4)):
        with style.use():
            figure = figure_attention_maps.draw(rows, models, layers, said)
        panels = [axes for axes in figure.axes if axes.images]
        assert len(panels) == 4 * columns
    values = panels[1].images[0].get_array()  # first head, layer 2 of Pythia
    chosen = rows[(rows.lm == "Pythia") & (rows.layer == 2) & (rows["head"] == 1)]
    for row in chosen.itertuples():
        assert values[row.query, row.key] == pytest.approx(row.attention)
    assert values.mask[0, 1:].all()  # the first token sees itself alone
    named = [tick.get_text() for tick in panels[0].get_yticklabels()]
    every = [token for token in said[-1].split(": ")[1].split(" ") if token]
    step = int(panels[0].get_yticks()[1])
    assert named == every[::step] and len(every) == rows["query"].max() + 1
