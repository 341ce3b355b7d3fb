"""Next words and prefixes against all strings of tokens of small vocabularies, in float64."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch
import word_entropy_truth as truth
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel
from word_entropy_networks import network_of

import recency
from recency.scoring.next_word import word_search

#: An end, letters, the two bytes of é, and beginnings of words.
BYTES = ["<|endoftext|>", "a", "b", "Ã", "©", "Ġ", "Ġa", "ab", "Ġab"]
MARKED = ["<|endoftext|>", "a", "b", "▁", "▁a", "ab", "▁b"]
CONTEXTS = ["ab abc b", "c"]
POSITIONS = 32
VARIANTS = ["pimentel_meister", "oh_schuler", "pimentel_meister_first"]


def byte_tokenizer():
    merges = [("Ġ", "a"), ("a", "b"), ("Ġa", "b")]
    return finish(models.BPE({e: n for n, e in enumerate(BYTES)}, merges), "bytes")


def marked_tokenizer():
    """Return a tokenizer that also begins a text with the mark of a space, as SentencePiece does."""
    merges = [("▁", "a"), ("a", "b"), ("▁", "b")]
    return finish(models.BPE({e: n for n, e in enumerate(MARKED)}, merges), "marks")


def finish(model, kind):
    made = Tokenizer(model)
    if kind == "bytes":
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
    else:
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
        made.decoder = decoders.Metaspace()
    made.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return made


def gpt2(entries, seed=1, positions=POSITIONS):
    torch.manual_seed(seed)
    about = {"vocab_size": len(entries), "bos_token_id": 0, "eos_token_id": 0}
    made = GPT2LMHeadModel(
        GPT2Config(n_embd=16, n_layer=1, n_head=2, n_positions=positions, **about)
    )
    with torch.no_grad():
        made.get_output_embeddings().weight *= 9.0
    return made.eval()


def all_words(network, tokenizer, context, variant, floor):
    """Return the probability of each word of at least `floor`: no word exceeds its first tokens."""
    entries = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    space = [n for n, e in enumerate(entries) if e[0] in "Ġ▁"]
    other = [n for n in range(1, len(entries)) if n not in space]
    ends = space if variant == "oh_schuler" else [0, *space]
    ids = [0, *tokenizer.encode(context, add_special_tokens=False).ids] if context else [0]
    network = network.double()
    logs = truth.log_p(network, [ids])[0]
    p = np.exp(logs)
    if context:
        before = dict.fromkeys(space, p[ends].sum())
    elif variant == "pimentel_meister_first":
        before = dict.fromkeys(space, p[ends].sum())
        before |= dict.fromkeys(other, 1 - p[space].sum())
    else:
        before = dict.fromkeys([*space, *other], 1.0)
    going = {(token,): p[token] / mass for token, mass in before.items()}
    found = {}
    while going := {prefix: value for prefix, value in going.items() if value >= floor}:
        after = np.exp(truth.log_p(network, [[*ids, *prefix] for prefix in going]))
        further = {}
        for (prefix, so_far), row in zip(going.items(), after, strict=True):
            string = "".join(entries[t] for t in prefix)
            plain = (
                bytes_of(string).replace("▁", " ") if "Ġ" in entries else string.replace("▁", " ")
            )
            word = plain.strip()
            text = f"{context} {word}" if context else word
            if word and tokenizer.encode(text, add_special_tokens=False).ids == [*ids[1:], *prefix]:
                found[word] = so_far * row[ends].sum()
            further |= {(*prefix, token): so_far * row[token] for token in other}
        going = further if len(ids) + len(prefix) < POSITIONS else {}
    network.float()
    return {word: value for word, value in found.items() if value >= floor}


def bytes_of(string):
    """Return the text of entries of bytes: Ġ is a space, Ã and © the bytes of é."""
    raw = string.replace("Ġ", " ").encode("latin-1", "replace")
    return raw.decode("utf-8", "replace")


#: Networks; all but the first two in the merge tier.
NETWORKS = ["alibi", "lstm"] + [
    pytest.param(name, marks=pytest.mark.merge)
    for name in ("gpt2", "llama", "mistral", "gpt2+window", "gpt_neo", "fofe")
]


def check(network, tokenizer, context, variant="pimentel_meister", n=8):
    found = recency.next_words(network, context, n, tokenizer, correction=variant)
    floor = found["probability"].min() * (1 - 1e-4)
    expected = all_words(network, tokenizer, context, variant, floor)
    best = sorted(expected.items(), key=lambda pair: -pair[1])
    assert found["word"].tolist() == [word for word, _ in best]
    np.testing.assert_allclose(found["probability"], [p for _, p in best], rtol=2e-5, atol=1e-7)
    assert found.attrs["other"] == pytest.approx(1 - sum(p for _, p in best), abs=1e-6)
    for word, p in best[:6]:
        one = recency.cloze(network, context, word, tokenizer, correction=variant)
        assert one == pytest.approx(p, abs=1e-6)
    return best


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", NETWORKS)
def test_all_strings_of_tokens(name, context):
    check(network_of(name), truth.tokenizer(), context)


@pytest.mark.merge
@pytest.mark.parametrize("context", ["ab é", ""])
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_bytes_and_first_words(variant, context):
    best = check(gpt2(BYTES), byte_tokenizer(), context, variant, n=60)
    assert any("é" in word for word, _ in best)
    check(gpt2(MARKED), marked_tokenizer(), context.replace("é", "b"), variant, n=8)


def test_a_prefix_at_a_time_gives_the_same_words(monkeypatch):
    network, tokenizer = network_of("gpt2"), truth.tokenizer()
    expected = recency.next_words(network, "ab", 3, tokenizer)
    monkeypatch.setattr(word_search, "PREFIXES", 1)
    pd.testing.assert_frame_equal(recency.next_words(network, "ab", 3, tokenizer), expected)
    monkeypatch.setattr(word_search, "WAITING", 1)
    with pytest.raises(recency.InputError, match=r"^the 3 most probable .* ask for fewer words$"):
        recency.next_words(network, "ab", 3, tokenizer)


@pytest.mark.parametrize("settings", [{"window": 7, "stride": 2}, {"bos": False}])
def test_windows_are_those_of_surprisal(settings):
    network, tokenizer = network_of("gpt2"), truth.tokenizer()
    context = "ab abc b cab abc bca"
    words = recency.next_words(network, context, 3, tokenizer, **settings)
    for row in words.itertuples():
        table = recency.surprisal(f"{context} {row.word}", network, tokenizer, **settings)
        assert row.probability == pytest.approx(2 ** -table.corrected_bits.iloc[-1], abs=1e-6)
        one = recency.cloze(network, context.split(), row.word, tokenizer, **settings)
        assert one == pytest.approx(row.probability, abs=1e-6)
    whole = recency.next_words(network, context, 3, tokenizer)
    assert not np.allclose(whole["probability"], words["probability"], rtol=1e-3)


def test_improbable_words_are_left_out():
    """A network that almost always ends a word has no tenth word above 1e-7."""
    network, tokenizer = gpt2(MARKED), marked_tokenizer()
    with torch.no_grad():
        network.transformer.ln_f.weight.zero_()
        network.transformer.ln_f.bias.copy_(torch.ones(16))
        network.lm_head.weight.zero_()
        network.lm_head.weight[3] = 3.0  # ▁
        network.lm_head.weight[4] = 2.0  # ▁a
    words = recency.next_words(network, "a", 10, tokenizer)
    assert words["word"].tolist() == ["a"] and words.attrs["other"] > 0.99


def test_invalid_input(tmp_path):
    network, tokenizer = network_of("gpt2"), truth.tokenizer()

    def refused(message, call, *given, network=network, **settings):
        with pytest.raises(recency.InputError, match=message) as error:
            call(network, *given, tokenizer=tokenizer, **settings)
        assert "\n" not in str(error.value)

    for n in (0, 2.5, True, "3"):
        refused("^n: .* is no whole number of 1 or more$", recency.next_words, "ab", n)
    for word in ("", "a b", " a", 3):
        refused("^word: .* is not one word", recency.cloze, "ab", word)
    for call, more in ((recency.next_words, ()), (recency.cloze, ("a",))):
        refused("^context: 3 is neither a string nor a list", call, 3, *more)
        refused("word 2: 4 is not a string$", call, ["a", 4], *more)
        refused("stride of 40 tokens is not within the window", call, "ab", *more, stride=40)
    refused("^an empty context needs a begin token", recency.next_words, "", bos=False)
    refused(
        "has no probability of its own .* \\(has no context\\)$", recency.cloze, "", "a", bos=False
    )
    more = {"network": network_of("primacy")}
    refused("depend on the length of its input", recency.next_words, "ab", **more)
    refused("no correction is called", recency.next_words, "ab", correction="oh_schuller")
    vocabulary = {"<|endoftext|>": 0, "a": 1, "b": 2}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "<|endoftext|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    more = {"network": gpt2(list(vocabulary))}
    refused("marks no beginnings of words", recency.next_words, "a", **more)
    refused("marks no beginnings of words", recency.cloze, "a", "b", **more)


PREFIX = ["cab ab", "b"]


@pytest.mark.parametrize("name", ["gpt2", "lstm"])
def test_a_prefix_is_read_and_has_no_rows(name):
    network, tokenizer = network_of(name), truth.tokenizer()
    table = recency.surprisal(truth.TEXTS, network, tokenizer, prefix=PREFIX)
    assert table["word"].tolist() == " ".join(truth.TEXTS).split()
    assert table["position"].tolist() == [1, 2, 3, 4, 1, 2, 3]
    expected, network = [], network.double()
    for prefix, text in zip(PREFIX, truth.TEXTS, strict=True):
        ids = [0, *tokenizer.encode(prefix).ids]
        for word in text.split():
            bits = 0.0
            for token in tokenizer.encode(f" {word}").ids:
                bits -= truth.log_p(network, [ids])[0][token] / np.log(2)
                ids.append(token)
            expected.append(bits)
    np.testing.assert_allclose(table["surprisal_bits"], expected, atol=1e-5)


def test_prefixes_of_all_kinds_of_texts():
    """Rows are those of the texts with the prefix in them, whatever the rows and the measures are."""
    network, tokenizer = network_of("gpt2"), truth.tokenizer()
    more = {"measures": ["entropy", "rank"], "context": [1]}
    given = recency.surprisal(truth.TEXTS, network, tokenizer, prefix="cab  ab ", **more)
    whole = recency.surprisal([f"cab ab {t}" for t in truth.TEXTS], network, tokenizer, **more)
    whole = whole[whole["position"] > 2]
    same = whole.assign(position=whole["position"] - 2).reset_index(drop=True)
    pd.testing.assert_frame_equal(given, same, check_dtype=False, rtol=1e-5)
    frame = (
        given[["item", "word"]]
        .assign(position=[40, 30, 20, 10, 1, 2, 3])
        .set_index(pd.Index(list("tuvwxyz")))
    )
    turned = recency.surprisal(frame, network, tokenizer, prefix=["", "b"])
    assert turned.index.tolist() == list("tuvwxyz")
    texts = ["cab b abc ab", f"b {truth.TEXTS[1]}"]
    again = recency.surprisal(texts, network, tokenizer)["surprisal_bits"].to_numpy()
    np.testing.assert_allclose(turned["surprisal_bits"], again[[3, 2, 1, 0, 5, 6, 7]], atol=1e-5)
    tokens, alone = (
        recency.surprisal(truth.TEXTS, network, tokenizer, prefix=prefix, rows="tokens")
        for prefix in ("cab ab", "")
    )
    keys = ["item", "position", "word", "start", "end"]
    later = [table[table["position"] > 1][keys] for table in (tokens, alone)]
    pd.testing.assert_frame_equal(*(t.reset_index(drop=True) for t in later))
    lists = [text.split() for text in truth.TEXTS]
    of_lists = recency.surprisal(lists, network, tokenizer, prefix="cab ab", rows="tokens")
    pd.testing.assert_frame_equal(of_lists, tokens)


def test_a_prefix_before_texts_without_spaces():
    network, tokenizer = network_of("gpt2"), truth.tokenizer()
    for prefix, joined in (("cab", "cabab"), ("cab ", "cab ab")):
        found = recency.surprisal(
            [["a", "b"]], network, tokenizer, prefix=prefix, space_after=[[False, False]]
        )
        ids = tokenizer.encode(joined).ids
        given = len(tokenizer.encode("cab").ids)
        assert found["context_tokens"].iloc[0] == given + 1 and found["word"].tolist() == ["a", "b"]
        assert found["tokens"].sum() == len(ids) - given


def test_invalid_prefixes(tmp_path):
    network, tokenizer = network_of("gpt2"), truth.tokenizer()
    for prefix, message in (
        (
            "ab " * 40,
            r"^prefix of text 1: its \d+ tokens leave no room .* window of 32; shorten it$",
        ),
        (["", "a b c ab"], r"^prefix of text 2: its 4 tokens .* window of 5;"),
        (["a"], r"^prefix has 1 strings for 2 texts: "),
        (["a", None], r"^prefix of text 2: None is not a string$"),
        (7, r"^prefix: 7 is neither a string nor a list of strings$"),
    ):
        window = 5 if prefix == ["", "a b c ab"] else None
        with pytest.raises(recency.InputError, match=message) as error:
            recency.surprisal(truth.TEXTS, network, tokenizer, prefix=prefix, window=window)
        assert "\n" not in str(error.value)
    with pytest.raises(recency.InputError, match="within: sentence"):
        recency.surprisal(truth.TEXTS, network, tokenizer, prefix="a", within="sentence")


def fallback_tokenizer():
    """Return one whose vocabulary has every byte as well, as SentencePiece's byte fallback."""
    entries = [*MARKED, *(f"<0x{byte:02X}>" for byte in range(256))]
    merges = [("▁", "a"), ("a", "b"), ("▁", "b")]
    vocabulary = {entry: number for number, entry in enumerate(entries)}
    made = finish(models.BPE(vocabulary, merges, byte_fallback=True), "marks")
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return made


