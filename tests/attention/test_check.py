"""What the check of `attach` finds: each fault is put into the network or into the function."""

import math

import pytest
import torch
import transformers
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface

import recency
from families import CAUSAL, make, outputs, text
from recency.attention import biased, check
from recency.attention.biases import Bias
from recency.attention.short_texts import draw_texts
from recency.networks import architectures, checkpoints


def refuses(model, message, bias=None):
    with pytest.raises(recency.InputError, match=message) as error:
        recency.attention.attach(model, bias or CAUSAL["linear mix"][0])
    assert "\n" not in str(error.value) and type(model).__name__ in str(error.value)
    assert model.config._attn_implementation != biased.NAME


def test_wrong_tables_are_found(monkeypatch):
    """A slope of a tenth more; a head whose keys are a token nearer; a bonus; a or b forgotten."""
    dense, model = Bias.dense, make("GPT2")

    def with_fault(fault):
        def wrong(self, queries, keys, device, dtype, causal=True):
            a, b = dense(self, queries, keys, device, dtype, causal)
            return fault(a, b.clone())

        monkeypatch.setattr(Bias, "dense", wrong)

    def one_head(a, b):
        b[:, 1] += (b[:, 1] < 0) / 16  # its slope
        return a, b

    for fault in (lambda a, b: (a, b * 1.1), one_head, lambda a, b: (a, b + 0.3 * (b == 0))):
        with_fault(fault)
        refuses(model, "gives other outputs than softmax")
    with_fault(lambda a, b: (1.0, b))
    refuses(model, "gives other outputs than softmax", CAUSAL["exponential"][0])
    with_fault(lambda a, b: (1.0, torch.where(b == -math.inf, b, 0.0)))
    refuses(model, "gives the same outputs with the bias as without")
    monkeypatch.undo()
    recency.attention.attach(model, CAUSAL["linear mix"][0])


def test_later_tokens_that_are_seen_are_found(monkeypatch):
    """The reference is wrong in the same way, so that the look at later tokens alone can tell."""
    model = make("GPT2")

    def all_keys(*args, **kwargs):
        return torch.ones(1, 1, 12, 12, dtype=torch.bool)

    dense = Bias.dense
    monkeypatch.setattr(Bias, "dense", lambda *args: dense(*args[:5], False))
    refuses(model, "gives other outputs than softmax")
    monkeypatch.setitem(
        AttentionMaskInterface._global_mapping, "eager", lambda *args, **kwargs: None
    )
    for name in (check.REFERENCE, check.UNBIASED):
        monkeypatch.setitem(AttentionMaskInterface._global_mapping, name, all_keys)
    refuses(model, "lets later tokens change earlier ones")


def test_a_layer_that_does_not_run_is_found():
    model = make("GPT2")
    model.transformer.h[1].attn.forward = lambda hidden, *args, **kwargs: (hidden, None)
    refuses(model, "the bias did not run in layer 1")


def test_layers_in_another_order_are_found():
    model = make("Llama")
    order = {0: model.model.layers[1].forward, 1: model.model.layers[0].forward}
    for number, forward in order.items():
        model.model.layers[number].forward = forward
    refuses(model, "in another order than it numbers them", CAUSAL["window"][0] | {"layers": [0]})


def test_autocast_does_not_reach_the_check():
    with torch.autocast("cpu", torch.bfloat16):
        recency.attention.attach(make("GPT2"), CAUSAL["linear mix"][0])


def test_a_cap_that_is_handed_to_no_function_is_found():
    """The model caps in its own attention alone."""
    model = make("Gemma2")
    for module in biased.attention_modules(model):

        def forward(*args, module=module, whole=module.forward, **kwargs):
            own = module.config._attn_implementation == "eager"
            module.attn_logit_softcapping = 1.0 if own else None
            return whole(*args, **kwargs)

        module.forward = forward
    refuses(model, "has attention with parts that no bias is defined for")


@pytest.mark.parametrize("name, part", [("Gemma2", "softcap"), ("GptOss", "s_aux")])
def test_a_function_that_swallows_an_argument_is_found(name, part, monkeypatch):
    def swallows(*args, **kwargs):
        return biased.biased_attention(*args, **kwargs | {part: None})

    monkeypatch.setitem(AttentionInterface._global_mapping, biased.NAME, swallows)
    refuses(make(name), "gives other outputs than softmax")


