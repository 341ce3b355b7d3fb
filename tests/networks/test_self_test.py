"""A checkpoint is refused unless its files and outputs are those of one whole language model."""

import json
import os
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import recency
from recency import embedded
from recency.errors import InputError
from recency.networks import checkpoints, self_test, tested
from small_networks import TEXTS, byte_tokenizer

WEIGHTS = "model.safetensors"
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}


def save(folder, network):
    tokenizer = byte_tokenizer()
    network.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|endoftext|>").save_pretrained(
        folder
    )
    return folder


def make(kind="Llama", head="ForCausalLM", **settings):
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")
    size = SIZES | {"vocab_size": byte_tokenizer().get_vocab_size(), "bos_token_id": 0}
    return getattr(transformers, f"{kind}{head}")(config(**size | settings)).eval()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RECENCY_CACHE", str(tmp_path / "cache"))
    return save(tmp_path / "lm", make())


def refused(match, source, **settings):
    with pytest.raises(InputError, match=match) as error:
        recency.load(source, **settings)
    assert "\n" not in str(error.value)


def change(folder, **tensors):
    """Replace stored tensors, or add some."""
    weights = load_file(folder / WEIGHTS)
    for name, edit in tensors.items():
        weights[name] = edit(weights[name]) if callable(edit) else edit
    save_file(weights, folder / WEIGHTS, {"format": "pt"})


def set_header(path, edit):
    """Edit the header of a safetensors file, and leave its bytes."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    edit(header)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])


Q, K = (f"model.layers.0.self_attn.{part}_proj.weight" for part in "qk")


def shared(header):
    header[Q]["data_offsets"] = header[K]["data_offsets"]


def overlapping(header):
    first, last = header[Q]["data_offsets"]
    header[Q]["data_offsets"] = [first - 4, last - 4]


def beyond(header):
    last = max(header.values(), key=lambda tensor: tensor.get("data_offsets", [0, 0])[1])
    last["data_offsets"] = [end + 4096 for end in last["data_offsets"]]


def half_size(header):
    header[Q]["dtype"] = "F16"


@pytest.mark.parametrize("edit", [shared, overlapping, beyond, half_size])
def test_tensors_have_bytes_of_their_own(folder, edit):
    set_header(folder / WEIGHTS, edit)
    refused("lm' cannot be opened: model.safetensors: .*download it again", folder)


def test_whole_numbers_are_no_weights(folder):
    set_header(folder / WEIGHTS, lambda header: header[Q].update(dtype="I32"))
    refused(f"model.safetensors has I32 as the type of {Q}", folder)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("name", [Q, "model.embed_tokens.weight", "model.norm.weight"])
def test_weights_are_finite(folder, name, value):
    """An embedding's row that no short text reads is looked at too."""
    change(folder, **{name: lambda weight: _with(weight, value)})
    refused(f"the weight {name} has NaN or infinite numbers; name a checkpoint", folder)


def _with(weight, value):
    weight = weight.clone()
    weight.view(-1)[-1] = value
    return weight


def test_half_precision_nan(folder):
    weights = {name: tensor.half() for name, tensor in load_file(folder / WEIGHTS).items()}
    weights[K].view(-1)[3] = torch.nan
    save_file(weights, folder / WEIGHTS, {"format": "pt"})
    refused(f"the weight {K} has NaN", folder)


def test_logits_are_finite(folder):
    """Weights that are finite may overflow together."""
    change(folder, **{Q: lambda w: w * 0 + 1e30, K: lambda w: w * 0 + 1e30})
    change(folder, **{"lm_head.weight": lambda w: w * 1e38 + 3e38})
    refused("its logits on a short text are NaN or infinite", folder)


def test_a_weight_of_zeros_is_a_weight(folder):
    change(folder, **{Q: lambda weight: weight * 0})
    assert np.isfinite(recency.surprisal(TEXTS, folder).surprisal_bits).all()


