"""Networks: the paper's shape, saving and loading, and that no biased one loads as unbiased."""

import functools

import pytest
import torch
from transformers import (
    AttentionInterface,
    AutoModelForCausalLM,
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXForCausalLM,
)
from transformers.masking_utils import AttentionMaskInterface

from conftest import needs_compiler
from recency.attention.biased import WITH_WEIGHTS, attach, attention_modules, biased_attention
from recency.networks import architectures, checkpoints, training

PAPER = {
    "family": "gpt_neox",
    "layers": 2,
    "heads": 4,
    "width": 256,
    "feed_forward": 1024,
    "context": 2048,
    "rotary_fraction": 0.25,
}
TINY = {
    "family": "gpt_neox",
    "layers": 2,
    "heads": 4,
    "width": 32,
    "feed_forward": 64,
    "context": 64,
    "rotary_fraction": 0.25,
}
GPT2 = {
    "family": "gpt2",
    "layers": 2,
    "heads": 4,
    "width": 32,
    "feed_forward": 64,
    "context": 64,
}
MIX = {"form": "linear", "slopes": "mix"}
BIASES = [
    {"form": "none"},
    MIX,
    {"form": "exponential"},
    {"form": "window", "width": 4},
    {"form": "logistic"},
    {"form": "power_law", "buffer": 3},
    {"form": "primacy_recency"},
    {"form": "identity"},
    {"form": "temperature", "temperature": 1.6},
    {"form": "learned_linear"},
    {"form": "forgetting"},
    {"form": "surprisal_gated"},
    {"form": "cue_based"},
]


