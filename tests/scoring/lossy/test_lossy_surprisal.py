"""Lossy-context surprisal against loops over all subsets of a context, a network call each."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

import recency
from recency.errors import InputError
from recency.networks import architectures
from recency.scoring import foils
from recency.scoring.lm_spec import LMSpec
from recency.scoring.lossy import lossy_surprisal
from recency.scoring.surprisal import Model, _with_foils, score_words
from small_networks import MIX, NONE, TINY, byte_tokenizer

TEXTS = ["The cats’ well-known friend saw it.", "So it goes on, Naïve one.", "Word"]
LONG = " ".join(["a long text of many words goes on and on"] * 4)
HALF = {"form": "exponential", "half_life": 1.5}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 96, "initializer_range": 0.4}
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES |= {"intermediate_size": 64, "max_position_embeddings": 96, "initializer_range": 0.4}
RECURRENT = {"family": "recurrent", "layers": 1, "width": 16, "embedding": 12}


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer([*TEXTS, LONG], 300)


def network(name, vocabulary):
    """Return a random network in float64."""
    torch.manual_seed(4)
    if name == "GPT-2":
        config = transformers.GPT2Config(vocab_size=vocabulary, **GPT2)
        return transformers.GPT2LMHeadModel(config).eval().double()
    if name == "Llama":
        config = transformers.LlamaConfig(vocab_size=vocabulary, num_key_value_heads=2, **SIZES)
        return transformers.LlamaForCausalLM(config).eval().double()
    if name == "GPT-NeoX":
        config = transformers.GPTNeoXConfig(vocab_size=vocabulary, **SIZES)
        return transformers.GPTNeoXForCausalLM(config).eval().double()
    shape, bias = TINY, MIX if name == "biased" else NONE
    if name == "primacy":
        bias = {"form": "primacy_recency"}
    if name in ("gru", "fofe"):
        memory = {"gru": {"form": "gru"}, "fofe": {"form": "fofe", "half_lives": [1, 20]}}[name]
        shape = RECURRENT | {"memory": memory}
    built = architectures.new(shape, bias, vocabulary, 1).eval()
    with torch.no_grad():
        built.lm_head.weight *= 20  # sharper than a fresh network
    return built.double()


NETWORKS = ["GPT-2", "Llama", "GPT-NeoX", "biased", "primacy", "gru", "fofe"]


def tokens_of(text, tokenizer):
    """Return a text's tokens, a list for each word."""
    return [tokenizer.encode(" " * (n > 0) + w).ids for n, w in enumerate(text.split())]


def log_probabilities(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0].log_softmax(-1).numpy()


def brute_force(model, tokenizer, text, retention):
    """Return plain and corrected bits of each word: the expectation over every subset of its context."""
    spaces = [n for t, n in tokenizer.get_vocab().items() if t.startswith("Ġ")]
    spaces.append(0)  # <|endoftext|> ends a text
    words, bits = tokens_of(text, tokenizer), []
    for target, word in enumerate(words):
        plain = corrected = 0.0
        for kept in itertools.product([0, 1], repeat=target):
            weight, before = 1.0, [0]
            for j, is_kept in enumerate(kept):
                q = retention(target - j, j)
                weight *= q if is_kept else 1 - q
                before += words[j] if is_kept else []
            if weight == 0:
                continue
            log = log_probabilities(model, before + word)
            at = len(before) - 1 + np.arange(len(word))
            surprisal = -sum(log[j, token] for j, token in zip(at, word))
            mass = np.log(np.exp(log[:, spaces]).sum(-1))
            start = mass[len(before) - 1] if target else 0.0
            plain += weight * surprisal
            corrected += weight * (surprisal + start - mass[-1])
        bits.append((plain / math.log(2), corrected / math.log(2)))
    return np.array(bits)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_expectation_over_every_subset(name, tokenizer):
    model = network(name, tokenizer.get_vocab_size())
    lossy = {"erasure": HALF, "samples": 64}
    result = score_words(TEXTS, Model(model, tokenizer), lossy=lossy)
    expected = [
        brute_force(model, tokenizer, text, lambda d, j: 0.5 ** ((d - 1) / 1.5)) for text in TEXTS
    ]
    columns = ["surprisal_bits", "corrected_bits"]
    np.testing.assert_allclose(result.table[columns], np.concatenate(expected), atol=1e-9)
    assert (result.table.surprisal_standard_error_bits == 0).all()
    assert any("exact for all" in note for note in result.notes)
    assert np.ptp(np.concatenate(expected)[:, 0]) > 3