@pytest.mark.parametrize("context", ["", *CONTEXTS[:1]])
@pytest.mark.parametrize("make", [byte_tokenizer, marked_tokenizer, fallback_tokenizer])
def test_the_sum_over_tokenizations(make, context):
    """All strings of up to n tokens that decode to the word, one by one, in float64."""
    tokenizer = make()
    entries = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    network, word, n = gpt2(entries), "abab", 4
    spaces = [k for k, entry in enumerate(entries) if entry[0] in "Ġ▁"]
    spelled = {"Ã", "©", "<|endoftext|>"} | {f"<0x{byte:02X}>" for byte in range(256)}
    letters = [k for k, e in enumerate(entries) if e not in spelled - {"<0x61>", "<0x62>"}]
    marked = bool(context) or entries[3] == "▁"
    ids = [0, *tokenizer.encode(context, add_special_tokens=False).ids] if context else [0]
    ends, total, own = [0, *spaces], 0.0, None
    exact = gpt2(entries).double()
    for size in range(1, n + 1):
        for tokens in itertools.product(letters, repeat=size):
            pieces = [entries[k].replace("<0x61>", "a").replace("<0x62>", "b") for k in tokens]
            if "".join(pieces).replace("Ġ", "▁") != "▁" * marked + word:
                continue
            p = np.exp(truth.log_p(exact, [[*ids, *tokens]]))[0][ends].sum()
            for k, token in enumerate(tokens):
                row = np.exp(truth.log_p(exact, [[*ids, *tokens[:k]]]))[0]
                p *= row[token] / (row[ends].sum() if context and not k else 1)
            total += p
            text = f"{context} {word}".strip()
            if tokenizer.encode(text, add_special_tokens=False).ids == [*ids[1:], *tokens]:
                own = p, size
    given = (network, context, word, tokenizer)
    assert recency.cloze(*given, tokenizations=n) == pytest.approx(total, abs=1e-6, rel=1e-4)
    assert recency.cloze(*given) == pytest.approx(own[0], abs=1e-6)
    assert total > own[0] * 1.001
    with pytest.raises(
        recency.InputError, match=f"'abab' has {own[1]} tokens itself; allow as many"
    ):
        recency.cloze(*given, tokenizations=own[1] - 1)


