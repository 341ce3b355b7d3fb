"""Surprisal by the decoder of an encoder-decoder, against transformers' own logits of labels."""

import math

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, processors

import families
import recency
from scored_families import BEGIN, PAD, SPECIAL, STOP, TEXTS, TOKENS, VOCABULARY, tokenizer

BART = families.BART | TOKENS | {"vocab_size": VOCABULARY, "decoder_start_token_id": STOP}
T5 = families.T5 | TOKENS | {"vocab_size": VOCABULARY, "decoder_start_token_id": PAD}
GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
#: Family → settings, and the tokens that its tokenizer puts around a text.
FAMILIES = {
    "Bart": (BART, "<s> $A </s>"),
    "MBart": (BART | {"decoder_start_token_id": BEGIN}, "$A </s> <s>"),  # <s>: the language
    "Pegasus": (BART, "$A </s>"),
    "T5": (T5 | {"initializer_factor": 3.0}, "$A </s>"),
    "MT5": (T5 | GATED | {"initializer_factor": 3.0}, "$A </s>"),
}


def made(family: str) -> tuple[torch.nn.Module, Tokenizer]:
    """Make a family's network in float64, and its tokenizer."""
    settings, template = FAMILIES[family]
    torch.manual_seed(1)
    config = getattr(transformers, f"{family}Config")(**settings)
    network = getattr(transformers, f"{family}ForConditionalGeneration")(config).double().eval()
    framed = Tokenizer.from_str(tokenizer().to_str())
    ends = [("<s>", BEGIN), ("</s>", STOP)]
    framed.post_processor = processors.TemplateProcessing(template, None, ends)
    return network, framed


def written_out(network, framed, text: str, source: str) -> tuple[np.ndarray, np.ndarray]:
    """Return plain and corrected surprisal (bits), with the labels shifted by transformers."""
    encoding = framed.encode(text)
    labels, words = torch.tensor([encoding.ids]), len(text.split())
    with torch.no_grad():
        read = torch.tensor([framed.encode(source).ids])
        logs = network(input_ids=read, labels=labels).logits[0].log_softmax(-1) / math.log(2)
    vocabulary = framed.get_vocab()
    after = [n for piece, n in vocabulary.items() if piece.startswith("Ġ") or piece in SPECIAL]
    mass, plain, word = np.zeros(words), np.zeros(words), -1
    special = encoding.special_tokens_mask
    for row, (token, piece) in enumerate(zip(encoding.ids, encoding.tokens, strict=True)):
        if not special[row]:
            word += piece.startswith("Ġ") or word == -1
            plain[word] -= logs[row, token]
            mass[word] = torch.logsumexp(logs[row + 1, after] * math.log(2), 0) / math.log(2)
    return plain, plain - mass + np.append(0, mass[:-1])


@pytest.mark.parametrize("family", FAMILIES)
def test_surprisal_equals_the_logits_of_labels(family):
    """With an empty encoder, one prefix, and one for each text; T5's have no longest input."""
    network, framed = made(family)
    window = None if "max_position_embeddings" in FAMILIES[family][0] else 64
    for prefix in ("", "Did it rain ?", ["", "Who laughed ?", "It rained ."]):
        sources = [prefix] * 3 if isinstance(prefix, str) else prefix
        table = recency.surprisal(TEXTS, network, framed, prefix=prefix, window=window)
        pairs = [written_out(network, framed, *pair) for pair in zip(TEXTS, sources, strict=True)]
        for column, expected in zip(("surprisal_bits", "corrected_bits"), zip(*pairs)):
            np.testing.assert_allclose(table[column], np.concatenate(expected), rtol=0, atol=1e-6)


