"""A converted fairseq checkpoint computes as the released code does, and unknown ones are refused.

The forward pass here is written out in plain PyTorch: ALiBi in both directions, the CLAP head, zeros at
masked places, weights by fairseq's names.
"""

import argparse
import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch.nn import functional

import recency
from checkpoints import byte_tokenizer
from fill_mask import fill_mask
from recency.command import main as command
from recency.errors import InputError
from recency.networks import fairseq_checkpoints
from small_networks import TEXTS

BEGIN, PAD, END = 0, 1, 2


@dataclass
class Size:
    heads: int
    layers: int = 2
    width: int = 24
    inner: int = 40
    context: int = 32
    deviation: float = 0.4


CLAP = {
    "contrastive_pretraining": True,
    "initial_beta": 1.0,
    "layernorm_embedding": False,
    "dropout": 0.0,
}
ALIBI = {
    "no_token_positional_embeddings": True,
    "encoder_alibi": True,
    "encoder_alibi_asymmetrical": True,
}
ZERO = {"zero_masking": True, "no_scale_embedding": False}
KINDS = {
    "baseline": {},
    "learned-clap": CLAP,
    "alibi": ALIBI,
    "zero-clap": CLAP | ALIBI | ZERO,
}
#: Heads of one that are a power of two, and of one that are none.
SMALL = {"base": Size(6), "large": Size(4)}
#: As released: the Pile's context, fairseq's vocabulary of 50,265.
RELEASED = {
    "base": Size(12, 12, 768, 3072, 2048, 0.05),
    "large": Size(16, 24, 1024, 4096, 2048, 0.05),
}


@pytest.fixture(scope="module")
def gpt2():
    return byte_tokenizer(TEXTS)


def entries(gpt2, zero):
    """Return the lines of a dictionary: numbers of GPT-2's entries, in another order, and padding."""
    numbers = np.random.default_rng(1).permutation(gpt2.get_vocab_size())
    padding = ["madeupword0000"] + ([] if zero else ["madeupword0001", "madeupword0002"])
    return [*map(str, numbers), *padding]


def released(rows, settings, size, seed=1, precision=torch.float32):
    """Return a checkpoint as fairseq writes it, with random weights."""
    random = torch.Generator().manual_seed(seed)
    width, inner = size.width, size.inner

    def weights(*shape):
        return (size.deviation * torch.randn(shape, generator=random)).to(precision)

    place = "encoder.sentence_encoder."
    state = {
        f"{place}version": torch.tensor([3.0]),
        f"{place}embed_tokens.weight": weights(rows, width),
    }
    if not settings.get("no_token_positional_embeddings"):
        state[f"{place}embed_positions.weight"] = weights(size.context + PAD + 1, width)
    norms = [f"{place}layernorm_embedding"] if settings.get("layernorm_embedding", True) else []
    for layer in range(size.layers):
        inside = f"{place}layers.{layer}."
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            state[f"{inside}self_attn.{name}.weight"] = weights(width, width)
            state[f"{inside}self_attn.{name}.bias"] = weights(width)
        state |= {f"{inside}fc1.weight": weights(inner, width), f"{inside}fc1.bias": weights(inner)}
        state |= {f"{inside}fc2.weight": weights(width, inner), f"{inside}fc2.bias": weights(width)}
        norms += [f"{inside}self_attn_layer_norm", f"{inside}final_layer_norm"]
    state["encoder.lm_head.weight"] = state[f"{place}embed_tokens.weight"]
    if settings.get("contrastive_pretraining"):
        state["encoder.lm_head.beta"] = torch.tensor(1.7)
    else:
        state["encoder.lm_head.dense.weight"] = weights(width, width)
        state["encoder.lm_head.dense.bias"] = weights(width)
        state["encoder.lm_head.bias"] = weights(rows)
        norms.append("encoder.lm_head.layer_norm")
    for name in norms:
        state |= {f"{name}.weight": 1 + weights(width), f"{name}.bias": weights(width)}
    model = {
        "_name": "roberta",
        "max_positions": size.context,
        "encoder_attention_heads": size.heads,
        **settings,
    }
    task = {"_name": "masked_lm", "omit_mask": bool(settings.get("zero_masking"))}
    return {
        "args": None,
        "cfg": {"model": argparse.Namespace(**model), "task": task},
        "model": state,
    }