@pytest.fixture
def ids():
    return torch.randint(0, 100, (2, 30), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("bias", [{"form": "none"}, MIX])
def test_parameter_count_of_the_paper(bias):
    assert architectures.parameter_count(architectures.new(PAPER, bias, 50_277, 1)) == 27_335_680


def test_initialisation():
    model = architectures.new(PAPER, MIX, 50_277, 1)
    assert model.lm_head.weight.std().item() == pytest.approx(0.0395, abs=2e-4)
    layer = model.base_model.layers[0]
    assert layer.attention.query_key_value.weight.std().item() == pytest.approx(0.0395, abs=2e-4)
    assert layer.attention.dense.weight.std().item() == pytest.approx(0.0625, abs=1e-3)
    assert layer.mlp.dense_4h_to_h.weight.std().item() == pytest.approx(0.0625, abs=1e-3)
    assert not layer.mlp.dense_4h_to_h.bias.any() and layer.input_layernorm.weight.eq(1).all()


@pytest.mark.parametrize("architecture", [TINY, GPT2], ids=lambda shape: shape["family"])
@pytest.mark.parametrize("bias", BIASES, ids=lambda bias: bias["form"])
def test_same_logits_after_saving_and_loading(architecture, bias, ids, tmp_path):
    model = architectures.new(architecture, bias, 100, 1).eval()
    if bias["form"] == "primacy_recency":
        attention_modules(model)[0].recency_bias.primacy.data.fill_(7.0)
    if bias["form"] == "learned_linear":  # a slope of its own for every head of every layer
        for number, module in enumerate(attention_modules(model)):
            slopes = module.recency_bias.log_slopes
            slopes.data = torch.tensor([0.3, -1.1, -2.7, 0.01]) + number
    expected = model(ids).logits
    model.save_pretrained(tmp_path)
    assert torch.equal(checkpoints.load(tmp_path)(ids).logits, expected)
    assert torch.equal(AutoModelForCausalLM.from_pretrained(tmp_path)(ids).logits, expected)


def test_learned_slopes_are_trained_and_kept_for_each_layer(ids, tmp_path):
    model = architectures.new(TINY, {"form": "learned_linear"}, 100, 1)
    recipe = {"weight_decay": 0.1, "betas": [0.9, 0.95], "epsilon": 1e-8}
    optimizer = training.optimizer(model, recipe)
    for group in optimizer.param_groups:
        group["lr"] = 0.01
    model(ids, labels=ids).loss.backward()
    optimizer.step()
    slopes = {name: p for name, p in model.named_parameters() if name.endswith("log_slopes")}
    start = torch.tensor([1 / 4, 1 / 16, 1 / 64, 1 / 256]).log()
    assert len(slopes) == 2 and all((p != start).all() for p in slopes.values())
    assert all(any(p is q for q in optimizer.param_groups[1]["params"]) for p in slopes.values())
    model.save_pretrained(tmp_path)
    loaded = dict(checkpoints.load(tmp_path).named_parameters())
    assert all(torch.equal(loaded[name], p) for name, p in slopes.items())


@pytest.mark.parametrize(
    "architecture,plain", [(TINY, GPTNeoXForCausalLM), (GPT2, GPT2LMHeadModel)]
)
def test_plain_transformers_refuses_a_biased_checkpoint(architecture, plain, tmp_path):
    architectures.new(architecture, MIX, 100, 1).save_pretrained(tmp_path)
    with pytest.raises(KeyError, match="has an attention bias"):
        plain.from_pretrained(tmp_path)


def test_gpt2_small():
    """124 M parameters; a bias adds none, and the same seed gives the same weights."""
    shape = {"layers": 12, "heads": 12, "width": 768, "feed_forward": 3072, "context": 1024}
    with torch.device("meta"):
        model = architectures.new(
            {"family": "gpt2"} | shape, {"form": "window", "width": 4}, 50_257, 1
        )
    assert architectures.parameter_count(model) == 124_439_808
    plain, biased = (architectures.new(GPT2, bias, 100, 1) for bias in ({"form": "none"}, MIX))
    assert plain.state_dict().keys() == biased.state_dict().keys()
    for name, weights in plain.state_dict().items():
        assert torch.equal(weights, biased.state_dict()[name])


@pytest.mark.parametrize("architecture", [TINY, GPT2], ids=lambda shape: shape["family"])
def test_the_form_none_changes_nothing_but_the_backend(architecture, ids, tmp_path):
    """What a training on a GPU does with an unbiased network; its checkpoint stays a plain one."""
    model = architectures.new(architecture, {"form": "none"}, 100, 1).eval()
    expected = model(ids).logits
    attach(model, {"form": "none"})
    torch.testing.assert_close(model(ids).logits, expected, atol=1e-5, rtol=1e-5)
    model.save_pretrained(tmp_path)
    plain = {"gpt_neox": GPTNeoXForCausalLM, "gpt2": GPT2LMHeadModel}[architecture["family"]]
    assert torch.equal(plain.from_pretrained(tmp_path).eval()(ids).logits, expected)


@pytest.mark.parametrize("architecture", [TINY, GPT2], ids=lambda shape: shape["family"])
def test_a_second_bias_is_refused(architecture, tmp_path):
    architectures.new(architecture, MIX, 100, 1).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="trained with a bias"):
        checkpoints.load(tmp_path, MIX)


def test_bias_at_inference(ids, tmp_path):
    model = architectures.new(TINY, {"form": "none"}, 100, 1).eval()
    model.save_pretrained(tmp_path)
    plain = model(ids).logits
    no_weight = checkpoints.load(tmp_path, {"form": "exponential", "weight": 0.0})(ids).logits
    torch.testing.assert_close(no_weight, plain, atol=1e-5, rtol=1e-5)
    assert (checkpoints.load(tmp_path, MIX)(ids).logits - plain).abs().max() > 1e-3
    last = checkpoints.load(tmp_path, MIX | {"layers": "last"})(ids).logits
    second = checkpoints.load(tmp_path, MIX | {"layers": [1]})(ids).logits
    assert torch.equal(last, second)
    assert (last - plain).abs().max() > 1e-3


