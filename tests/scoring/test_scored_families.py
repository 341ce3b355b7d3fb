"""Surprisal under many families of models, against float64 networks that see whole windows."""

import re

import numpy as np
import pytest
import torch

import recency
from peers import peer
from project import ROOT
from recency.scoring import texts
from recency.scoring.masked import FUTURES, METRICS
from recency.scoring.surprisal import Model, score_words
from scored_families import (
    BEGIN,
    CAUSAL,
    CONTEXT,
    END,
    LONG,
    MASKED,
    MORE,
    REFUSED,
    SCORED,
    TEXTS,
    WHY,
    fast,
    in_double,
    network,
    tokenizer,
    tokens_of,
    window,
    written_out,
    written_out_masked,
)

#: Bits.
NEAR = 1e-4
pytestmark = [pytest.mark.apart, pytest.mark.merge]


def scored(name, texts, opened=None, **settings):
    """Return surprisal and corrected surprisal in bits, and check that one table has all words."""
    if opened is None:
        bare = tokenizer(name in MASKED)
        opened = Model(network(name), bare, name in MASKED, "<s>")
    settings = {"window": window(name)} | settings
    table = recency.surprisal(texts, opened, **settings)
    assert list(table["word"]) == [word for text in texts for word in text.split()]
    return table["surprisal_bits"].to_numpy(), table["corrected_bits"].to_numpy()


def references(
    exact, texts, variant="pimentel_meister", bos=BEGIN, stride=CONTEXT // 2, size=CONTEXT
):
    found = [written_out(exact, text, bos, stride, size) for text in texts]
    return [np.concatenate([each[kind] for each in found]) for kind in ("plain", variant)]


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=NEAR)


@pytest.mark.parametrize("name", CAUSAL)
def test_plain_corrected_and_begin_tokens(name):
    """Short texts, run together: the tokenizer's begin token, another one, and none."""
    exact = in_double(network(name))
    for variant in texts.VARIANTS:
        for given, bos in ((True, BEGIN), ("<|endoftext|>", END), (False, None)):
            expected = references(exact, TEXTS, variant, bos)
            close(scored(name, TEXTS, bos=given, correction=variant), expected)
            assert np.isnan(expected[0]).sum() == (len(TEXTS) if bos is None else 0)


