"""Words against tokens: one row per word, whatever the tokenizer does to them."""

import gzip

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