def test_a_prefix_changes_surprisal_and_the_next_call_is_without_it():
    network, framed = made("Bart")
    before, given, after = (
        recency.surprisal(TEXTS, network, framed, prefix=prefix).surprisal_bits
        for prefix in ("", "Did it rain ?", "")
    )
    assert np.abs(before - given).max() > 1e-3
    np.testing.assert_array_equal(before, after)
    prefixes = ["Did it rain ?", "", "Did it rain ?"]  # texts of one prefix are not in a row
    words, tokens = (
        recency.surprisal(TEXTS, network, framed, prefix=prefixes, rows=rows)
        for rows in ("words", "tokens")
    )
    summed = tokens.groupby(["item", "position"]).surprisal_bits.sum()
    np.testing.assert_allclose(summed, words["surprisal_bits"], rtol=0, atol=1e-9)
    assert tokens["item"].is_monotonic_increasing
    np.testing.assert_array_equal(
        words["surprisal_bits"][words["item"] != "2"], given[words["item"] != "2"]
    )


def test_long_texts_are_read_in_windows():
    """Each window follows the decoder's start token; tokens, units and cloze agree with words."""
    network, framed = made("Bart")
    text = TEXTS[0]
    ids = [BEGIN, *framed.encode(text, add_special_tokens=False).ids]
    bits = []
    for place in range(1, len(ids)):
        begin = 0 if place <= 6 else 3 * math.ceil((place - 6) / 3)
        read = torch.tensor([[STOP, *ids[begin:place]]])
        with torch.no_grad():
            empty = torch.tensor([framed.encode("").ids])
            logits = network(input_ids=empty, decoder_input_ids=read).logits[0, -1]
        bits.append(-logits.log_softmax(-1)[ids[place]].item() / math.log(2))
    settings = {"window": 6, "stride": 3, "rows": "tokens"}
    found = recency.surprisal(text, network, framed, **settings)["surprisal_bits"]
    np.testing.assert_allclose(found, bits, rtol=0, atol=1e-6)
    words = recency.surprisal(text, network, framed)
    units = recency.surprisal(text, network, framed, units=[text[:3], text[3:]])
    assert abs(units.surprisal_bits.sum() - words.surprisal_bits.sum()) < 1e-6
    *context, last = text.split()
    cloze = recency.cloze(network, context, last, framed)
    assert abs(math.log2(cloze) + words.corrected_bits.iloc[-1]) < 1e-6


def test_lossy_contexts_and_next_words_agree_with_surprisal():
    """A memory that loses nothing is none; the most probable word has the probability of cloze."""
    network, framed = made("Bart")
    plain = recency.surprisal(TEXTS, network, framed)["surprisal_bits"]
    lossy = {"erasure": {"form": "exponential", "half_life": 1e12}}
    kept = recency.surprisal(TEXTS, network, framed, lossy=lossy)["surprisal_bits"]
    np.testing.assert_allclose(kept, plain, rtol=0, atol=1e-6)
    best = recency.next_words(network, "The cat", 1, framed).iloc[0]
    assert abs(best["probability"] - recency.cloze(network, "The cat", best["word"], framed)) < 1e-6


def test_a_folder_is_opened_and_impossible_requests_are_refused(tmp_path):
    network, framed = made("Bart")
    network.float().save_pretrained(tmp_path)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=framed, bos_token="<s>")
    fast.save_pretrained(tmp_path)
    expected = recency.surprisal(TEXTS, network, framed)["surprisal_bits"]
    model = recency.load(tmp_path)
    found = recency.surprisal(TEXTS, model)["surprisal_bits"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    bias = recency.attention.bias("linear", slopes="mix")
    with pytest.raises(recency.InputError, match="has an encoder and a decoder.*take one"):
        recency.load(tmp_path, bias)
    with pytest.raises(recency.InputError, match="leave `masked` out"):
        recency.load(tmp_path, masked=True)
    with pytest.raises(recency.InputError, match="without output_hidden_states; take a causal LM"):
        recency.surprisal(TEXTS, model, measures="layer_surprisal_l1")
    with pytest.raises(recency.InputError, match=r"exceed the encoder's input of 64; shorten it"):
        recency.surprisal(TEXTS, model, prefix="It rained . " * 30)
    network.config.decoder_start_token_id = None
    with pytest.raises(recency.InputError, match="names no `decoder_start_token_id`"):
        recency.surprisal(TEXTS, network, framed)