@pytest.mark.parametrize("name", CAUSAL)
def test_long_texts_and_strides(name):
    assert len(tokens_of(LONG)[0]) > 2 * CONTEXT
    exact, texts = in_double(network(name)), [TEXTS[0], LONG]
    for stride in (None, 1, 7):
        found = scored(name, texts, stride=stride)
        close(found, references(exact, texts, stride=stride or CONTEXT // 2))
    close(scored(name, texts, window=11, stride=4), references(exact, texts, stride=4, size=11))


@pytest.mark.parametrize("name", MASKED)
def test_masked_models(name):
    """Each metric and future; in a text longer than the input, what is seen moves with the token."""
    exact = in_double(network(name))
    for metric in METRICS:
        for future in FUTURES:
            expected = [written_out_masked(exact, t, metric, future, CONTEXT - 2) for t in TEXTS]
            found, corrected = scored(name, TEXTS, metric=metric, future=future)
            close(found, np.concatenate(expected))
            assert np.isnan(corrected).all()
    text = " ".join(LONG.split()[:18])
    assert len(tokens_of(text)[0]) > CONTEXT
    for future in ("seen", "removed"):
        expected = written_out_masked(exact, text, "within_word_l2r", future, CONTEXT - 2)
        close(scored(name, [text], future=future)[0], expected)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_half_precision_checkpoints(name, kind, tmp_path):
    """A folder in half precision is scored as its weights in float64 are."""
    rounded = in_double(network(name))
    with torch.no_grad():
        for parameter in rounded.parameters():
            parameter.copy_(parameter.to(kind))
    half = in_double(network(name)).to(kind)
    half.save_pretrained(tmp_path)
    fast(name).save_pretrained(tmp_path)
    opened = recency.load(tmp_path)
    assert opened.masked == (name in MASKED)
    assert {each.dtype for each in opened.network.parameters()} == {torch.float32}
    found = scored(name, TEXTS, opened)
    if opened.masked:
        room = CONTEXT - 2
        expected = [written_out_masked(rounded, t, METRICS[0], "seen", room) for t in TEXTS]
        close(found[0], np.concatenate(expected))
    else:
        close(found, references(rounded, TEXTS))


@pytest.mark.parametrize("name", MORE)
def test_a_bias_works_or_is_refused_in_one_line(name):
    """For families beyond `families.FAMILIES`; for those each form is compared with float64."""
    made = in_double(network(name)).float()
    form = "linear_both" if name in MASKED else "linear"
    if SCORED[name].bias != "works":
        with pytest.raises(recency.InputError, match=WHY[SCORED[name].bias]) as error:
            recency.attention.attach(made, {"form": form, "slopes": "mix"})
        assert "\n" not in str(error.value)
        return
    recency.attention.attach(made, {"form": form, "slopes": "mix"})
    settings = {"window": window(name)}
    biased = score_words(TEXTS, made, fast(name), **settings).table["surprisal_bits"]
    assert np.abs(biased - scored(name, TEXTS)[0]).max() > 10 * NEAR


@pytest.mark.parametrize("name", [name for name in CAUSAL if name != "xLSTM"])
@peer("minicons")
def test_minicons_agrees(name):
    """It cannot run xLSTM: with a cache, as it calls it, transformers' own code fails there."""
    from minicons import scorer

    peer = scorer.IncrementalLMScorer(network(name), "cpu", tokenizer=fast(name))
    settings = {"surprisal": True, "base_two": True, "bos_token": True}
    for corrected in (False, True):
        for text in TEXTS:  # together they would be padded, on the left in some versions
            theirs = peer.word_score_tokenized(
                [text], str.split, bow_correction=corrected, **settings
            )[0]
            found = scored(name, [text], correction="oh_schuler")[int(corrected)]
            close(found, [bits for _, bits in theirs])


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_surprisal_is_refused(name, tmp_path):
    network(name).save_pretrained(tmp_path)
    fast(name).save_pretrained(tmp_path)
    with pytest.raises(recency.InputError, match="is not causal") as error:
        recency.surprisal(TEXTS, tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "biased, plain",
    [
        ("GPT2", "Llama"),
        ("Llama", "GPT2"),
        ("GPTNeoX", "Bert"),
        ("Bert", "GPTNeoX"),
        ("Gemma2", "GptOss"),
        ("Mistral", "Mamba"),
        ("OPT", "Bloom"),
    ],
)
def test_two_families_in_one_process_in_turns(biased, plain, tmp_path):
    """One with a bias, one without, and the first without: as each by itself."""
    for name in (biased, plain):
        network(name).save_pretrained(tmp_path / name)
        fast(name).save_pretrained(tmp_path / name)
    bias = {"form": "linear_both", "slopes": "mix"}
    named = {"biased": (biased, bias), "plain": (plain, None), "unbiased": (biased, None)}
    alone = {
        each: scored(name, TEXTS, recency.load(tmp_path / name, bias))[0]
        for each, (name, bias) in named.items()
    }
    assert np.abs(alone["biased"] - alone["unbiased"]).max() > 10 * NEAR
    together = {each: recency.load(tmp_path / name, bias) for each, (name, bias) in named.items()}
    for each in (*named, *reversed(named), *named):
        found = scored(named[each][0], TEXTS, together[each])[0]
        np.testing.assert_array_equal(found, alone[each])


@pytest.mark.parametrize("name", ["Bloom", "Mamba", "FalconMamba", "Mamba2", "xLSTM"])
def test_a_config_without_a_longest_input_asks_for_a_window(name):
    with pytest.raises(recency.InputError, match="has no longest input; set `window`"):
        scored(name, TEXTS, window=None)


def test_the_table_of_the_docs_holds_these_families():
    page = (ROOT / "docs" / "surprisal.md").read_text()
    groups = re.findall(
        r"^\| (causal|masked|encoder-decoder|refused) \| ([^|]+) \| (works|no: [^|]+) \| (`.+`) \|$",
        page,
        re.MULTILINE,
    )
    rows = [(name, *group) for *group, names in groups for name in re.findall(r"`(\w+)`", names)]
    begin = {"causal": "yes", "masked": "its frame", "refused": "no"}
    begin["encoder-decoder"] = "the decoder's"
    assert {name: rest for name, *rest in rows} == {
        name: [
            family.outcome,
            begin[family.outcome],
            family.bias if family.bias == "works" else f"no: {family.bias}",
        ]
        for name, family in SCORED.items()
    }
    assert len(rows) == len(SCORED) > 80
