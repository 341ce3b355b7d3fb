"""Content-dependent biases: each against a float64 loop over its equation, and in whole networks."""

import math

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from recency.attention import biased, logit_lens
from recency.attention.biases import build
from recency.errors import InputError
from recency.networks import architectures, checkpoints

WIDTH, HEADS = 6, 3
SHAPE = {"family": "gpt_neox", "layers": 2, "heads": 4, "width": 16, "feed_forward": 32}
SHAPE |= {"context": 64, "rotary_fraction": 0.25}
FORMS = [
    {"form": "forgetting", "start": [0.5, -1.0, 3.0]},
    {"form": "surprisal_gated", "slopes": [0.5, 0.1, 2.0], "gain": 0.3},
    {"form": "surprisal_gated", "slopes": [0.5, 0.1, 2.0], "retained": "expected"},
    {"form": "cue_based"},
    {
        "form": "cue_based",
        "decay": 0.2,
        "weight": 2.0,
        "strength": 0.7,
        "threshold": 0.3,
        "sharpness": 3.0,
    },
]
SHOWN = [f"{spec['form']}-{number}" for number, spec in enumerate(FORMS)]


class Module(torch.nn.Module):
    """An attention module that has read a text."""

    def __init__(self, spec, length, batch=2, dtype=torch.float64):
        super().__init__()
        torch.manual_seed(length)
        self.recency_bias = build(spec, HEADS, WIDTH).to(dtype)
        for parameter in self.recency_bias.parameters():
            if parameter.dim() == 2:
                parameter.data.normal_()
        self.recency_inputs = torch.randn(batch, length, WIDTH, dtype=dtype)
        self.recency_bias.bits = 3 * torch.rand(batch, length, dtype=dtype)


def tensors(length, dtype=torch.float64, batch=2):
    torch.manual_seed(1)
    return [torch.randn(batch, HEADS, length, 8, dtype=dtype) for _ in range(3)]


def logistic(x):
    return 1 / (1 + math.exp(-x))


def changed(spec, module, n, h, i, j, scores, keys):
    """Return a·s + b of one pair by the form's equation; `scores` are the query's, of all `keys`."""
    bias, s = module.recency_bias, scores[j]
    if spec["form"] == "forgetting":
        gates = [
            logistic(float(bias.weight[h] @ module.recency_inputs[n, later] + bias.offset[h]))
            for later in range(j + 1, i + 1)
        ]
        return s + sum(map(math.log, gates))
    if spec["form"] == "surprisal_gated":
        p = 2.0 ** -float(module.recency_bias.bits[n, j]) if j <= i else 0
        rate = p ** spec.get("gain", 1)
        rate = 1 - rate if spec.get("retained") == "expected" else rate
        return s - spec["slopes"][h] * rate * (i - j)
    match = {
        k: logistic(spec.get("sharpness", 1) * (scores[k] - spec.get("threshold", 0))) for k in keys
    }
    fan = 1 + sum(match[k] for k in keys if k != j)
    spread = spec.get("weight", 1) * match[j] * (spec.get("strength", 1.5) - math.log(fan))
    return s + spread - spec.get("decay", 0.5) * math.log(i - j + 1)


def looped(spec, module, q, k, v, hidden=()):
    """Return softmax(a·s + b) v, one pair of positions at a time; keys in `hidden` are not seen."""
    out = torch.zeros(q.shape, dtype=torch.float64)
    for n in range(q.shape[0]):
        for h in range(HEADS):
            for i in range(q.shape[2]):
                keys = [j for j in range(i + 1) if j not in hidden or j == i]
                scores = {j: float(q[n, h, i] @ k[n, h, j]) / math.sqrt(q.shape[-1]) for j in keys}
                score = [changed(spec, module, n, h, i, j, scores, keys) for j in keys]
                weights = torch.tensor(score, dtype=torch.float64).softmax(0)
                out[n, h, i] = weights @ v[n, h, keys]
    return out.transpose(1, 2)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("spec", FORMS, ids=SHOWN)