def test_retention_by_frequency_and_position(tokenizer):
    """Zipf frequency is 9 - unigram surprisal · log10 2; positions are within sentences."""
    model = network("GPT-2", tokenizer.get_vocab_size())
    rows = TEXTS[0].split()
    words = pd.DataFrame({"item": "a", "word": rows, "sentence": [1, 1, 1, 2, 2, 2]})
    words["unigram_bits"] = [6.0, 14.0, 20.0, 9.0, 11.0, 8.0]
    zipf = 9 - words.unigram_bits * math.log10(2)
    position = [1, 2, 3, 1, 2, 3]
    for form, values in (("frequency", zipf), ("position", position)):
        erasure = {"form": form, "slope": -0.7, "intercept": 2.0}
        result = score_words(words, Model(model, tokenizer), lossy={"erasure": erasure})
        expected = brute_force(
            model, tokenizer, TEXTS[0],
            lambda d, j, v=list(values): 1 / (1 + math.exp(-(2 - 0.7 * v[j]))),
        )  # fmt: skip
        np.testing.assert_allclose(result.table.surprisal_bits, expected[:, 0], atol=1e-9)
    with pytest.raises(InputError, match="the words have no column unigram_bits"):
        erasure = {"form": "frequency", "slope": 1, "intercept": 0}
        score_words(words[["item", "word"]], Model(model, tokenizer), lossy={"erasure": erasure})


@pytest.mark.parametrize("name", ["GPT-2", "biased", "gru"])
def test_truncation_is_a_short_context(name, tokenizer):
    """In float64 to 1e-12 of the bits; in float32 the windows' batches differ, and rounding with them."""
    opened = Model(network(name, tokenizer.get_vocab_size()), tokenizer)
    for double, tolerance in ((True, 1e-12), (False, 1e-5)):
        if not double:
            opened = Model(opened.network.float(), tokenizer)
        for words in (0, 2, 7):
            short = score_words([LONG, *TEXTS], opened, context=words)
            erasure = {"form": "truncation", "words": words}
            lossy = score_words([LONG, *TEXTS], opened, lossy={"erasure": erasure})
            expected = short.table[f"surprisal_context_{words}_bits"]
            np.testing.assert_allclose(lossy.table.surprisal_bits, expected, rtol=tolerance)


@pytest.mark.parametrize("window", [None, 12])
def test_full_retention_is_plain_surprisal(window, tokenizer):
    """Texts longer than the window too; the correction, the tokens and the ledger are the same."""
    opened = Model(network("GPT-NeoX", tokenizer.get_vocab_size()), tokenizer)
    spaced = pd.DataFrame({"item": "b", "word": ["do", "n’t", "stop", "it"]})
    spaced = spaced.assign(space_after=[False, True, False, True])
    for texts, correction in itertools.product(
        ([LONG, *TEXTS], spaced), ("pimentel_meister", "oh_schuler", "pimentel_meister_first")
    ):
        settings = {"correction": correction, "window": window, "stride": None}
        settings |= {"stride": 1} if window else {}
        plain = score_words(texts, opened, **settings)
        erasure = {"form": "exponential", "rate": 0}
        lossy = score_words(texts, opened, lossy={"erasure": erasure}, **settings)
        both = ["surprisal_bits", "corrected_bits", "tokens"]
        if not window:
            both.append("context_tokens")
        np.testing.assert_allclose(lossy.table[both], plain.table[both], rtol=1e-9, atol=1e-9)
        pd.testing.assert_frame_equal(lossy.ledger, plain.ledger)


