"""Entropies, ranks, PMI and short contexts against whole logits in float64, one forward pass each."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch

import recency
from recency.errors import InputError
from recency.networks import architectures
from recency.scoring import measures, surprisal
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import Model, score_words
from small_networks import MIX, NONE, TINY, byte_tokenizer

TEXTS = [
    'The cat’s well-known "friends" didn’t sit (on 3.5 mats), naïvely.',
    "So it goes.",
    " ".join(["a long text of many words goes on and on"] * 4),
    "Word",
    "日本 語 🙂 end",
]
SHORT = TEXTS[0]
ROWS = 384  # of the output layer: a vocabulary of 320, padded
ALL = ["entropy", "entropy_reduction", "renyi_0", "renyi_0.5", "renyi_1", "renyi_0.99", "renyi_1.5"]
ALL += ["renyi_2", "renyi_inf", "rank", "log_rank", "top_1", "top_5", "pmi"]


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer(TEXTS, 320)


@pytest.fixture(scope="module", params=[NONE, MIX, {"form": "primacy_recency"}])
def model(request, tokenizer):
    made = architectures.new(TINY | {"context": 16}, request.param, tokenizer.get_vocab_size(), 1)
    with torch.no_grad():
        made.lm_head.weight *= 30  # sharper than a fresh network
    return Model(made.eval(), tokenizer)


def log_p(network, ids):
    """Return log p of every next token after `ids`, (inputs, vocabulary), in float64, bits."""
    network.double()
    with torch.no_grad():
        logits = network(torch.tensor([ids])).logits[0]
    network.float()
    return (torch.log_softmax(logits, -1) / np.log(2)).numpy()


def tokens_of(text, tokenizer):
    """Return a text's tokens, a list for each word."""
    words = enumerate(text.split())
    return [tokenizer.encode(" " * (n > 0) + word).ids for n, word in words]


def flat(words):
    return list(itertools.chain.from_iterable(words))


def uses_length(model):
    return any(getattr(module, "uses_length", False) for module in model.network.modules())


def renyi(logs, alpha):
    """Return the Rényi entropy of one distribution, as it is defined."""
    p = 2.0**logs
    if alpha == 1:
        return -np.sum(p * logs)
    if alpha == np.inf:
        return -logs.max()
    return np.log2(np.sum(p**alpha)) / (1 - alpha)


def in_windows(network, ids, bos, stride, size=16):
    """Return log p at each place of a text, the end with it, each in the first window that has it."""
    stream = [0] * bos + ids
    found, begin, done = [], 0, 0
    while True:
        end = min(begin + size, len(stream))
        found += list(log_p(network, stream[begin:end]))[done - begin :]
        done = end
        if end == len(stream):
            return np.array([np.full(ROWS, np.nan)] * (not bos) + found)
        begin = end + stride - size


def expected(network, text, tokenizer, bos, stride, size=16):
    """Return the measures of `ALL` but pmi, word by word, as they are defined."""
    words = tokens_of(text, tokenizer)
    logs = in_windows(network, flat(words), bos, stride, size)
    begins = np.cumsum([0, *map(len, words)])
    rows = []
    for (first, after), word in zip(itertools.pairwise(begins), words):
        at = logs[first]
        if np.isnan(at).any():
            rows.append({})
            continue
        order = np.argsort(-at, kind="stable")
        rank = 1 + int(np.flatnonzero(order == word[0])[0])
        row = {f"renyi_{a:g}_bits": renyi(at, a) for a in (0, 0.5, 1, 0.99, 1.5, 2, np.inf)}
        row["entropy_bits"] = renyi(at, 1)
        row["entropy_reduction_bits"] = max(0, renyi(at, 1) - renyi(logs[after], 1))
        row |= {"rank": rank, "log_rank_bits": np.log2(rank)}
        rows.append(row | {"top_1": float(rank <= 1), "top_5": float(rank <= 5)})
    return pd.DataFrame(rows, columns=measures.columns(ALL[:-1]))


