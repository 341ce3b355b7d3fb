"""Word surprisal against one forward pass per word, and the whitespace correction by hand."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, models

from recency.errors import InputError
from recency.networks import architectures
from recency.scoring import alignment, output_layer, surprisal, texts
from recency.scoring import causal as scoring
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import score_words
from small_networks import byte_tokenizer

MIX = {"form": "linear", "slopes": "mix"}
TINY = {
    "family": "gpt_neox",
    "layers": 2,
    "heads": 4,
    "width": 32,
    "feed_forward": 64,
    "context": 16,
    "rotary_fraction": 0.25,
}
TEXTS = [
    'The cat\u2019s well-known "friends" didn\'t sit (on 3.5 mats), naïvely.',
    "So it goes.",
    " ".join(["a long text of many words goes on and on"] * 6),
    "Word",
    "日本 語 🙂 end",
]


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer(TEXTS, 320)


def as_words(texts):
    rows = [(str(n), word) for n, text in enumerate(texts) for word in text.split()]
    words = pd.DataFrame(rows, columns=["item", "word"])
    words["word_id"] = np.arange(len(words), dtype=np.int32)
    return words


@pytest.fixture(scope="module", params=[{"form": "none"}, MIX, {"form": "primacy_recency"}])
def model(request, tokenizer):
    network_ = architectures.new(TINY, request.param, tokenizer.get_vocab_size(), 1).eval()
    with torch.no_grad():
        network_.lm_head.weight *= 30  # sharper than a fresh network
    return network_


def brute_force(texts, model, tokenizer, bos, stride, size):
    """Surprisal in bits of each word, one forward pass per token, in float64."""
    model = model.double()
    bits = []
    for text in texts:
        words = text.split()
        ids, owner = [], []
        for n, word in enumerate(words):
            for token in tokenizer.encode(" " * (n > 0) + word, add_special_tokens=False).ids:
                ids.append(token)
                owner.append(n)
        stream = [0] * bos + ids
        total = np.zeros(len(words))
        for k in range(len(ids)):
            place = k + bos  # tokens of the stream before token k
            end = size + max(0, -(-(place - size) // stride)) * stride
            begin = max(0, end - size)
            context = stream[begin:place]
            if not context:
                total[owner[k]] = np.nan
                continue
            # Windows are cut before scoring, so a form that uses the length sees all of its keys.
            window = torch.tensor([stream[begin : min(end, len(stream))]])
            with torch.no_grad():
                logits = model(window).logits[0, len(context) - 1]
            total[owner[k]] -= torch.log_softmax(logits, -1)[ids[k]].item() / np.log(2)
        bits.append(total)
    model.float()
    return np.concatenate(bits)


def masses(text, model, tokenizer):
    """Per word, log2 of the mass of Ġ tokens and of <|endoftext|> before it, and at the end."""
    ids = [0, *tokenizer.encode(text, add_special_tokens=False).ids]
    begins = [0] + [n for n in range(2, len(ids)) if tokenizer.id_to_token(ids[n])[0] == "Ġ"]
    places = [max(0, n - 1) for n in begins] + [len(ids) - 1]
    vocabulary = tokenizer.get_vocab()
    spaces = [number for token, number in vocabulary.items() if token.startswith("Ġ")]
    with torch.no_grad():
        p = torch.softmax(model.double()(torch.tensor([ids])).logits[0], -1)
    found = [(p[place, spaces].sum().item(), p[place, 0].item()) for place in places]
    model.float()
    return np.array(found)


@pytest.mark.parametrize("variant", texts.VARIANTS)
def test_variants_against_brute_force(model, tokenizer, variant):
    text = TEXTS[1]
    got = score_words([text.split()], model, tokenizer, correction=variant)
    space, end = masses(text, model, tokenizer).T
    mass = space if variant == "oh_schuler" else space + end
    mass[0] = 1 - space[0] if variant == "pimentel_meister_first" else 1.0
    expected = got.table["surprisal_bits"] - np.log2(mass[1:]) + np.log2(mass[:-1])
    np.testing.assert_allclose(got.table["corrected_bits"], expected, atol=1e-4)
    total = got.table["surprisal_bits"].sum() - np.log2(mass[-1]) + np.log2(mass[0])
    assert got.table["corrected_bits"].sum() == pytest.approx(total, abs=1e-4)
    assert got.texts == 1 and got.discrepancy < 1e-9
    assert f"({variant}) adds up in 1 of 1 texts" in got.notes[1]


def test_extreme_logits(tokenizer):
    """Where exp would overflow, or all but vanish, the sums are done again with their maximum."""
    network_ = architectures.new(TINY, {"form": "none"}, tokenizer.get_vocab_size(), 2).eval()
    words = as_words(TEXTS[:2])
    for scale in (1e4, 1e-4):
        with torch.no_grad():
            network_.lm_head.weight *= scale
        got = score_words(words, network_, tokenizer).table["surprisal_bits"]
        expected = brute_force(TEXTS[:2], network_, tokenizer, True, 8, 16)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-4)


def test_bf16_is_near(model, tokenizer):
    words = as_words(TEXTS)
    exact = score_words(words, model, tokenizer).table["surprisal_bits"]
    near = score_words(words, model, tokenizer, precision="bf16").table["surprisal_bits"]
    assert 0 < (near - exact).abs().mean() < 0.02 * exact.mean()


def test_first_word_without_context(model, tokenizer):
    null = score_words(as_words(TEXTS), model, tokenizer, bos=False)
    assert (null.ledger["reason"] == "has no context").sum() == len(TEXTS)
    rest = score_words(as_words(TEXTS), model, tokenizer, bos=False, first_word="rest").table
    assert rest["surprisal_bits"].notna().all()
    later = null.table["surprisal_bits"].notna()
    np.testing.assert_array_equal(
        null.table["surprisal_bits"][later], rest["surprisal_bits"][later]
    )


def test_a_leading_space_makes_the_first_word_like_any_other(model, tokenizer):
    """A word after the begin token, written with its space: B's first token is one of B."""
    got = score_words(
        ["goes"], model, tokenizer, leading_space=True, correction="pimentel_meister_first"
    )
    ids = tokenizer.encode(" goes", add_special_tokens=False).ids
    with torch.no_grad():
        p = torch.softmax(model(torch.tensor([[0, *ids]])).logits[0].double(), -1)
    plain = -sum(np.log2(p[n, token].item()) for n, token in enumerate(ids))
    assert got.table["surprisal_bits"][0] == pytest.approx(plain, abs=1e-4)
    initial = np.flatnonzero(alignment.kinds(tokenizer) != alignment.REST)
    mass = p[:, initial].sum(-1).log2()
    expected = plain - mass[-1].item() + mass[0].item()
    assert got.table["corrected_bits"][0] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("stride", [None, 1, 5, 16])