def test_form_equals_equation(spec, weights):
    module, (q, k, v) = Module(spec, 17), tensors(17)
    got, attended = biased.biased_attention(module, q, k, v, None, weights=weights)
    expected = looped(spec, module, q, k, v)
    torch.testing.assert_close(got, expected, rtol=0, atol=3e-7)
    if weights:
        torch.testing.assert_close((attended @ v).transpose(1, 2), expected, rtol=0, atol=3e-7)


@pytest.mark.parametrize("spec", FORMS, ids=SHOWN)
def test_hidden_keys_are_no_competitors(spec):
    """Keys behind a mask have no part: not in the softmax, and not in a cue's fan."""
    module, (q, k, v) = Module(spec, 9), tensors(9)
    mask = torch.ones(9, 9, dtype=torch.bool).tril()
    mask[:, [2, 5]] = False
    mask = (mask | torch.eye(9, dtype=torch.bool)).expand(2, 1, 9, 9)
    got, _ = biased.biased_attention(module, q, k, v, mask)
    expected = looped(spec, module, q, k, v, hidden=(2, 5))
    torch.testing.assert_close(got, expected, rtol=0, atol=3e-7)


@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-9), (torch.float32, 1e-4)], ids=str)
@pytest.mark.parametrize("spec", FORMS, ids=SHOWN)
def test_backends_agree(spec, dtype, near):
    """All scores at once, some queries at a time, and further columns of queries and keys."""
    module, given = Module(spec, 300, 1, dtype), tensors(300, dtype, 1)
    expected, _ = biased.biased_attention(module, *given, None, weights=True)
    separable = module.recency_bias.factors(biased.content.layer_of(module, *given[:2]))
    for backend in (None, "softmax", *(["sdpa", "blocks", "flex"] if separable else [])):
        got, _ = biased.biased_attention(module, *given, None, backend=backend)
        torch.testing.assert_close(got, expected, atol=near, rtol=0)