@pytest.mark.parametrize("stride", [None, 1, 5])
@pytest.mark.parametrize("bos", [True, False])
def test_against_whole_distributions(model, tokenizer, bos, stride):
    if not bos and stride == 5:
        return
    got = score_words(TEXTS, model, bos=bos, stride=stride, measures=ALL[:-1]).table
    length = 8 if stride is None else stride
    wanted = [expected(model.network, text, tokenizer, bos, length) for text in TEXTS]
    wanted = pd.concat(wanted, ignore_index=True).astype(float)
    pd.testing.assert_frame_equal(got[list(wanted)], wanted, atol=2e-4, rtol=0)
    assert got["renyi_0_bits"].max() == pytest.approx(np.log2(ROWS))
    plain = score_words(TEXTS, model, bos=bos, stride=stride).table
    pd.testing.assert_frame_equal(got[list(plain)], plain, atol=1e-6)


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2, 4])
def test_short_contexts_are_the_network_alone_on_the_last_words(model, tokenizer, bos, length):
    """Each word after exactly so many words, in a network that is given nothing else."""
    if length == 0 and not bos:
        return
    texts = TEXTS[:2] + TEXTS[3:]
    network = architectures.new(
        TINY | {"context": 64}, {"form": "none"}, tokenizer.get_vocab_size(), 3
    ).eval()
    got = score_words(texts, Model(network, tokenizer), bos=bos, context=length).table
    wanted = []
    for text in texts:
        words = tokens_of(text, tokenizer)
        for number, word in enumerate(words):
            before = [0] * bos + flat(words[max(0, number - length) : number])
            logs = log_p(network, before + word)
            places = range(len(before) - 1, len(before) + len(word) - 1)
            bits = [
                -logs[place, token] if place >= 0 else np.nan for place, token in zip(places, word)
            ]
            wanted.append(sum(bits))
    column = got[f"surprisal_context_{length}_bits"]
    np.testing.assert_allclose(column, wanted, atol=1e-4)
    if length >= 1:  # early words have no other context
        first = got.groupby(np.repeat(np.arange(4), [len(t.split()) for t in texts])).head(
            length + 1
        )
        np.testing.assert_allclose(
            first[column.name], first["surprisal_bits"], atol=1e-4, equal_nan=True
        )


def test_a_context_that_does_not_fit_is_cut_as_a_long_text(model, tokenizer):
    """The network has 16 inputs; 40 words of context are more, so that the word is in a last window."""
    got = score_words(TEXTS[2], model, context=[40], stride=1).table
    if not uses_length(model):
        np.testing.assert_allclose(
            got["surprisal_context_40_bits"], got["surprisal_bits"], atol=1e-4
        )
    assert got["surprisal_context_40_bits"].notna().all()


def test_pmi_is_surprisal_without_context_less_surprisal_with_it(model):
    got = score_words(TEXTS, model, measures=["pmi"], context=0, unit="nats").table
    alone = got["surprisal_context_0_nats"]
    np.testing.assert_allclose(got["pmi_nats"], alone - got["surprisal_nats"], atol=1e-12)
    row = len(TEXTS[0].split())  # "So", which begins the second text
    by_itself = score_words("So", model).table["surprisal_bits"].iloc[0]
    assert alone.iloc[row] / np.log(2) == pytest.approx(by_itself, abs=1e-4)
    if not uses_length(model):  # one whose bias depends on it sees a shorter text otherwise
        assert got["pmi_nats"].iloc[0] == pytest.approx(0, abs=1e-4)
    only = score_words(TEXTS, model, measures="pmi").table
    assert list(only)[-1] == "pmi_bits"


@pytest.fixture(scope="module")
def plain(tokenizer):
    return architectures.new(TINY, NONE, tokenizer.get_vocab_size(), 5).eval()


def with_weights(network, change):
    """Return a copy of a network whose output layer is changed."""
    made = architectures.new(TINY, NONE, network.config.vocab_size, 5).eval()
    with torch.no_grad():
        change(made.lm_head.weight)
    return made


def test_a_uniform_distribution(plain, tokenizer):
    """All tokens are as probable: every entropy is log V, and a tie is no greater probability."""
    flat = Model(with_weights(plain, lambda weight: weight.zero_()), tokenizer)
    got = score_words(TEXTS, flat, measures=ALL).table
    for column in got.filter(regex="^(entropy|renyi_.*)_bits$"):
        np.testing.assert_allclose(got[column], np.log2(ROWS), rtol=1e-6, err_msg=column)
    np.testing.assert_allclose(got["entropy_reduction_bits"], 0, atol=1e-6)
    assert (got[["rank", "top_1", "top_5"]] == 1).all(axis=None)
    np.testing.assert_allclose(got["pmi_bits"], 0, atol=1e-5)


def test_ties_do_not_count(plain, tokenizer):
    """Rows that are twice there give equal logits, of which none is the greater."""
    half = Model(with_weights(plain, lambda weight: weight[192:].copy_(weight[:192])), tokenizer)
    single = score_words(TEXTS, half, measures="rank").table["rank"]
    counts = [len(text.split()) for text in TEXTS[:2]]
    for text, ranks in zip(TEXTS, np.split(single, np.cumsum(counts))[:2]):
        words = tokens_of(text, tokenizer)
        logs = log_p(half.network, [0, *flat(words)])
        begins = np.cumsum([0, *map(len, words)])[:-1]
        wanted = [
            1 + 2 * np.sum(logs[place, :192] > logs[place, word[0] % 192] + 1e-9)
            for place, word in zip(begins, words)
        ]
        assert ranks.tolist() == wanted