@pytest.mark.parametrize(
    ("kind", "name", "shape"),
    [
        ("GPT2", "transformer.h.0.attn.bias", (16,)),
        ("GPTNeoX", "gpt_neox.layers.0.attention.bias", (16,)),
        ("GPT2", "transformer.h.0.attn.bias_of_more", (1, 1, 4, 4)),
        ("Llama", "model.layers.0.self_attn.rotary_emb.inv_freq", (4,)),
    ],
)
def test_names_that_transformers_ignores_are_used_or_harmless(folder, kind, name, shape):
    """A mask has four dimensions, a bias one; stored frequencies are those of the config."""
    save(folder, make(kind, "LMHeadModel" if kind == "GPT2" else "ForCausalLM"))
    change(folder, **{name: torch.full(shape, 0.123)})
    refused(f"has the weight {name}, which", folder)


def test_masks_and_the_frequencies_of_the_config_are_harmless(folder):
    expected = recency.surprisal(TEXTS, folder).surprisal_bits
    frequencies = 1e4 ** -(torch.arange(0, 8, 2) / 8)
    change(
        folder,
        **{
            "model.layers.0.self_attn.rotary_emb.inv_freq": frequencies,
            "model.layers.0.attn.bias": torch.ones(1, 1, 8, 8),
        },
    )
    np.testing.assert_array_equal(recency.surprisal(TEXTS, folder).surprisal_bits, expected)