class Attention(torch.nn.Module):
    """Biased attention as a function of a layer's input, for `functional_call`."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, inputs, *given):
        self.module.recency_inputs = inputs
        return biased.biased_attention(self.module, *given, None)[0]


@pytest.mark.parametrize("spec", FORMS, ids=SHOWN)
def test_gradients(spec):
    """Of the layer's input, queries, keys, values and the form's own weights."""
    attention = Attention(Module(spec, 5, 1))
    given = [attention.module.recency_inputs, *tensors(5, batch=1)]
    weights = {name: each.detach().clone() for name, each in attention.named_parameters()}

    def attended(*leaves):
        own = dict(zip(weights, leaves[4:], strict=True))
        return torch.func.functional_call(attention, own, leaves[:4])

    leaves = [each.requires_grad_() for each in (*given, *weights.values())]
    assert torch.autograd.gradcheck(attended, leaves, atol=1e-6)


def network(spec, seed=1):
    return architectures.new(SHAPE, spec, 50, seed)


IN_NETWORKS = [{"form": "forgetting"}, {"form": "surprisal_gated"}, {"form": "cue_based"}]


def test_gates_begin_as_a_linear_bias_and_leave_other_weights_as_they_are():
    """With w = 0 every token has one gate, e^(-m): ALiBi with the slopes m."""
    gated, linear = network({"form": "forgetting", "start": "mix"}), network({"form": "linear"})
    ids = torch.randint(50, (2, 40))
    torch.testing.assert_close(gated(ids).logits, linear(ids).logits, rtol=0, atol=1e-5)
    own = dict(gated.named_parameters())
    for name, weight in linear.named_parameters():
        assert torch.equal(own[name], weight), name
    assert sum("recency_bias" in name for name in own) == 2 * 2  # a matrix and a vector a layer
    gated(ids, labels=ids).loss.backward()
    assert all(own[name].grad.abs().max() > 0 for name in own if "recency_bias" in name)


def test_without_gain_it_is_linear():
    gated, linear = network({"form": "surprisal_gated", "gain": 0}), network({"form": "linear"})
    ids = torch.randint(50, (1, 30))
    torch.testing.assert_close(gated(ids).logits, linear(ids).logits, rtol=0, atol=1e-5)


def test_interference_of_lewis_and_vasishth():
    """Items that match a cue wholly: activation -d log t + W (S - log n), n items in all."""
    bias = build({"form": "cue_based", "sharpness": 1e6}, 1, WIDTH)
    ages = torch.arange(5, 0, -1.0, dtype=torch.float64)
    _, base = bias(torch.tensor(0), torch.tensor(4), torch.arange(5), 5)
    torch.testing.assert_close(base.double(), -0.5 * ages.log(), rtol=0, atol=1e-6)
    for matching in ([1], [1, 3], [0, 1, 3]):
        scores = torch.full((1, 1, 1, 5), -1.0, dtype=torch.float64)
        scores[..., matching] = 1.0
        layer = biased.content.Layer(
            None, None, None, 4, scores, torch.ones(1, 5, dtype=torch.bool)
        )
        _, spread = bias.content(layer)
        expected = torch.zeros(5, dtype=torch.float64)
        expected[matching] = 1.5 - math.log(len(matching))
        torch.testing.assert_close(spread[0, 0, 0], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gpt_neox"])
def test_surprisal_is_read_from_the_states_that_enter_a_layer(kind):
    """By hand: hidden states, the final norm, the output layer; at inference, on the last layer."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}
    model = {
        "llama": lambda: LlamaForCausalLM(LlamaConfig(**sizes, intermediate_size=32)),
        "gpt2": lambda: GPT2LMHeadModel(
            GPT2Config(vocab_size=50, n_embd=16, n_layer=3, n_head=2, n_positions=64)
        ),
        "gpt_neox": lambda: architectures.new(SHAPE | {"layers": 3}, {"form": "none"}, 50, 1),
    }[kind]().eval()
    ids = torch.randint(50, (2, 12))
    states = model(ids, output_hidden_states=True).hidden_states[1]
    head = model.get_output_embeddings()
    norm = {"llama": "norm", "gpt2": "ln_f", "gpt_neox": "final_layer_norm"}[kind]
    logs = head(getattr(model.base_model, norm)(states)).double().log_softmax(-1)
    bits = -logs[:, :-1].gather(2, ids[:, 1:, None])[..., 0] / math.log(2)
    biased.attach(model, {"form": "surprisal_gated", "layer": 1, "layers": "last"})
    bias, read = biased.attention_modules(model)[-1].recency_bias, []
    factors = bias.factors
    bias.factors = lambda layer: read.append(bias.bits) or factors(layer)
    model(ids)
    torch.testing.assert_close(read[0][:, 1:].double(), bits.detach(), rtol=0, atol=1e-5)
    assert (read[0][:, 0] == 0).all() and bias.bits is None  # nothing is left of a text


def test_surprisal_under_another_model(tmp_path):
    other = network({"form": "none"}, seed=2)
    other.save_pretrained(tmp_path / "other")
    spec = {"form": "surprisal_gated", "checkpoint": str(tmp_path / "other"), "slopes": 1.0}
    model = network(spec).eval()
    ids = torch.randint(50, (1, 12))
    logs = other.eval()(ids).logits.double().log_softmax(-1)
    bits = -logs[:, :-1].gather(2, ids[:, 1:, None])[..., 0] / math.log(2)
    bias, read = biased.attention_modules(model)[0].recency_bias, []
    factors = bias.factors
    bias.factors = lambda layer: read.append(bias.bits) or factors(layer)
    model(ids)
    torch.testing.assert_close(read[0][:, 1:].double(), bits.detach(), rtol=0, atol=1e-5)
    model.save_pretrained(tmp_path / "own")
    assert checkpoints.load(tmp_path / "own")(ids).logits.isfinite().all()
    network({"form": "none"}, seed=3).save_pretrained(tmp_path / "other")
    with pytest.raises(InputError, match="is not the file that the network was trained with"):
        checkpoints.load(tmp_path / "own")
    architectures.new(SHAPE, {"form": "none"}, 700, 1).save_pretrained(tmp_path / "other")
    with pytest.raises(InputError, match="has 768 tokens and the network 128"):
        network(spec)