def test_unbiased_network_is_plain_gpt_neox(ids, tmp_path):
    model = architectures.new(TINY, {"form": "none"}, 100, 1).eval()
    model.save_pretrained(tmp_path)
    assert torch.equal(
        GPTNeoXForCausalLM.from_pretrained(tmp_path).eval()(ids).logits, model(ids).logits
    )


def test_gpt2_takes_a_bias(ids, tmp_path):
    torch.manual_seed(1)
    GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=32, n_head=4, vocab_size=100)).save_pretrained(
        tmp_path
    )
    plain = checkpoints.load(tmp_path)(ids).logits
    off = checkpoints.load(tmp_path, {"form": "exponential", "weight": 0.0})(ids).logits
    torch.testing.assert_close(off, plain, atol=1e-5, rtol=1e-5)
    assert (
        checkpoints.load(tmp_path, {"form": "window", "width": 4})(ids).logits - plain
    ).abs().max() > 1e-3


def test_a_masked_lm_takes_biases_of_both_directions_alone():
    config = BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64
    )
    model = BertForMaskedLM(config).eval()
    ids = torch.arange(10)[None]
    plain = model(ids).logits
    with pytest.raises(ValueError, match="BertForMaskedLM is bidirectional, and the form 'win"):
        attach(model, {"form": "window", "width": 4})
    attach(model, {"form": "none"})
    torch.testing.assert_close(model(ids).logits, plain, atol=1e-5, rtol=1e-5)
    attach(model, {"form": "linear_both", "slopes": 1, "layers": "last"})
    biased = [type(module.recency_bias).__module__ for module in attention_modules(model)]
    assert biased == ["recency.attention.biases.none", "recency.attention.biases.linear_both"]
    assert (model(ids).logits - plain).abs().max() > 1e-4


@needs_compiler
def test_flex_compiled_gives_the_same_states(ids):
    """As a GPU runs it, with rotary embedding; PyTorch mixes strides up where they differ."""
    model = (
        architectures.new(TINY | {"width": 64}, {"form": "none"}, 100, 1)
        .eval()
        .requires_grad_(False)
    )
    expected = model.base_model(ids, use_cache=False).last_hidden_state
    attach(model, {"form": "none"})
    AttentionInterface.register("recency_flex", functools.partial(biased_attention, backend="flex"))
    AttentionMaskInterface.register("recency_flex", lambda *args, **kwargs: None)
    model.set_attn_implementation("recency_flex")
    compiled = torch.compile(model.base_model, dynamic=False, fullgraph=True)
    got = compiled(ids, use_cache=False).last_hidden_state
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.merge
@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize("bias", BIASES[:-1], ids=lambda bias: bias["form"])
def test_flex_gives_the_same_logits(bias, ids):
    model = architectures.new(TINY | {"width": 64}, bias, 100, 1).eval().requires_grad_(False)
    attach(model, bias)
    if any(module.recency_bias.learned for module in attention_modules(model)):
        pytest.skip("flex is not used for learned biases")
    expected = model(ids).logits
    AttentionInterface.register("recency_flex", functools.partial(biased_attention, backend="flex"))
    AttentionMaskInterface.register("recency_flex", lambda *args, **kwargs: None)
    model.set_attn_implementation("recency_flex")
    torch.testing.assert_close(model(ids).logits, expected, atol=1e-5, rtol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(model(ids).logits.float(), expected, atol=0.05, rtol=0.05)


def test_attention_weights_and_sdpa_give_the_same_logits(ids):
    model = architectures.new(TINY, MIX, 100, 1).eval()
    expected = model(ids).logits
    model.set_attn_implementation(WITH_WEIGHTS)
    got = model(ids, output_attentions=True)
    torch.testing.assert_close(got.logits, expected, atol=1e-5, rtol=1e-5)
    assert len(got.attentions) == 2 and got.attentions[0].shape == (2, 4, 30, 30)
    torch.testing.assert_close(got.attentions[0].sum(-1), torch.ones(2, 4, 30))