@pytest.mark.parametrize("factor", [1, 300, 3000])
@pytest.mark.parametrize("offset", [0, -100, 60])
def test_extreme_logits(plain, tokenizer, factor, offset):
    """Logits that lie far from 0, as GPT-2's, or far apart, lose nothing."""
    network = with_weights(plain, lambda weight: weight.mul_(factor))
    network.lm_head.bias = torch.nn.Parameter(torch.full((ROWS,), float(offset)))
    got = score_words(TEXTS[:2], Model(network, tokenizer), measures=ALL[:-1]).table
    wanted = [expected(network, text, tokenizer, True, 48, 96) for text in TEXTS[:2]]
    wanted = pd.concat(wanted, ignore_index=True).astype(float)
    pd.testing.assert_frame_equal(got[list(wanted)], wanted, atol=5e-4, rtol=1e-4)


def test_logits_far_from_zero_cost_no_second_pass(plain, tokenizer, monkeypatch):
    """GPT-2's lie at about -100: the logit of the token is taken off first, and once is enough."""
    network = with_weights(plain, lambda weight: weight.mul_(10))
    near = score_words(TEXTS, Model(network, tokenizer)).table
    network.lm_head.bias = torch.nn.Parameter(torch.full((ROWS,), -100.0))
    model, passes = Model(network, tokenizer), []
    from recency.scoring.output_layer import OutputLayer

    masses = OutputLayer.masses
    monkeypatch.setattr(
        OutputLayer, "masses", lambda *given: passes.append(given) or masses(*given)
    )
    far = score_words(TEXTS, model).table
    assert model.output_layers["fp32"].far and len(passes) == 1
    np.testing.assert_allclose(far["surprisal_bits"], near["surprisal_bits"], atol=1e-4)
    np.testing.assert_allclose(far["corrected_bits"], near["corrected_bits"], atol=1e-4)


def test_entropies_fall_as_alpha_grows(model):
    """H_0 ≥ H_0.3 ≥ … ≥ H_∞ ≥ 0 for every word; they are those of one distribution."""
    alphas = [0, 0.3, 0.5, 0.97, 1, 1.02, 1.7, 2, 5, 40, np.inf]
    names = [f"renyi_{alpha:g}" for alpha in alphas]
    got = score_words(TEXTS, model, measures=names).table[[f"{name}_bits" for name in names]]
    assert (got.diff(axis=1).iloc[:, 1:] < 2e-4).all(axis=None)
    assert (got >= 0).all(axis=None)
    # H_∞ is at least α → ∞'s limit: H_α ≤ α / (α - 1) · H_∞.
    assert (got["renyi_40_bits"] <= 40 / 39 * got["renyi_inf_bits"] + 2e-4).all()


@pytest.mark.parametrize("bos", [True, False])
def test_progress_counts_windows_of_all_lengths(plain, tokenizer, bos):
    seen = []
    recency.surprisal(
        TEXTS, plain, tokenizer, context=[1, 2], bos=bos, report=lambda *each: seen.append(each)
    )
    done, total = np.array(seen).T
    words = sum(len(text.split()) for text in TEXTS)
    assert done[-1] == total[-1] and (np.diff(done) >= 0).all() and (done <= total).all()
    assert total[0] >= total[-1] > words * 2 * 0.9


@pytest.mark.parametrize("settings", [{"tokens_at_once": 16}, {"tokens_at_once": 10_000}])
def test_batches_change_nothing(model, settings):
    asked = {"measures": ALL, "context": [1, 3]}
    one = score_words(TEXTS, model, **asked).table
    other = score_words(TEXTS, model, **asked, **settings).table
    pd.testing.assert_frame_equal(one, other, atol=1e-4)


def test_bfloat16_is_near(plain, tokenizer):
    model = Model(plain, tokenizer)
    exact, near = (
        score_words(TEXTS, model, measures=ALL[:-1], precision=p).table for p in ("fp32", "bf16")
    )
    for column in ("entropy_bits", "renyi_0.5_bits", "renyi_2_bits", "renyi_inf_bits"):
        np.testing.assert_allclose(near[column], exact[column], atol=0.05, err_msg=column)