@pytest.mark.merge
def test_draws_are_within_their_standard_errors(tokenizer):
    """Against the exact expectation; z-scores over words and seeds have about unit variance."""
    opened = Model(network("GPT-2", tokenizer.get_vocab_size()).float(), tokenizer)
    text, erasure = " ".join(LONG.split()[:12]), {"form": "power_law", "exponent": 0.7}
    exact = score_words(text, opened, lossy={"erasure": erasure, "samples": 2048}).table
    assert (exact.surprisal_standard_error_bits == 0).all()
    scores = []
    for seed in range(8):
        lossy = {"erasure": erasure, "samples": 48, "seed": seed}
        drawn = score_words(text, opened, lossy=lossy).table
        error = drawn.surprisal_standard_error_bits
        assert (error[7:] > 0).all() and (error[:5] == 0).all()
        scores.append(((drawn.surprisal_bits - exact.surprisal_bits) / error)[7:])
        moved = drawn.corrected_bits - exact.corrected_bits
        assert (moved.abs() < 8 * error.max()).all()
    scores = np.concatenate(scores)
    assert 0.5 < np.std(scores) < 1.6 and abs(np.mean(scores)) < 0.6


def test_results_do_not_depend_on_batches_or_other_texts(tokenizer, monkeypatch):
    opened = Model(network("GPT-2", tokenizer.get_vocab_size()), tokenizer)
    words = pd.DataFrame({"item": "x", "word": LONG.split()})
    lossy = {"erasure": HALF, "samples": 16, "tolerance": 2.0}
    single = score_words(words, opened, lossy=lossy).table.surprisal_bits
    monkeypatch.setattr(lossy_surprisal, "CONTEXTS_AT_ONCE", 1)
    other = pd.DataFrame({"item": "w", "word": TEXTS[0].split()})
    after = score_words(pd.concat([other, words]), opened, lossy=lossy, tokens_at_once=64)
    np.testing.assert_allclose(after.table.surprisal_bits[6:], single, rtol=1e-12)
    again = score_words(words, opened, lossy=lossy | {"seed": 2}).table.surprisal_bits
    assert (again != single).any()


@pytest.mark.merge
def test_a_tolerance_is_met_or_refused_on_a_pilot(tokenizer, monkeypatch):
    opened = Model(network("GPT-2", tokenizer.get_vocab_size()).float(), tokenizer)
    erasure, texts = {"form": "power_law", "exponent": 0.7}, [LONG] * 2
    loose = score_words(texts, opened, lossy={"erasure": erasure, "samples": 128}).table
    typical = float(loose.surprisal_standard_error_bits.median())
    lossy = {"erasure": erasure, "samples": 128, "tolerance": 3 * typical}
    met = score_words(texts, opened, lossy=lossy)
    errors = met.table.surprisal_standard_error_bits
    assert (errors > lossy["tolerance"]).mean() <= 0.05
    assert errors.median() > typical  # no more samples than it takes
    scored = []
    monkeypatch.setattr(
        lossy_surprisal.Estimates, "add",
        lambda self, asked, tolerance, add=lossy_surprisal.Estimates.add: (
            scored.append(len(asked)), add(self, asked, tolerance)
        ),
    )  # fmt: skip
    with pytest.raises(
        InputError, match=r"standard error of \d.* of 48 words tried.*samples are"
    ) as e:
        score_words(texts, opened, lossy=lossy | {"samples": 16, "tolerance": typical / 2})
    assert scored == [48] and "tolerance: null" in str(e.value) and "\n" not in str(e.value)


# Masked LMs


@pytest.fixture(scope="module")
def masked():
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    names = [
        "<s>",
        "<pad>",
        "</s>",
        "<unk>",
        "<mask>",
        *["the", "cat", "dog", "saw", "a", "new", "old", "one", "."],
    ]
    built = Tokenizer(models.WordLevel({n: i for i, n in enumerate(names)}, unk_token="<unk>"))
    built.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]
    )
    built.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    built.add_special_tokens(["<s>", "<pad>", "</s>", "<mask>"])
    torch.manual_seed(2)
    config = transformers.RobertaConfig(
        vocab_size=len(names), max_position_embeddings=40, type_vocab_size=1, pad_token_id=1,
        bos_token_id=0, eos_token_id=2,
        **{k: v for k, v in SIZES.items() if k != "max_position_embeddings"},
    )  # fmt: skip
    return Model(transformers.RobertaForMaskedLM(config).eval().double(), built, True)


