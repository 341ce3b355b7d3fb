"""Reduced precision, several devices, memory and checksums of checkpoints."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
import yaml
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import recency
from checkpoints import byte_tokenizer, checkpoint
from peers import peer
from project import SCHEMA, load
from readingtimes import parquet_bounds as memory
from readingtimes.files import sha256
from recency.errors import InputError
from recency.export import write
from recency.networks import footprint, precisions
from recency.scoring import plausible, surprisal
from recency.scoring.lm_spec import LMSpec
from recency.workflow.config import checks
from recency.workflow.plan import plan_checks
from recency.workflow.plan.study import Study
from small_networks import TEXTS

BIAS = {"form": "linear", "slopes": "mix"}
HERE = "model.safetensors"
needs_torchao = peer("torchao")
needs_accelerate = pytest.mark.skipif(
    find_spec("accelerate") is None, reason="accelerate is not installed"
)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """Save a small Llama with large weights and its tokenizer; return the folder."""
    folder = tmp_path_factory.mktemp("llama")
    tokenizer = byte_tokenizer(TEXTS)
    opened = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|endoftext|>")
    opened.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=64, intermediate_size=64,
        num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1,
        max_position_embeddings=128, bos_token_id=0, eos_token_id=0, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8 if parameter.dim() == 2 else 1)
    model.save_pretrained(folder)
    return folder


def bits(model):
    return recency.surprisal(TEXTS, model).surprisal_bits.to_numpy()


def refused(match, *arguments, **settings):
    with pytest.raises(InputError, match=match) as error:
        recency.load(*arguments, **settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("bias", [None, BIAS])
def test_bf16_is_the_network_of_transformers_in_bfloat16(llama, bias):
    model = recency.load(llama, bias, precision="bf16")
    assert {each.dtype for each in model.network.parameters()} == {torch.bfloat16}
    found = bits(model)
    if bias is None:
        network = LlamaForCausalLM.from_pretrained(llama, dtype=torch.bfloat16).eval()
        ids = torch.tensor([[0, *model.tokenizer.encode(TEXTS[0]).ids]])
        with torch.no_grad():
            states = network.model(ids)[0].float()
        log = (states @ network.lm_head.weight.float().T).log_softmax(-1)[0, :-1]
        total = -log.gather(1, ids[0, 1:, None]).sum() / np.log(2)
        assert float(total.detach()) == pytest.approx(
            recency.surprisal(TEXTS[0], model).surprisal_bits.sum()
        )
    difference = np.abs(found - bits(recency.load(llama, bias)))
    assert 1e-4 < difference.max() < 1


@needs_torchao
@pytest.mark.parametrize("bias", [None, BIAS])
def test_int8_rounds_each_row_to_127_steps(llama, bias):
    model = recency.load(llama, bias, precision="int8")
    expected = recency.load(llama, bias)
    quantised = dict(model.network.named_modules())
    for name, module in expected.network.named_modules():
        if isinstance(module, torch.nn.Linear) and name != "lm_head":
            weight, stored = module.weight.data, quantised[name].weight
            step = weight.abs().amax(1, keepdim=True) / 127.5
            module.weight.data = stored.qdata * step
            assert ((module.weight - weight).abs() <= step * 0.501).all()
    np.testing.assert_allclose(bits(model), bits(expected), atol=2e-3)
    assert np.abs(bits(model) - bits(recency.load(llama, bias))).max() > 0.01


@needs_torchao
def test_quantised_weights_are_opened_as_they_are_stored(llama, tmp_path):
    model = recency.load(llama, precision="int8")
    model.network.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((llama / "tokenizer.json").read_bytes())
    stored = recency.load(tmp_path, BIAS, precision="as_stored", tokenizer=llama)
    expected = recency.load(llama, BIAS, precision="int8")
    np.testing.assert_allclose(
        recency.surprisal(TEXTS, stored, bos="<|endoftext|>").surprisal_bits,
        recency.surprisal(TEXTS, expected, bos="<|endoftext|>").surprisal_bits,
        atol=1e-5,
    )
    refused("is quantised.*`precision: as_stored`", tmp_path)


@needs_torchao
def test_int8_of_layers_that_are_not_linear_ones(tmp_path):
    checkpoint(tmp_path, TEXTS)
    refused(r"int8 reaches 0% of the weights of GPT2LMHeadModel", tmp_path, precision="int8")


def test_what_is_not_there_is_named(llama, monkeypatch):
    refused("precision 'bf61'.*bf16", llama, precision="bf61")
    monkeypatch.setattr(precisions, "find_spec", lambda name: None)
    refused("needs torchao, which is not installed", llama, precision="int8")
    refused("needs accelerate, which is not installed", llama, device_map="auto")


@needs_accelerate
@pytest.mark.parametrize("bias", [None, BIAS])
def test_layers_that_are_kept_elsewhere_give_the_same_surprisal(llama, bias):
    places = {"model.embed_tokens": "cpu", "model.rotary_emb": "cpu", "model.layers.0": "cpu"}
    away = ("model.layers.1", "model.layers.2", "model.norm", "lm_head")
    spread = recency.load(llama, bias, device_map=places | dict.fromkeys(away, "disk"))
    assert {each.device.type for each in spread.network.parameters()} == {"cpu", "meta"}
    np.testing.assert_array_equal(bits(spread), bits(recency.load(llama, bias)))
    np.testing.assert_array_equal(
        bits(recency.load(llama, bias, device_map="auto")), bits(recency.load(llama, bias))
    )


def test_bytes_are_those_of_the_opened_network(llama, tmp_path):
    """By the header of its file, and by its shape where there is no file."""
    model = LlamaForCausalLM.from_pretrained(llama)
    config = model.config
    numbers = sum(each.numel() for each in model.parameters())
    assert footprint._numbers(llama, LlamaForCausalLM, config) == numbers
    assert footprint._numbers(tmp_path, LlamaForCausalLM, config) == numbers
    tied = LlamaConfig(**(config.to_dict() | {"tie_word_embeddings": True}))
    embedding = model.lm_head.weight.numel()
    assert footprint._numbers(tmp_path, LlamaForCausalLM, tied) == numbers - embedding
    found = {each: footprint.estimate(config, numbers, each, 5) for each in precisions.PRECISIONS}
    linear = numbers - 2 * embedding
    expected = {"float32": 4 * numbers, "bf16": 2 * numbers, "as_stored": 5}
    expected["int8"] = linear + 8 * embedding
    assert {name: each.weights for name, each in found.items()} == expected
    assert found["bf16"].output == 4 * embedding


def test_weights_that_do_not_fit_are_refused_before_they_are_read(llama, monkeypatch):
    monkeypatch.setattr(footprint, "SURE", 0)
    needed = footprint.estimate(
        LlamaConfig.from_pretrained(llama), footprint._numbers(llama, None, object()), "bf16", 0
    ).total
    monkeypatch.setattr(memory, "available", lambda: needed + 1)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert recency.load(llama, precision="bf16")
    monkeypatch.setattr(
        transformers.PreTrainedModel, "from_pretrained", lambda *_, **__: pytest.fail("was read")
    )
    refused(r"needs 0\.0 GB in the precision float32 \(.* weights.*`precision: bf16` needs", llama)


def test_the_difference_from_float32_is_that_of_the_two_networks(
    llama, tmp_path, monkeypatch, capsys
):
    words = pd.DataFrame(
        [(str(n), 0, i, w) for n, t in enumerate(TEXTS) for i, w in enumerate(t.split())],
        columns=["item", "sentence", "position", "word"],
    )
    words.insert(0, "word_id", np.arange(len(words), dtype=np.int32))
    words.to_parquet(tmp_path / "words.parquet")
    lm = LMSpec("lm", llama, weights={"precision": "bf16"})
    settings = {"dataset": "texts", "accept": [["implausible"]]}
    monkeypatch.setattr(plausible, "require_plausible", lambda *_, **__: None)
    surprisal.main(tmp_path / "words.parquet", lm, tmp_path / "out.parquet", "texts")
    full = recency.surprisal(words, llama).surprisal_bits.to_numpy()
    low = pd.read_parquet(tmp_path / "out.parquet")
    difference = np.abs(low.surprisal_bits.to_numpy() - full)
    stated = low.attrs["precision"]
    assert stated["precision"] == "bf16" and stated["words"] == len(words), settings
    assert stated["mean_bits"] == pytest.approx(np.nanmean(difference))
    assert stated["largest_bits"] == pytest.approx(np.nanmax(difference))
    assert "texts: weights in the precision bf16: surprisal of the first" in capsys.readouterr().err

    def too_large(*arguments, precision="float32", **settings):
        if precision == "float32":
            raise footprint.TooLarge("needs 30 GB")

    monkeypatch.setattr(footprint, "check", lambda *arguments: too_large(precision=arguments[3]))
    _, about = surprisal.open_and_compare(words, lm)
    assert about == {"precision": "bf16", "not_compared": "needs 30 GB"}


def test_checksums_are_verified_before_anything_is_opened(llama, tmp_path, monkeypatch):
    right = sha256(llama / HERE)
    wrong = "0" * 64
    assert recency.load(llama, sha256=right)
    assert recency.load(llama, sha256={HERE: right})
    monkeypatch.setattr(
        transformers.PreTrainedModel, "from_pretrained", lambda *_, **__: pytest.fail("was read")
    )
    refused(f"{HERE} has the sha256 {right}, and {wrong} is stated", llama, sha256=wrong)
    refused(
        f"there is no other.bin for the sha256 {wrong}",
        llama,
        sha256={HERE: right, "other.bin": wrong},
    )
    refused(f"sha256 names no checksum of {HERE}", llama, sha256={"config.json": wrong})
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    refused(f"model.gguf has the sha256 {sha256(file)}", file, sha256=wrong)


def config_with(entry):
    config = load("config/demo.yaml")
    config["lms"]["opened"] = entry
    return config


def test_a_wrong_checksum_is_refused_when_a_run_is_planned(llama):
    config = config_with({"bias": "none", "checkpoint": str(llama), "sha256": "0" * 64})
    checks.check(config, SCHEMA)
    problems = plan_checks.problems(Study(config, SCHEMA.parent))
    assert any("lms → opened" in each and sha256(llama / HERE) in each for each in problems)
    config["lms"]["opened"]["sha256"] = sha256(llama / HERE)
    assert not any("opened" in each for each in plan_checks.problems(Study(config, SCHEMA.parent)))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{bias: none, precision: int8}", "require `checkpoint`"),
        ("{bias: none, checkpoint: gpt2, precision: int4}", "'int4' is not one of"),
        ("{bias: none, checkpoint: gpt2, sha256: abc}", "'abc'"),
        ("{bias: none, checkpoint: gpt2, device_map: cuda}", "'cuda'"),
    ],
)
def test_settings_that_are_wrong_are_refused_when_the_config_is_read(entry, message):
    with pytest.raises(InputError, match=message):
        checks.check(config_with(yaml.safe_load(entry)), SCHEMA)


def test_an_lm_of_reduced_precision_is_not_exported(llama, tmp_path):
    lm = LMSpec("low", llama, weights={"precision": "bf16"})
    with pytest.raises(InputError, match="low has `precision: bf16`, and an exported folder"):
        write.main(lm, tmp_path / "out", about={})
    assert not (tmp_path / "out").exists()