def test_a_bias_that_is_nothing_here_is_not_refused():
    """A window wider than the text, no slope to speak of: neither can show, and both are right."""
    for bias in (
        {"form": "window", "width": 1000},
        {"form": "linear", "slopes": 1e-9},
        {"form": "exponential", "weight": 0.0},
        {"form": "temperature"},
    ):
        recency.attention.attach(make("Llama"), bias)


def test_a_window_is_checked_on_a_text_longer_than_it(monkeypatch):
    model = make("Llama")
    dense = Bias.dense
    recency.attention.attach(model, {"form": "window", "width": 30})

    def without(self, *where):
        a, b = dense(self, *where)
        return a, b.new_zeros(b.shape).masked_fill(torch.ones_like(b).triu(1).bool(), -math.inf)

    monkeypatch.setattr(Bias, "dense", without)
    with pytest.raises(recency.InputError, match="the same outputs|other outputs"):
        recency.attention.attach(model, {"form": "window", "width": 30})


def test_every_load_with_a_bias_is_checked(monkeypatch, tmp_path):
    """Networks trained with a bias, made new or opened; a plain one opened with a bias."""
    shape = {"family": "gpt2", "layers": 2, "heads": 4, "width": 32, "feed_forward": 64}
    shape |= {"context": 64}
    trained, plain = (
        architectures.new(shape, CAUSAL[name][0], 60, 1) for name in ("linear mix", "none")
    )
    trained.save_pretrained(tmp_path / "trained")
    plain.save_pretrained(tmp_path / "plain")
    dense = Bias.dense

    def steeper(*where):
        a, b = dense(*where)
        return a, b * 1.5

    monkeypatch.setattr(Bias, "dense", steeper)
    for load in (
        lambda: architectures.new(shape, CAUSAL["linear mix"][0], 60, 1),
        lambda: checkpoints.load(tmp_path / "trained"),
        lambda: checkpoints.load(tmp_path / "plain", CAUSAL["linear mix"][0]),
    ):
        with pytest.raises(recency.InputError, match="gives other outputs than softmax"):
            load()
    checkpoints.load(tmp_path / "plain")
    monkeypatch.undo()
    checkpoints.load(tmp_path / "trained")


def test_several_tokens_that_end_a_text_are_no_words_of_the_text():
    """Llama 3 has a list of them."""
    model = make("Llama")
    model.config.eos_token_id = list(range(50))
    recency.attention.attach(model, CAUSAL["window"][0])
    assert draw_texts(model).min() >= 50


def test_what_is_no_language_model_is_refused():
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    vision = transformers.ViTModel(transformers.ViTConfig(intermediate_size=64, **sizes))
    with pytest.raises(recency.InputError, match="ViTModel is not a language model"):
        recency.attention.attach(vision, CAUSAL["none"][0])
    with pytest.raises(recency.InputError, match="not to a Linear"):
        recency.attention.attach(torch.nn.Linear(2, 2), CAUSAL["none"][0])


def test_a_refused_bias_leaves_the_one_before():
    model, ids = make("GPT2"), text()
    recency.attention.attach(model, CAUSAL["linear mix"][0])
    before = outputs(model, ids)
    forward = model.transformer.h[1].attn.forward
    model.transformer.h[1].attn.forward = lambda hidden, *args, **kwargs: (hidden, None)
    with pytest.raises(recency.InputError, match="did not run"):
        recency.attention.attach(model, CAUSAL["window"][0])
    model.transformer.h[1].attn.forward = forward
    assert torch.equal(outputs(model, ids), before)


def test_the_check_leaves_dropout_and_random_numbers_as_they_were():
    model = make("GPT2").train()
    model.transformer.h[0].eval()
    state = torch.get_rng_state()
    recency.attention.attach(model, CAUSAL["linear mix"][0])
    assert torch.equal(torch.get_rng_state(), state)
    assert model.training and not model.transformer.h[0].training
    assert model.transformer.h[1].attn.training