def test_an_empty_entry_of_the_vocabulary_is_in_no_tokenization():
    merges = [("Ġ", "a"), ("a", "b"), ("Ġa", "b")]
    entries = [*BYTES, ""]
    tokenizer = finish(models.BPE({e: n for n, e in enumerate(entries)}, merges), "bytes")
    network = gpt2(entries)
    own = recency.cloze(network, "ab", "ab", tokenizer)
    sums = [recency.cloze(network, "ab", "ab", tokenizer, tokenizations=n) for n in (1, 2, 3, 4)]
    assert sums[0] == pytest.approx(own, abs=1e-6)
    assert (np.diff(sums) > -1e-8).all()  # up to rounding


def test_a_word_whose_first_token_has_no_mark_of_a_space():
    """An added token that takes the space before it."""
    tokenizer, network = byte_tokenizer(), gpt2([*BYTES, "bbb"])
    tokenizer.add_tokens([AddedToken("bbb", lstrip=True, special=False)])
    assert recency.cloze(network, "ab", "bbb", tokenizer) > 0
    with pytest.raises(recency.InputError, match="'bbb', 'bbb', does not show that a word begins"):
        recency.cloze(network, "ab", "bbb", tokenizer, tokenizations=4)


def test_too_many_tokenizations_are_refused():
    network, tokenizer = gpt2(BYTES), byte_tokenizer()
    with pytest.raises(
        recency.InputError, match="more than 4,096 prefixes of up to .* fewer than 24"
    ):
        recency.cloze(network, "ab", "ab" * 11, tokenizer, tokenizations=24)
    for wrong in (0, True):
        with pytest.raises(recency.InputError, match=f"{wrong} is no whole number"):
            recency.cloze(network, "ab", "ab", tokenizer, tokenizations=wrong)
