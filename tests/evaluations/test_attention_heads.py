"""Attention by dependency and by distance: against loops over tokens, and where the truth is known."""

import numpy as np
import pandas as pd
import pytest
import torch
from statsmodels.stats.multitest import multipletests

from recency.errors import InputError
from recency.evaluations.attention_by_distance import score as attention_by_distance
from recency.evaluations.dependencies import score as attention_heads
from recency.networks import architectures, checkpoints
from recency.scoring import alignment, inner_states
from recency.scoring.lm_spec import LMSpec
from small_networks import MIX, NONE, TEXTS, TINY, byte_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer()


@pytest.fixture(scope="module")
def words():
    rows = [(f"{n:02}", n, word) for n, text in enumerate(TEXTS, 1) for word in text.split()]
    table = pd.DataFrame(rows, columns=["item", "sentence", "word"])
    return table.assign(word_id=np.arange(len(table), dtype=np.int32))


@pytest.fixture(scope="module")
def pairs(words):
    """Every third pair of words of a text, in three kinds."""
    rows = []
    for item, mine in words.groupby("item"):
        ids = list(mine.word_id)
        rows += [(kind_of(a + b), item, b, b, a) for b in ids for a in ids if a < b][::3]
    return pd.DataFrame(rows, columns=["type", "item", "sentence", "head", "dependent"])


def kind_of(number):
    return ("first_argument", "second_argument", "coreference")[number % 3]


def saved(folder, tokenizer, bias, context=96):
    model = architectures.new(TINY | {"context": context}, bias, tokenizer.get_vocab_size(), 3)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "query_key_value.weight" in name:
                weight *= 6  # attention that is far from even
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def attention_of(folder, ids, bias):
    """Attention (layers, heads, queries, keys) from the projections alone, in float64."""
    if bias["form"] == "none":  # with rotary embedding: what transformers computes itself
        model = checkpoints.load(folder).double()
        model.set_attn_implementation("eager")
        out = model(torch.tensor([ids]), output_attentions=True)
        return np.stack([layer[0].detach().numpy() for layer in out.attentions])
    model, seen = checkpoints.load(folder).double(), []
    for layer in model.base_model.layers:
        layer.attention.query_key_value.register_forward_hook(lambda *a: seen.append(a[2][0]))
    model(torch.tensor([ids]))
    n, count, width = len(ids), TINY["heads"], TINY["width"] // TINY["heads"]
    every = np.zeros((TINY["layers"], count, n, n))
    for layer, made in enumerate(seen):
        made = made.detach().numpy().reshape(n, count, 3 * width)
        for h in range(count):
            q, k = made[:, h, :width], made[:, h, width : 2 * width]
            for i in range(n):
                score = k[: i + 1] @ q[i] / np.sqrt(width)
                score = score - 2.0 ** (-8 * (h + 1) / count) * (i - np.arange(i + 1))
                every[layer, h, i, : i + 1] = np.exp(score) / np.exp(score).sum()
    return every


def run(folder, tmp_path, words, pairs, **reading):
    words.to_parquet(tmp_path / "words")
    pairs.to_parquet(tmp_path / "pairs")
    lm = LMSpec("x", folder, folder / "tokenizer.json", **reading)
    files = [tmp_path / name for name in ("out", "summary")]
    attention_heads.main(tmp_path / "words", tmp_path / "pairs", lm, *files, seed=1)
    return pd.read_parquet(tmp_path / "out"), pd.read_csv(tmp_path / "summary")