def test_against_one_forward_pass_per_token(model, tokenizer, bos, stride):
    got = score_words(as_words(TEXTS), model, tokenizer, bos, stride).table
    expected = brute_force(TEXTS, model, tokenizer, bos, stride or 8, 16)
    np.testing.assert_allclose(got["surprisal_bits"], expected, atol=1e-4)
    assert got["surprisal_bits"].isna().sum() == (0 if bos else len(TEXTS))
    assert (got["tokens"] >= 1).all()


def by_hand(monkeypatch, tokenizer, ids, p, space, **settings):
    """Score the words "the matron", tokens the · Ġmat · ron, with the probabilities given."""
    word = np.array([0, 1, 1])[: len(ids)]
    scores = scoring.Scores(
        np.log(p), np.log(space), np.full(len(space), -np.inf), np.arange(len(p))
    )
    text = alignment.Text(np.array(ids), word, 2)
    monkeypatch.setattr(alignment, "align_texts", lambda *a, **k: [text])
    monkeypatch.setattr(scoring, "score", lambda *a, **k: [scores])
    monkeypatch.setattr(output_layer, "OutputLayer", lambda *a: None)
    words = pd.DataFrame({"item": "1", "word": ["the", "matron"], "word_id": [0, 1]})
    return score_words(words, None, tokenizer, **settings).table


