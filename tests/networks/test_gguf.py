"""GGUF files equal the networks that they were written from, and wrong ones are refused in a line."""

import json
import os
import resource
import shutil
import signal
import struct

import gguf
import numpy as np
import pytest
import torch
from gguf import quants
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import recency
from checkpoints import byte_tokenizer
from recency.errors import InputError
from recency.networks import checkpoints, dequantised, gguf_files, precisions
from recency.networks.hub import locate
from small_networks import TEXTS

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "model.layers": "blk",
}
HEADS = 2


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """Save a small Llama with a byte-level tokenizer; return it and its folder."""
    folder = tmp_path_factory.mktemp("llama")
    tokenizer = byte_tokenizer(TEXTS)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|endoftext|>").save_pretrained(
        folder
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=64, intermediate_size=64,
        num_hidden_layers=2, num_attention_heads=HEADS, num_key_value_heads=1,
        max_position_embeddings=128, bos_token_id=0, eos_token_id=0, rms_norm_eps=1e-5,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8 if parameter.dim() == 2 else 1)
    model.save_pretrained(folder)
    return model, tokenizer, folder


def interleaved(weights, heads):
    """Order a rotary projection's rows as llama.cpp does: halves of a head become pairs."""
    rows, columns = weights.shape
    parts = weights.reshape(heads, 2, rows // heads // 2, columns)
    return parts.swapaxes(1, 2).reshape(rows, columns)


def write(path, network, kind="F32", architecture="llama", pieces="gpt-2", layers=None, more=()):
    """Write a network as llama.cpp's converter does; return its weights as the file holds them.

    `layers` is the stated number of layers, `more` are further calls of the writer.
    """
    model, tokenizer, _ = network
    config, stored = model.config, {}
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(layers or config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pieces)
    writer.add_token_list([token for token, _ in vocabulary])
    writer.add_token_types([3, *[1] * (len(vocabulary) - 1)])
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    quantisation = gguf.GGMLQuantizationType[kind]
    for name, tensor in model.state_dict().items():
        weights = tensor.numpy()
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        ordered = weights
        for part, number in heads.items():
            if part in name:
                ordered = interleaved(weights, number)
        short = name
        for old, new in NAMES.items():
            short = short.replace(old, new)
        if kind != "F32" and weights.ndim == 2:
            data = quants.quantize(ordered, quantisation)
            writer.add_tensor(short, data, raw_dtype=quantisation)
            stored[name] = quants.dequantize(quants.quantize(weights, quantisation), quantisation)
        else:
            writer.add_tensor(short, np.ascontiguousarray(ordered))
            stored[name] = weights
    for name, *values in more:
        getattr(writer, name)(*values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return stored


@pytest.mark.parametrize("kind", ["F32", "Q8_0", "Q4_1"])
def test_surprisal_is_that_of_the_dequantised_weights(network, tmp_path, kind):
    """Rows are quantised in blocks of 32, so that their order within a head changes no value."""
    folder = network[2]
    path = tmp_path / "llama.gguf"
    stored = write(path, network, kind)
    expected = recency.load(folder)
    expected.network.load_state_dict(
        {key: torch.from_numpy(value) for key, value in stored.items()}
    )
    found = recency.surprisal(TEXTS, path)
    of_weights = recency.surprisal(TEXTS, expected)
    np.testing.assert_allclose(found.surprisal_bits, of_weights.surprisal_bits, atol=1e-4)
    plain = recency.surprisal(TEXTS, folder).surprisal_bits
    difference = float((found.surprisal_bits - plain).abs().max())
    assert (difference < 1e-4) == (kind == "F32")
    assert kind in found.attrs["dequantised"]


def test_a_bias_is_applied_and_verified(network, tmp_path):
    path = tmp_path / "llama.gguf"
    write(path, network)
    bias = {"form": "linear", "slopes": "mix"}
    found = recency.surprisal(TEXTS, recency.load(path, bias=bias), tokenizer=network[2])
    expected = recency.surprisal(TEXTS, recency.load(network[2], bias=bias), tokenizer=network[2])
    np.testing.assert_allclose(found.surprisal_bits, expected.surprisal_bits, atol=1e-4)
    plain = recency.surprisal(TEXTS, path)
    assert float((found.surprisal_bits - plain.surprisal_bits).abs().max()) > 0.01


def refused(path, match):
    with pytest.raises(InputError, match=match) as error:
        recency.surprisal(TEXTS, path)
    assert "\n" not in str(error.value)


def test_a_layer_that_the_file_stores_and_does_not_state(network, tmp_path):
    """236.1 bits instead of 247.7, without a word: transformers reads the layers stated."""
    path = tmp_path / "llama.gguf"
    write(path, network, layers=1)
    refused(path, r"has the weights blk.1.attn_k.weight and 8 more, .* too few layers \(1\)")
    write(path, network, layers=3)
    refused(path, "lacks the weights model.layers.2.")


def test_a_tensor_of_no_use(network, tmp_path):
    path = tmp_path / "llama.gguf"
    write(path, network, more=[("add_tensor", "blk.0.attn_q.extra", np.ones((4, 32), np.float32))])
    refused(path, "has the weight blk.0.attn_q.extra, which .*download the file again")


@pytest.mark.parametrize("factor", [1.0, 8.0])
def test_factors_of_rotary_frequencies(network, tmp_path, factor):
    """Llama 3's converter writes them; transformers does not read them."""
    path = tmp_path / "llama.gguf"
    factors = np.full(16, factor, np.float32)
    write(path, network, more=[("add_tensor", "rope_freqs.weight", factors)])
    if factor == 1:
        assert np.isfinite(recency.surprisal(TEXTS, path).surprisal_bits).all()
    else:
        refused(path, "has the weight rope_freqs.weight")


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ([("add_rope_freq_base", np.nan)], "llama.gguf has llama.rope.freq_base: nan, which is no"),
        ([("add_rope_freq_base", 0.0)], "llama.rope.freq_base: 0.0, which must be above 0"),
        ([("add_layer_norm_rms_eps", -1.0)], "layer_norm_rms_epsilon: -1.0, and an epsilon"),
        (
            [("add_rope_scaling_type", gguf.RopeScalingType.LINEAR)]
            + [("add_rope_scaling_factor", 0.0)],
            "llama.rope.scaling.factor: 0.0, which must be above 0",
        ),
        (
            [("add_rope_scaling_type", gguf.RopeScalingType.LINEAR)]
            + [("add_rope_scaling_factor", 4.0)],
            r"scales rotary positions \(llama.rope.scaling: linear, factor 4\), which transformers",
        ),
    ],
)
def test_metadata_that_no_network_has(network, tmp_path, more, match):
    path = tmp_path / "llama.gguf"
    write(path, network, more=more)
    refused(path, match)


