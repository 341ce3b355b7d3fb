"""Memories: each recursion against a plain loop in float64, and a text in pieces against one pass."""

import importlib.util
import math
import re
from pathlib import Path

import pytest
import torch
from scipy import stats
from torch.nn import functional

from recency import config
from recency.attention import biases
from recency.errors import InputError
from recency.networks import memories, recurrences

WORDS, INPUTS, WIDTH = 11, 5, 6
FORMS = [
    {"form": "fofe", "decay": 0.7},
    {"form": "fofe", "decay": 0.7, "learned": True, "window": 3},
    {"form": "fofe", "half_lives": [1, 64], "learned": True, "normalised": True},
    {"form": "srnn", "context": 0.7, "window": 2},
    {"form": "srnn", "context": "vector"},
    {"form": "srnn", "context": "word", "window": 4},
    {"form": "srnn", "window": 2, "biases": True},
    {"form": "log_bilinear", "window": 3},
    {"form": "rnn"},
    {"form": "gru"},
    {"form": "lstm"},
    {"form": "lstm", "biases": False, "weights": "glorot"},
    {"form": "lsrc"},
    {"form": "lsrc", "biases": False, "weights": "glorot"},
    {"form": "lsrc", "recurrence": "vector"},
    {"form": "state_space", "states": 3},
    {"form": "state_space", "states": 3, "selective": True},
    {"form": "cue_based_rnn", "window": 4},
]
SHOWN = [" ".join(map(str, form.values())) for form in FORMS]


@pytest.fixture(autouse=True)
def in_float64():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


def made(spec):
    memory = memories.build(spec, INPUTS, WIDTH, WORDS)
    memory.draw(torch.Generator().manual_seed(1))
    for norm in getattr(memory, "norms", ()):
        torch.nn.init.normal_(norm.weight)
        torch.nn.init.normal_(norm.bias)
    return memory


def text(time=9, batch=2):
    return torch.randn(batch, time, INPUTS), torch.randint(WORDS, (batch, time))


def looped(spec, memory, u, words):
    """Return what the published equations give for one text, a word at a time."""
    plain = {"fofe": _fading, "srnn": _fading, "rnn": _rnn, "gru": _gru, "lstm": _lstm}
    plain |= {"lsrc": _lsrc, "state_space": _state_space, "log_bilinear": _log_bilinear}
    plain |= {"cue_based_rnn": _cue_based_rnn}
    return torch.stack(plain[spec["form"]](spec, memory, u, words))


def _fading(spec, memory, u, words):
    n1, p, seen, given = spec.get("window", 1), torch.zeros(INPUTS), [], []
    v = memory.read.weight.split(INPUTS, 1)  # the oldest first
    for u_t, word in zip(u, words):
        if spec["form"] == "fofe":
            a = memory.decay()
            p = u_t * ((1 - a) if spec.get("normalised") else 1) + a * p
        else:
            c = {
                None: lambda: memory.context[0],
                "vector": lambda: memory.context[0],
                "word": lambda word=word: memory.context[word],
            }
            p = torch.tanh(u_t + c.get(spec.get("context"), lambda: 0.7)() * p)
        seen.append(p)
        latest = seen[-n1:]
        h = sum(v[n1 - i] @ latest[-i] for i in range(1, len(latest) + 1))
        if spec.get("biases"):
            h = torch.cat([h + memory.read.bias, torch.ones(1)])
        given.append(h.relu())
    return given


def _log_bilinear(spec, memory, u, words):
    c = memory.read.weight.split(INPUTS, 1)  # the oldest first
    given = []
    for t in range(len(u)):
        places = range(1, min(t + 1, spec["window"]) + 1)
        p = sum(c[spec["window"] - j] @ u[t + 1 - j] for j in places)
        given.append(torch.cat([p, torch.ones(1)]))
    return given


def _rnn(spec, memory, u, words):
    cell, h, given = memory.cell, torch.zeros(WIDTH), []
    for u_t in u:
        h = cell.weight_ih_l0 @ u_t + cell.bias_ih_l0 + cell.weight_hh_l0 @ h + cell.bias_hh_l0
        given.append(h := h.tanh())
    return given


