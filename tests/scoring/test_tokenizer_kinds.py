"""Surprisal with the kinds of tokenizers that models have, words found by their marks, in float64."""

import copy
import json
import math

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel

from recency.scoring import texts
from recency.scoring.surprisal import Model, score_words
from small_networks import TEXTS, byte_tokenizer

SPECIAL = ["<s>", "</s>", "<unk>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
#: Accents, a script that no training text has, punctuation within words.
OTHERS = ["Naïve 日本 readers didn't (ever) stop.", "So.", "Ω goes on"]


def trained(trainer, **settings):
    """Train a tokenizer whose words begin with ▁, of letters that it knows."""
    made = Tokenizer(settings.pop("model"))
    made.pre_tokenizer = pre_tokenizers.Metaspace(**settings)
    made.decoder = decoders.Metaspace()
    made.train_from_iterator(TEXTS * 3, trainer(special_tokens=SPECIAL, show_progress=False))
    return made


def metaspace(**settings):
    def trainer(**common):
        return trainers.BpeTrainer(vocab_size=200, **common)

    return trained(trainer, model=models.BPE(unk_token="<unk>"), **settings)


def unigram():
    """Make one as XLM-RoBERTa's and T5's."""

    def trainer(**common):
        return trainers.UnigramTrainer(vocab_size=120, unk_token="<unk>", **common)

    return trained(trainer, model=models.Unigram())


def fallback(prepend):
    """Make one as Llama 2's (with a space put before a text) or Gemma's: unknown letters are bytes."""
    state = json.loads(metaspace(prepend_scheme="always").to_str())
    vocabulary = state["model"]["vocab"]
    for byte in BYTES:
        vocabulary.setdefault(byte, len(vocabulary))
    merges = [tuple(each) for each in state["model"]["merges"]]
    made = Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    steps = [normalizers.Prepend("▁")] * prepend + [normalizers.Replace(" ", "▁")]
    made.normalizer = normalizers.Sequence(steps)
    made.add_special_tokens(SPECIAL)
    return made


def prefixed():
    """Make one as RoBERTa's with `add_prefix_space`."""
    made = byte_tokenizer()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    return made


KINDS = {
    "bytes (GPT-2)": byte_tokenizer,
    "bytes, a space before the text": prefixed,
    "SentencePiece (always a space before)": lambda: metaspace(prepend_scheme="always"),
    "SentencePiece (never one)": lambda: metaspace(prepend_scheme="never"),
    "Unigram (XLM-R)": unigram,
    "byte fallback (Llama 2)": lambda: fallback(True),
    "byte fallback (Gemma)": lambda: fallback(False),
}


@pytest.fixture(scope="module", params=KINDS)
def opened(request):
    tokenizer = KINDS[request.param]()
    torch.manual_seed(1)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 128, "initializer_range": 0.3}
    tokens = {"bos_token_id": 0, "eos_token_id": 0}
    size = tokenizer.get_vocab_size()
    return GPT2LMHeadModel(GPT2Config(vocab_size=size, **sizes, **tokens)).eval(), tokenizer


def written_out(network, tokenizer, text, variant):
    """Return plain and corrected bits: a word begins at each token that has the mark of a space."""
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    pieces = [tokenizer.id_to_token(number) for number in ids]
    begins = [0] + [n for n, piece in enumerate(pieces) if n and piece[0] in "Ġ▁"]
    assert len(begins) == len(text.split()), pieces
    with torch.no_grad():
        logits = copy.deepcopy(network).double()(torch.tensor([[0, *ids]])).logits[0]
    log = torch.log_softmax(logits, -1).numpy()
    tokens = -log[np.arange(len(ids)), ids] / math.log(2)
    plain = np.add.reduceat(tokens, begins)
    vocabulary = tokenizer.get_vocab()
    space = [number for piece, number in vocabulary.items() if piece[0] in "Ġ▁"]
    special = [vocabulary[each] for each in (*SPECIAL, "<|endoftext|>") if each in vocabulary]
    b = space + special * (variant != "oh_schuler")
    mass = np.exp(log)[[*begins, len(ids)]][:, b].sum(1)
    if variant != "pimentel_meister_first":
        mass[0] = 1
    elif pieces[0][0] not in "Ġ▁":
        mass[0] = 1 - np.exp(log)[0, space].sum()
    return plain, plain - np.log2(mass[1:]) + np.log2(mass[:-1])


@pytest.mark.merge
@pytest.mark.parametrize("variant", texts.VARIANTS)
def test_words_have_the_tokens_that_begin_with_their_space(opened, variant):
    network, tokenizer = opened
    model = Model(network, tokenizer, bos_token=tokenizer.id_to_token(0))
    for text in [*TEXTS, *OTHERS]:
        expected = written_out(network, tokenizer, text, variant)
        table = score_words(text, model, correction=variant).table
        for column, bits in zip(("surprisal_bits", "corrected_bits"), expected, strict=True):
            np.testing.assert_allclose(table[column], bits, rtol=0, atol=1e-4)