def entry(content, name):
    """Return the place of a tensor's dimensions in a file, and their number."""
    at = content.index(struct.pack("<Q", len(name)) + name.encode()) + 8 + len(name)
    return at + 4, struct.unpack_from("<I", content, at)[0]


@pytest.mark.parametrize("shift", [0, -32])
def test_tensors_that_share_bytes(network, tmp_path, shift):
    path = tmp_path / "llama.gguf"
    write(path, network)
    content = bytearray(path.read_bytes())
    names = ("blk.0.ffn_up.weight", "blk.1.ffn_up.weight")
    places = [at + 8 * count + 4 for at, count in (entry(content, name) for name in names)]
    offset = struct.unpack_from("<Q", content, places[0])[0] + shift
    struct.pack_into("<Q", content, places[1], offset)
    path.write_bytes(content)
    refused(path, r"cannot be read as GGUF \(.*blk.\d\..* share bytes\)")


def test_a_tensor_without_numbers(network, tmp_path):
    path = tmp_path / "llama.gguf"
    write(path, network)
    content = bytearray(path.read_bytes())
    struct.pack_into("<Q", content, entry(content, "blk.1.ffn_up.weight")[0], 0)
    path.write_bytes(content)
    refused(path, "blk.1.ffn_up.weight of the type F32 has the shape")


