"""The public functions: what they take, what they give, and how they refuse."""

import doctest
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    PreTrainedTokenizerFast,
)

import recency
from project import SOURCES
from recency.attention import specification
from recency.networks import architectures
from recency.scoring import public

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ["the cat sat on the mat", "so it goes"]
WORDS = [text.split() for text in TEXTS]
ALL_WORDS = " ".join(TEXTS).split()
COLUMNS = ["item", "position", "word", "surprisal_bits", "corrected_bits", "tokens"]
COLUMNS += ["context_tokens"]
MIX = {"form": "linear", "slopes": "mix"}


@pytest.fixture(scope="module")
def tokenizer():
    made = ByteLevelBPETokenizer()
    made.train_from_iterator(TEXTS, 300, 1, False, ["<|endoftext|>"])
    return made


def gpt2(**settings):
    torch.manual_seed(1)
    sizes = {"vocab_size": 300, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32}
    return GPT2LMHeadModel(GPT2Config(initializer_range=0.5, **sizes, **settings))


@pytest.fixture(scope="module")
def network():
    return gpt2()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, network, tokenizer):
    """Save a network and its tokenizer as others do, each with `save_pretrained`."""
    folder = tmp_path_factory.mktemp("gpt2")
    network.save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer._tokenizer, bos_token="<|endoftext|>"
    ).save_pretrained(folder)
    return folder


def test_importing_the_package_loads_little():
    code = "import sys; before = {*sys.modules}; import recency; print(*{*sys.modules} - before)"
    names = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path += {SOURCES.split(os.pathsep)!r}; {code}"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert {"recency", "recency.public"} == {name for name in names if name.startswith("recency")}
    assert len(names) < 60, names


def test_importing_the_package_loads_no_other_package():
    code = "import sys, recency; recency.InputError, recency.attention; print(*sys.modules)"
    environment = {"PYTHONPATH": SOURCES}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"torch", "transformers", "pandas", "numpy", "snakemake", "rpy2"}


def test_every_public_name_is_there():
    assert set(recency.__all__) <= set(dir(recency))
    for name in recency.__all__:
        assert getattr(recency, name).__doc__
    assert {"attach", "bias"} <= set(dir(recency.attention))
    for module in (recency, recency.attention):
        with pytest.raises(AttributeError, match="surprisals"):
            getattr(module, "surprisals")  # noqa: B009


@pytest.mark.parametrize("module", [public, specification], ids=lambda module: module.__name__)
def test_examples(module):
    failed, tried = doctest.testmod(module)
    assert tried and not failed


@pytest.mark.parametrize("page", ["library.md", "surprisal.md"])
def test_examples_of_the_documentation(page):
    failed, tried = doctest.testfile(str(ROOT / "docs" / page), module_relative=False)
    assert tried and not failed


def test_kinds_of_texts(network, tokenizer):
    one, many, given, empty = (
        recency.surprisal(texts, network, tokenizer) for texts in (TEXTS[0], TEXTS, WORDS, [])
    )
    assert list(many.columns) == COLUMNS == list(empty.columns)
    assert many["item"].tolist() == ["1"] * 6 + ["2"] * 3
    assert many["position"].tolist() == [1, 2, 3, 4, 5, 6, 1, 2, 3]
    assert many["word"].tolist() == ALL_WORDS
    assert (many["surprisal_bits"] > 0).all() and len(empty) == 0
    pd.testing.assert_frame_equal(many, given)
    pd.testing.assert_frame_equal(many[:6], one, rtol=1e-4)
    pd.testing.assert_frame_equal(
        many, recency.surprisal(np.array(TEXTS), network, tokenizer), rtol=1e-4
    )