@pytest.mark.parametrize("spec", IN_NETWORKS, ids=lambda spec: spec["form"])
def test_a_bias_that_is_taken_off_leaves_nothing(spec):
    model = architectures.new(SHAPE, {"form": "none"}, 50, 1).eval()
    ids = torch.randint(50, (1, 20))
    before = model(ids).logits
    biased.attach(model, spec)
    assert not torch.allclose(model(ids).logits, before, atol=1e-4)
    biased.attach(model, {"form": "none"})
    torch.testing.assert_close(model(ids).logits, before, rtol=0, atol=1e-5)
    assert not model.get_input_embeddings()._forward_pre_hooks
    biased.attach(model, spec)
    with_form = model(ids).logits
    with pytest.raises(InputError, match="no layer 7"):
        biased.attach(model, {"form": "linear", "layers": [7]})
    torch.testing.assert_close(model(ids).logits, with_form, rtol=0, atol=0)


def test_what_a_network_does_not_supply_is_refused():
    model, ids = network({"form": "forgetting"}).eval(), torch.randint(50, (1, 3))
    with pytest.raises(InputError, match="attends from 1 tokens to 4.*use_cache=False"):
        model.generate(ids, max_new_tokens=2, do_sample=False, use_cache=True)
    written = model.generate(ids, max_new_tokens=2, do_sample=False)  # without a cache unless asked
    for length in (3, 4):
        assert model(written[:, :length]).logits[0, -1].argmax() == written[0, length]
    with pytest.raises(InputError, match="was given no `input_ids`"):
        network({"form": "surprisal_gated"})(inputs_embeds=torch.randn(1, 5, 16))
    with pytest.raises(InputError, match="set `layers` to 1 and later ones"):
        network({"form": "surprisal_gated", "layer": 1})
    module = Module({"form": "forgetting"}, 5)
    module.recency_inputs = None
    with pytest.raises(InputError, match="does not get the states of its layer .6 wide."):
        biased.biased_attention(module, *tensors(5), None)
    with pytest.raises(InputError, match="2 values of `start` for 4 heads"):
        network({"form": "forgetting", "start": [1, 2]})


def test_a_lens_that_gives_other_logits_is_refused(monkeypatch):
    monkeypatch.setattr(logit_lens, "logit_scale", lambda config: 2.0)
    with pytest.raises(InputError, match="no logit lens"):
        network({"form": "surprisal_gated"})


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("spec", FORMS, ids=SHOWN)
def test_gpu_equals_cpu(spec):
    """Output and gradients of the kernel that is compiled on a GPU, against the CPU's."""
    results = []
    for device in ("cpu", "cuda"):
        module, given = Module(spec, 300, 2, torch.float32), tensors(300, torch.float32)
        module.to(device).recency_bias.bits = module.recency_bias.bits.to(device)
        leaves = [
            module.recency_inputs.to(device),
            *(x.repeat(1, 1, 1, 2).to(device) for x in given),
        ]
        module.recency_inputs, *given = (leaf.requires_grad_() for leaf in leaves)
        output, _ = biased.biased_attention(module, *given, None)
        output.square().sum().backward()
        gradients = [x.grad for x in (*given, *module.recency_bias.parameters())]
        results.append([x.cpu() for x in (output.detach(), *gradients)])
    for cpu, cuda in zip(*results, strict=True):
        torch.testing.assert_close(cuda, cpu, atol=5e-3, rtol=5e-3)
