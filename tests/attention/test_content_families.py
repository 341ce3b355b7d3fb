"""Content-dependent biases on every causal family: equal to loops that hooks feed, or refused."""

import copy
import math

import pytest
import torch
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

import recency
from families import FAMILIES, LENGTH, make, outputs, text
from recency.attention import biased

pytestmark = pytest.mark.merge

WORKS = [name for name, family in FAMILIES.items() if family.outcome == "works"]
BOTH_DIRECTIONS = [name for name, family in FAMILIES.items() if "both" in family.outcome]


def gates(module, inputs, h, bits):
    """Return b (length, length) of forget gates: a sum of logs from j + 1 to i."""
    form = module.recency_bias
    logs = torch.nn.functional.logsigmoid(inputs @ form.weight[h] + form.offset[h])
    table = torch.zeros(len(inputs), len(inputs), dtype=torch.float64)
    for i in range(len(inputs)):
        for j in range(i):
            table[i, j] = logs[j + 1 : i + 1].sum()
    return table


def rates(module, inputs, h, bits):
    """Return b of surprisal gates, -m p_j (i - j), with ALiBi's slopes."""
    slope = module.recency_bias.slopes[h]
    table = torch.zeros(len(bits), len(bits), dtype=torch.float64)
    for i in range(len(bits)):
        for j in range(i):
            table[i, j] = -slope * 2.0 ** -float(bits[j]) * (i - j)
    return table


def cues(scores, seen):
    """Return b of one query's cue on the keys that it sees, the last of them itself."""
    match = torch.sigmoid(scores[seen])
    total = match.sum()
    return [
        float(m * (1.5 - torch.log(1 + total - m))) - 0.5 * math.log(seen[-1] - j + 1)
        for m, j in zip(match, seen, strict=True)
    ]


def written_out(module, q, k, v, attention_mask, scaling=None, softcap=None, s_aux=None, **_):
    """Score by score in float64, with what hooks noted of the layer and of the text."""
    heads, length = q.shape[1:3]
    scale = 1 / math.sqrt(q.shape[-1]) if scaling is None else scaling
    out = torch.zeros(1, length, heads, v.shape[-1], dtype=torch.float64)
    for h in range(heads):
        key, value = (x[0, h * k.shape[1] // heads].double() for x in (k, v))
        scores = q[0, h].double() @ key.T * scale
        if softcap is not None:
            scores = softcap * torch.tanh(scores / softcap)
        table = module.table and module.table(module, module.noted[0], h, module.bits[0])
        for i in range(length):
            seen = [j for j in range(length) if attention_mask[0, 0, i, j] == 0]
            row = [float(scores[i, j]) for j in seen]
            added = cues(scores[i], seen) if table is None else table[i, seen].tolist()
            row = [s + b for s, b in zip(row, added, strict=True)]
            row += [] if s_aux is None else [float(s_aux[h])]
            weights = torch.tensor(row, dtype=torch.float64).softmax(0)[: len(seen)]
            out[0, i, h] = weights @ value[seen]
    return out.to(v.dtype), None


AttentionInterface.register("content_written_out", written_out)
AttentionMaskInterface.register("content_written_out", eager_mask)
TABLES = {"forgetting": gates, "surprisal_gated": rates, "cue_based": None}


def embedded_bits(model, ids):
    """Return each token's surprisal under the states that enter the first layer, in bits."""
    entering = []
    layer = biased.content.layer_around(model, biased.attention_modules(model)[0])
    hook = layer.register_forward_pre_hook(
        lambda module, args, kwargs: entering.append(kwargs.get("hidden_states", args[:1])),
        with_kwargs=True,
    )
    outputs(model, ids)
    hook.remove()
    states = entering[0][0] if isinstance(entering[0], tuple) else entering[0]
    with torch.no_grad():
        logs = recency.attention.logit_lens.logits(model, states).double().log_softmax(-1)
    bits = -logs[:, :-1].gather(2, ids[:, 1:, None])[..., 0] / math.log(2)
    return torch.nn.functional.pad(bits, (1, 0))


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("name", WORKS)
def test_a_form_equals_the_definition(name, form):
    model, ids = make(name), text()
    try:
        recency.attention.attach(model, {"form": form})
    except recency.InputError as error:
        assert form == "surprisal_gated" and "no logit lens" in str(error)
        assert name == "BertLMHead"  # a layer stands between its states and its output layer
        return
    for module in biased.attention_modules(model):
        for weight in module.recency_bias.parameters():
            torch.nn.init.normal_(weight, generator=torch.Generator().manual_seed(1))
    result = outputs(model, ids)
    bits = embedded_bits(model, ids) if form == "surprisal_gated" else torch.zeros(1, LENGTH)
    exact = copy.deepcopy(model).double()
    for module in biased.attention_modules(exact):
        module.table, module.bits = TABLES[form], bits

        def note(module, arguments, settings):
            module.noted = settings.get("hidden_states", arguments[0] if arguments else None)

        module.register_forward_pre_hook(note, with_kwargs=True)
    exact.config._attn_implementation = "content_written_out"
    exact.config._experts_implementation = "eager"  # the other knows no float64
    expected = outputs(exact, ids)
    near = 2e-5 * expected.abs().max().item()
    torch.testing.assert_close(result, expected, atol=near, rtol=0)
    later = ids.clone()
    later[0, LENGTH // 2 :] = text(3)[0, LENGTH // 2 :]
    earlier = outputs(model, later)[:, : LENGTH // 2]
    torch.testing.assert_close(earlier, result[:, : LENGTH // 2], atol=near, rtol=0)


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("name", BOTH_DIRECTIONS)
def test_networks_that_see_both_directions_are_refused(name, form):
    with pytest.raises(recency.InputError, match="is bidirectional"):
        recency.attention.attach(make(name), {"form": form})
