"""Biases on many families of models: equal to a float64 reference, or refused in one line."""

import copy
import math
import re

import numpy as np
import pytest
import torch
import transformers
from families import FAMILIES, make
from project import ROOT
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

import recency
from recency.attention import biased, check
from recency.attention.biases import Bias, build
from recency.networks import architectures

LENGTH = 20
#: Of head h of H, query i and key j: a·s + b, written out as in the papers.
CAUSAL = {
    "none": ({"form": "none"}, lambda s, i, j, h, H: s),
    "linear mix": (
        {"form": "linear", "slopes": "mix"},
        lambda s, i, j, h, H: s + 2 ** (-8 * (h + 1) / H) * (j - i),
    ),
    "exponential": (
        {"form": "exponential", "decay": 0.3, "weight": 0.37},
        lambda s, i, j, h, H: 0.63 * s + 0.37 * math.exp(-0.3 * (i - j)),
    ),
    "window": (
        {"form": "window", "width": 3},
        lambda s, i, j, h, H: s if i - j < 3 else s - math.inf,
    ),
}
BOTH = {
    "none": CAUSAL["none"],
    "linear_both mix": (
        {"form": "linear_both", "slopes": "mix"},
        lambda s, i, j, h, H: s - 2 ** (-8 * (h + 1) / H) * (abs(i - j) - (j > i) / 2),
    ),
    "identity": (
        {"form": "identity", "weight": 0.37},
        lambda s, i, j, h, H: 0.63 * s + 0.37 * (i == j),
    ),
    "temperature": ({"form": "temperature", "temperature": 1.6}, lambda s, i, j, h, H: s / 1.6),
}
OTHER_PRECISIONS = (torch.float16, torch.bfloat16, torch.float64)
GOOD = [name for name, family in FAMILIES.items() if family.outcome.startswith("works")]
REFUSED = [name for name, family in FAMILIES.items() if family.outcome == "refused"]