@pytest.mark.parametrize("future", ["seen", "removed"])
def test_a_masked_model(tokenizer, future):
    """The distribution of a word's first token where it and the rest of the word are masked."""
    from transformers import BertConfig, BertForMaskedLM

    tokenizer = byte_tokenizer(TEXTS, 320)
    tokenizer.add_special_tokens(["[MASK]"])
    torch.manual_seed(1)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = BertConfig(vocab_size=321, intermediate_size=64, initializer_range=0.5, **shape)
    network = BertForMaskedLM(config).eval()
    asked = [name for name in ALL if name not in ("entropy_reduction", "pmi")]
    got = score_words(SHORT, network, tokenizer, measures=asked, future=future).table
    words = tokens_of(SHORT, tokenizer)
    ids, begins = flat(words), np.cumsum([0, *map(len, words)])
    for row, (first, after) in enumerate(itertools.pairwise(begins)):
        masked = ids[:first] + [320] * (after - first) + ids[after:]
        if future == "removed":
            masked = masked[:after]
        logs = log_p(network, masked)[first]
        found = got.iloc[row]
        for alpha in (0, 0.5, 0.99, 1.5, 2, np.inf):
            assert found[f"renyi_{alpha:g}_bits"] == pytest.approx(renyi(logs, alpha), abs=1e-4)
        assert found["entropy_bits"] == pytest.approx(renyi(logs, 1), abs=1e-4)
        assert found["rank"] == 1 + np.sum(logs > logs[ids[first]])
    for name in ("entropy_reduction", "pmi"):
        with pytest.raises(InputError, match=f"^'{name}' is a measure of causal LMs, .*entropy"):
            score_words(SHORT, network, tokenizer, measures=[name])
    with pytest.raises(InputError, match="context: .* is a measure of causal LMs"):
        score_words(SHORT, network, tokenizer, context=[1])


def test_ngrams_give_surprisal_alone(tmp_path):
    arpa = tmp_path / "one.arpa"
    arpa.write_text(
        "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-0.5\t</s>\n\n\\end\\\n"
    )
    assert len(recency.surprisal("a b", arpa, measures="surprisal")) == 2
    for settings in ({"measures": "entropy"}, {"context": 1}, {"rows": "tokens"}):
        with pytest.raises(InputError, match="^an n-gram model gives only words' surprisal, no '"):
            recency.surprisal("a b", arpa, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"measures": "entropi"}, r"no measure is called 'entropi'; did you mean 'entropy'\?"),
        ({"measures": ["renyi_x"]}, r"'renyi_x': renyi_<alpha> takes 0 or more, or inf"),
        ({"measures": ["renyi_-1"]}, "takes 0 or more"),
        ({"measures": ["renyi_nan"]}, "takes 0 or more"),
        ({"measures": ["renyi_<alpha>"]}, "takes 0 or more"),
        ({"measures": ["top_0"]}, r"top_<k> takes a whole number, 1 or more"),
        ({"measures": [3]}, "no measure is called 3"),
        ({"measures": 3}, "measures: 3 is no list"),
        ({"context": "item"}, r"for an n-gram's context set `within`"),
        ({"context": [1.5]}, r"context: 1.5 is no number of words"),
        ({"context": [-1]}, r"context: -1 is no number of words"),
        ({"context": True}, "context: True is no list"),
        ({"rows": "token"}, r"rows: 'token'; did you mean 'tokens'\?"),
        ({"measures": "pmi", "bos": False}, "need a begin token"),
        ({"context": 0, "bos": False}, "need a begin token"),
    ],
)
def test_what_cannot_be_is_one_line(settings, message, plain, tokenizer):
    with pytest.raises(InputError, match=message) as error:
        recency.surprisal(SHORT, plain, tokenizer, **settings)
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_columns_are_those_of_the_table(plain, tokenizer):
    asked, context = ["surprisal", *ALL, "renyi_0.50", "rank"], [4, 1, 1]
    names = measures.columns(asked, context, "nats")
    found = recency.surprisal(SHORT, plain, tokenizer, measures=asked, context=context, unit="nats")
    assert list(found)[7:] == names and len(names) == len(ALL) + 2
    assert found["entropy_nats"].iloc[3] == found["renyi_1_nats"].iloc[3]


def test_the_rule_s_function_writes_them(plain, tokenizer, tmp_path):
    """And writes today's table where nothing is asked for."""
    words = pd.DataFrame({"item": "a", "word_id": [4, 5], "word": ["So", "it"]})
    words.to_parquet(tmp_path / "words.parquet")
    plain.save_pretrained(tmp_path / "lm")
    tokenizer.save(str(tmp_path / "lm" / "tokenizer.json"))
    lm = LMSpec("lm", tmp_path / "lm", tmp_path / "lm" / "tokenizer.json")
    given = (tmp_path / "words.parquet", lm)
    surprisal.main(*given, tmp_path / "plain", "d")
    surprisal.main(*given, tmp_path / "empty", "d", measures=[], context=[])
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "empty").read_bytes()
    surprisal.main(*given, tmp_path / "more", "d", measures=["entropy"], context=[2])
    more = pd.read_parquet(tmp_path / "more")
    assert list(more)[-2:] == ["entropy_bits", "surprisal_context_2_bits"]
    pd.testing.assert_frame_equal(more.iloc[:, :-2], pd.read_parquet(tmp_path / "plain"), atol=1e-6)