def _gru(spec, memory, u, words):
    cell, h, given = memory.cell, torch.zeros(WIDTH), []
    for u_t in u:
        r, z, n = (cell.weight_ih_l0 @ u_t + cell.bias_ih_l0).chunk(3)
        hr, hz, hn = (cell.weight_hh_l0 @ h + cell.bias_hh_l0).chunk(3)
        z = (z + hz).sigmoid()
        h = (1 - z) * (n + (r + hr).sigmoid() * hn).tanh() + z * h
        given.append(h)
    return given


def _lstm(spec, memory, u, words):
    cell, h, c, given = memory.cell, torch.zeros(WIDTH), torch.zeros(WIDTH), []
    bias = cell.bias_ih_l0 + cell.bias_hh_l0 if spec.get("biases", True) else 0
    for u_t in u:
        gates = cell.weight_ih_l0 @ u_t + cell.weight_hh_l0 @ h + bias
        i, f, new, o = gates.chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * new.tanh()
        given.append(h := o.sigmoid() * c.tanh())
    return given


def _lsrc(spec, memory, u, words):
    local, states = torch.zeros(INPUTS), []
    for u_t in u:
        vector = spec.get("recurrence") == "vector"
        kept = memory.local[0] * local if vector else memory.local.weight @ local
        states.append(local := torch.tanh(u_t + kept))
    return _lstm(spec, memory.long, torch.stack(states), words)


def _state_space(spec, memory, u, words):
    h, given = torch.zeros(WIDTH, spec["states"]), []
    for u_t in u:
        u_t = u_t / (u_t.square().mean() + torch.finfo(u_t.dtype).eps).sqrt()
        x, gate = (memory.enter.weight @ u_t).chunk(2)
        into, out_of, step = None, None, memory.step
        if spec.get("selective"):
            chosen = memory.choose.weight @ x
            step = step + chosen[:WIDTH]
            into, out_of = chosen[WIDTH:].chunk(2)
        else:
            into, out_of = memory.into, memory.out_of
        step = functional.softplus(step)[:, None]
        h = torch.exp(-step * memory.log_rate.exp()) * h + step * into * x[:, None]
        y = (h * out_of).sum(1) + memory.direct * x
        given.append(memory.leave.weight @ (y * gate * gate.sigmoid()))
    return given


def _cue_based_rnn(spec, memory, u, words):
    h, keys, values, given = torch.zeros(WIDTH), [], [], []

    def normed(x, norm):  # norms have random weights in these tests
        x = (x - x.mean()) / (x.var(unbiased=False) + norm.eps).sqrt()
        return torch.tanh(norm.weight * x + norm.bias)

    for u_t in u:
        q = normed(memory.cue(torch.cat([u_t, h])), memory.norms[0])
        seen = range(max(0, len(keys) - spec["window"]), len(keys))
        scores = torch.tensor([0.0, *(float(keys[i] @ q) / math.sqrt(WIDTH) for i in seen)])
        weights = scores.softmax(0)[1:]
        a = sum((w * values[i] for w, i in zip(weights, seen)), torch.zeros(WIDTH))
        z = normed(memory.combine(torch.cat([u_t, q, a, h])), memory.norms[1])
        key, value, h = normed(memory.leave(z), memory.norms[2]).chunk(3)
        keys.append(key)
        values.append(value)
        given.append(h)
    return given


@pytest.mark.parametrize("spec", FORMS, ids=SHOWN)
def test_each_recursion_is_its_plain_loop(spec):
    memory, (u, words) = made(spec), text()
    got, _ = memory(u, memory.start(2), words)
    expected = torch.stack([looped(spec, memory, *each) for each in zip(u, words)])
    assert got.shape == (2, 9, WIDTH) and got.abs().max() > 1e-6
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("spec", FORMS, ids=SHOWN)
def test_a_text_in_pieces_is_the_text_at_once(spec):
    memory, (u, words) = made(spec), text(time=13)
    whole, end = memory(u, memory.start(2), words)
    state, parts = memory.start(2), []
    for first, last in ((0, 1), (1, 2), (2, 8), (8, 13)):
        part, state = memory(u[:, first:last], state, words[:, first:last])
        parts.append(part)
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=0, atol=1e-13)
    for got, expected in zip(state, end, strict=True):
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-13)