def written_out(module, q, k, v, attention_mask, scaling=None, softcap=None, s_aux=None, **_):
    """Score by score: q·k·scale, the cap, a·s + b, then softmax over the keys seen and the sink."""
    batch, heads, length, width = q.shape
    scale = 1 / math.sqrt(width) if scaling is None else scaling
    out = torch.zeros(batch, length, heads, v.shape[-1], dtype=torch.float64)
    for h in range(heads):
        key, value = (x[0, h * k.shape[1] // heads].double() for x in (k, v))
        scores = q[0, h].double() @ key.T * scale
        if softcap is not None:
            scores = softcap * torch.tanh(scores / softcap)
        for i in range(length):
            seen = range(length)
            if attention_mask is not None:
                seen = [j for j in seen if attention_mask[0, 0, i, j] == 0]
            changed = [module.changed(float(scores[i, j]), i, j, h, heads) for j in seen]
            if s_aux is not None:
                changed.append(float(s_aux[h]))
            weights = torch.tensor(changed, dtype=torch.float64).softmax(0)[: len(seen)]
            out[0, i, h] = weights @ value[list(seen)]
    return out.to(v.dtype), None


AttentionInterface.register("written_out", written_out)
AttentionMaskInterface.register("written_out", eager_mask)


def outputs(model, ids):
    with torch.no_grad():
        return model(input_ids=ids).logits.double()


def expected_of(model, changed, layers, ids):
    """Return the logits of the same network in float64 with attention written out."""
    exact = copy.deepcopy(model).double()
    for number, module in enumerate(biased.attention_modules(exact)):
        module.changed = changed if number in layers else CAUSAL["none"][1]
    exact.config._attn_implementation = "written_out"
    exact.config._experts_implementation = "eager"  # the other knows no float64
    return outputs(exact, ids)


def text(seed=2):
    return torch.randint(3, 60, (1, LENGTH), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", GOOD)
def test_a_bias_equals_the_definition(name):
    """On all layers, and one on the last alone; none gives what the model's own attention gives."""
    model, ids = make(name), text()
    both = FAMILIES[name].outcome != "works"
    exact = copy.deepcopy(model).double()
    exact.config._attn_implementation = "eager"
    exact.config._experts_implementation = "eager"
    own = outputs(exact, ids)
    near = 2e-5 * own.abs().max().item()
    numbered = len(biased.attention_modules(model)) == model.config.num_hidden_layers
    for number, (bias, changed) in enumerate((BOTH if both else CAUSAL).values()):
        last = number == 2 and numbered
        layers = [1] if last else [0, 1]
        recency.attention.attach(model, bias | ({"layers": "last"} if last else {}))
        found, expected = outputs(model, ids), expected_of(model, changed, layers, ids)
        torch.testing.assert_close(found, expected, atol=near, rtol=0)
        if bias["form"] == "none":
            torch.testing.assert_close(found, own, atol=near, rtol=0)
        else:
            assert (found - own).abs().max() > 100 * near
        if not both:
            later = ids.clone()
            later[0, LENGTH // 2 :] = text(3)[0, LENGTH // 2 :]
            earlier = outputs(model, later)[:, : LENGTH // 2]
            torch.testing.assert_close(earlier, found[:, : LENGTH // 2], atol=near, rtol=0)


@pytest.mark.parametrize("name", [name for name in GOOD if FAMILIES[name].outcome != "works"])
@pytest.mark.parametrize("form", ["linear mix", "exponential", "window"])
def test_forms_without_later_keys_are_refused_where_they_are_seen(name, form):
    with pytest.raises(recency.InputError, match=r"sees both directions.*linear_both does$"):
        recency.attention.attach(make(name), CAUSAL[form][0])


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_why_in_one_line_and_leaves_the_model(name):
    model, ids = make(name), text()
    run = {"input_ids": ids}
    if model.config.is_encoder_decoder:
        run["decoder_input_ids"] = ids
    with torch.no_grad():
        before = model(**run).logits
    for bias, _ in CAUSAL.values():
        with pytest.raises(recency.InputError, match=FAMILIES[name].message) as error:
            recency.attention.attach(model, bias)
        assert "\n" not in str(error.value) and "GPT-2, GPT-NeoX" in str(error.value)
        assert str(error.value).startswith(type(model).__name__)
    assert not any(hasattr(module, "recency_bias") for module in model.modules())
    with torch.no_grad():
        assert torch.equal(model(**run).logits, before)


def test_the_table_of_the_docs_holds_these_families():
    page = (ROOT / "docs" / "biases.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", page, re.MULTILINE)
    assert dict(rows) == {name: family.outcome for name, family in FAMILIES.items()}
    assert len(rows) == len(FAMILIES) > 40


@pytest.mark.parametrize(
    "name, dtype",
    [
        *((name, dtype) for name in ("Llama", "Gemma2", "Bert") for dtype in OTHER_PRECISIONS),
        ("GptOss", torch.bfloat16),  # its experts know no float64
    ],
)
def test_other_precisions_pass_the_check(name, dtype):
    model = make(name).to(dtype)
    recency.attention.attach(model, {"form": "linear_both", "slopes": "mix"})
    assert outputs(model, text()).isfinite().all()


def test_capped_scores_and_sinks_by_hand():
    """One head: c tanh(s/c), then a·s + b, then softmax with the sink, which no bias changes."""
    rng = np.random.default_rng(1)
    q, k, v = rng.normal(size=(3, 1, 1, 5, 4)) * 3
    module = torch.nn.Module()
    module.recency_bias = build({"form": "exponential", "decay": 0.3, "weight": 0.4}, 1)
    found, weights = biased.biased_attention(
        module, *map(torch.from_numpy, (q, k, v)), None, softcap=2.0, s_aux=torch.tensor([0.7])
    )
    for i in range(5):
        capped = 2 * np.tanh(k[0, 0, : i + 1] @ q[0, 0, i] / 2 / 2)
        raised = np.exp(0.6 * capped + 0.4 * np.exp(-0.3 * (i - np.arange(i + 1))))
        seen = raised / (raised.sum() + np.exp(0.7))
        np.testing.assert_allclose(weights[0, 0, i, : i + 1], seen, rtol=1e-6)
        np.testing.assert_allclose(found[0, i, 0], seen @ v[0, 0, : i + 1], rtol=1e-6)


@pytest.mark.parametrize(
    "arguments, refusal",
    [
        ({"position_bias": torch.zeros(1)}, "position_bias"),
        ({"sinks": torch.zeros(1)}, "sinks"),
        ({"new_part": True}, "new_part"),
        ({"is_causal": False}, "is_causal"),
        ({"new_part": None, "other": False, "is_causal": True, "sliding_window": 4}, None),
    ],
)
def test_arguments_that_the_function_does_not_know(arguments, refusal):
    module = torch.nn.Module()
    module.recency_bias = build({"form": "none"}, 1)
    inputs = [torch.ones(1, 1, 3, 4)] * 3
    if refusal is None:
        biased.biased_attention(module, *inputs, None, **arguments)
        return
    with pytest.raises(recency.InputError, match=f"no bias is defined for, {refusal}, so that"):
        biased.biased_attention(module, *inputs, None, **arguments)


@pytest.mark.parametrize("kind", ["numbers", "cross"])
def test_masks_of_numbers_and_attention_between_texts_are_refused(kind):
    module = torch.nn.Module()
    if kind == "numbers":
        module.recency_bias = build({"form": "none"}, 1)
    message = {"numbers": "adds numbers to its scores", "cross": "no self-attention of a layer"}
    with pytest.raises(recency.InputError, match=message[kind]):
        biased.biased_attention(module, *[torch.ones(1, 1, 3, 4)] * 3, torch.zeros(1, 1, 3, 3))


# What the check of `attach` finds: each fault is put into the network or into the function.


def refuses(model, message, bias=None):
    with pytest.raises(recency.InputError, match=message) as error:
        recency.attention.attach(model, bias or CAUSAL["linear mix"][0])
    assert "\n" not in str(error.value) and type(model).__name__ in str(error.value)
    assert model.config._attn_implementation != biased.NAME


def test_wrong_tables_are_found(monkeypatch):
    """A slope of a tenth more; a bias that is one token off for one head; a that is forgotten."""
    dense, model = Bias.dense, make("GPT2")

    def with_fault(fault):
        def wrong(self, queries, keys, device, dtype, causal=True):
            a, b = dense(self, queries, keys, device, dtype, causal)
            return fault(a, b.clone())

        monkeypatch.setattr(Bias, "dense", wrong)

    def one_head(a, b):
        b[:, 1] = b[:, 1].roll(1, dims=-1).masked_fill(b[:, 1] == -math.inf, -math.inf)
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
    for name in ("eager", check.REFERENCE, check.UNBIASED):
        whole = AttentionMaskInterface()[name]
        mask = (lambda *args, **kwargs: torch.zeros(1, 1, 12, 12)) if name == "eager" else all_keys
        monkeypatch.setitem(AttentionMaskInterface._global_mapping, name, mask)
        assert whole is not mask
    refuses(model, "lets later tokens change earlier ones")


def test_a_layer_that_does_not_run_is_found():
    model = make("GPT2")
    model.transformer.h[1].attn.forward = lambda hidden, *args, **kwargs: (hidden, None)
    refuses(model, "the bias did not run in layer 1")


def test_attention_with_parts_of_its_own_is_found(monkeypatch):
    """A cap that the model applies in its own attention and never hands to the function."""
    model = make("Gemma2")
    for module in biased.attention_modules(model):
        module.attn_logit_softcapping = None
    recency.attention.attach(model, CAUSAL["linear mix"][0])
    model = make("GptOss")
    for module in biased.attention_modules(model):
        forward = module.forward

        def other(*args, forward=forward, module=module, **kwargs):
            output, weights = forward(*args, **kwargs)
            return output * (2 if module.config._attn_implementation == "eager" else 1), weights

        module.forward = other
    refuses(model, "has attention with parts that no bias is defined for")


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
        lambda: architectures.load(tmp_path / "trained"),
        lambda: architectures.load(tmp_path / "plain", CAUSAL["linear mix"][0]),
    ):
        with pytest.raises(recency.InputError, match="gives other outputs than softmax"):
            load()
    architectures.load(tmp_path / "plain")
    monkeypatch.undo()
    architectures.load(tmp_path / "trained")


def test_several_tokens_that_end_a_text_are_no_words_of_the_text():
    """Llama 3 has a list of them."""
    model = make("Llama")
    model.config.eos_token_id = list(range(50))
    recency.attention.attach(model, CAUSAL["window"][0])
    assert check._text(model, biased.attention_modules(model)).min() >= 50


def test_what_is_no_language_model_is_refused():
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    vision = transformers.ViTModel(transformers.ViTConfig(intermediate_size=64, **sizes))
    with pytest.raises(recency.InputError, match="ViTModel is no language model"):
        recency.attention.attach(vision, CAUSAL["none"][0])
    with pytest.raises(recency.InputError, match="not on a Linear"):
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
