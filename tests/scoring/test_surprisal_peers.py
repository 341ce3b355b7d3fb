"""Against minicons and wordsprobability where they are right; where they are not, why."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

import recency
from peers import peer
from recency.evaluations.minimal_pairs.score import score
from recency.networks import architectures, train
from recency.scoring.surprisal import Model, load, score_words

SHAPE = {
    "family": "gpt_neox",
    "layers": 2,
    "heads": 4,
    "width": 32,
    "feed_forward": 64,
    "rotary_fraction": 0.25,
}
TEXTS = [
    "The cat's well-known friends sat on the mats, didn't they?",
    "So it goes on and on, and the long text goes on.",
]
END = "<|endoftext|>"


@pytest.fixture(scope="module")
def tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=384,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    syllables = [first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou"]
    filler = [" ".join(each * 2 for each in syllables)] * 2
    tokenizer.train_from_iterator(TEXTS * 3 + filler, trainer)
    return tokenizer


@pytest.fixture(scope="module")
def model(tokenizer):
    made = architectures.new(SHAPE | {"context": 2048}, {"form": "none"}, 384, 1).eval()
    assert made.get_output_embeddings().weight.shape[0] == tokenizer.get_vocab_size() == 384
    with torch.no_grad():
        made.lm_head.weight *= 3
    return made


@pytest.fixture
def fast(tokenizer):
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END)


@pytest.fixture
def minicons(model, fast):
    from minicons import scorer

    return scorer.IncrementalLMScorer(model, "cpu", tokenizer=fast)


def by_minicons(minicons, texts, **settings):
    scored = minicons.word_score_tokenized(
        texts, str.split, surprisal=True, base_two=False, **settings
    )
    return [np.array([score for _, score in text]) / np.log(2) for text in scored]


@pytest.fixture
def wordsprobability(model, fast):
    from wordsprobability.models.bow_lm import BaseBOWModel

    class Peer(BaseBOWModel):
        def _initialise_model(self):
            return model, fast

        def _get_n_logits(self):
            return model.get_output_embeddings().out_features

    return Peer()


def by_wordsprobability(peer, text, monkeypatch):
    from wordsprobability import main

    monkeypatch.setattr(main, "get_model", lambda name: peer)
    monkeypatch.setattr(main, "get_bow_symbol", lambda name: "Ġ")
    found = main.get_surprisal_per_word(text, "", return_buggy_surprisals=True)
    return found.astype({"surprisal": float, "surprisal_buggy": float})


@peer("minicons")
def test_minicons_agrees(minicons, model, tokenizer):
    for text, plain in zip(TEXTS, by_minicons(minicons, TEXTS, bos_token=True)):
        got = score_words([text.split()], model, tokenizer).table
        np.testing.assert_allclose(got["surprisal_bits"], plain, atol=1e-4)
    corrected = by_minicons(minicons, TEXTS, bos_token=True, bow_correction=True)
    for text, expected in zip(TEXTS, corrected):
        got = score_words([text.split()], model, tokenizer, correction="oh_schuler").table
        np.testing.assert_allclose(got["corrected_bits"], expected, atol=1e-4)


@peer("minicons")
def test_sentences_as_minicons_scores_them(minicons, model, tokenizer):
    """With a begin token all tokens count, without one all but the first: score_pairs gives both."""
    settings = {"reduction": lambda scores: -scores.sum().item() / np.log(2)}
    for bos in (True, False):
        every, rest, _ = score(TEXTS, Model(model, tokenizer), bos=bos)
        peer = minicons.sequence_score(TEXTS, bos_token=bos, **settings)
        np.testing.assert_allclose(every if bos else rest, peer, atol=1e-3)
        assert np.isfinite(every).all() == bos


@peer("minicons")
def test_minicons_without_bos_gives_words_their_neighbours_tokens(minicons, model, tokenizer):
    """It drops the first token's score but not the token: every word gets the tokens one later."""
    text = TEXTS[1]
    got = score_words([text.split()], model, tokenizer, bos=False, first_word="rest").table
    peer = by_minicons(minicons, [text])[0]
    assert np.abs(peer - got["surprisal_bits"]).max() > 0.1
    # Its own token scores are right, and add up to ours by the words that the tokens are in.
    scores = [score / np.log(2) for _, score in minicons.token_score(text, surprisal=True)[0]]
    first = np.cumsum([0, *got["tokens"][:-1]])
    np.testing.assert_allclose(np.add.reduceat(scores, first), got["surprisal_bits"], atol=1e-4)