def test_a_data_frame_keeps_its_index_items_and_numbers(network, tokenizer):
    expected = recency.surprisal(TEXTS, network, tokenizer)
    frame = pd.DataFrame({"item": ["b"] * 6 + ["a"] * 3, "word": ALL_WORDS}, range(10, 19))
    found = recency.surprisal(frame, network, tokenizer)
    assert found.index.tolist() == list(range(10, 19)) and found["item"].equals(frame["item"])
    for column in COLUMNS[3:]:
        np.testing.assert_array_equal(found[column], expected[column])
    contract = frame.assign(word_id=range(9), position=range(5, 14), sentence=1)
    found = recency.surprisal(contract, network, tokenizer)
    assert found["word_id"].tolist() == list(range(9)) and found["position"].iloc[0] == 5


FRAME = pd.DataFrame({"item": "1", "word": ["the", "cat", "sat"]}, index=[7, 8, 9])


@pytest.mark.parametrize(
    "texts, message",
    [
        (["the cat", float("nan")], r"^text 2 is nan, neither a string nor a list of words$"),
        (["the cat", 3], r"^text 2 is 3, neither"),
        (3, r"texts are a string, .*, not int$"),
        ({"a": "the cat"}, r"not dict$"),
        (["the cat", "  "], r"^text 2 \('  '\) has no words"),
        ([["the", "cat"], ["a", 3.5]], r"^text 2, word 2: 3.5 is not a string$"),
        ([["the", None]], r"^text 1, word 2: None is not"),
        ([["the", ""]], r"^text 1, word 2: '' is empty$"),
        (["the \ud83d cat"], r"^text 1, word 2: '\\ud83d' has half of a surrogate pair"),
        (FRAME.assign(word=["the", None, "sat"]), r"row 8: (None|nan) is not a string$"),
        (FRAME.assign(word=["the", 4, "sat"]), r"row 8: 4 is not a string$"),
        (FRAME.assign(word=["the", " ", "sat"]), r"row 8: ' ' is empty$"),
        (FRAME.assign(item=["1", None, "1"]), r"row 8: no item$"),
        (FRAME.assign(item=["1", "2", "1"]), r"row 9: item '1' occurs in two places"),
        (FRAME.rename(columns={"word": "token"}), r"no column word; there are item, token$"),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(texts, message, network, tokenizer):
    with pytest.raises(recency.InputError, match=message) as error:
        recency.surprisal(texts, network, tokenizer)
    assert "\n" not in str(error.value)


def test_settings(network, tokenizer):
    bits = recency.surprisal(TEXTS, network, tokenizer)
    nats = recency.surprisal(TEXTS, network, tokenizer, unit="nats")
    np.testing.assert_allclose(nats["surprisal_nats"], bits["surprisal_bits"] * np.log(2))
    bare = recency.surprisal(TEXTS, network, tokenizer, bos=False)
    assert bare["surprisal_bits"].isna().tolist() == [True, *[False] * 5, True, False, False]
    long = recency.surprisal([TEXTS[0]] * 2, network, tokenizer, window=4, stride=1)
    assert long["context_tokens"].max() == 4 < bits["context_tokens"].max()


def test_a_folder_an_open_model_and_a_network_agree(checkpoint, network, tokenizer):
    expected = recency.surprisal(TEXTS, network, tokenizer)
    assert network.training  # as it was; dropout is off while it scores
    for model in (checkpoint, str(checkpoint), recency.load(checkpoint)):
        pd.testing.assert_frame_equal(recency.surprisal(TEXTS, model), expected, rtol=1e-4)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer._tokenizer)
    pd.testing.assert_frame_equal(recency.surprisal(TEXTS, network, fast), expected)


def test_a_bias_at_inference(checkpoint, tokenizer):
    bias = recency.attention.bias("linear", slopes=2.0)
    plain = recency.surprisal(TEXTS, checkpoint)
    loaded = recency.surprisal(TEXTS, recency.load(checkpoint, bias))
    assert (loaded["surprisal_bits"] - plain["surprisal_bits"]).abs().max() > 0.01
    pd.testing.assert_frame_equal(recency.surprisal(TEXTS, checkpoint, bias=bias), loaded)
    network = gpt2().eval()
    recency.attention.attach(network, bias)
    pd.testing.assert_frame_equal(recency.surprisal(TEXTS, network, tokenizer), loaded, rtol=1e-4)
    recency.attention.attach(network, recency.attention.bias("none"))
    pd.testing.assert_frame_equal(recency.surprisal(TEXTS, network, tokenizer), plain, rtol=1e-4)
    model = recency.load(checkpoint)
    recency.attention.attach(model, bias)
    pd.testing.assert_frame_equal(recency.surprisal(TEXTS, model), loaded, rtol=1e-4)


def test_a_model_trained_with_a_bias_is_opened_with_it(tmp_path, tokenizer):
    sizes = {"layers": 2, "heads": 4, "width": 16, "feed_forward": 32, "context": 32}
    made = architectures.new(
        {"family": "gpt_neox", "rotary_fraction": 0.25, **sizes}, MIX, 300, seed=1
    )
    made.save_pretrained(tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    expected = recency.surprisal(TEXTS, made, tokenizer)
    model = recency.load(tmp_path)
    pd.testing.assert_frame_equal(recency.surprisal(TEXTS, model), expected, rtol=1e-4)
    for refused in (
        lambda: recency.load(tmp_path, MIX),
        lambda: recency.attention.attach(model, MIX),
    ):
        with pytest.raises(recency.InputError, match="trained with a bias"):
            refused()


def test_masked_models(tmp_path, tokenizer):
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = BertConfig(vocab_size=300, intermediate_size=32, max_position_embeddings=32, **sizes)
    bert = BertForMaskedLM(config)
    with pytest.raises(recency.InputError, match="no mask token"):
        recency.surprisal(TEXTS, bert, tokenizer)
    masked = ByteLevelBPETokenizer()
    masked.train_from_iterator(TEXTS, 300, 1, False, ["[MASK]"])
    found = recency.surprisal(TEXTS, bert, masked, future="removed")
    assert (found["surprisal_bits"] > 0).all() and found["corrected_bits"].isna().all()
    bert.save_pretrained(tmp_path)
    masked.save(str(tmp_path / "tokenizer.json"))
    pd.testing.assert_frame_equal(
        recency.surprisal(TEXTS, tmp_path, tmp_path / "tokenizer.json", future="removed"),
        found,
        rtol=1e-4,
    )
    given = recency.surprisal(TEXTS, bert, masked, prefix="the mat", future="removed")
    whole = recency.surprisal([f"the mat {text}" for text in TEXTS], bert, masked, future="removed")
    rest = whole[whole["position"] > 2]
    np.testing.assert_allclose(given["surprisal_bits"], rest["surprisal_bits"], rtol=1e-4)
    with pytest.raises(
        recency.InputError, match="^prefix of text 1: its .* window of 32; shorten it"
    ):
        recency.surprisal(TEXTS, bert, masked, prefix="the mat " * 30, future="removed")
    for refused in (
        lambda: recency.next_words(bert, "the", 3, masked),
        lambda: recency.cloze(bert, "the", "cat", masked),
    ):
        with pytest.raises(recency.InputError, match="a masked model gives no probability"):
            refused()


def test_an_ngram_model(tmp_path):
    arpa = tmp_path / "one.arpa"
    arpa.write_text(
        "\\data\\\nngram 1=4\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-0.5\t</s>\n-0.25\tthe\n\n\\end\\\n"
    )
    found = recency.surprisal("the cat", arpa)
    np.testing.assert_allclose(found["surprisal_bits"], np.array([0.25, 1]) * np.log2(10))
    with pytest.raises(recency.InputError, match="no column sentence"):
        recency.surprisal("the cat", arpa, within="sentence")
    with pytest.raises(recency.InputError, match="n-gram model"):
        recency.load(arpa)
    after = recency.surprisal("the", arpa, prefix="cat sat")
    np.testing.assert_allclose(after["surprisal_bits"], 0.25 * np.log2(10))
    assert recency.cloze(arpa, "", "the") == pytest.approx(10**-0.25)
    with pytest.raises(recency.InputError, match=r"^word 'cat' has no .* \(unknown\)$"):
        recency.cloze(arpa, "the", "cat")
    with pytest.raises(recency.InputError, match="n-gram model"):
        recency.next_words(arpa, "the")


@pytest.mark.parametrize(
    "form, parameters, message",
    [
        ("linaer", {}, "no form of bias is called 'linaer'; did you mean 'linear'?"),
        ("linear", {"slope": 1.0}, "no parameter is called 'slope'; did you mean 'slopes'?"),
        ("linear", {"slopes": -1.0}, "slopes cannot be -1.0 \\(m_h: "),
        ("window", {}, "width is missing"),
        ("window", {"width": 2.5}, "width cannot be 2.5"),
        ("window", {"width": 3, "layers": "first"}, "layers cannot be 'first'"),
    ],
)
def test_biases_that_are_not_there_are_refused(form, parameters, message):
    with pytest.raises(recency.InputError, match=message):
        recency.attention.bias(form, **parameters)


def test_models_that_no_bias_goes_on_are_refused(network, tokenizer, checkpoint):
    neo = GPTNeoConfig(
        vocab_size=300, hidden_size=16, num_layers=2, num_heads=4, attention_types=[[["global"], 2]]
    )
    with pytest.raises(recency.InputError, match="GPTNeoForCausalLM does not take its attention"):
        recency.attention.attach(GPTNeoForCausalLM(neo), MIX)
    with pytest.raises(recency.InputError, match="has layers 0 to 1, no layer 2"):
        recency.attention.attach(network, recency.attention.bias("linear", layers=[2]))
    with pytest.raises(recency.InputError, match="3 slopes for 4 heads"):
        recency.attention.attach(network, recency.attention.bias("linear", slopes=[1, 2, 3]))
    with pytest.raises(recency.InputError, match="attach\\(model, bias\\)"):
        recency.surprisal(TEXTS, network, tokenizer, bias=MIX)
    with pytest.raises(recency.InputError, match="needs its tokenizer"):
        recency.surprisal(TEXTS, network)
    with pytest.raises(recency.InputError, match="not int"):
        recency.surprisal(TEXTS, 3)
    with pytest.raises(recency.InputError, match="a bias is a result of"):
        recency.load(checkpoint, bias="linear")


def test_a_folder_without_a_tokenizer_is_refused(tmp_path, network):
    network.save_pretrained(tmp_path)
    with pytest.raises(recency.InputError, match="has no tokenizer; save") as error:
        recency.load(tmp_path)
    assert "\n" not in str(error.value)


SIZES = {"vocab_size": 60, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
SIZES |= {"num_attention_heads": 4, "max_position_embeddings": 64, "initializer_range": 0.3}
GROUPED = SIZES | {"num_key_value_heads": 2}


def of_family(family, settings):
    torch.manual_seed(1)
    config = getattr(transformers, f"{family}Config")(**settings)
    return getattr(transformers, f"{family}ForCausalLM")(config).eval()


@pytest.mark.parametrize(
    "family, settings",
    [
        ("Llama", GROUPED),
        ("Qwen3", GROUPED | {"head_dim": 8}),
        ("Mistral", GROUPED | {"sliding_window": 6}),
        ("Phi", SIZES),
        ("Cohere", GROUPED),
    ],
)
def test_a_bias_on_other_families(family, settings):
    """Grouped queries, a sliding window, parallel attention: against the bias as an added mask."""
    model, ids = of_family(family, settings), torch.randint(60, (1, 20))
    model.set_attn_implementation("eager")
    place = torch.arange(20)
    ahead = (place[None] - place[:, None]).float()
    window = settings.get("sliding_window", 20)
    hidden = (ahead > 0) | (ahead <= -window)
    mask = (0.5 * ahead).masked_fill(hidden, float("-inf")).expand(1, 4, 20, 20)
    with torch.no_grad():
        plain, expected = model(ids).logits, model(ids, attention_mask=mask).logits
        recency.attention.attach(model, recency.attention.bias("linear", slopes=0.5))
        found = model(ids).logits
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    assert (found - plain).abs().max() > 0.1