def slopes(heads):
    """Return ALiBi's slopes: 2^(-8h/n), and between powers of two every second of the next power."""
    if heads & (heads - 1) == 0:
        return [2 ** (-8 * (h + 1) / heads) for h in range(heads)]
    below = 2 ** int(math.log2(heads))
    return [*slopes(below), *slopes(2 * below)[::2][: heads - below]]


def forward(checkpoint, ids, entries_there):
    """Return the logits (length, entries) of one text, in float64."""
    settings, weights = vars(checkpoint["cfg"]["model"]), checkpoint["model"]

    def w(name):
        return weights[name].double()

    place, heads = "encoder.sentence_encoder.", settings["encoder_attention_heads"]
    table = w(f"{place}embed_tokens.weight")
    width = table.shape[1]
    clap = settings.get("contrastive_pretraining", False)
    read = table / table.norm(dim=1, keepdim=True) if clap else table
    x = torch.stack([read[i] if i < entries_there else torch.zeros(width).double() for i in ids])
    x = x if settings.get("no_scale_embedding", True) else x * math.sqrt(width)
    if f"{place}embed_positions.weight" in weights:
        x = x + w(f"{place}embed_positions.weight")[PAD + 1 : PAD + 1 + len(ids)]

    def norm(name, x):
        return functional.layer_norm(x, (width,), w(f"{name}.weight"), w(f"{name}.bias"), 1e-5)

    def linear(name, x):
        return x @ w(f"{name}.weight").T + w(f"{name}.bias")

    if settings.get("layernorm_embedding", True):
        x = norm(f"{place}layernorm_embedding", x)
    layers = sum(name.endswith("fc1.weight") for name in weights)
    for layer in range(layers):
        inside = f"{place}layers.{layer}."
        q, k, v = (linear(f"{inside}self_attn.{n}_proj", x) for n in "qkv")
        size, outputs = width // heads, []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            scores = q[:, part] @ k[:, part].T / math.sqrt(size)
            if settings.get("encoder_alibi"):
                for i in range(len(ids)):
                    for j in range(len(ids)):
                        scores[i, j] -= slopes(heads)[head] * (abs(i - j) - 0.5 * (j > i))
            outputs.append(scores.softmax(-1) @ v[:, part])
        x = norm(
            f"{inside}self_attn_layer_norm",
            x + linear(f"{inside}self_attn.out_proj", torch.cat(outputs, 1)),
        )
        inner = functional.gelu(linear(f"{inside}fc1", x))
        x = norm(f"{inside}final_layer_norm", x + linear(f"{inside}fc2", inner))
    if clap:
        return w("encoder.lm_head.beta") * (x @ read.T)
    x = norm("encoder.lm_head.layer_norm", functional.gelu(linear("encoder.lm_head.dense", x)))
    return x @ table.T + w("encoder.lm_head.bias")


def write(folder, gpt2, kind, size=SMALL["base"], whole=False, precision=torch.float32):
    """Write a checkpoint and its dictionary; return both, and what they hold."""
    zero = kind == "zero-clap"
    lines = entries(gpt2, zero)
    there = 4 + len(lines)
    checkpoint = released(there + (not zero), KINDS[kind], size, precision=precision)
    torch.save(checkpoint, folder / "model.pt")
    listed = entries(gpt2, False) if whole else lines
    (folder / "dict.txt").write_text("".join(f"{each} {n}\n" for n, each in enumerate(listed)))
    return checkpoint, lines, there