@pytest.mark.merge
@pytest.mark.parametrize("spec", FORMS, ids=SHOWN)
def test_gradients(spec):
    memory, (u, words) = made(spec), text(time=5)
    parameters = list(memory.parameters())
    state = tuple(torch.randn_like(each).requires_grad_() for each in memory.start(2))

    def given(u, *rest):
        out, after = memory(u, rest[: len(state)], words)
        return out, *after

    assert torch.autograd.gradcheck(given, (u.requires_grad_(), *state, *parameters))


@pytest.mark.parametrize("form", ["fofe", "srnn", "rnn", "gru", "lstm", "lsrc"])
def test_a_recipe_in_bfloat16_computes_and_learns_what_is_carried_in_float32(form):
    spec = {"form": form, "decay": 0.7} if form == "fofe" else {"form": form}
    memory, (u, words), found = made(spec).float(), text(64), []
    u = u.float().requires_grad_()
    for bfloat16 in (True, False):
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            _, carried = memory(u, memory.start(2), words)
        learned = [w for name, w in memory.named_parameters() if not name.startswith("read")]
        loss = sum(each.square().sum() for each in carried)
        found.append([*carried, *torch.autograd.grad(loss, (u, *learned))])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("steps", ["one", "each"])
@pytest.mark.parametrize("time", [1, 2, 10, 64])
def test_scans_have_the_gradients_of_a_loop(time, steps):
    a = torch.rand(*((1, 1, 4) if steps == "one" else (3, time, 4)), requires_grad=True)
    u, start = torch.randn(3, time, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    for function, bend in (
        (recurrences.scan, lambda x: x),
        (recurrences.tanh_recurrence, torch.tanh),
    ):
        p, loop = start, []
        for t in range(time):
            loop.append(p := bend(u[:, t] + a[:, 0 if steps == "one" else t] * p))
        loop, weights = torch.stack(loop, 1), torch.randn(3, time, 4)
        got = function(a, u, start)
        torch.testing.assert_close(got, loop, rtol=0, atol=1e-12)
        expected = torch.autograd.grad((loop * weights).sum(), (a, u, start))
        found = torch.autograd.grad((got * weights).sum(), (a, u, start))
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-11)


def test_the_scan_is_the_loop_in_single_precision():
    decay = torch.tensor([0.5, 0.7, 0.99, 0.999], dtype=torch.float32)[None, None]
    u = torch.randn(4, 512, 4, dtype=torch.float32)
    p, loop = torch.zeros(4, 4, dtype=torch.float32), []
    for t in range(512):
        loop.append(p := u[:, t] + decay[:, 0] * p)
    loop = torch.stack(loop, 1)
    off = (recurrences.scan(decay, u, torch.zeros(4, 4, dtype=torch.float32)) - loop).abs().max()
    assert off <= 1e-5 * loop.abs().max()