def test_a_layer_that_a_class_ignores_is_named(folder):
    """The layer after DeepSeek's last is dropped by its number, 61, whatever the config states."""
    change(folder, **{"mtp.layers.0.weight": torch.ones(4)})
    recency.load(folder)  # a head for tokens after the next one
    change(folder, **{"model.layers.2.self_attn.q_proj.weight": torch.ones(32, 32)})
    refused(r"has the weight model.layers.2.* or its config states too few layers \(2\)", folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_nextn_predict_layers": 1}))
    recency.load(folder)


def shards(folder):
    make().save_pretrained(folder, max_shard_size="20KB")
    (folder / WEIGHTS).unlink(missing_ok=True)
    files = sorted(folder.glob("model-*.safetensors"))
    assert len(files) > 2
    return files


def test_a_tensor_in_two_shards(folder):
    first, second, *_ = shards(folder)
    name = next(iter(load_file(first)))
    save_file(load_file(second) | {name: load_file(first)[name] * 2}, second, {"format": "pt"})
    refused(f"stores {name} twice, in {first.name} and in {second.name}", folder)


def test_an_index_that_names_a_shard_by_two_names_reads_it_once(folder):
    expected = recency.surprisal(TEXTS, folder).surprisal_bits
    first, *_ = shards(folder)
    index = folder / f"{WEIGHTS}.index.json"
    content = json.loads(index.read_text())
    name = next(iter(load_file(first)))
    content["weight_map"][name] = f"./{first.name}"
    index.write_text(json.dumps(content))
    np.testing.assert_array_equal(recency.surprisal(TEXTS, folder).surprisal_bits, expected)
    index.write_text('{"weight_map": 3}')
    refused("model.safetensors.index.json cannot be read", folder)


def test_weights_in_one_file_and_in_several(folder):
    whole = (folder / WEIGHTS).read_bytes()
    shards(folder)
    (folder / WEIGHTS).write_bytes(whole)
    refused("has its weights twice, in model.safetensors and in the files of", folder)


def test_a_config_that_names_other_weights(folder):
    config = json.loads((folder / "config.json").read_text())
    config["transformers_weights"] = "other.safetensors"
    (folder / "config.json").write_text(json.dumps(config))
    refused(r"names 'other.safetensors' \(`transformers_weights`\) as its weights", folder)


class LooksAhead(LlamaForCausalLM):
    """Adds to every logit the mean over all tokens."""

    def forward(self, *args, **kwargs):
        output = super().forward(*args, **kwargs)
        output.logits = output.logits + output.logits.mean(1, keepdim=True)
        return output


class SeesTheBatch(LlamaForCausalLM):
    """Adds to every logit the mean over all texts."""

    def forward(self, *args, **kwargs):
        output = super().forward(*args, **kwargs)
        output.logits = output.logits + 0.01 * output.logits.mean((0, 1), keepdim=True)
        return output


def test_outputs_that_see_later_tokens_or_other_texts():
    config = LlamaConfig(vocab_size=100, bos_token_id=0, **SIZES)
    with pytest.raises(InputError, match="LooksAhead is not causal: later tokens change"):
        self_test.test(LooksAhead(config))
    with pytest.raises(InputError, match="gives a text other outputs alone than next to another"):
        self_test.test(SeesTheBatch(config), causal=False)
    self_test.test(LlamaForCausalLM(config))


@pytest.mark.parametrize("masked", [False, True])
def test_a_network_given_as_it_is(masked):
    network = make("Bert", "ForMaskedLM") if masked else make()
    with torch.no_grad():
        network.get_input_embeddings().weight[-1] = torch.nan
    with pytest.raises(InputError, match="the weight .* has NaN"):
        recency.surprisal(TEXTS, network, byte_tokenizer())


def test_a_masked_lm_is_tested(folder):
    save(folder, make("Bert", "ForMaskedLM"))
    change(folder, **{"bert.encoder.layer.1.output.dense.weight": lambda w: _with(w, torch.nan)})
    refused("the weight bert.encoder.layer.1.output.dense.weight has NaN", folder)


def count_tests(monkeypatch):
    runs, test = [], self_test.test
    monkeypatch.setattr(self_test, "test", lambda *args: runs.append(1) or test(*args))
    return runs


def test_a_checkpoint_is_tested_once(folder, tmp_path, monkeypatch):
    runs = count_tests(monkeypatch)
    for _ in range(3):
        checkpoints.load(folder)
    assert len(runs) == 1
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    checkpoints.load(copy)  # the same content: by its digest
    assert len(runs) == 1
    checkpoints.load(folder, precision="bf16")  # another way to open it
    assert len(runs) == 2


@pytest.mark.parametrize("name", [WEIGHTS, "config.json"])
def test_an_edit_with_old_times_is_tested(folder, monkeypatch, name):
    runs = count_tests(monkeypatch)
    checkpoints.load(folder)
    path = folder / name
    state = path.stat()
    if name == WEIGHTS:
        change(folder, **{Q: lambda weight: weight * 1.01})
    else:
        path.write_text(path.read_text().replace("1e-06", "2e-06"))
    assert path.stat().st_size == state.st_size
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    checkpoints.load(folder)
    assert len(runs) == 2


def test_what_failed_is_not_recorded(folder, monkeypatch):
    change(folder, **{Q: lambda weight: _with(weight, torch.nan)})
    for _ in range(2):
        refused("has NaN", folder)


@pytest.mark.parametrize("place", ["file", "none", "damaged"])
def test_where_nothing_can_be_stored_the_test_runs_again(folder, tmp_path, monkeypatch, place):
    runs = count_tests(monkeypatch)
    if place == "file":
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("RECENCY_CACHE", str(tmp_path / "file"))
    elif place == "none":
        monkeypatch.delenv("RECENCY_CACHE")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(Path, "home", _no_home)
    checkpoints.load(folder)
    if place == "damaged":
        for path in (tmp_path / "cache" / "tested").iterdir():
            path.write_text("{") if path.name.startswith("files-") else path.unlink()
    checkpoints.load(folder)
    assert len(runs) == 2


def _no_home():
    raise RuntimeError("Could not determine home directory.")


def test_records_of_several_processes_do_not_collide(folder):
    files = [folder / WEIGHTS, folder / "config.json"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: tested.Record(files, ["x"]).store(), range(16)))
    assert tested.Record(files, ["x"]).passed()
    assert not tested.Record(files, ["y"]).passed()


def test_embedded_networks_pass():
    for name in embedded.names():
        recency.load(name)