def compare(gpt2, folder, kind, text, tolerance, **options):
    """Convert a checkpoint, compare its logits with those of the released forward pass, and return it."""
    checkpoint, lines, there = write(folder, gpt2, kind, whole=True, **options)
    paths = (folder / "model.pt", folder / "dict.txt")
    fairseq_checkpoints.convert(*paths, gpt2, folder / "lm", allow_pickle=True)
    lm = recency.load(folder / "lm")
    assert lm.masked
    number = {symbol: row for row, symbol in enumerate(["<s>", "<pad>", "</s>", "<unk>", *lines])}
    inner = [number[str(each)] for each in gpt2.encode(text).ids]
    ids = [BEGIN, *inner, END]
    assert lm.tokenizer.encode(text).ids == ids
    mask = lm.tokenizer.token_to_id("<mask>")
    assert mask == there
    masked = [*ids[:4], mask, *ids[5:]]
    for each in (ids, masked):
        inputs = torch.tensor([each])
        with torch.no_grad():
            found = lm.network(input_ids=inputs, attention_mask=torch.ones_like(inputs)).logits[0]
        expected = forward(checkpoint, each, there + (kind != "zero-clap"))
        np.testing.assert_allclose(found[:, : expected.shape[1]], expected, atol=tolerance)
        probability = found.softmax(-1)
        np.testing.assert_allclose(
            probability[:, :there], expected.softmax(-1)[:, :there], atol=1e-4
        )
    if kind == "zero-clap":
        assert (probability[:, mask] == 0).all()
    return checkpoint, lm


@pytest.mark.parametrize("size", SMALL.values(), ids=SMALL)
@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_the_released_forward_pass(gpt2, tmp_path, kind, size):
    compare(gpt2, tmp_path, kind, TEXTS[0][:40], 2e-3, size=size)


@pytest.mark.merge
@pytest.mark.parametrize(
    ("name", "kind", "millions"),
    [
        ("base", "learned-clap", 125),
        ("base", "alibi", 125),
        ("large", "baseline", 355),
        ("large", "zero-clap", 355),
    ],
)
def test_the_released_sizes_are_converted(tmp_path, name, kind, millions):
    """Fairseq's 50,265 entries, 2,048 positions, half precision."""
    entries = [*pre_tokenizers.ByteLevel.alphabet()]
    entries += [f"{number:05d}Ġ" for number in range(50_257 - len(entries))]
    gpt2 = Tokenizer(models.BPE({entry: row for row, entry in enumerate(sorted(entries))}, []))
    gpt2.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    gpt2.decoder = decoders.ByteLevel()
    options = {"size": RELEASED[name], "precision": torch.float16}
    checkpoint, lm = compare(gpt2, tmp_path, kind, "a cat sat", 5e-3, **options)
    tied = ("version", "lm_head.weight")
    stored = {n: each for n, each in checkpoint["model"].items() if not n.endswith(tied)}
    assert sum(each.numel() for each in stored.values()) == pytest.approx(1e6 * millions, rel=0.01)
    assert len(lm.network.roberta.encoder.layer) == RELEASED[name].layers


@pytest.mark.parametrize("kind", ["baseline", "zero-clap"])
def test_the_mask_is_filled_by_the_most_probable_entries(gpt2, tmp_path, kind):
    checkpoint, lines, there = write(tmp_path, gpt2, kind)
    arguments = [str(tmp_path / "model.pt"), "--dictionary", str(tmp_path / "dict.txt")]
    gpt2.save(str(tmp_path / "gpt2.json"))
    arguments += ["--tokenizer", str(tmp_path / "gpt2.json"), "--out", str(tmp_path / "lm")]
    assert command.main(["convert", *arguments, "--allow-pickle"]) == 0
    lm = recency.load(tmp_path / "lm")
    words = TEXTS[0].split()
    text = " ".join([*words[:3], "<mask>", words[4]])
    symbols = ["<s>", "<pad>", "</s>", "<unk>", *lines, "<mask>"]
    number = {symbol: row for row, symbol in enumerate(symbols)}
    left, right = (
        [number[str(each)] for each in gpt2.encode(part).ids]
        for part in (" ".join(words[:3]), " " + words[4])
    )
    ids = [BEGIN, *left, there, *right, END]
    logits = forward(checkpoint, ids, there + (kind != "zero-clap"))[1 + len(left)]
    expected = logits.softmax(-1).topk(3)
    found = fill_mask(lm, text, top=3)
    np.testing.assert_allclose([each[1] for each in found], expected.values, atol=1e-4)
    for (filled, _, entry), row in zip(found, expected.indices.tolist(), strict=True):
        symbol = symbols[row]
        assert entry == (gpt2.decode([int(symbol)]) if symbol.isdigit() else symbol)
        assert filled == f"{' '.join(words[:3])}{entry} {words[4]}"
    bits = recency.surprisal(TEXTS[0], lm).surprisal_bits
    assert np.isfinite(bits).all() and (bits > 0).all()
    with pytest.raises(InputError, match="has 0 tokens <mask>"):
        fill_mask(lm, "no mask")