def test_fofe_is_alibi_with_queries_of_zero_up_to_its_norm():
    alpha, time = 0.7, 12
    memory, (u, words) = made({"form": "fofe", "decay": alpha}), text(time)
    bias = biases.build({"form": "linear", "slopes": -math.log(alpha)}, heads=1)
    a, b = bias.dense(time, time, u.device, u.dtype)
    scores = torch.zeros(2, 1, time, time) * a + b  # q·k = 0
    attended = (scores.softmax(-1) @ u[:, None])[:, 0]
    norm = (alpha ** torch.arange(time)).cumsum(0)
    fading = memory.states(u, torch.zeros(2, INPUTS), words)
    # The bias is in single precision.
    torch.testing.assert_close(fading, attended * norm[:, None], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spec", [{"form": "fofe", "decay": 0}, {"form": "srnn", "context": 0}])
def test_without_a_past_and_without_a_tanh_it_is_the_feed_forward_lm(spec):
    """Relu of the last n - 1 embeddings, each through a matrix of its own (Bengio et al. 2003)."""
    memory, (u, words) = made(spec | {"window": 3}), text()
    bent = u.tanh() if spec["form"] == "srnn" else u
    padded = functional.pad(bent, (0, 0, 2, 0))
    side_by_side = torch.cat([padded[:, :-2], padded[:, 1:-1], padded[:, 2:]], 2)
    got, _ = memory(u, memory.start(2), words)
    torch.testing.assert_close(got, (side_by_side @ memory.read.weight.T).relu())


@pytest.mark.parametrize(
    ("spec", "name", "low", "high"),
    [
        ({"form": "srnn", "context": "vector"}, "context", 0, 1),
        ({"form": "srnn", "context": "word", "start": "separate"}, "context", 0, 1),
        ({"form": "lstm"}, "cell.weight_hh_l0", -1 / 8, 1 / 8),
        (
            {"form": "lstm", "weights": "glorot"},
            "cell.weight_hh_l0",
            -((3 / 64) ** 0.5),
            (3 / 64) ** 0.5,
        ),
        (
            {"form": "lstm", "weights": "glorot"},
            "cell.weight_ih_l0",
            -((6 / 2064) ** 0.5),
            (6 / 2064) ** 0.5,
        ),
        ({"form": "lsrc", "recurrence": "vector"}, "local", 0, 1),
    ],
    ids=["WI-SRNN", "WD-SRNN", "LSTM", "Glorot's V", "Glorot's U", "LSRC's vector"],
)
def test_initial_weights_are_uniform(spec, name, low, high):
    """By a Kolmogorov-Smirnov test against the published distribution."""
    memory = memories.build(spec, 2000, 64, 20)
    memory.draw(torch.Generator().manual_seed(1))
    values = memory.get_parameter(name).detach().flatten().numpy()
    assert low <= values.min() and values.max() <= high
    assert stats.kstest(values, "uniform", args=(low, high - low)).pvalue > 0.01


def test_a_c_for_each_word_starts_from_one_that_all_share():
    """As in the toolkit of the paper's first author; an LM says which start it had."""
    memory = memories.build({"form": "srnn", "context": "word"}, 2000, 64, 20)
    memory.draw(torch.Generator().manual_seed(1))
    values = memory.context.detach()
    assert (values == values[0]).all()
    assert stats.kstest(values[0].numpy(), "uniform").pvalue > 0.01
    separate = {"form": "srnn", "context": "word", "start": "separate"}
    assert config.stated_memory({"form": "srnn", "context": "word"})["start"] == "shared"
    assert config.stated_memory(separate) == separate
    for other in ({"form": "srnn", "context": "vector"}, {"form": "fofe", "decay": 0.7}):
        assert config.stated_memory(other) == other


def test_half_lives_are_the_words_in_which_half_is_left():
    assert made(FORMS[0]).half_lives().item() == pytest.approx(1.943, abs=1e-3)
    spaced = made(FORMS[2]).half_lives()
    torch.testing.assert_close(spaced, torch.logspace(0, math.log10(64), INPUTS))
    memory = made({"form": "fofe", "decay": 0.5 ** (1 / 8)})
    u = torch.zeros(1, 9, INPUTS)
    u[:, 0] = 1.0
    states = memory.states(u, torch.zeros(1, INPUTS), torch.zeros(1, 9, dtype=torch.long))
    torch.testing.assert_close(states[0, 8], torch.full((INPUTS,), 0.5))
    assert made({"form": "lstm"}).half_lives() is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"form": "fofe"}, "one of `decay` and `half_lives`"),
        ({"form": "fofe", "decay": 0.5, "half_lives": [1, 2]}, "one of `decay` and `half_lives`"),
        ({"form": "fofe", "decay": 0, "learned": True}, "a `decay` of 0 cannot be learned from"),
        ({"form": "fofee"}, "no form of memory is called 'fofee'; did you mean 'fofe'"),
    ],
)
def test_what_is_no_memory_is_refused(spec, message):
    with pytest.raises(InputError, match=message):
        made(spec)


def test_the_form_that_the_docs_add_is_a_loop(tmp_path):
    page = Path(__file__).resolve().parents[2] / "docs" / "memories.md"
    code = re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[1]
    (tmp_path / "gated.py").write_text(code)
    spec = importlib.util.spec_from_file_location("gated", tmp_path / "gated.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    memory = module.Form(INPUTS, WIDTH, WORDS, decay=0.8)
    memory.draw(torch.Generator().manual_seed(1))
    u, words = text()
    p, loop = torch.zeros(2, INPUTS), []
    for t in range(9):
        loop.append(p := u[:, t] + 0.8 * (1 - memory.gate(u[:, t]).sigmoid()) * p)
    got, _ = memory(u, memory.start(2), words)
    torch.testing.assert_close(got, (torch.stack(loop, 1) @ memory.read.weight.T).relu())
