"""Word entropy against all strings of a small vocabulary, a Markov chain's closed form, and seeds."""

import numpy as np
import pytest
import torch
import word_entropy_truth as truth
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput
from word_entropy_networks import LONGEST, PAIR, network_of

from recency.scoring.next_word import next_events, prefix_states, word_entropies
from recency.scoring.surprisal import Model, score_words

#: Network → whether its attention runs in branches.
NETWORKS = {
    "gpt2": True, "llama": True, "neox": True, "alibi": True, "gpt2+window": True, "mistral": True,
    "primacy": False, "cues": False, "gpt_neo": False, "lstm": False, "fofe": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer():
    return truth.tokenizer()


def compare(network, tokenizer, **settings):
    """Return the table of the texts, and the true entropies before and after each word."""
    settings = {"longest": LONGEST} | settings
    table = score_words(
        truth.TEXTS, Model(network, tokenizer), measures=PAIR, word_entropy=settings
    ).table
    with_end = settings.get("end_of_text", False)
    values = [truth.expected(network, text, tokenizer, LONGEST, with_end) for text in truth.TEXTS]
    return table, *(np.concatenate([v[a : len(v) - 1 + a] for v in values]) for a in (0, 1))


@pytest.mark.parametrize("name", NETWORKS)
def test_all_words_of_a_small_vocabulary(name, tokenizer, monkeypatch):
    """A beam that holds every prefix is the entropy of all strings of tokens; both bounds are it."""
    used = []
    compared = word_entropies.NextWords._compare
    monkeypatch.setattr(
        word_entropies.NextWords, "_compare", lambda *given: used.append(1) or compared(*given)
    )
    network = network_of(name)
    table, before, after = compare(network, tokenizer, method="beam", beam=10**4)
    np.testing.assert_allclose(table["word_entropy_bits"], before, atol=2e-4)
    np.testing.assert_allclose(table["word_entropy_upper_bits"], before, atol=2e-3)
    reduced = np.maximum(0, before - after)
    np.testing.assert_allclose(table["word_entropy_reduction_bits"], reduced, atol=4e-4)
    assert bool(used) == NETWORKS[name]


def test_end_of_the_text_as_an_outcome(tokenizer):
    """With `end_of_text` the end is one outcome more: the entropy of Pimentel & Meister's (2024) B."""
    settings = {"method": "beam", "beam": 10**4, "end_of_text": True}
    table, before, _ = compare(network_of("gpt2"), tokenizer, **settings)
    np.testing.assert_allclose(table["word_entropy_bits"], before, atol=2e-4)
    without = compare(network_of("gpt2"), tokenizer, method="beam", beam=10**4)[1]
    assert np.abs(before - without).max() > 0.01


@pytest.mark.parametrize("beam", [1, 3, 20])
@pytest.mark.parametrize("name", ["gpt2", "alibi"])
def test_bounds_contain_the_entropy(name, beam, tokenizer):
    table, before, _ = compare(network_of(name), tokenizer, method="beam", beam=beam)
    lower, upper = table["word_entropy_lower_bits"], table["word_entropy_upper_bits"]
    assert (lower <= before + 1e-4).all() and (upper >= before - 1e-4).all()
    assert (table["word_entropy_left"] > 1e-4).all() or beam == 20
    assert (table["word_entropy_bits"] == lower).all()


def many_samples(network, tokenizer, times, **settings):
    """Return estimates and standard errors (times, words), bits: every text has samples of its own."""
    given = {"longest": LONGEST} | settings
    table = score_words(
        truth.TEXTS * times, Model(network, tokenizer), measures=PAIR[:1], word_entropy=given
    ).table
    columns = table[["word_entropy_bits", "word_entropy_se_bits"]].to_numpy()
    return columns.T.reshape(2, times, -1)


MANY = [
    {"samples": 32, "estimator": "plain", "end_of_text": True},
    {"samples": 4},
    {"samples": 32},
    {"samples": 16, "estimator": "plain"},
    {"samples": 16, "end_of_text": True},
]


@pytest.mark.merge
@pytest.mark.parametrize(
    "settings", [MANY[2], *(pytest.param(each, marks=pytest.mark.merge) for each in MANY)], ids=str
)
def test_samples_are_unbiased_and_so_are_their_errors(settings, tokenizer):
    network = network_of("neox")
    _, before, _ = compare(network, tokenizer, method="beam", beam=10**4, **{
        name: value for name, value in settings.items() if name == "end_of_text"
    })  # fmt: skip
    values, errors = many_samples(network, tokenizer, 200, **settings)
    spread = values.std(0, ddof=1)
    off = (values.mean(0) - before) / (spread / np.sqrt(len(values)) + 1e-5)
    assert np.abs(off).max() < 4, off
    assert np.mean(off**2) < 2.5
    stated = np.sqrt((errors**2).mean(0))
    assert 0.8 < np.mean(stated / spread) < 1.25, stated / spread


def test_stepwise_has_a_far_smaller_error_than_plain(tokenizer):
    network = network_of("neox")
    stepwise = many_samples(network, tokenizer, 10, samples=16)[1]
    plain = many_samples(network, tokenizer, 10, samples=16, estimator="plain")[1]
    assert (stepwise.mean(0) < plain.mean(0) / 2).all()


@pytest.mark.parametrize("name", ["neox", "lstm"])
def test_words_of_a_list(name, tokenizer):
    """Each word's probability is that of its tokens and of its end, divided by the list's."""
    listed = ["a", "ab", "abc", "cab", "b", "bcbc"]
    network = network_of(name)
    model = Model(network, tokenizer)
    table = score_words(
        truth.TEXTS, model, measures=["word_entropy"], word_entropy={"words": listed, "longest": 5}
    ).table
    network.double()
    rows = []
    for text in truth.TEXTS:
        ids = [0]
        for number, word in enumerate(text.split()):
            space = " " * (number > 0)
            logs = truth.words(network, ids, 6, truth.FIRST if number else truth.REST)
            p = np.exp([logs[tuple(tokenizer.encode(space + each).ids)] for each in listed])
            rows.append((-np.sum(p / p.sum() * np.log2(p / p.sum())), 1 - p.sum()))
            ids += tokenizer.encode(space + word).ids
    columns = table[["word_entropy_bits", "word_entropy_outside"]]
    np.testing.assert_allclose(columns, rows, atol=2e-4)


class ChainConfig(PreTrainedConfig):
    """A Markov chain of tokens."""

    model_type = "test_chain"
    vocab_size: int = len(truth.ENTRIES)
    max_position_embeddings: int = 64


class ChainBody(PreTrainedModel):
    """The state after a token is the row of log-probabilities of the next one."""

    config_class = ChainConfig

    def __init__(self, config):
        super().__init__(config)
        self.rows = nn.Embedding(config.vocab_size, config.vocab_size)
        self.post_init()

    def get_input_embeddings(self):
        return self.rows

    def forward(self, input_ids, **unused):
        return (self.rows(input_ids),)


class ChainLM(PreTrainedModel):
    """A network that is a Markov chain, whose word entropy is known."""

    config_class, base_model_prefix = ChainConfig, "model"

    def __init__(self, config):
        super().__init__(config)
        self.model = ChainBody(config)
        self.lm_head = nn.Linear(config.vocab_size, config.vocab_size, bias=False)
        self.post_init()

    def get_output_embeddings(self):
        return self.lm_head

    def forward(self, input_ids, **unused):
        return CausalLMOutput(logits=self.lm_head(self.model(input_ids)[0]))


def test_a_markov_chain_has_its_closed_form(tokenizer):
    """H = h(first) + f (I − Q)⁻¹ h: Q are the steps within a word, f the first tokens."""
    size = len(truth.ENTRIES)
    random = np.random.default_rng(5)
    steps = random.dirichlet(np.full(size, 0.4), size)
    steps = 0.999 * steps + 0.001 / size
    steps[:, truth.REST] *= 0.6  # words end soon
    steps /= steps.sum(1, keepdims=True)
    network = ChainLM(ChainConfig()).eval()
    with torch.no_grad():
        network.model.rows.weight.copy_(torch.from_numpy(np.log(steps)))
        network.lm_head.weight.copy_(torch.eye(size))
    stop = steps[:, [*truth.FIRST, truth.END]].sum(1)
    within = steps[:, truth.REST]
    after = -stop * np.log2(stop) - (within * np.log2(within)).sum(1)
    inner = np.linalg.solve(
        np.eye(len(truth.REST)) - steps[np.ix_(truth.REST, truth.REST)], after[truth.REST]
    )
    whole = after + within @ inner  # the entropy of what follows each token within its word
    text, expected = "ab cab b a", []
    tokens = [0] + [tokenizer.encode(" " * (n > 0) + w).ids[-1] for n, w in enumerate(text.split())]
    for number, token in enumerate(tokens):
        first = truth.FIRST if number else truth.REST
        share = steps[token, first] / steps[token, first].sum()
        expected.append(share @ whole[first] - share @ np.log2(share))
    model = Model(network, tokenizer)
    table = score_words(
        [text], model, measures=PAIR, word_entropy={"method": "beam", "beam": 500, "longest": 30}
    ).table
    assert (table["word_entropy_lower_bits"] <= expected[:-1] + np.float64(1e-5)).all()
    assert (table["word_entropy_upper_bits"] >= expected[:-1] - np.float64(1e-5)).all()
    np.testing.assert_allclose(table["word_entropy_bits"], expected[:-1], atol=0.03)
    table = score_words(
        [text] * 100, model, measures=PAIR[:1], word_entropy={"longest": 30, "samples": 16}
    ).table
    values = table["word_entropy_bits"].to_numpy().reshape(100, -1)
    off = (values.mean(0) - expected[:-1]) / (values.std(0, ddof=1) / 10)
    assert np.abs(off).max() < 4


def test_seeds_and_the_company_of_other_texts(tokenizer):
    """The same seed gives the same samples, however the texts are grouped; another seed others."""
    model, columns = (
        Model(network_of("alibi"), tokenizer),
        ["word_entropy_bits", "word_entropy_se_bits"],
    )
    texts = [*truth.TEXTS, "a b c " * 8, "ab"]

    def table(texts, **settings):
        given = {"samples": 8, "longest": LONGEST} | settings
        return score_words(texts, model, measures=["word_entropy"], word_entropy=given).table[
            columns
        ]

    both = table(texts)
    np.testing.assert_allclose(table(texts), both, atol=0)
    np.testing.assert_allclose(table(texts[:2]), both[: len(table(texts[:2]))], atol=1e-4)
    assert not np.allclose(table(texts, seed=2), both, atol=1e-3)


@pytest.mark.parametrize("name", ["alibi", "lstm"])
def test_many_small_groups_give_the_same(name, tokenizer, monkeypatch):
    """Memory is bounded by groups of roots and parts of logits, which change nothing."""
    model = Model(network_of(name), tokenizer)
    asked = {"measures": PAIR, "word_entropy": {"samples": 12, "longest": LONGEST}}
    whole = score_words([*truth.TEXTS, "a b c " * 6], model, **asked).table
    monkeypatch.setattr(word_entropies, "NODES", 16)
    monkeypatch.setattr(word_entropies, "HELD", 16)
    monkeypatch.setattr(word_entropies, "TOKENS", 9)
    monkeypatch.setattr(next_events, "KEPT", 60)
    monkeypatch.setattr(next_events, "KEPT", 40)
    parts = score_words([*truth.TEXTS, "a b c " * 6], model, **asked).table
    np.testing.assert_allclose(parts.iloc[:, 5:], whole.iloc[:, 5:], atol=2e-4)


def test_windows_leave_room_for_a_word(tokenizer):
    """A long text is read in windows whose size is the network's less a word's tokens."""
    network = network_of("gpt2")
    text = "ab c " * 30
    settings = {"method": "beam", "beam": 10**4, "longest": 3}
    table = score_words(
        [text],
        Model(network, tokenizer),
        measures=PAIR[:1],
        word_entropy=settings,
        window=12,
        stride=4,
    ).table
    network.double()
    ids = [[0]] + [tokenizer.encode(" " * (n > 0) + w).ids for n, w in enumerate(text.split())]
    stream, size = [token for word in ids for token in word], 12 - 3 + 1
    begins = np.cumsum([len(word) for word in ids])[:-1]  # inputs before each word
    for place, got in list(zip(begins, table["word_entropy_bits"], strict=True))[::7]:
        start = max(0, -(-(place - size) // 4) * 4)
        logs = truth.words(
            network, stream[start:place], 3, truth.FIRST if place > 1 else truth.REST
        )
        assert got == pytest.approx(truth.entropy(list(logs.values())), abs=2e-4)


def test_half_precision_is_near(tokenizer):
    model, asked = Model(network_of("alibi"), tokenizer), {"method": "beam", "longest": 3}
    near, exact = (
        score_words(truth.TEXTS, model, measures=PAIR, word_entropy=asked, precision=p).table
        for p in ("bf16", "fp32")
    )
    np.testing.assert_allclose(near["word_entropy_bits"], exact["word_entropy_bits"], atol=0.1)


def test_attention_that_differs_in_branches_is_found(tokenizer, monkeypatch):
    """The first states of branches are compared with those of the whole text; then they are not used."""
    attend = prefix_states._attend
    monkeypatch.setattr(prefix_states, "_attend", lambda *given: attend(*given[:-2], 2, given[-1]))
    network = network_of("llama")
    table, before, _ = compare(network, tokenizer, method="beam", beam=10**4)
    np.testing.assert_allclose(table["word_entropy_bits"], before, atol=2e-4)
    notes = score_words(
        truth.TEXTS, Model(network, tokenizer), measures=PAIR, word_entropy={"longest": 3}
    ).notes
    assert any("reads each prefix with its whole context" in note for note in notes)