@pytest.mark.parametrize("erased", [None, "masked", "deleted"])
@pytest.mark.parametrize("future", ["seen", "removed"])
def test_a_masked_lm(masked, erased, future):
    text = "the old dog. saw a cat."
    words = [masked.tokenizer.encode(w, add_special_tokens=False).ids for w in text.split()]
    expected = []
    for target, word in enumerate(words):
        total = 0.0
        for kept in itertools.product([0, 1], repeat=target):
            weight, before = 1.0, []
            for j, is_kept in enumerate(kept):
                q = 0.5 ** ((target - j - 1) / 1.5)
                weight *= q if is_kept else 1 - q
                hidden = [] if erased == "deleted" else [4] * len(words[j])
                before += words[j] if is_kept else hidden
            after = itertools.chain(*words[target + 1 :]) if future == "seen" else []
            after = list(after)
            for number, token in enumerate(word):
                rest = [4] * (len(word) - number)  # those to the right of it within the word, too
                ids = [0, *before, *word[:number], *rest, *after, 2]
                log = log_probabilities(masked.network, ids)
                total -= weight * log[1 + len(before) + number, token] / math.log(2)
        expected.append(total)
    lossy = {"erasure": HALF, "samples": 64} | ({"erased": erased} if erased else {})
    result = score_words(text, masked, future=future, lossy=lossy)
    # Logits of masked LMs are taken in float32.
    np.testing.assert_allclose(result.table.surprisal_bits, expected, atol=2e-6)
    assert result.table.corrected_bits.isna().all() and result.table.attrs["masked"]


# The rest of the package


def test_foils_have_lossy_contexts_and_only_they_are_scored(tokenizer, monkeypatch):
    model = network("GPT-2", tokenizer.get_vocab_size())
    words = pd.DataFrame({"item": "a", "sentence": 1, "word": TEXTS[0].split()})
    words = words.assign(foil=[None, None, None, "goes", None, "one."], word_id=range(6))
    asked = []
    monkeypatch.setattr(
        lossy_surprisal.Estimates, "add",
        lambda self, part, tolerance, add=lossy_surprisal.Estimates.add: (
            asked.append(len(part)), add(self, part, tolerance)
        ),
    )  # fmt: skip
    opened = Model(model, tokenizer)
    lossy = {"erasure": {"form": "resource_rational", "budget": {"share": 0.5}, "words": 5}}
    lossy["erasure"] |= {"features": ["distance"], "evaluations": 9}
    result = _with_foils(words, opened, {"lossy": lossy})
    assert [n for n in asked if n] == [6, 2]
    weights = result.table.attrs["lossy"]["erasure"]
    slope, intercept = weights["slopes"]["distance"], weights["intercept"]
    for j, foil in ((3, "goes"), (5, "one.")):
        text = " ".join([*TEXTS[0].split()[:j], foil])
        bits = brute_force(
            model, tokenizer, text, lambda d, _: 1 / (1 + math.exp(-intercept - slope * math.log(d)))
        )  # fmt: skip
        assert result.table[foils.COLUMN][j] == pytest.approx(bits[-1, 0], abs=1e-9)