@peer("minicons")
def test_minicons_makes_words_of_its_own(minicons, model, tokenizer):
    """It splits the text anew, at a space of another kind too: rows no longer match the words."""
    words = ["the", "10\u00a0000", "cats", "sat"]
    assert len(by_minicons(minicons, [" ".join(words)], bos_token=True)[0]) == len(words) + 1
    got = score_words([words], model, tokenizer)
    assert len(got.table) == len(words)
    assert "has white space within" in set(got.ledger["reason"])
    assert got.table["tokens"].sum() == len(tokenizer.encode(" ".join(words)).ids)


@peer("minicons")
def test_minicons_overruns_the_window(minicons, model, tokenizer):
    """It has no windows: a text longer than the model's input is run as it is, past its training."""
    words = (TEXTS[1].split() * 400)[:2200]
    got = score_words([words], model, tokenizer).table
    assert got["context_tokens"].max() <= 2048 < got["tokens"].sum()
    peer = by_minicons(minicons, [" ".join(words)], bos_token=True)[0]
    within = (np.cumsum(got["tokens"]) < 2048).to_numpy()
    np.testing.assert_allclose(got["surprisal_bits"][within], peer[within], atol=1e-3)
    assert np.abs(got["surprisal_bits"] - peer)[~within].max() > 1e-3


@peer("surprisal")
def test_the_package_surprisal_takes_the_end_of_text_for_impossible(
    model, fast, tokenizer, tmp_path
):
    """It pads by that token, and removes it from every distribution; apart from this it agrees."""
    from surprisal import AutoHuggingFaceModel

    model.save_pretrained(tmp_path)
    fast.save_pretrained(tmp_path)
    peer = AutoHuggingFaceModel.from_pretrained(str(tmp_path), model_class="causal")
    for text in TEXTS:
        (found,) = peer.surprise(text)
        got = score_words([text.split()], model, tokenizer).table["surprisal_bits"].sum()
        ids = [0, *tokenizer.encode(text).ids[:-1]]
        with torch.no_grad():
            p = torch.softmax(model(torch.tensor([ids])).logits[0].double(), -1)
        removed = torch.log2(1 - p[:, 0]).sum().item()
        assert removed < -1e-2
        theirs = np.asarray(found.surprisals, dtype=float).sum() / np.log(2)
        assert theirs == pytest.approx(got + removed, abs=1e-3)


@peer("wordsprobability")
def test_wordsprobability_agrees(wordsprobability, model, tokenizer, monkeypatch):
    text = TEXTS[0]
    peer = by_wordsprobability(wordsprobability, text, monkeypatch)
    got = score_words([text.split()], model, tokenizer, correction="pimentel_meister_first").table
    np.testing.assert_allclose(
        got["surprisal_bits"], peer["surprisal_buggy"] / np.log(2), atol=1e-4
    )
    np.testing.assert_allclose(
        got["corrected_bits"][1:], peer["surprisal"].iloc[1:] / np.log(2), atol=1e-4
    )


@peer("wordsprobability")
def test_wordsprobability_counts_the_end_twice_at_the_start(
    wordsprobability, model, tokenizer, monkeypatch
):
    """Its mass of what may begin a text holds <|endoftext|> as a non-word token and once more."""
    text = TEXTS[0]
    start = wordsprobability.vocab_masks
    assert (start["mid"] + start["punct"] + start["eos"]).max() == 2
    peer = by_wordsprobability(wordsprobability, text, monkeypatch)["surprisal"].iloc[0] / np.log(2)
    got = score_words([text.split()], model, tokenizer, correction="pimentel_meister_first").table
    with torch.no_grad():
        p = torch.softmax(model(torch.tensor([[0]])).logits[0, 0].double(), -1)
    space = [number for token, number in tokenizer.get_vocab().items() if token[0] == "Ġ"]
    once = 1 - p[space].sum().item()
    twice = np.log2((once + p[0].item()) / once)
    assert twice > 1e-4
    assert got["corrected_bits"][0] + twice == pytest.approx(peer, abs=1e-4)


@peer("wordsprobability")
def test_wordsprobability_writes_bytes_for_words(wordsprobability, model, tokenizer, monkeypatch):
    text = "the na\u00efve cat"
    peer = by_wordsprobability(wordsprobability, text, monkeypatch)
    assert peer["word"].tolist() == ["the", "naÃ¯ve", "cat"]
    got = score_words([text.split()], model, tokenizer)
    np.testing.assert_allclose(
        got.table["surprisal_bits"], peer["surprisal_buggy"] / np.log(2), atol=1e-4
    )


@peer("wordsprobability")
def test_wordsprobability_forgets_long_texts(wordsprobability, model, tokenizer, monkeypatch):
    """It cuts at 1,022 tokens whatever the model, and begins anew with 199 tokens of context."""
    words = (TEXTS[1].split() * 100)[:1200]
    got = score_words([words], model, tokenizer).table
    assert 1100 < got["tokens"].sum() < 2048  # one window for the model
    peer = by_wordsprobability(wordsprobability, " ".join(words), monkeypatch)
    off = np.abs(got["surprisal_bits"] - peer["surprisal_buggy"].to_numpy() / np.log(2))
    before = (np.cumsum(got["tokens"]) <= 1022).to_numpy()
    assert off[before].max() < 1e-4 and off[~before].max() > 1e-3


