"""Every form of bias against the papers' equations, written out in float64 loops."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recency.attention import biased
from recency.attention.biases import build
from recency.attention.biases.linear import mixed_slopes
from recency.config import bias_parameters

# b or a·s + b of SCIENCE's table, for query i and key j ≤ i (from 0), head h of H, L keys.
CASES = {
    "none": ({}, lambda s, i, j, h, H, L: s),
    "linear mix": (
        {"slopes": "mix"},
        lambda s, i, j, h, H, L: s + 2 ** (-8 * (h + 1) / H) * (j - i),
    ),
    "linear uniform": ({"slopes": 0.25}, lambda s, i, j, h, H, L: s + 0.25 * (j - i)),
    "exponential": (
        {"decay": 0.3, "weight": 0.37},
        lambda s, i, j, h, H, L: 0.63 * s + 0.37 * math.exp(-0.3 * (i - j)),
    ),
    "exponential published": (
        {},
        lambda s, i, j, h, H, L: 0.63 * s + 0.37 * math.exp(-82.86 * (i - j)),
    ),
    "identity": ({}, lambda s, i, j, h, H, L: 0.63 * s + 0.37 * (i == j)),
    "temperature": ({"temperature": 1.6}, lambda s, i, j, h, H, L: s / 1.6),
    "temperature none": ({}, lambda s, i, j, h, H, L: s),
    "learned_linear": ({"slopes": 0.25}, lambda s, i, j, h, H, L: s + 0.25 * (j - i)),
    "window": ({"width": 4}, lambda s, i, j, h, H, L: s if i - 3 <= j <= i else -math.inf),
    # The keys to which the linear bias leaves half of their weight or more.
    "half_life": (
        {"slopes": 0.25},
        lambda s, i, j, h, H, L: s if math.exp(-0.25 * (i - j)) >= 0.5 else -math.inf,
    ),
    "logistic": (
        {},
        lambda s, i, j, h, H, L: s / (1 + math.exp(0.4 * (max(1, i - j + 1) - 12))),
    ),
    "power_law": ({}, lambda s, i, j, h, H, L: s - 0.5 * math.log(i - j + 1)),
    "logarithmic": ({"decay": 0.8}, lambda s, i, j, h, H, L: s - 0.8 * math.log(i - j + 1)),
    "power_law buffer": (
        {"decay": 1.5, "buffer": 4},
        lambda s, i, j, h, H, L: s - (1.5 * math.log((i - j + 1) / 4) if i - j >= 4 else 0),
    ),
    "primacy_recency": (
        {},
        lambda s, i, j, h, H, L: s + 0.5 * primacy(j, L) + 0.5 * primacy(L - 1 - j, L),
    ),
    "primacy_recency primacy": (
        {"parts": "primacy", "weight": 2.0},
        lambda s, i, j, h, H, L: s + 2 * primacy(j, L),
    ),
    "primacy_recency recency": (
        {"parts": "recency", "weight": 2.0},
        lambda s, i, j, h, H, L: s + 2 * primacy(L - 1 - j, L),
    ),
    "primacy_recency_preceding": (
        {},
        lambda s, i, j, h, H, L: s + 0.5 * primacy(j, i + 1) + 0.5 * primacy(i - j, i + 1),
    ),
    "primacy_recency_preceding primacy": (
        {"parts": "primacy", "weight": 2.0},
        lambda s, i, j, h, H, L: s + 2 * primacy(j, i + 1),
    ),
    "primacy_recency_preceding recency": (
        {"parts": "recency", "weight": 2.0},
        lambda s, i, j, h, H, L: s + 2 * primacy(i - j, i + 1),
    ),
}


def primacy(j, length):
    return math.exp(-j / length) / sum(math.exp(-k / length) for k in range(length))


def brute_force(changed, q, k, v, mask=None):
    """softmax(changed(q·k/√d)) v in float64, one score at a time."""
    batch, heads, length, width = q.shape
    out = np.zeros(q.shape)
    for n in range(batch):
        for h in range(heads):
            for i in range(length):
                seen = [j for j in range(i + 1) if mask is None or mask[n, j] or i == j]
                scores = [
                    changed(
                        float(q[n, h, i] @ k[n, h, j]) / math.sqrt(width), i, j, h, heads, length
                    )
                    for j in seen
                ]
                weights = np.exp(np.array(scores) - max(scores))
                out[n, h, i] = (weights / weights.sum()) @ v[n, h, seen]
    return out


class Module(torch.nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.recency_bias = bias


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("heads,length", [(4, 1), (4, 17), (3, 40)])
@pytest.mark.parametrize("case", CASES)
def test_form_equals_equation(case, heads, length, weights):
    parameters, changed = CASES[case]
    if case == "linear mix" and heads == 3:
        parameters = {"slopes": [2 ** (-8 * (h + 1) / 3) for h in range(3)]}
    rng = np.random.default_rng(length)
    q, k, v = rng.normal(size=(3, 2, heads, length, 8))
    bias = build({"form": case.split()[0]} | parameters, heads).double()
    got, attended = biased.biased_attention(
        Module(bias), *map(torch.from_numpy, (q, k, v)), None, weights=weights
    )
    expected = brute_force(changed, q, k, v)
    np.testing.assert_allclose(got.transpose(1, 2).detach(), expected, atol=2e-7)
    if weights:
        np.testing.assert_allclose((attended @ torch.from_numpy(v)).detach(), expected, atol=2e-7)


@pytest.mark.parametrize("offset", [0, 0.5])
def test_both_directions(offset):
    """-m (|i - j| - o [j > i]) on all keys of a module that is not causal; causal, it is `linear`."""
    rng = np.random.default_rng(1)
    q, k, v = rng.normal(size=(3, 1, 2, 9, 4))
    module = Module(build({"form": "linear_both", "slopes": [0.5, 0.1], "offset": offset}, 2))
    causal, _ = biased.biased_attention(module, *map(torch.from_numpy, (q, k, v)), None)
    linear = Module(build({"form": "linear", "slopes": [0.5, 0.1]}, 2))
    expected, _ = biased.biased_attention(linear, *map(torch.from_numpy, (q, k, v)), None)
    torch.testing.assert_close(causal, expected)
    module.is_causal = False
    got, _ = biased.biased_attention(module, *map(torch.from_numpy, (q, k, v)), None)
    for h, slope in enumerate((0.5, 0.1)):
        for i in range(9):
            far = np.array([abs(i - j) - offset * (j > i) for j in range(9)])
            weights = np.exp(k[0, h] @ q[0, h, i] / 2 - slope * far)
            expected = (weights / weights.sum()) @ v[0, h]
            np.testing.assert_allclose(got[0, i, h], expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize(
    "dtype,near",
    [(torch.float64, 2e-7), pytest.param(torch.float32, 2e-6, marks=pytest.mark.merge)],
)
@pytest.mark.parametrize("case", CASES)
def test_backends_agree(case, dtype, near):
    """softmax, sdpa, blocks and flex on the same inputs, and with fewer queries than keys."""
    bias = build({"form": case.split()[0]} | CASES[case][0], 4)
    rng = np.random.default_rng(2)
    q, k, v = (torch.from_numpy(each).to(dtype) for each in rng.normal(size=(3, 2, 4, 200, 16)))
    expected, _ = biased.biased_attention(Module(bias), q, k, v, None, backend="softmax")
    others = ["sdpa", "blocks"] if isinstance(bias.dense(2, 2, q.device, dtype)[0], float) else []
    for backend in [*others, *(["flex"] if not bias.learned else [])]:
        got, _ = biased.biased_attention(Module(bias), q, k, v, None, backend=backend)
        torch.testing.assert_close(got, expected, atol=near, rtol=0)
        last, _ = biased.biased_attention(Module(bias), q[:, :, -30:], k, v, None, backend=backend)
        torch.testing.assert_close(last, expected[:, -30:], atol=near, rtol=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("case", CASES)
def test_gpu_equals_cpu(case):
    """Output and gradients of the kernel that is compiled on a GPU, against the CPU's."""
    found = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(3)
        bias = build({"form": case.split()[0]} | CASES[case][0], 4).to(device)
        inputs = [torch.randn(2, 4, 300, 64) for _ in range(3)]
        inputs = [each.to(device).requires_grad_() for each in inputs]
        output, _ = biased.biased_attention(Module(bias), *inputs, None)
        output.square().sum().backward()
        wanted = [output.detach(), *(each.grad for each in [*inputs, *bias.parameters()])]
        found.append([each.cpu() for each in wanted])
    for cpu, cuda in zip(*found, strict=True):
        torch.testing.assert_close(cuda, cpu, atol=2e-3, rtol=2e-3)


