"""The begin token of a text: the tokenizer's own, the config's, or the end of documents."""

import json

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, OPTConfig, OPTForCausalLM
from transformers import PreTrainedTokenizerFast as Fast

import recency
from recency.errors import InputError
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import Model, main, score_words
from recency.scoring.tokenizer import begin_token
from small_networks import TEXTS, byte_tokenizer

SPECIAL = ["<s>", "</s>", "<bos>", "<unk>"]


@pytest.fixture(scope="module")
def tokenizer():
    """Make a byte tokenizer with <|endoftext|> (0) and, among its last entries, other special tokens."""
    made = byte_tokenizer()
    made.add_special_tokens(SPECIAL)
    return made


def gpt2(tokenizer, **settings):
    torch.manual_seed(1)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64, "initializer_range": 0.5}
    settings = {"bos_token_id": None, "eos_token_id": None} | settings
    size = tokenizer.get_vocab_size()
    return GPT2LMHeadModel(GPT2Config(vocab_size=size, **sizes, **settings)).eval()


def bits(model, tokenizer=None, **settings):
    return recency.surprisal(TEXTS, model, tokenizer, **settings)["surprisal_bits"].to_numpy()


@pytest.mark.parametrize("named", [*SPECIAL, "<|endoftext|>"])
def test_the_token_that_the_tokenizer_names_comes_first(tokenizer, named):
    """Whatever other begin tokens stand in its vocabulary, and whatever the config says."""
    network = gpt2(tokenizer, bos_token_id=tokenizer.token_to_id("</s>"))
    fast = Fast(tokenizer_object=tokenizer, bos_token=named)
    found = bits(network, fast)
    np.testing.assert_array_equal(found, bits(network, fast, bos=named))
    for other in {*SPECIAL, "<|endoftext|>"} - {named}:
        assert np.abs(found - bits(network, fast, bos=other)).max() > 0.01


def test_opt_begins_with_its_own_token(tmp_path, tokenizer):
    """OPT's vocabulary has <s>; its texts begin with </s>, as its config and tokenizer say."""
    torch.manual_seed(1)
    number = tokenizer.token_to_id("</s>")
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 32}
    sizes |= {"max_position_embeddings": 64, "word_embed_proj_dim": 16, "init_std": 0.5}
    tokens = {"bos_token_id": number, "eos_token_id": number, "pad_token_id": 1}
    config = OPTConfig(vocab_size=tokenizer.get_vocab_size(), **sizes, **tokens)
    OPTForCausalLM(config).save_pretrained(tmp_path)
    Fast(tokenizer_object=tokenizer, bos_token="</s>").save_pretrained(tmp_path)
    lm = recency.load(tmp_path)
    assert lm.bos_token == "</s>" and begin_token(lm, True) == number
    np.testing.assert_array_equal(bits(lm), bits(lm, bos="</s>"))
    assert np.abs(bits(lm) - bits(lm, bos="<s>")).max() > 0.01


@pytest.mark.parametrize("spelled", ["<bos>", {"content": "<bos>", "lstrip": False}], ids=type)
@pytest.mark.parametrize("file", ["tokenizer_config.json", "special_tokens_map.json"])
def test_a_tokenizer_json_has_its_begin_token_in_the_files_beside_it(
    tmp_path, tokenizer, file, spelled
):
    """As the workflow opens a folder: it names the tokenizer.json within."""
    gpt2(tokenizer).save_pretrained(tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text("{}")
    (tmp_path / file).write_text(json.dumps({"bos_token": spelled}))
    lm = recency.load(tmp_path, tokenizer=tmp_path / "tokenizer.json")
    assert begin_token(lm, True) == tokenizer.token_to_id("<bos>")
    (tmp_path / file).write_text("[")
    with pytest.raises(InputError, match=f"{file} is not a JSON object"):
        recency.load(tmp_path, tokenizer=tmp_path / "tokenizer.json")


def test_the_config_s_token_where_the_tokenizer_names_none(tokenizer):
    number = tokenizer.token_to_id("<bos>")
    model = Model(gpt2(tokenizer, bos_token_id=number), tokenizer)
    assert begin_token(model, True) == number
    result = score_words(TEXTS, model)
    assert result.notes[-1] == (
        f"<bos> (token {number}) is the begin token of each text: `bos_token_id` of the model's config; "
        "the tokenizer names none"
    )


@pytest.mark.parametrize("default", [None, 7, 50_256])
def test_a_class_s_default_is_no_begin_token(tokenizer, default):
    """GPT-2's default, 50256, is beyond a small vocabulary; a low one may be a plain letter."""
    model = Model(gpt2(tokenizer, bos_token_id=default), tokenizer)
    assert begin_token(model, True) == 0 == tokenizer.token_to_id("<|endoftext|>")
    assert "tokenizer and config name no begin token" in score_words(TEXTS, model).notes[-1]


def test_a_token_that_the_network_has_no_embedding_of_is_none(tokenizer):
    """Transformers adds a tokenizer class's default token behind the vocabulary, unasked."""
    larger = type(tokenizer).from_str(tokenizer.to_str())
    larger.add_special_tokens(["<begin>"])
    model = Model(gpt2(tokenizer), larger, bos_token="<begin>")
    assert begin_token(model, True) == 0
    with pytest.raises(InputError, match="`bos: <begin>`: the tokenizer has no such token"):
        begin_token(model, "<begin>")


def test_no_begin_token_is_refused():
    from tokenizers import Tokenizer, models

    bare = Tokenizer(models.WordLevel({"a": 0, "<s>": 1}, unk_token="a"))
    model = Model(gpt2(bare, bos_token_id=0), bare)
    with pytest.raises(
        InputError, match=r"name it \(`bos: \"<s>\"`\), or set `bos: false`"
    ) as error:
        score_words("a a", model)
    assert "\n" not in str(error.value)
    assert begin_token(model, "<s>") == 1 and begin_token(model, False) is None


def test_the_log_says_what_stood_before_each_text(tmp_path, tokenizer, capsys):
    gpt2(tokenizer).save_pretrained(tmp_path)
    Fast(tokenizer_object=tokenizer, bos_token="<bos>").save_pretrained(tmp_path)
    words = tmp_path / "words.parquet"
    recency.scoring.texts.as_words(TEXTS).to_parquet(words)
    number = tokenizer.token_to_id("<bos>")
    for bos, expected in (
        (True, f"d: <bos> (token {number}) is the begin token of each text: the tokenizer"),
        ("<s>", "is the begin token of each text: `bos` names it"),
        (False, "d: texts have no begin token (`bos: false`)"),
    ):
        capsys.readouterr()
        main(words, LMSpec("lm", tmp_path, bos=bos), tmp_path / "out", "d")
        assert expected in capsys.readouterr().err


@pytest.mark.parametrize("token", ["<|im_start|>", "<start_of_turn>", "<|begin_of_text|>"])
def test_a_begin_token_of_chats_is_warned_of_once(tokenizer, token, recwarn):
    made = byte_tokenizer()
    made.add_special_tokens([token])
    network = gpt2(made)
    fast = Fast(tokenizer_object=made, bos_token=token)
    bits(network, fast)
    warned = [
        str(each.message) for each in recwarn if "opens a turn of a chat" in str(each.message)
    ]
    assert len(warned) == (token != "<|begin_of_text|>")
    if warned:
        assert (
            warned[0].startswith(f"the begin token {token} opens")
            and '`bos: "<|endoftext|>"`' in warned[0]
        )
    recwarn.clear()
    bits(network, fast, bos=token)  # who names it has seen it
    assert not [each for each in recwarn if "opens a turn of a chat" in str(each.message)]