@pytest.mark.parametrize("metric", ["original", "within_word_l2r"])
@peer("minicons")
def test_minicons_agrees_on_masked_models(metric):
    """Where a word has no punctuation, which minicons takes for words of their own."""
    from minicons import scorer
    from tokenizers import processors
    from transformers import BertConfig, BertForMaskedLM

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces += ["the", "un", "##happ", "##y", "cat", "##s", "sat"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(pieces[:5])
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, ends)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=32,
        initializer_range=0.3,
    )
    bert = BertForMaskedLM(config).eval()
    names = ("pad", "unk", "cls", "sep", "mask")
    special = {f"{name}_token": piece for name, piece in zip(names, pieces)}
    fast = PreTrainedTokenizerFast(tokenizer_object=made, **special)
    if not hasattr(fast, "batch_encode_plus"):  # minicons asks for it; transformers 5 has it not
        fast.batch_encode_plus = fast.__call__
    peer = scorer.MaskedLMScorer(bert, "cpu", tokenizer=fast)
    text = "the unhappy cats sat"
    scores = peer.token_score(text, surprisal=True, base_two=True, PLL_metric=metric)[0]
    scores = [score for token, score in scores if token not in pieces[:5]]
    got = score_words([text.split()], bert, made, metric=metric).table
    np.testing.assert_allclose(
        got["surprisal_bits"], np.add.reduceat(scores, [0, 1, 4, 6]), atol=1e-4
    )


@peer("minicons")
def test_minicons_ranks_tokens_alike(minicons, model, tokenizer):
    """Its ranks are of its own `argsort`; ours are counted, in the pass that gives surprisal."""
    for text in TEXTS:
        rows = recency.surprisal(text, Model(model, tokenizer), rows="tokens", measures="rank")
        theirs = minicons.token_score(
            text, surprisal=True, base_two=True, rank=True, bos_token=True
        )
        scored = theirs[0][-len(rows) :]
        assert [round(rank) for *_, rank in scored] == rows["rank"].astype(int).tolist()
        np.testing.assert_allclose([s for _, s, _ in scored], rows["surprisal_bits"], atol=1e-4)


@peer("minicons")
def test_minicons_has_the_same_distributions(minicons, model, tokenizer):
    """Entropy, of its logits for the next word after each prefix of the text."""
    text = TEXTS[1]
    rows = recency.surprisal(
        text, Model(model, tokenizer), rows="tokens", measures=["entropy", "renyi_0.5", "renyi_inf"]
    )
    for row in rows.iloc[1::3].itertuples():
        logs = minicons.next_word_distribution([text[: row.start]], bos_token=True)[0].double()
        p = logs.exp()
        entropy = -(p * logs).sum().item() / np.log(2)
        assert row.entropy_bits == pytest.approx(entropy, abs=1e-4)
        assert row.renyi_inf_bits == pytest.approx(-logs.max().item() / np.log(2), abs=1e-4)
        half = 2 * p.sqrt().sum().log().item() / np.log(2)
        assert rows.loc[row.Index, "renyi_0.5_bits"] == pytest.approx(half, abs=1e-4)


@pytest.mark.parametrize("metric", ["original", "within_word_l2r"])
@peer("minicons")
def test_minicons_agrees_on_a_masked_lm_that_was_trained_here(masked_job, metric):
    """Pseudo-log-likelihood of each token, with a CLAP head and a bias, and without."""
    from minicons import scorer
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    clap = {"head": "clap", "positions": "none"}
    for own, bias in (({}, {"form": "none"}), (clap, {"form": "linear_both"})):
        masked_job |= {"architecture": masked_job["architecture"] | own, "bias": bias}
        masked_job["out"] = masked_job["out"].parent.with_name(f"lm{len(own)}") / "config.json"
        train.main(**masked_job)
        folder = str(masked_job["out"].parent)
        opened = AutoModelForMaskedLM.from_pretrained(folder).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder)
        tokenizer.batch_encode_plus = tokenizer.__call__  # minicons knows transformers 4 alone
        peer = scorer.MaskedLMScorer(opened, "cpu", tokenizer=tokenizer)
        text = "the cat saw a dog then he"
        expected = peer.token_score([text], surprisal=True, base_two=True, PLL_metric=metric)[0]
        expected = [score for token, score in expected if token not in tokenizer.all_special_tokens]
        got = score_words([text.split()], load(folder), metric=metric, tokens=True).tokens
        np.testing.assert_allclose(got["surprisal_bits"], expected, atol=1e-4)