def test_correction_by_hand(monkeypatch, tokenizer):
    """SCIENCE's example: P_B(c) = .5, p(Ġmat) = .5, p(ron | Ġmat) = .8, P_B after mat .2, then 1."""
    the, space_mat, ron = tokenizer.encode("the", add_special_tokens=False).ids[0], 5, 6
    matron = [the, space_mat, ron], [0.25, 0.5, 0.8], [1.0, 0.5, 0.2, 1.0]
    got = by_hand(monkeypatch, tokenizer, *matron)
    assert got["surprisal_bits"].round(4).tolist() == [2.0, 1.3219]
    # "the" pays for the space behind it, which P_B(c) = .5 gives it; "matron" gets that bit back.
    assert got["corrected_bits"].round(4).tolist() == [3.0, 0.3219]
    mat = [the, space_mat], [0.25, 0.5], [1.0, 0.5, 0.2]
    got = by_hand(monkeypatch, tokenizer, *mat)
    assert got["surprisal_bits"].round(4).tolist() == [2.0, 1.0]
    assert got["corrected_bits"].round(4).tolist() == [3.0, 2.3219]
    nats = by_hand(monkeypatch, tokenizer, *mat, unit="nats")
    np.testing.assert_allclose(nats["corrected_nats"], got["corrected_bits"] * np.log(2))
    ten = by_hand(monkeypatch, tokenizer, *mat, unit="log10")
    np.testing.assert_allclose(ten["surprisal_log10"], got["surprisal_bits"] * np.log10(2))


def test_correction_is_a_probability(model, tokenizer):
    """Corrected probabilities of all words that may follow never add up to more than one."""
    got = score_words(as_words(TEXTS), model, tokenizer).table
    assert (got["corrected_bits"] > -1e-4).all()


def test_words_of_many_scripts_are_aligned(tokenizer):
    for text in TEXTS:
        words = text.split()
        aligned = alignment.align(words, tokenizer)
        for n, word in enumerate(words):
            pieces = tokenizer.decode(aligned.ids[aligned.word == n].tolist())
            assert pieces.strip() == word


@pytest.mark.parametrize(
    "word, reason",
    [
        ("10\u00a0000", "has white space within"),
        ("New York", "has white space within"),
        ("\U0001f9d1\u200d\U0001f680", "has a character in several tokens"),
        ("<|endoftext|>", "has the special token's string <|endoftext|>"),
    ],
)
def test_ledger_says_why(model, tokenizer, word, reason):
    got = score_words([["the", word, "mats,", "na\u00efvely"]], model, tokenizer)
    row = got.ledger[got.ledger["word_id"] == 1]
    assert reason in set(row["reason"])
    assert got.table["surprisal_bits"].notna().all()
    whole = alignment.as_text(tokenizer, f"the {word} mats, na\u00efvely")
    assert got.table["tokens"].sum() == len(whole.ids)


def test_many_datasets_in_one_load(tmp_path, model, tokenizer):
    folder = tmp_path / "lm"
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    tables = [as_words(TEXTS[:2]), as_words(TEXTS[2:])]
    paths = [tmp_path / f"{n}.parquet" for n in range(2)]
    for table, path in zip(tables, paths):
        table.to_parquet(path)
    names = {"out": [tmp_path / "a", tmp_path / "b"], "ledger": [tmp_path / "c", tmp_path / "d"]}
    lm = LMSpec("lm", folder, folder / "tokenizer.json")
    surprisal.main(paths, lm, dataset=["0", "1"], **names)
    for table, out in zip(tables, names["out"]):
        expected = score_words(table, model, tokenizer).table
        pd.testing.assert_frame_equal(pd.read_parquet(out), expected)
    assert "has a character in several tokens" in names["ledger"][1].read_text(encoding="utf-8")