def test_a_tensor_that_is_not_a_number(network, tmp_path):
    path = tmp_path / "llama.gguf"
    weight = network[0].model.layers[1].mlp.up_proj.weight
    before = weight[0, 0].item()
    with torch.no_grad():
        weight[0, 0] = torch.nan
        write(path, network)
        weight[0, 0] = before
    refused(path, "the weight model.layers.1.mlp.up_proj.weight has NaN")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.999])
def test_a_truncated_file(network, tmp_path, share):
    path = tmp_path / "llama.gguf"
    write(path, network)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    refused(path, r"llama\.gguf' cannot be read as GGUF .*download it again")


def test_an_architecture_that_transformers_does_not_know(network, tmp_path):
    path = tmp_path / "other.gguf"
    write(path, network, architecture="grok")
    refused(path, "grok")


def test_an_unknown_pre_tokenizer(network, tmp_path):
    path = tmp_path / "llama.gguf"
    write(path, network, pieces="viking")
    refused(path, "tokenizer.ggml.pre 'viking'.*give the tokenizer of the model")
    given = recency.surprisal(TEXTS, path, tokenizer=network[2])
    expected = recency.surprisal(TEXTS, network[2])
    np.testing.assert_allclose(given.surprisal_bits, expected.surprisal_bits, atol=1e-4)


def test_missing_packages_are_named(network, tmp_path, monkeypatch, cache):
    path = tmp_path / "llama.gguf"
    write(path, network)
    monkeypatch.setattr(gguf_files, "PACKAGES", ("gguf", "package_that_is_not_there"))
    refused(path, r"package_that_is_not_there must be installed: pip install 'recency\[gguf\]'")


@pytest.mark.parametrize("precision", ["int8", "as_stored"])
def test_precisions_that_dequantised_weights_have_not(network, tmp_path, monkeypatch, precision):
    path = tmp_path / "llama.gguf"
    write(path, network, "Q8_0")
    monkeypatch.setattr(precisions, "find_spec", lambda name: name)
    with pytest.raises(InputError, match=f"is GGUF, .*`precision: {precision}` cannot keep them"):
        recency.load(path, precision=precision)


def test_dequantised_weights_in_bf16(network, tmp_path):
    path = tmp_path / "llama.gguf"
    write(path, network, "Q8_0")
    low = recency.surprisal(TEXTS, recency.load(path, precision="bf16")).surprisal_bits
    assert 1e-4 < (low - recency.surprisal(TEXTS, path).surprisal_bits).abs().max() < 2


