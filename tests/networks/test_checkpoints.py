"""Checkpoints are opened whole, in float32, from safetensors and without their code, or refused."""

import json
import os
import pickle
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import PreTrainedTokenizerFast

import recency
from recency.errors import InputError
from recency.networks import architectures, checkpoints
from small_networks import MIX, NONE, TEXTS, TINY, byte_tokenizer

SIZES = {"vocab_size": 300, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
SIZES |= {"num_attention_heads": 4, "max_position_embeddings": 64, "initializer_range": 0.3}
GPT2 = {"vocab_size": 300, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64}
GPT2 |= {"num_labels": 2, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
BART = {"vocab_size": 300, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
BART |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 64}
T5 = {"vocab_size": 300, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
CONFIGS = {
    "GPT2": GPT2,
    "Bart": BART,
    "T5": T5,
    "OPT": SIZES | {"ffn_dim": 32, "word_embed_proj_dim": 16},
}


def made(name, **settings):
    """Make a small random network of transformers' class `name`."""
    torch.manual_seed(1)
    families = ["GPT2", "Bart", "T5", "OPT", "Llama", "Qwen2", "Bert"]
    family = next(each for each in families if name.startswith(each))
    config = getattr(transformers, f"{family}Config")(**CONFIGS.get(family, SIZES) | settings)
    return getattr(transformers, name)(config).eval()


def with_tokenizer(network, folder, **settings):
    network.save_pretrained(folder, **settings)
    PreTrainedTokenizerFast(
        tokenizer_object=byte_tokenizer(), bos_token="<|endoftext|>"
    ).save_pretrained(folder)
    return folder


def as_pickle(folder, name="pytorch_model.bin", content=None):
    """Turn a folder's safetensors into what torch.save wrote before there were any."""
    weights = folder / "model.safetensors"
    torch.save(load_file(weights) if content is None else content, folder / name)
    weights.unlink()
    return folder


def bits(model, **settings):
    return recency.surprisal(TEXTS, model, **settings)["surprisal_bits"].to_numpy()


def refused(match, *args, **settings):
    with pytest.raises(InputError, match=match) as error:
        recency.load(*args, **settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["GPT2LMHeadModel", "LlamaForCausalLM", "OPTForCausalLM"])
def test_half_precision_checkpoints_are_scored_in_float32(tmp_path, name, kind):
    network = made(name)
    with torch.no_grad():
        for parameter in network.parameters():  # what the half-precision file can hold
            parameter.copy_(parameter.to(kind).float())
    with_tokenizer(network, tmp_path / "full")
    expected = bits(tmp_path / "full")
    with_tokenizer(network.to(kind), tmp_path / "half")
    assert json.loads((tmp_path / "half" / "config.json").read_text())["dtype"] in str(kind)
    opened = recency.load(tmp_path / "half")
    assert {parameter.dtype for parameter in opened.network.parameters()} == {torch.float32}
    np.testing.assert_allclose(bits(opened), expected, rtol=0, atol=1e-6)
    lower = bits(tmp_path / "half", precision="bf16")
    assert 1e-5 < np.abs(lower - expected).max()
    with pytest.raises(InputError, match=r"weights are (bfloat16|float16), .* network.float\(\)"):
        recency.surprisal(TEXTS, network, byte_tokenizer())


def test_a_half_precision_masked_model_is_scored_in_float32(tmp_path):
    tokenizer = byte_tokenizer()
    tokenizer.add_special_tokens(["[MASK]"])
    with pytest.raises(InputError, match=r"token 300 \('\[MASK\]'\) and the network an embedding"):
        recency.surprisal(TEXTS, made("BertForMaskedLM"), tokenizer)
    network = made("BertForMaskedLM", vocab_size=301)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter.bfloat16().float())
    expected = recency.surprisal(TEXTS, network, tokenizer)["surprisal_bits"]
    network.bfloat16().save_pretrained(tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    found = recency.surprisal(TEXTS, tmp_path, tmp_path / "tokenizer.json")["surprisal_bits"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    with pytest.raises(InputError, match="weights are bfloat16"):
        recency.surprisal(TEXTS, network, tokenizer)


@pytest.mark.parametrize("name", ["GPT2Model", "OPTModel"])
def test_a_base_model_whose_embedding_is_its_head_is_complete(tmp_path, name):
    head = {"GPT2Model": "GPT2LMHeadModel", "OPTModel": "OPTForCausalLM"}[name]
    whole = made(head)
    whole.base_model.save_pretrained(tmp_path)
    ids = torch.arange(5, 25)[None]
    with torch.no_grad():
        assert torch.equal(checkpoints.load(tmp_path)(ids).logits, whole(ids).logits)


@pytest.mark.parametrize(
    "name, match",
    [
        ("T5EncoderModel", "has no causal LM of the type 't5'"),
        ("BartForSequenceClassification", "has the weights classification_head"),
        ("LlamaModel", r"\(LlamaModel\) lacks the weight lm_head.weight of LlamaForCausalLM"),
        ("Qwen2ForTokenClassification", "lacks the weight lm_head.weight of Qwen2ForCausalLM"),
        ("GPT2ForSequenceClassification", "has the weight score.weight, which GPT2LMHeadModel"),
        ("GPT2ForTokenClassification", "has the weights classifier.bias and 1 more, which GPT2LM"),
        ("BertForSequenceClassification", "lacks .*cls.predictions.* of BertForMaskedLM"),
        ("BertModel", r"lacks .*cls.predictions.* of BertForMaskedLM"),
        ("BertLMHeadModel", "is bidirectional"),
    ],
)
def test_what_is_no_whole_language_model_is_refused(tmp_path, name, match):
    with_tokenizer(made(name), tmp_path)
    refused(match, tmp_path)


def test_bert_with_its_second_pretraining_head_is_opened(tmp_path):
    """Of BertForPreTraining, whose other head takes no part in a word's probability."""
    whole = made("BertForPreTraining")
    with_tokenizer(whole, tmp_path)
    ids = torch.arange(5, 25)[None]
    opened = recency.load(tmp_path)
    assert opened.masked  # it sees both directions: never a causal LM
    with torch.no_grad():
        assert torch.allclose(opened.network(ids).logits, whole(ids).prediction_logits)


def test_weights_that_are_lacking_left_over_or_of_another_size_are_refused(tmp_path):
    with_tokenizer(made("LlamaForCausalLM"), tmp_path)
    file, config = tmp_path / "model.safetensors", tmp_path / "config.json"
    whole, said = load_file(file), json.loads(config.read_text())
    less = {name: each for name, each in whole.items() if ".1." not in name}
    save_file(less, file, {"format": "pt"})
    refused("lacks the weights model.layers.1.* and 8 more of LlamaForCausalLM", tmp_path)
    more = whole | {"model.layers.0.self_attn.q_proj.bias": torch.ones(16)}
    save_file(more, file, {"format": "pt"})
    refused("has the weight model.layers.0.self_attn.q_proj.bias, which", tmp_path)
    save_file(whole, file, {"format": "pt"})
    config.write_text(json.dumps(said | {"num_hidden_layers": 1}))
    refused("has the weights model.layers.1.* and 8 more, which", tmp_path)
    config.write_text(json.dumps(said | {"vocab_size": 299}))
    refused("cannot be opened as LlamaForCausalLM", tmp_path)
    config.write_text(json.dumps(said))
    assert np.isfinite(bits(tmp_path)).all()


def test_a_file_that_was_cut_off_is_refused(tmp_path):
    with_tokenizer(made("GPT2LMHeadModel"), tmp_path)
    file = tmp_path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-400])
    refused("cannot be opened: model.safetensors: .*download it again", tmp_path)
    file.unlink()
    refused("has no weights", tmp_path)


def test_weights_in_several_files_are_opened_all_or_none(tmp_path):
    network = made("LlamaForCausalLM")
    expected = bits(with_tokenizer(network, tmp_path / "one"))
    with_tokenizer(network, tmp_path / "many", max_shard_size="4KB")
    shards = sorted((tmp_path / "many").glob("model-*.safetensors"))
    assert len(shards) > 2 and not (tmp_path / "many" / "model.safetensors").exists()
    np.testing.assert_array_equal(bits(tmp_path / "many"), expected)
    shards[1].unlink()
    refused("cannot be opened as LlamaForCausalLM.*model-00002-of", tmp_path / "many")


@pytest.mark.parametrize("tied", [True, False])
def test_a_head_that_is_not_there_is_the_embedding_only_if_the_config_says_so(tmp_path, tied):
    with_tokenizer(made("LlamaForCausalLM", tie_word_embeddings=tied), tmp_path)
    expected, file = bits(tmp_path), tmp_path / "model.safetensors"
    weights = {name: each for name, each in load_file(file).items() if name != "lm_head.weight"}
    save_file(weights, file, {"format": "pt"})
    if tied:
        np.testing.assert_array_equal(bits(tmp_path), expected)
    else:
        refused("lacks the weight lm_head.weight of LlamaForCausalLM", tmp_path)


def test_a_network_of_pictures_that_is_no_causal_lm_is_refused(tmp_path):
    config = transformers.Mistral3Config(architectures=["Mistral3ForConditionalGeneration"])
    config.save_pretrained(tmp_path)
    refused(r"\(Mistral3ForConditionalGeneration\): transformers has no causal LM of the", tmp_path)


def test_gguf_alone_is_refused(tmp_path):
    with_tokenizer(made("LlamaForCausalLM"), tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "llama.Q4_K_M.gguf")
    refused("has its weights in GGUF; name the file .*llama.Q4_K_M.gguf", tmp_path)


def test_a_pickle_is_opened_only_where_that_is_allowed(tmp_path):
    expected = bits(with_tokenizer(made("GPT2LMHeadModel"), tmp_path))
    as_pickle(tmp_path)
    refused(r"in a pickle \(pytorch_model.bin\), .*`allow_pickle: true`", tmp_path)
    np.testing.assert_array_equal(bits(recency.load(tmp_path, allow_pickle=True)), expected)


def test_a_pickle_on_the_hub_is_not_converted_unasked(tmp_path, monkeypatch):
    """Transformers would ask the Hub's converter for safetensors, and open what that uploads."""
    with_tokenizer(made("GPT2LMHeadModel"), tmp_path)
    config = transformers.AutoConfig.from_pretrained(tmp_path)
    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", lambda *_, **__: config)
    monkeypatch.delenv("DISABLE_SAFETENSORS_CONVERSION", raising=False)
    given = {}

    def opened(source, **settings):
        given.update(settings, converts=os.environ.get("DISABLE_SAFETENSORS_CONVERSION") != "1")
        raise OSError("someone/model does not appear to have a file named model.safetensors.")

    monkeypatch.setattr("transformers.GPT2LMHeadModel.from_pretrained", opened)
    refused(
        "named model.safetensors; a pickle that you trust .* `allow_pickle: true`", "some/model"
    )
    assert given["use_safetensors"] is True and not given["converts"]
    assert given["weights_only"] is True and given["trust_remote_code"] is False


class Runs:
    """What runs code when it is unpickled: it makes a folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_pickle_that_runs_code_is_refused_and_does_not_run(tmp_path):
    with_tokenizer(made("GPT2LMHeadModel"), tmp_path / "lm")
    ran = tmp_path / "ran"
    as_pickle(tmp_path / "lm", content={"transformer.wte.weight": Runs(ran)})
    refused("cannot be opened as GPT2LMHeadModel", tmp_path / "lm", allow_pickle=True)
    assert not ran.exists()
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / "lm" / "pytorch_model.bin", weights_only=True)
    torch.load(tmp_path / "lm" / "pytorch_model.bin", weights_only=False)
    assert ran.exists()  # so it would have run


@pytest.mark.parametrize("kind", ["gpt2", "someones_own"])
def test_a_checkpoint_s_own_code_is_never_run_nor_asked_about(tmp_path, monkeypatch, kind):
    def asked(prompt):
        raise AssertionError("transformers asks on the terminal whether to run code")

    monkeypatch.setattr("builtins.input", asked)
    with_tokenizer(made("GPT2LMHeadModel"), tmp_path)
    ran = tmp_path / "ran"
    (tmp_path / "modeling_own.py").write_text(f"import os\nos.mkdir({str(ran)!r})\n")
    config = json.loads((tmp_path / "config.json").read_text())
    automatic = {"AutoConfig": "modeling_own.C", "AutoModelForCausalLM": "modeling_own.M"}
    (tmp_path / "config.json").write_text(
        json.dumps(config | {"auto_map": automatic, "model_type": kind})
    )
    if kind == "gpt2":  # transformers' own class serves
        assert np.isfinite(bits(tmp_path)).all()
        config["architectures"] = ["GPT2WithSomethingElse"]
        (tmp_path / "config.json").write_text(json.dumps(config | {"auto_map": automatic}))
    refused("has custom code", tmp_path)
    assert not ran.exists()


def test_adapters_and_quantised_checkpoints_are_refused(tmp_path):
    with_tokenizer(made("LlamaForCausalLM"), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    quantised = {"quantization_config": {"quant_method": "gptq", "bits": 4}}
    (tmp_path / "config.json").write_text(json.dumps(config | quantised))
    refused("is quantised", tmp_path)
    (tmp_path / "adapter_config.json").write_text("{}")
    refused(r"is an adapter \(PEFT\)", tmp_path)


def test_a_config_that_is_no_json_or_of_no_known_type_is_refused(tmp_path):
    with_tokenizer(made("GPT2LMHeadModel"), tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "nothing_known"}')
    refused("its config.json cannot be read", tmp_path)
    (tmp_path / "config.json").write_text("{")
    refused("checkpoint", tmp_path)


def test_a_network_that_looks_ahead_has_no_surprisal():
    with pytest.raises(InputError, match="BertLMHeadModel is not causal"):
        recency.surprisal(TEXTS, made("BertLMHeadModel"), byte_tokenizer())


@pytest.mark.parametrize("first", ["biased", "plain"])
def test_several_checkpoints_in_one_process_do_not_mix(tmp_path, first):
    """Trained with a bias, without one, and biased at inference: whichever is opened first."""
    tokenizer = byte_tokenizer()
    for name, bias in {"biased": MIX, "plain": NONE}.items():
        network = architectures.new(TINY, bias, tokenizer.get_vocab_size(), 1)
        with torch.no_grad():
            network.lm_head.weight *= 30
        with_tokenizer(network, tmp_path / name)
    alone = {name: bits(tmp_path / name) for name in ("biased", "plain")}
    alone["later"] = bits(tmp_path / "plain", bias=MIX)
    assert all(np.abs(alone[a] - alone[b]).max() > 0.01 for a, b in
               [("biased", "plain"), ("plain", "later"), ("biased", "later")])  # fmt: skip
    order = ["biased", "plain", "later"]
    order = order if first == "biased" else order[::-1]
    opened = {
        name: recency.load(tmp_path / name)
        if name != "later"
        else recency.load(tmp_path / "plain", MIX)
        for name in order
    }
    for name in (*order, *order[::-1]):
        np.testing.assert_array_equal(bits(opened[name]), alone[name])


@pytest.mark.parametrize(
    "setting",
    [
        {"n_layer": 10**9},
        {"n_layer": -1},
        {"n_positions": 10**12},
        {"n_embd": 10**9},
        {"vocab_size": 10**12},
        {"n_head": 0},
        {"n_layer": "x"},
        {"num_local_experts": 10**9},
    ],
    ids=str,
)
def test_absurd_sizes_are_refused_before_a_network_is_built(tmp_path, setting, monkeypatch):
    """A billion layers were built one by one, for hours, before the weights were looked at."""
    with_tokenizer(made("GPT2LMHeadModel"), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | setting))

    def hang(*_):
        raise AssertionError("it is at work")

    old = signal.signal(signal.SIGALRM, hang)
    signal.alarm(20)
    try:
        with pytest.raises(InputError, match=f"^checkpoint '{tmp_path}'") as error:
            recency.load(tmp_path)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
    assert "it is at work" not in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", ["cut", "empty", "deep"])
def test_damaged_json_is_named(tmp_path, file, content):
    with_tokenizer(made("GPT2LMHeadModel"), tmp_path)
    path = tmp_path / file
    whole = path.read_text()
    path.write_text({"cut": whole[: len(whole) // 2], "empty": "", "deep": "[" * 100_000}[content])
    with pytest.raises(InputError) as error:
        recency.load(tmp_path)
    assert file in str(error.value) and "\n" not in str(error.value)
