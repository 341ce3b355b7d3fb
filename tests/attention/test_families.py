"""Biases on many families of models: equal to a float64 reference, or refused in one line."""

import copy
import math

import numpy as np
import pytest
import torch
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

import recency
from families import CAUSAL, FAMILIES, LENGTH, make, outputs, text
from recency.attention import biased
from recency.attention.biases import build

pytestmark = pytest.mark.merge

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


def expected_of(model, changed, layers, ids):
    """Return the logits of the same network in float64 with attention written out."""
    exact = copy.deepcopy(model).double()
    for number, module in enumerate(biased.attention_modules(exact)):
        module.changed = changed if number in layers else CAUSAL["none"][1]
    exact.config._attn_implementation = "written_out"
    exact.config._experts_implementation = "eager"  # the other knows no float64
    return outputs(exact, ids)


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
    with pytest.raises(
        recency.InputError, match=r"is bidirectional.*linear_both, two_slopes and one_sided are$"
    ):
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


def test_experts_in_float64_are_refused_until_they_are_run_one_by_one():
    """Transformers' kernels for experts know no float64, with a bias or without."""
    model = make("Mixtral").double()
    with pytest.raises(RuntimeError, match="Double"):
        outputs(model, text())
    bias = {"form": "linear", "slopes": "mix"}
    with pytest.raises(
        recency.InputError, match='MixtralForCausalLM in float64 .*"eager"'
    ) as error:
        recency.attention.attach(model, bias)
    assert "\n" not in str(error.value)
    model.set_experts_implementation("eager")
    recency.attention.attach(model, bias)
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
    with pytest.raises(
        recency.InputError, match=f"attention the argument {refusal}, for which no bias"
    ):
        biased.biased_attention(module, *inputs, None, **arguments)


@pytest.mark.parametrize("kind", ["numbers", "cross"])
def test_masks_of_numbers_and_attention_between_texts_are_refused(kind):
    module = torch.nn.Module()
    if kind == "numbers":
        module.recency_bias = build({"form": "none"}, 1)
    message = {"numbers": "adds numbers to its scores", "cross": "not a layer's self-attention"}
    with pytest.raises(recency.InputError, match=message[kind]):
        biased.biased_attention(module, *[torch.ones(1, 1, 3, 4)] * 3, torch.zeros(1, 1, 3, 3))