def change(checkpoint, **model):
    vars(checkpoint["cfg"]["model"]).update(model)


def without(checkpoint, name):
    del checkpoint["model"][name]


FAULTS = {
    "classification_heads.mnli.dense.weight": lambda c: c["model"].update(
        {"classification_heads.mnli.dense.weight": torch.zeros(2)}
    ),
    "encoder.sentence_encoder.layers.0.adapter": lambda c: c["model"].update(
        {"encoder.sentence_encoder.layers.0.adapter.weight": torch.zeros(2)}
    ),
    "encoder_normalize_before: True": lambda c: change(c, encoder_normalize_before=True),
    "activation_fn: 'relu'": lambda c: change(c, activation_fn="relu"),
    "omit_mask: False and zero_masking: True": lambda c: change(c, zero_masking=True),
    "lacks roberta.embeddings.LayerNorm.weight": lambda c: without(
        c, "encoder.sentence_encoder.layernorm_embedding.weight"
    ),
    "has lm_head.bias, which its settings have no place for": lambda c: change(
        c, contrastive_pretraining=True
    ),
    "position_embeddings.weight is": lambda c: change(c, max_positions=16),
    "for 5 heads are no RoBERTa": lambda c: change(c, encoder_attention_heads=5),
    "has no settings": lambda c: c.update(cfg=None),
    "differs from the input embedding": lambda c: c["model"].update(
        {"encoder.lm_head.weight": torch.zeros(2)}
    ),
    "no weights under `model`": lambda c: c.update(model=None),
}


@pytest.mark.parametrize("message", FAULTS)
def test_unknown_weights_and_settings_are_refused(gpt2, tmp_path, message):
    checkpoint, *_ = write(tmp_path, gpt2, "baseline")
    FAULTS[message](checkpoint)
    torch.save(checkpoint, tmp_path / "model.pt")
    refused(message, tmp_path, gpt2)


def refused(match, folder, gpt2, allow_pickle=True):
    paths = (folder / "model.pt", folder / "dict.txt")
    with pytest.raises(InputError, match=match) as error:
        fairseq_checkpoints.convert(*paths, gpt2, folder / "lm", allow_pickle)
    assert "\n" not in str(error.value) and not (folder / "lm").exists()


def test_files_that_are_wrong_are_refused(gpt2, tmp_path):
    write(tmp_path, gpt2, "baseline")
    refused("is a pickle.*--allow-pickle", tmp_path, gpt2, allow_pickle=False)
    dictionary = (tmp_path / "dict.txt").read_text()
    (tmp_path / "dict.txt").write_text(dictionary.replace("\n", "", 1))
    refused("dict.txt", tmp_path, gpt2)
    (tmp_path / "dict.txt").write_text(dictionary.partition("\n")[2])
    refused("entries with fairseq's own four, and the network", tmp_path, gpt2)
    (tmp_path / "dict.txt").write_text(dictionary + dictionary.partition("\n")[0] + "\n")
    refused("twice", tmp_path, gpt2)
    (tmp_path / "dict.txt").write_text("nothing\n")
    refused("line 1: 'nothing' is no entry and its count", tmp_path, gpt2)
    (tmp_path / "dict.txt").write_text(dictionary)
    whole = (tmp_path / "model.pt").read_bytes()
    (tmp_path / "model.pt").write_bytes(whole[:-100])
    refused("cannot be read as tensors and plain values", tmp_path, gpt2)
    torch.save({"model": {}, "run": print}, tmp_path / "model.pt")
    refused("cannot be read as tensors and plain values", tmp_path, gpt2)