def test_the_public_function_and_the_record_of_a_job(tokenizer):
    model = network("GPT-2", tokenizer.get_vocab_size())
    table = recency.surprisal(TEXTS, model, tokenizer, lossy={"erasure": HALF}, unit="nats")
    assert list(table)[-1] == "surprisal_standard_error_nats"
    spec = LMSpec("a", "b", lossy={"erasure": HALF})
    assert spec.reading["lossy"] == spec.settings["lossy"] == {"erasure": HALF}
    assert "lossy" not in LMSpec("a", "b").reading | LMSpec("a", "b").settings


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"lossy": {"erasure": HALF}, "measures": "entropy"}, "`measures` are of the whole context"),
        ({"lossy": {"erasure": HALF}, "context": 2}, "`context` are of the whole context"),
        ({"lossy": {"erasure": HALF}, "tokens": True}, "rows of tokens are of the whole context"),
        ({"lossy": {"erasure": HALF}, "bos": False}, "need a begin token"),
        ({"lossy": {"erasure": HALF, "erased": "masked"}}, "a causal one has no mask"),
        ({"lossy": {"erasure": HALF, "sample": 8}}, "did you mean 'samples'"),
        ({"lossy": {"erasure": HALF, "samples": 4}}, "samples is 4, and is a whole number from 8"),
        ({"lossy": {"erasure": HALF, "tolerance": 0}}, "tolerance is 0"),
        ({"lossy": {"erasure": {"form": "exponential", "first": 1.5, "rate": 1}}}, "first cannot be 1.5"),
        ({"lossy": {"erasure": {"form": "trunc", "words": 1}}}, "did you mean 'truncation'"),
        ({"lossy": {"erasure": {"form": "truncation"}}}, "words is missing"),
        ({"lossy": 3}, "no mapping with `erasure`"),
        (
            {"lossy": {"erasure": {"form": "resource_rational", "budget": {"words": 9}, "features": ["distance"]}}},
            "the budget of 9 retained words cannot be met: contexts have",
        ),
    ],
)  # fmt: skip
def test_what_has_no_meaning_is_refused(settings, message, tokenizer):
    opened = Model(network("GPT-2", tokenizer.get_vocab_size()), tokenizer)
    settings = dict(settings)
    if settings.pop("tokens", False):
        settings["rows"] = "tokens"
    with pytest.raises(InputError, match=message) as error:
        recency.surprisal(TEXTS, opened, **settings)
    assert "\n" not in str(error.value)


def test_an_n_gram_model_is_refused(tmp_path):
    path = tmp_path / "a.arpa"
    path.write_text("\\data\\\n")
    with pytest.raises(InputError, match="an n-gram model reads only the last n - 1 words"):
        score_words(TEXTS, path, lossy={"erasure": HALF})


def test_texts_that_are_drawn_alike_have_the_same_erasures(tokenizer):
    """As the pairs of texts of a measured memory, whose items differ."""
    opened = Model(network("GPT-2", tokenizer.get_vocab_size()).float(), tokenizer)
    words = pd.DataFrame({"item": ["p.0"] * 20 + ["p.1"] * 20, "word": LONG.split()[:20] * 2})
    lossy = {"erasure": HALF, "samples": 8}

    def halves(table):
        bits = score_words(table, opened, lossy=lossy).table.surprisal_bits.to_numpy()
        return bits[:20], bits[20:]

    first, second = halves(words)
    assert np.abs(first - second).max() > 0.01
    first, second = halves(words.assign(drawn_as="p"))
    np.testing.assert_allclose(first, second, rtol=1e-5)


def test_the_measured_memory_of_a_truncated_context_is_its_length(tokenizer, tmp_path):
    from recency.evaluations.measured_memory import score as measured

    model = network("GPT-2", tokenizer.get_vocab_size()).float()
    model.save_pretrained(tmp_path / "lm")
    tokenizer.save(str(tmp_path / "lm/tokenizer.json"))
    words = pd.DataFrame({"item": "a", "word": (LONG + " " + TEXTS[1]).split()})
    words.to_parquet(tmp_path / "words.parquet")
    changes = {}
    for name, erasure in (("two", {"form": "truncation", "words": 2}), ("half", HALF)):
        spec = LMSpec(
            "lm", tmp_path / "lm", tmp_path / "lm/tokenizer.json", bos="<|endoftext|>",
            lossy={"erasure": erasure, "samples": 8},
        )  # fmt: skip
        measured.main(tmp_path / "words.parquet", spec, tmp_path / f"{name}.parquet", 8, 6, 10, 1)
        table = pd.read_parquet(tmp_path / f"{name}.parquet")
        changes[name] = table.change_bits.abs().groupby(table.distance).mean()
    assert (changes["two"][[1, 2]] > 0.05).all() and (changes["two"][3:] < 1e-3).all()
    assert (changes["half"] > 1e-3).all()