@pytest.mark.merge
@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("bias", [MIX, NONE], ids=["mix", "none"])
def test_attention_of_dependencies_against_loops(tmp_path, tokenizer, words, pairs, bias, bos):
    folder = saved(tmp_path / "lm", tokenizer, bias)
    rows, summary = run(folder, tmp_path, words, pairs, bos=bos)
    expected = {}
    for item, mine in words.groupby("item"):
        text = " ".join(mine.word)
        encoded = tokenizer.encode(text)
        ids = [tokenizer.token_to_id("<|endoftext|>")] * bos + encoded.ids
        every = attention_of(folder, ids, bias)
        # A token is of the word of its first letter; the space before a word is the word's.
        letters = [
            begin + len(text[begin:]) - len(text[begin:].lstrip()) for begin, _ in encoded.offsets
        ]
        owner = np.array([text[:letter].count(" ") for letter in letters])
        for pair in pairs[pairs["item"] == item].itertuples():
            first = mine.word_id.iloc[0]
            query = np.flatnonzero(owner == pair.head - first) + bos
            key = np.flatnonzero(owner == pair.dependent - first) + bos
            expected[pair.head, pair.dependent] = every[:, :, query][:, :, :, key].mean((2, 3))
    for row in rows.itertuples():
        there = expected[row.head, row.dependent][row.layer - 1, row.head_number - 1]
        assert row.attention == pytest.approx(there, abs=1e-5)
    grouped = rows.groupby(["type", "layer", "head_number"])[["attention", "control"]].mean()
    told = summary.set_index(["type", "layer", "head"])
    np.testing.assert_allclose(told.attention, grouped.attention.reindex(told.index), rtol=1e-6)
    np.testing.assert_allclose(told.control, grouped.control.reindex(told.index), rtol=1e-6)
    assert (summary.windows == 2).all() and (summary.left_out == 0).all()
    slopes = summary.groupby("head").slope.first()
    assert list(slopes) == [1 / 4, 1 / 16, 1 / 64, 1 / 256] if bias is MIX else slopes.isna().all()


def test_random_places_keep_the_shape():
    """Each control is the mean over a shape's tokens, slid within the text: by loops."""
    generator = torch.Generator().manual_seed(1)
    attention = torch.rand(3, 20, 20, generator=generator)
    heads_of = [np.array([7, 8]), np.array([3]), np.array([19])]
    dependents = [np.array([2]), np.array([1, 2]), np.array([0])]
    made = attention_heads.shapes(np.arange(3), heads_of, dependents, 0)
    attention_heads.draw(made, 0, 0, 20, 500, np.random.default_rng(2))
    here, there = attention_heads.gather(attention, made)
    every = attention.double().numpy()
    for at, (query, key) in enumerate(zip(heads_of, dependents)):
        for h in range(3):
            assert here[h, at] == pytest.approx(every[h][np.ix_(query, key)].mean(), rel=1e-6)
            for number in (0, 17, 499):
                step = made.shifts[at, number]
                value = every[h][np.ix_(query + step, key + step)].mean()
                assert there[h, at, number] == pytest.approx(value, rel=1e-6)
        # Every place that there is is drawn, and none outside the text.
        places = set(made.shifts[at] + key.min())
        assert places == set(range(20 - (query.max() - key.min())))


def test_begin_token_is_no_place():
    made = attention_heads.shapes(np.arange(1), [np.array([5])], [np.array([4])], 0)
    attention_heads.draw(made, 1, 0, 8, 200, np.random.default_rng(1))
    assert set(made.shifts[0] + 4) == set(range(1, 7))


def test_places_are_those_where_a_window_has_its_own_dependencies():
    """A second window's dependencies end after what it shares with the first; so do their places."""
    made = attention_heads.shapes(np.arange(1), [np.array([15, 16])], [np.array([3])], 0)
    attention_heads.draw(made, 0, 15, 20, 200, np.random.default_rng(1))
    assert set(made.shifts[0] + 16) == set(range(15, 20))


def test_attention_by_distance_alone_differs_in_nothing_from_its_control():
    """A head whose attention depends on distance alone has no difference, and p is 1."""
    pairs, found, drawn = planted(extra=0.0)
    rows = attention_heads.means(pairs, found, drawn, ["first_argument"], seed=1)
    assert rows.difference.abs().max() < 1e-12
    assert (rows.p == 1).all() and (rows.p_holm == 1).all()


def test_planted_preference_is_found():
    pairs, found, drawn = planted(extra=0.3)
    row = attention_heads.means(pairs, found, drawn, ["first_argument"], seed=1).iloc[0]
    assert row.p == 1 / (attention_heads.PLACEMENTS + 1)
    assert row.low > 0.15 and row.low < row.difference < row.high