def test_blocks_that_a_window_hides_are_skipped():
    whole = biased.visible_blocks(None, 1024, 1024, torch.device("cpu"))
    window = biased.visible_blocks(9, 1024, 1024, torch.device("cpu"))
    assert whole.kv_num_blocks.sum() + whole.full_kv_num_blocks.sum() == 8 * 9 / 2
    assert window.kv_num_blocks.sum() + window.full_kv_num_blocks.sum() == 8 + 7
    assert build({"form": "window", "width": 9}, 2).reach == 9


@pytest.mark.parametrize("case", CASES)
def test_padding_does_not_reach_real_tokens(case):
    parameters, changed = CASES[case]
    rng = np.random.default_rng(1)
    q, k, v = rng.normal(size=(3, 2, 4, 12, 8))
    kept = np.ones((2, 12), bool)
    kept[1, :5] = False  # left padding: the first queries of the second text see only themselves
    causal = np.tril(np.ones((12, 12), bool))
    mask = torch.from_numpy(causal & kept[:, None, None, :])
    bias = build({"form": case.split()[0]} | parameters, 4).double()
    got, _ = biased.biased_attention(Module(bias), *map(torch.from_numpy, (q, k, v)), mask)
    expected = brute_force(changed, q, k, v, kept)
    np.testing.assert_allclose(got.transpose(1, 2).detach(), expected, atol=2e-7)


