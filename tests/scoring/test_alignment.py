"""Words against tokens: one row per word, whatever the tokenizer does to them."""

import gzip

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from readingtimes import parsers
from recency.errors import REFUSALS
from recency.networks import architectures
from recency.scoring import alignment
from recency.scoring.surprisal import score_words

TINY = {
    "family": "gpt_neox",
    "layers": 2,
    "heads": 4,
    "width": 8,
    "feed_forward": 64,
    "rotary_fraction": 0.25,
}


def hard_tokenizer():
    """Words merge across spaces, one character is dropped, text is lower-cased, "x" is unknown."""
    vocabulary = {"<unk>": 0, "new york": 1, "is": 2, "is b": 3, "big": 4, "?": 5, "ig": 6}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    steps = [normalizers.Lowercase(), normalizers.Replace("\u200b", "")]
    tokenizer.normalizer = normalizers.Sequence(steps)
    pieces = Regex("new york|is b|\\w+|\\?|\U0001f642")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(pieces, "removed", invert=True)
    return tokenizer


def test_words_that_are_written_together():
    spaces = [False, True, False, True]
    text = alignment.align(["New", "York", "is", "big"], hard_tokenizer(), spaces=spaces)
    assert text.ids.tolist() == [0, 0]  # "NewYork" and "isbig"
    assert text.word.tolist() == [0, 2] and text.last.tolist() == [1, 3]
    text = alignment.align(["New", "York", "is", "big"], hard_tokenizer())
    assert text.ids.tolist() == [1, 3, 6] and text.last.tolist() == [1, 3, 3]


def test_ledger_of_merged_dropped_and_rewritten_words():
    text = alignment.align(["New", "York", "\u200b", "x", "\U0001f642", "big?"], hard_tokenizer())
    issues = {(each.word, each.reason): each.treatment for each in text.issues}
    assert issues[0, "a token reaches into word 2"] == "has all of it"
    assert issues[1, "merged with the word before"] == "null"
    assert issues[2, "dropped by the tokenizer"] == "null"
    assert (0, "is read as 'new'") in issues and (3, "has the unknown token") in issues
    assert text.ids[text.word == 5].tolist() == [4, 5]
    text = alignment.align(["is", "big"], hard_tokenizer())
    issues = {(each.word, each.reason): each.treatment for each in text.issues}
    assert text.ids.tolist() == [3, 6] and text.word.tolist() == [0, 1]
    assert issues[1, "begins in the token before"] == "has the rest"


def test_one_row_per_word_whatever_the_tokenizer_does():
    """A merged word is null, and its neighbour has the surprisal of both; nothing else moves."""
    bare = hard_tokenizer()
    network_ = architectures.new(TINY | {"context": 16}, {"form": "none"}, 7, 1).eval()
    words = [text.split() for text in ("New York ? is?", "is New York")]
    got = score_words(words, network_, bare, bos=False, first_word="rest")
    assert got.table["word_id"].tolist() == list(range(7))
    assert got.table["surprisal_bits"].isna().tolist() == [False, True] + 4 * [False] + [True]
    assert got.table["tokens"].tolist()[:2] == [1, 0]
    assert got.table["corrected_bits"].isna().all()  # this vocabulary marks no spaces
    assert set(got.ledger["word"]) >= {"New", "York"}
    assert list(got.ledger.columns) == ["word_id", "item", "word", "tokens", "reason", "treatment"]


@pytest.mark.parametrize("leading_space", [False, True])
@pytest.mark.parametrize("at_once", [1, 20, 10_000])
def test_texts_together_are_as_each_of_them(monkeypatch, leading_space, at_once):
    monkeypatch.setattr(alignment, "AT_ONCE", at_once)
    tokenizer, random = hard_tokenizer(), np.random.default_rng(1)
    pool = np.array(["New", "York", "\u200b", "x", "\U0001f642", "big?", "is", "a b"])
    texts = [random.choice(pool, random.integers(0, 6)).tolist() for _ in range(40)]
    spaces = [random.random(len(text)) < 0.7 for text in texts]
    for given in (None, spaces):
        together = alignment.align_texts(
            texts, tokenizer, [""] * len(texts), leading_space, spaces=given
        )
        for number, (words, text) in enumerate(zip(texts, together, strict=True)):
            gaps = None if given is None else given[number]
            single = alignment.align(words, tokenizer, "", leading_space, spaces=gaps)
            for name in ("ids", "word", "last", "spans"):
                assert getattr(text, name).tolist() == getattr(single, name).tolist()
            assert (text.words, text.issues) == (single.words, single.issues)
            of_token = brute_force_words(words, tokenizer, leading_space, gaps)
            assert text.word.tolist() == of_token


def brute_force_words(words, tokenizer, leading_space, spaces):
    """Return the word of each token's first character that is no space, character by character."""
    if not words:
        return []
    gaps = [True] * len(words) if spaces is None else spaces
    string, owner = " " * leading_space, [0] * leading_space
    for number, (word, gap) in enumerate(zip(words, gaps, strict=True)):
        string, owner = string + word, owner + [number] * len(word)
        if gap and number + 1 < len(words):
            string, owner = string + " ", owner + [number + 1]
    found = []
    for start, end in tokenizer.encode(string, add_special_tokens=False).offsets:
        inside = [place for place in range(start, end) if not string[place].isspace()]
        found.append(owner[inside[0]] if inside else owner[min(end, len(owner) - 1)])
    return found


def test_the_text_of_an_empty_word_is_named():
    texts, where = [["a"], ["a", " "]], ["item 1: ", "item 2: "]
    with pytest.raises(REFUSALS, match=r"item 2: word 2 \(' '\) is empty"):
        alignment.align_texts(texts, hard_tokenizer(), where)


def test_a_word_without_tokens_is_refused():
    with pytest.raises(REFUSALS, match=r"item 3: word 2 \(''\) is empty"):
        alignment.align(["a", "", "b"], hard_tokenizer(), "item 3: ")


@pytest.mark.merge
@pytest.mark.parametrize("name", ["20B", "gpt2"])
def test_every_word_of_every_corpus_has_one_row(shared_data, name):
    """With the published tokenizers: one row per word, and all tokens in some word, none in two."""
    packed = shared_data / "tokenizers" / f"{name}_tokenizer.json.gz"
    opened = Tokenizer.from_str(gzip.decompress(packed.read_bytes()).decode())
    files = {
        "natural_stories": {"stories": "naturalstories/all_stories.tok"},
        "ucl_spr": {"stimuli": "ucl/stimuli.txt"},
        "provo": {"words": "provo/provo_words.tsv.gz"},
    }
    network_ = architectures.new(
        TINY | {"context": 512}, {"form": "linear", "slopes": "mix"}, opened.get_vocab_size(), 1
    )
    for parser, paths in files.items():
        module = parsers.parser(parser)
        words = module.words({role: shared_data / path for role, path in paths.items()})
        words = words[words["item"].isin(words["item"].unique()[:40])].head(3000)
        got = score_words(words, network_.eval(), opened)
        assert got.table["word_id"].tolist() == words["word_id"].tolist()
        assert got.table[["surprisal_bits", "corrected_bits"]].notna().all(axis=None)
        texts = words.groupby("item", sort=False)["word"].agg(" ".join)
        encoded = opened.encode_batch(list(texts), add_special_tokens=False)
        assert got.table["tokens"].sum() == sum(len(each.ids) for each in encoded)
        unmarked = got.ledger["reason"].str.startswith("does not begin")
        assert not unmarked.any()
