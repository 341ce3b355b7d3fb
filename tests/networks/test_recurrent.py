"""Recurrent LMs: made, saved and opened like any other, and told where texts begin."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from recency.attention.biased import attach
from recency.errors import InputError
from recency.networks import architectures, checkpoints, training

SHAPE = {"family": "recurrent", "layers": 2, "width": 12, "embedding": 8, "dropout": 0.1}
MEMORIES = [
    {"form": "fofe", "decay": 0.7},
    {"form": "fofe", "half_lives": [1, 64], "learned": True, "window": 3},
    {"form": "srnn", "context": "word", "window": 2},
    {"form": "lsrc"},
    {"form": "state_space", "selective": True},
]
NONE = {"form": "none"}


def network(memory, seed=1, **shape):
    return architectures.new(SHAPE | shape | {"memory": memory}, NONE, 50, seed).eval()


@pytest.fixture
def ids():
    return torch.randint(0, 50, (3, 11), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_saved_network_is_opened_with_its_memory(memory, ids, tmp_path):
    model = network(memory)
    model.save_pretrained(tmp_path)
    for opened in (checkpoints.load(tmp_path), AutoModelForCausalLM.from_pretrained(tmp_path)):
        assert opened.config.memory == memory
        assert torch.equal(opened(ids).logits, model(ids).logits)


def test_weights_that_are_missing_are_refused(tmp_path):
    network({"form": "lsrc"}).save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.layers.1.local.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"lacks the weight model\.layers\.1\.local\.weight"):
        checkpoints.load(tmp_path)


def test_weights_depend_on_the_seed_alone():
    torch.manual_seed(5)
    first = network({"form": "lstm"})
    torch.manual_seed(6)
    again, other = network({"form": "lstm"}), network({"form": "lstm"}, seed=2)
    for name, weights in first.state_dict().items():
        assert torch.equal(weights, again.state_dict()[name])
        assert not torch.equal(weights, other.state_dict()[name])
    fading = network({"form": "srnn"})
    for name in ("model.embedding.weight", "lm_head.weight"):
        assert torch.equal(first.state_dict()[name], fading.state_dict()[name])


def test_tied_embeddings_are_one(tmp_path, ids):
    model = network({"form": "gru"}, embedding=12, tied=True)
    assert model.lm_head.weight is model.model.embedding.weight
    model.save_pretrained(tmp_path)
    opened = checkpoints.load(tmp_path)
    assert opened.lm_head.weight is opened.model.embedding.weight
    assert torch.equal(opened(ids).logits, model(ids).logits)


def test_states_are_given_layer_by_layer(ids):
    model = network({"form": "rnn"}, embedding=12, feed_forward=7)
    output = model.model(ids, output_hidden_states=True)
    assert [each.shape[-1] for each in output.hidden_states] == [12, 12, 12, 7]
    assert model.config.num_hidden_layers == 3
    assert torch.equal(output.hidden_states[-1], output.last_hidden_state)
    assert (output.last_hidden_state >= 0).all()


def test_a_bias_of_attention_goes_on_none(tmp_path):
    model = network({"form": "rnn"})
    with pytest.raises(InputError, match="RecurrentForCausalLM is a recurrent network"):
        attach(model, {"form": "linear"})
    model.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="is a recurrent network"):
        checkpoints.load(tmp_path, {"form": "linear"})


@pytest.mark.parametrize("memory", MEMORIES)
def test_nothing_of_before_a_reset_is_remembered(memory, ids):
    """Texts that begin within a row are read as if each stood alone."""
    model = network(memory).model
    resets = torch.zeros(3, 11, dtype=torch.bool)
    begins = {0: [4, 5], 1: [0], 2: [9]}
    for row, places in begins.items():
        resets[row, places] = True
    before = model(ids.flip(1)).state
    output = model(ids, state=before, resets=resets)
    for row, places in begins.items():
        for first, last in zip(places, [*places[1:], 11]):
            alone = model(ids[row : row + 1, first:last])
            torch.testing.assert_close(
                output.last_hidden_state[row, first:last], alone.last_hidden_state[0]
            )
        for layer, expected in zip(output.state, alone.state):
            for got, one in zip(layer, expected):
                torch.testing.assert_close(got[row : row + 1], one)
    # Up to its reset, a text goes on from what stood before.
    other = model(ids).last_hidden_state
    assert not torch.allclose(output.last_hidden_state[2, :9], other[2, :9])


@pytest.mark.parametrize(
    "memory",
    [{"form": "srnn"}, {"form": "srnn", "context": "word"}, {"form": "state_space"}],
    ids=["WI-SRNN", "WD-SRNN", "state space"],
)
def test_what_a_memory_fades_by_is_not_decayed(memory):
    """It would be forgotten, C of rare words first; `decayed: all` says otherwise."""
    model = network(memory)
    recipe = {"optimizer": "sgd", "momentum": 0.0, "weight_decay": 0.1}
    fading = {"log_rate", "step", "direct"} if memory["form"] == "state_space" else {"context"}
    for more, left_out in (({}, fading), ({"decayed": "all"}, set())):
        decayed, others = training.optimizer(model, recipe | more).param_groups
        assert (decayed["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
        left = {id(parameter) for parameter in others["params"]}
        named = {name.split(".")[-1] for name, p in model.named_parameters() if id(p) in left}
        assert named == left_out
        assert len(decayed["params"]) + len(left) == len(list(model.parameters()))