@pytest.mark.parametrize("case", CASES)
def test_gradient(case):
    parameters, _ = CASES[case]
    bias = build({"form": case.split()[0]} | parameters, 2).double()
    torch.manual_seed(0)
    inputs = [torch.randn(1, 2, 6, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    module = Module(bias)
    assert torch.autograd.gradcheck(
        lambda *x: biased.biased_attention(module, *x, None)[0], inputs, atol=1e-6
    )


@pytest.mark.merge
@pytest.mark.parametrize("case", CASES)
def test_gradients_by_blocks(case, monkeypatch):
    """Of a bias's own weights as well; the blocks are one query, two and two of five."""
    ran = []
    attend = biased.blocks.attend
    monkeypatch.setattr(biased.blocks, "attend", lambda *x: ran.append(x) or attend(*x))
    monkeypatch.setattr(biased.blocks, "QUERIES_AT_ONCE", 2)
    bias = build({"form": case.split()[0]} | CASES[case][0], 2)
    varies = not isinstance(bias.dense(2, 2, torch.device("cpu"), torch.float64)[0], float)
    torch.manual_seed(0)
    shapes = [(2, 2, 5, 4), (2, 2, 6, 4), (2, 2, 6, 4)]
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    module = Module(bias)
    assert torch.autograd.gradcheck(
        lambda *x: biased.biased_attention(module, *x, None)[0], inputs, atol=1e-6
    )
    assert bool(ran) is not varies
    gradients = []
    for backend in (None, "softmax"):
        output = biased.biased_attention(module, *inputs, None, backend=backend)[0]
        if own := list(bias.parameters()):
            gradients.append(torch.autograd.grad(output.square().sum(), own))
    for got, expected in zip(*gradients, strict=True) if gradients else []:
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("intel", [False, True])
@pytest.mark.parametrize("dtype,near", [(torch.float32, 1e-5), (torch.bfloat16, 0.02)], ids=str)
@pytest.mark.parametrize("bias", [{"form": "linear"}, {"form": "window", "width": 9}], ids=str)
def test_blocks_are_as_exact_by_either_kernel(bias, dtype, near, intel, monkeypatch):
    """By this project's own and by PyTorch's, which Intel's processors take: with more keys than queries."""
    monkeypatch.setattr(biased.blocks.processor, "by_intel", lambda: intel)
    monkeypatch.setattr(biased.blocks, "QUERIES_AT_ONCE", 16)
    monkeypatch.setattr(biased.blocks, "FLASH_QUERIES_AT_ONCE", 24)
    flash, ran = biased.blocks._by_flash, []
    monkeypatch.setattr(biased.blocks, "_by_flash", lambda *x: ran.append(1) or flash(*x))
    torch.manual_seed(0)
    module = Module(build(bias, 4))
    shapes = [(2, 4, 60, 16), (2, 4, 75, 16), (2, 4, 75, 16)]
    given = [torch.randn(shape).to(dtype) for shape in shapes]
    wanted, found = torch.randn(2, 60, 4, 16, dtype=torch.float64), []
    for exact in (torch.float64, dtype):
        inputs = [each.to(exact, copy=True).requires_grad_() for each in given]
        backend = "softmax" if exact is torch.float64 else "blocks"
        output, _ = biased.biased_attention(module, *inputs, None, backend=backend)
        gradients = torch.autograd.grad((output * wanted.to(exact)).sum(), inputs)
        found.append([each.detach().double() for each in (output, *gradients)])
    for expected, got in zip(*found, strict=True):
        assert (got - expected).norm() < near * expected.norm()
    assert bool(ran) is intel


def test_blocks_in_bf16_err_as_pytorchs_own_attention_does():
    torch.manual_seed(0)
    module = Module(build({"form": "linear"}, 4))
    exact = [torch.randn(2, 4, 300, 16).bfloat16() for _ in range(3)]
    wanted = torch.randn(2, 300, 4, 16)
    found = {}
    for name in ("float64", "blocks", "sdpa"):
        inputs = [each.double() if name == "float64" else each for each in exact]
        inputs = [each.clone().requires_grad_() for each in inputs]
        backend = "softmax" if name == "float64" else name
        output, _ = biased.biased_attention(module, *inputs, None, backend=backend)
        gradients = torch.autograd.grad((output * wanted).sum(), inputs)
        found[name] = [each.double() for each in (output, *gradients)]
    for got, other, true in zip(found["blocks"], found["sdpa"], found["float64"], strict=True):
        assert (got - true).norm() < 2 * (other - true).norm()


def test_learned_weights_have_gradients():
    bias = build({"form": "primacy_recency"}, 2)
    q, k, v = torch.randn(3, 1, 2, 6, 4)
    biased.biased_attention(Module(bias), q, k, v, None)[0].square().sum().backward()
    assert bias.primacy.grad.abs() > 0 and bias.recency.grad.abs() > 0


@pytest.mark.parametrize("form", ["primacy_recency", "primacy_recency_preceding"])
def test_what_follows_changes_earlier_words_only_if_normalised_over_the_sequence(form):
    bias = build({"form": form, "weight": 4.0}, 2)
    q, k, v = torch.randn(3, 1, 2, 30, 4, generator=torch.Generator().manual_seed(1))
    whole = biased.biased_attention(Module(bias), q, k, v, None)[0]
    cut = biased.biased_attention(Module(bias), q[:, :, :9], k[:, :, :9], v[:, :, :9], None)[0]
    # (batch, position, head, width), or heads before positions
    at = 1 if whole.shape[1] == 30 else 2
    difference = (whole.narrow(at, 0, 9) - cut).abs().max()
    assert (difference < 1e-6) == (form == "primacy_recency_preceding") == (not bias.uses_length)


def test_learned_slopes_start_at_the_mixed_ones():
    bias = build({"form": "learned_linear"}, 6)
    torch.testing.assert_close(bias.log_slopes.exp(), torch.tensor(mixed_slopes(6)))
    assert [name for name, _ in bias.named_parameters()] == ["log_slopes"]


def test_learned_slopes_and_their_gradient_equal_the_equation():
    """Autograd against central differences of the written-out equation, at slopes of no pattern."""
    rng = np.random.default_rng(3)
    q, k, v = rng.normal(size=(3, 2, 3, 9, 4))
    logs, weights = np.log([0.9, 0.05, 2.0]), rng.normal(size=(2, 3, 9, 4))

    def total(logs):
        slopes = np.exp(logs)
        return (
            weights * brute_force(lambda s, i, j, h, H, L: s + slopes[h] * (j - i), q, k, v)
        ).sum()

    bias = build({"form": "learned_linear"}, 3)
    bias.log_slopes.data = torch.from_numpy(logs)
    a, b = bias(torch.arange(3)[:, None, None], torch.arange(9)[:, None], torch.arange(9), 9)
    scores = torch.from_numpy(q @ k.swapaxes(-1, -2)) / 2 * a + b
    scores = scores.masked_fill(torch.ones(9, 9, dtype=torch.bool).triu(1), -torch.inf)
    got = (torch.from_numpy(weights) * (scores.softmax(-1) @ torch.from_numpy(v))).sum()
    assert got.item() == pytest.approx(total(logs), rel=1e-12)
    got.backward()
    step = 1e-6 * np.eye(3)
    slow = [(total(logs + e) - total(logs - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(bias.log_slopes.grad, slow, rtol=1e-6)


def test_temperature_is_what_the_exponential_bias_does_off_the_diagonal():
    a, _ = build({"form": "exponential", "weight": 0.37}, 1)(*torch.zeros(3, 1).int(), 1)
    b, _ = build({"form": "temperature", "temperature": 1 / 0.63}, 1)(*torch.zeros(3, 1).int(), 1)
    assert a == pytest.approx(b)


def test_mixed_slopes_of_the_paper():
    assert mixed_slopes(4) == [1 / 4, 1 / 16, 1 / 64, 1 / 256]
    # Not a power of two: the slopes of the power below, then every second one of the power above.
    assert mixed_slopes(6) == [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]


def test_a_slope_too_few_is_refused():
    with pytest.raises(ValueError, match="2 slopes for 4 heads"):
        build({"form": "linear", "slopes": [1, 2]}, 4)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(1, 12), st.floats(0.001, 20))
def test_linear_bias_falls_with_distance_and_is_zero_at_the_token(length, heads, slope):
    _, b = build({"form": "linear", "slopes": slope}, heads).dense(
        length, length, torch.device("cpu"), torch.float32
    )
    assert torch.equal(b[0].diagonal(dim1=1, dim2=2), torch.zeros(heads, length))
    steps = b[0, :, -1].diff()
    assert (steps > 0).all()


@pytest.mark.parametrize(
    "form",
    [
        "none", "linear", "learned_linear", "exponential", "identity", "temperature", "window",
        "half_life", "logistic",
    ],
)  # fmt: skip
def test_tables_with_a_cache_of_keys(form):
    """One query after many cached keys has the last row of the whole table."""
    bias = build({"form": form} | ({"width": 4} if form == "window" else {}), 2)
    device = torch.device("cpu")
    whole = bias.dense(9, 9, device, torch.float32)[1]
    last = bias.dense(1, 9, device, torch.float32)[1]
    torch.testing.assert_close(last[..., 0, :], whole[..., -1, :])


def test_windows_of_a_half_life():
    """ALiBi's mixed slopes on four heads, the paper's uniform ones, and dVM's rate of decay."""
    assert build({"form": "half_life"}, 4).widths == [3, 12, 45, 178]
    wanted = {1 / 256: 178, 1 / 64: 45, 1 / 16: 12, 1 / 4: 3, 1: 1, 4: 1, 16: 1, 82.86: 1}
    assert {m: build({"form": "half_life", "slopes": m}, 2).reach for m in wanted} == wanted


def test_every_form_names_its_parameters():
    assert set(bias_parameters("linear")) == {"slopes"}
    assert set(bias_parameters("exponential")) == {"decay", "weight"}
    assert bias_parameters("none") == {}