def test_names():
    assert locate("a/b/c.gguf@v1") == ("a/b", {"gguf_file": "c.gguf", "revision": "v1"})
    assert locate("a/b/q/c.gguf") == ("a/b", {"subfolder": "q", "gguf_file": "c.gguf"})


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ("gpt-2", ["in", " 1998", ",", " don", "'t", "  ", " x", "!!"]),
        ("smollm", ["in", " ", "1", "9", "9", "8", ",", " don", "'t", "  ", " x", "!!"]),
        ("llama-bpe", ["in", " ", "199", "8", ",", " don", "'t", "  ", " x", "!!"]),
        ("qwen2", ["in", " ", "1", "9", "9", "8", ",", " don", "'t", "  ", " x", "!!"]),
    ],
)
def test_text_is_cut_as_the_file_states(network, tmp_path, pieces, expected):
    """As the published tokenizer.json of GPT-2, SmolLM2, Llama 3 and Qwen 2 cut it."""
    contents = gguf_files.Contents(tmp_path, "llama", "gpt2", pieces, "")
    tokenizer = Tokenizer.from_str(network[1].to_str())
    gguf_files.set_pre_tokenizer(tokenizer, contents, "lm")
    found = tokenizer.pre_tokenizer.pre_tokenize_str("in 1998, don't   x!!")
    assert [piece.replace("Ġ", " ") for piece, _ in found] == expected


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return the folder of dequantised copies, empty at first."""
    monkeypatch.setenv("RECENCY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dequantised"


def forbid_conversion(monkeypatch):
    def read(source):
        raise AssertionError("the file is converted again")

    monkeypatch.setattr(gguf_files, "read", read)


@pytest.mark.parametrize("bias", [None, {"form": "linear", "slopes": "mix"}])
def test_a_file_is_dequantised_once(network, tmp_path, monkeypatch, cache, bias):
    path = tmp_path / "llama.gguf"
    write(path, network, "Q8_0")
    first = recency.surprisal(TEXTS, recency.load(path, bias=bias))
    forbid_conversion(monkeypatch)
    again = recency.load(path, bias=bias)
    found = recency.surprisal(TEXTS, again)
    assert found.equals(first)
    assert found.attrs == first.attrs
    assert again.bos_token == "<|endoftext|>"


def test_bf16_is_of_the_file(network, tmp_path, monkeypatch, cache):
    path = tmp_path / "llama.gguf"
    write(path, network, "Q8_0")
    recency.load(path)
    forbid_conversion(monkeypatch)
    with pytest.raises(AssertionError, match="converted again"):
        recency.load(path, precision="bf16")


@pytest.mark.merge
@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["changed", "removed"])
def test_a_copy_that_was_damaged_is_made_again(network, tmp_path, cache, file, damage):
    path = tmp_path / "llama.gguf"
    write(path, network, "Q8_0")
    first = recency.surprisal(TEXTS, path)
    copy = next(cache.glob(f"*/{file}"))
    content = bytearray(copy.read_bytes())
    if damage == "changed":
        content[-3] ^= 1
        copy.write_bytes(content)
    else:
        copy.unlink()
    assert recency.surprisal(TEXTS, path).equals(first)
    content[-3] ^= damage == "changed"
    assert copy.read_bytes() == content


def test_another_file_of_the_name_has_its_own_copy(network, tmp_path, cache):
    path = tmp_path / "llama.gguf"
    write(path, network, "Q8_0")
    first = recency.surprisal(TEXTS, path)
    write(path, network, "Q4_1")
    second = recency.surprisal(TEXTS, path)
    assert float((first.surprisal_bits - second.surprisal_bits).abs().max()) > 0.001
    assert recency.surprisal(TEXTS, path).equals(second)
    assert len(list(cache.glob("*-network"))) == len(list(cache.glob("*-tokenizer"))) == 2


def test_copies_have_a_limited_room(network, tmp_path, monkeypatch, cache):
    monkeypatch.setattr(dequantised, "IN_USE", -1)
    paths = []
    for value in (0, 1, 2):
        paths.append(tmp_path / f"{value}.gguf")
        write(paths[-1], network, more=[("add_uint32", "some.key", value)])
        recency.load(paths[-1])
        recency.load(paths[0])  # used last
        if value == 0:
            size = sum(path.stat().st_size for path in cache.rglob("*.*"))
            monkeypatch.setattr(dequantised, "ROOM", 2.5 * size)
    assert len(list(cache.glob("*-network"))) == 2
    forbid_conversion(monkeypatch)
    recency.load(paths[0])
    recency.load(paths[2])
    with pytest.raises(AssertionError, match="converted again"):
        recency.load(paths[1])


def test_what_a_killed_process_left_is_removed(network, tmp_path, cache):
    old, new = cache / "part-old", cache / "part-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    write(tmp_path / "llama.gguf", network)
    recency.load(tmp_path / "llama.gguf")
    assert new.is_dir() and not old.exists()


def test_a_large_network_has_no_copy(network, tmp_path, monkeypatch, cache):
    monkeypatch.setattr(dequantised, "LIMIT", 1000)
    path = tmp_path / "llama.gguf"
    write(path, network)
    recency.load(path)
    assert not list(cache.glob("*-network"))


def test_a_cache_that_cannot_be_written(network, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("RECENCY_CACHE", str(tmp_path / "file"))
    path = tmp_path / "llama.gguf"
    write(path, network)
    assert np.isfinite(recency.surprisal(TEXTS, path).surprisal_bits).all()


def test_a_copy_in_use_stays(network, tmp_path, monkeypatch, cache):
    monkeypatch.setattr(dequantised, "ROOM", 10)
    (cache / "file").parent.mkdir(parents=True)
    (cache / "file").write_text("no folder")
    for value in (0, 1):
        write(tmp_path / f"{value}.gguf", network, more=[("add_uint32", "some.key", value)])
        recency.load(tmp_path / f"{value}.gguf")
    assert len(list(cache.glob("*-network"))) == 2


def test_a_file_that_is_replaced_while_it_opens(network, tmp_path, monkeypatch, cache):
    """The old weights would have been stored under the new file's SHA-256."""
    path, other = tmp_path / "llama.gguf", tmp_path / "other.gguf"
    write(other, network, "Q4_1")
    expected = recency.surprisal(TEXTS, recency.load(other, precision="float32"))
    shutil.rmtree(cache)
    write(path, network, "Q8_0")
    test = checkpoints.self_test.test

    def replace(*arguments):
        os.replace(shutil.copy(other, tmp_path / "copied"), path)
        return test(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(checkpoints.self_test, "test", replace)
        recency.load(path)
    found = recency.surprisal(TEXTS, recency.load(path))
    assert found.equals(expected)
    assert found.attrs == expected.attrs


def test_a_file_that_is_removed_while_it_opens(network, tmp_path, monkeypatch, cache):
    path = tmp_path / "llama.gguf"
    write(path, network)
    monkeypatch.setattr(checkpoints.self_test, "test", lambda *_: path.unlink())
    assert recency.load(path, tokenizer=network[2]).network is not None
    assert not list(cache.glob("*-*"))


def test_a_file_of_the_same_size_and_time_is_read_again(network, tmp_path, cache):
    path, other = tmp_path / "llama.gguf", tmp_path / "other.gguf"
    write(path, network, pieces="gpt-2")
    write(other, network, pieces="qwen2")
    assert path.stat().st_size == other.stat().st_size
    os.utime(other, ns=(path.stat().st_mtime_ns,) * 2)
    first = recency.load(path).tokenizer.to_str()
    shutil.copy2(other, path)
    second = recency.load(path).tokenizer.to_str()
    assert first != second
    assert second == recency.load(other).tokenizer.to_str()


@pytest.mark.parametrize("part", ["network", "tokenizer"])
def test_a_copy_that_vanishes_before_it_is_opened(network, tmp_path, monkeypatch, cache, part):
    path = tmp_path / "llama.gguf"
    write(path, network, "Q8_0")
    first = recency.surprisal(TEXTS, path)
    find = dequantised.Copy.find

    def find_and_lose(copy):
        folder = find(copy)
        if folder and folder.name.endswith(part):
            shutil.rmtree(folder)
        return folder

    monkeypatch.setattr(dequantised.Copy, "find", find_and_lose)
    assert recency.surprisal(TEXTS, path).equals(first)


def test_a_full_disk(network, tmp_path, monkeypatch, cache):
    path = tmp_path / "llama.gguf"
    write(path, network, "Q8_0")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
        found = recency.surprisal(TEXTS, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert not list(cache.glob("*-*"))
    assert found.equals(recency.surprisal(TEXTS, path))


def test_what_was_quantised_is_opened_as_other_networks(network, tmp_path, cache):
    """A network that states a quantiser would stay on the processor."""
    path = tmp_path / "llama.gguf"
    write(path, network, "Q8_0")
    for _ in range(2):
        opened = recency.load(path).network
        assert not hasattr(opened, "hf_quantizer")
        assert not hasattr(opened.config, "quantization_config")


def test_messages_name_the_file(network, tmp_path, cache):
    path = tmp_path / "llama.gguf"
    write(path, network)
    for _ in range(2):
        with pytest.raises(InputError, match="llama.gguf.*no masked LM"):
            recency.load(path, masked=True)
        recency.load(path)


def test_the_tokenizer_of_a_gguf_file(network, tmp_path):
    path = tmp_path / "llama.gguf"
    write(path, network)
    found = recency.surprisal(TEXTS, network[2], tokenizer=path)
    assert found.equals(
        recency.surprisal(TEXTS, network[2], tokenizer=recency.load(path).tokenizer)
    )