def test_word_initial_tokens(tokenizer):
    mask = alignment.kinds(tokenizer) != alignment.REST
    tokens = [tokenizer.id_to_token(n) for n in np.flatnonzero(mask)]
    assert "<|endoftext|>" in tokens and "Ġ" in tokens
    assert all(token.startswith("Ġ") or token == "<|endoftext|>" for token in tokens)


def test_memory_bound_does_not_change_scores(model, tokenizer):
    words = as_words(TEXTS)
    one = score_words(words, model, tokenizer, tokens_at_once=1).table
    many = score_words(words, model, tokenizer, tokens_at_once=10_000).table
    np.testing.assert_allclose(one["surprisal_bits"], many["surprisal_bits"], atol=1e-4)


def test_no_bos_token(model, tokenizer):
    bare = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    with pytest.raises(InputError, match="set `bos: false`"):
        score_words(as_words(["a"]), model, bare)


SHAPES = {
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 16},
    "OPT": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 64}
    | {"max_position_embeddings": 16, "word_embed_proj_dim": 16},
    "Gemma2": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 8}
    | {"num_key_value_heads": 2, "intermediate_size": 64, "max_position_embeddings": 16}
    | {"final_logit_softcapping": 3.0, "attn_implementation": "eager"},
    "Cohere": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    | {"intermediate_size": 64, "max_position_embeddings": 16, "logit_scale": 0.25},
}


@pytest.mark.parametrize("family", SHAPES)
def test_models_of_other_families(tokenizer, tmp_path, family):
    """From a folder as the Hub has them: tied, projected, capped or scaled output layers."""
    import transformers

    torch.manual_seed(1)
    size = tokenizer.get_vocab_size()
    settings = SHAPES[family] | {"vocab_size": size, "initializer_range": 0.2}
    settings |= {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
    if family == "GPT2":
        settings["activation_function"] = "gelu_new"
    config = getattr(transformers, f"{family}Config")(**settings)
    made = getattr(transformers, f"{family}ForCausalLM" if family != "GPT2" else "GPT2LMHeadModel")
    network_ = made(config).eval()
    network_.save_pretrained(tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    loaded = surprisal.load(tmp_path, tmp_path / "tokenizer.json")
    got = score_words(as_words(TEXTS), loaded).table
    expected = brute_force(TEXTS, network_, tokenizer, True, 8, 16)
    np.testing.assert_allclose(got["surprisal_bits"], expected, atol=1e-4)


def test_unknown_output_layers_are_refused(tokenizer):
    class Odd(type(architectures.new(TINY, {"form": "none"}, 300, 1))):
        def forward(self, *args, **kwargs):
            out = super().forward(*args, **kwargs)
            out.logits = out.logits * 1.5
            return out

    odd = Odd(architectures.new(TINY, {"form": "none"}, 300, 1).config).eval()
    with torch.no_grad():
        odd.lm_head.weight *= 30
    with pytest.raises(InputError, match="changes its logits after its output layer"):
        score_words("a", odd, tokenizer)


@pytest.mark.merge
def test_memory_does_not_grow_with_the_text(tokenizer):
    """8,000 tokens would have 1.6 GB of logits at once under this vocabulary."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("no /proc here to measure memory by")

    def peak():
        return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])

    network_ = architectures.new(TINY | {"width": 8, "context": 512}, MIX, 50_304, 1).eval()
    score_words([["word"] * 600], network_, tokenizer)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from what is held now
    before = peak()
    got = score_words([["word"] * 8_000], network_, tokenizer).table
    assert got["tokens"].sum() >= 8_000
    assert peak() - before < 400 * 1024


def test_settings_that_do_not_exist_are_refused_before_anything_is_opened():
    for settings, message in (
        (
            {"correction": "oh_shuler"},
            "no correction is called 'oh_shuler'; did you mean 'oh_schuler'",
        ),
        ({"first_word": "zero"}, "first_word 'zero' is none of null, rest"),
    ):
        with pytest.raises(InputError, match=message):
            score_words(["The cat sat"], "nowhere", **settings)