def planted(extra):
    """One head that looks back by 1/(distance + 1), and `extra` from heads to their dependents."""
    random = np.random.default_rng(4)
    attention = 1.0 / (1 + np.abs(np.subtract.outer(np.arange(200), np.arange(200))))
    heads_of = random.choice(np.arange(10, 200), 40, replace=False)
    dependents = heads_of - random.integers(1, 6, 40)
    attention[heads_of, dependents] += extra
    made = attention_heads.shapes(
        np.arange(40), [np.array([h]) for h in heads_of], [np.array([d]) for d in dependents], 0
    )
    attention_heads.draw(made, 0, 0, 200, attention_heads.PLACEMENTS, random)
    here, there = attention_heads.gather(torch.tensor(attention)[None], made)
    pairs = pd.DataFrame({"type": "first_argument", "sentence": np.arange(40) // 2, "distance": 1})
    found = np.stack([here, there.mean(2)])[:, None]
    return pairs, found, there.sum(1)[None, :, None]


@pytest.mark.merge
def test_false_alarms_are_as_rare_as_they_should_be():
    """With places drawn at random, p is below .05 about one time in twenty."""
    random, hits = np.random.default_rng(7), 0
    attention = torch.tensor(random.random((1, 60, 60)))
    for _ in range(200):
        places = [(q, q - d) for d in (1, 2, 5, 9) for q in random.integers(d, 60, 5)]
        q, k = ([np.array([each[i]]) for each in places] for i in (0, 1))
        made = attention_heads.shapes(np.arange(20), q, k, 0)
        attention_heads.draw(made, 0, 0, 60, 199, random)
        here, there = attention_heads.gather(attention, made)
        pairs = pd.DataFrame({"type": ["a"] * 20, "sentence": range(20), "distance": 1})
        found = np.stack([here, there.mean(2)])[:, None]
        hits += (
            attention_heads.means(pairs, found, there.sum(1)[None, :, None], ["a"], 1).p[0] < 0.05
        )
    assert 1 <= hits <= 22  # binomial(200, .05): beyond in fewer than 1 of 1,000 runs


def test_holm_against_statsmodels():
    p = np.random.default_rng(1).random(24) ** 3
    np.testing.assert_allclose(attention_heads.holm(p), multipletests(p, method="holm")[1])


def test_texts_longer_than_the_window(tmp_path, tokenizer, words, pairs):
    """Each dependency counts in one window at most; those that no window holds are counted."""
    folder = saved(tmp_path / "lm", tokenizer, MIX, context=32)
    rows, summary = run(folder, tmp_path, words, pairs)
    one = rows[(rows.layer == 1) & (rows.head_number == 1)]
    assert len(one) == len(pairs)
    assert (summary.windows > summary.texts).all()
    lost = summary.groupby("type").left_out.first()
    assert 0 < lost.sum() == one.attention.isna().sum()
    assert one.distance.max() < 32
    # A layer's heads give the tokens of a window no more than 1.
    assert rows.attention.max() <= 1


@pytest.mark.parametrize("bias", [MIX, NONE], ids=["mix", "none"])
def test_attention_by_distance_against_loops(tmp_path, tokenizer, words, bias):
    folder = saved(tmp_path / "lm", tokenizer, bias)
    words.to_parquet(tmp_path / "words")
    attention_by_distance.main(
        tmp_path / "words", LMSpec("x", folder, folder / "tokenizer.json"), tmp_path / "out",
        tmp_path / "summary",
    )  # fmt: skip
    out, summary = pd.read_parquet(tmp_path / "out"), pd.read_csv(tmp_path / "summary")
    mass, uniform = np.zeros((2, 4, 200)), np.zeros(200)
    entropy, first, own, queries, later = np.zeros((2, 4)), 0.0, 0.0, 0, 0
    for _, mine in words.groupby("item"):
        ids = [tokenizer.token_to_id("<|endoftext|>"), *tokenizer.encode(" ".join(mine.word)).ids]
        every = attention_of(folder, ids, bias)
        for i in range(len(ids)):
            row = every[:, :, i, : i + 1]
            mass[:, :, : i + 1] += row[:, :, ::-1]
            uniform[: i + 1] += 1 / (i + 1)
            entropy -= (row * np.log2(np.maximum(row, 1e-300))).sum(2)
            own = own + row[:, :, i]
            first = first + (row[:, :, 0] if i else 0)
        queries, later = queries + len(ids), later + len(ids) - 1
    longest = out.distance.max() + 1
    told = out.mass.to_numpy().reshape(2, 4, longest)
    np.testing.assert_allclose(told, mass[:, :, :longest] / queries, atol=1e-5)
    np.testing.assert_allclose(told.sum(2), 1, atol=1e-6)
    alike = out.uniform.to_numpy().reshape(2, 4, longest)
    np.testing.assert_allclose(alike[0, 0], uniform[:longest] / queries, atol=1e-9)
    np.testing.assert_allclose(alike.sum(2), 1, atol=1e-9)
    np.testing.assert_allclose(summary.entropy_bits, entropy.ravel() / queries, atol=1e-5)
    np.testing.assert_allclose(summary.own, own.ravel() / queries, atol=1e-6)
    np.testing.assert_allclose(summary["first"], first.ravel() / later, atol=1e-6)
    far = (told * np.arange(longest)).sum(2).ravel()
    np.testing.assert_allclose(summary.mean_distance, far, rtol=1e-9)
    assert summary.relative_entropy.between(0, 1).all() and summary.total_variation.isna().all()


def test_total_variation_to_the_unbiased_network(tmp_path, tokenizer, words):
    """By loops in the first layer, whose input the bias has not changed; 0 without a bias."""
    folder = saved(tmp_path / "lm", tokenizer, NONE)
    words.to_parquet(tmp_path / "words")

    def run_with(bias):
        attention_by_distance.main(
            tmp_path / "words", LMSpec("x", folder, folder / "tokenizer.json", bias),
            tmp_path / "out", tmp_path / "summary",
        )  # fmt: skip
        return pd.read_csv(tmp_path / "summary").set_index(["layer", "head"]).total_variation

    slope = 0.5
    found = run_with({"form": "linear", "slopes": slope})
    total, queries = np.zeros(4), 0
    for _, mine in words.groupby("item"):
        ids = [tokenizer.token_to_id("<|endoftext|>"), *tokenizer.encode(" ".join(mine.word)).ids]
        plain = attention_of(folder, ids, NONE)[0]
        for i in range(len(ids)):
            row = plain[:, i, : i + 1]
            biased = row * np.exp(-slope * (i - np.arange(i + 1)))
            biased /= biased.sum(1, keepdims=True)
            total += np.abs(biased - row).sum(1) / 2
        queries += len(ids)
    np.testing.assert_allclose(found.loc[1], total / queries, atol=1e-5)
    assert run_with({"form": "linear", "slopes": 1e-9}).max() < 1e-6


def test_one_layer_at_a_time(tokenizer):
    """The hook sees every layer, lowest first, and the network keeps none."""
    model = architectures.new(TINY | {"layers": 3}, MIX, tokenizer.get_vocab_size(), 1).eval()
    inner_states.enable_weights(model)
    seen = []
    inner_states.visit_layers(
        model, list(range(1, 20)), lambda layer, a: seen.append((layer, a.shape))
    )
    assert seen == [(layer, (4, 19, 19)) for layer in range(3)]
    assert not any(m._forward_hooks for m in model.modules())


def test_other_networks_and_biased_layers(tokenizer):
    """Any causal network of transformers; a bias on its last layer changes nothing in the first."""
    from transformers import GPT2Config, GPT2LMHeadModel

    from recency.attention.biased import attach

    config = GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=32)
    seen = []
    for biased in (False, True):
        torch.manual_seed(1)
        model = GPT2LMHeadModel(config).eval()
        if biased:
            attach(model, MIX | {"layers": "last"})
        inner_states.enable_weights(model)
        seen.append({})
        inner_states.visit_layers(model, list(range(1, 20)), seen[-1].__setitem__)
    torch.testing.assert_close(seen[0][0], seen[1][0])
    assert (seen[0][1] - seen[1][1]).abs().max() > 0.01
    assert [each.slope for each in inner_states.list_heads(model)][2:] == [1 / 16, 1 / 256]


def test_masked_models_are_refused(tmp_path, words, pairs, tokenizer):
    from transformers import RobertaConfig, RobertaForMaskedLM

    folder = tmp_path / "lm"
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = RobertaConfig(vocab_size=400, intermediate_size=16, **shape)
    RobertaForMaskedLM(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    with pytest.raises(InputError, match="x is a masked LM"):
        run(folder, tmp_path, words, pairs)


def test_words_without_tokens_have_no_places():
    text = alignment.Text(np.array([5, 6, 7]), np.array([0, 0, 2]), 4)
    places = [list(each) for each in inner_states.word_tokens(text, 1)]
    assert places == [[1, 2], [], [3], []]
