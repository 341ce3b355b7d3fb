"""Rank metrics: ranks against brute force over the vocabulary, continuations step by step by hand."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from transformers import BertConfig, BertForMaskedLM

import recency
from project import show
from readingtimes.contracts import word_table
from recency.errors import REFUSALS
from recency.evaluations.rank_metrics import judges, score, view
from recency.networks import architectures
from recency.scoring import generation, ngram, ngram_surprisal
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import Model
from small_networks import MIX, TINY, byte_tokenizer

VOCABULARY = ["the", "dog", "cat", "sat", "ran", "a", "on", "mat."]


def arpa(path, order=3, seed=0):
    """Write a model that lists some n-grams, with ties among its unigrams."""
    random = np.random.default_rng(seed)
    words = ["<unk>", "</s>", *VOCABULARY]
    grams = [[("<s>",)] + [(word,) for word in words]]
    for size in range(1, order):
        before = [g for g in grams[-1] if g[-1] not in ("</s>", "<unk>")]
        drawn = {
            (*before[random.integers(len(before))], words[random.integers(1, len(words))])
            for _ in range(14)
        }
        grams.append(sorted(gram for gram in drawn if len(gram) == size + 1))
    lines = ["\\data\\", *(f"ngram {n + 1}={len(each)}" for n, each in enumerate(grams)), ""]
    for n, each in enumerate(grams):
        lines.append(f"\\{n + 1}-grams:")
        for gram in each:
            log10 = -round(random.uniform(0.2, 2), 1)
            lines.append(
                f"{log10}\t{' '.join(gram)}"
                + (f"\t-{random.uniform(0, 0.5):.2f}" if n + 1 < order else "")
            )
        lines.append("")
    path.write_text("\n".join([*lines, "\\end\\", ""]))
    return path


@pytest.mark.parametrize(("order", "bos"), [(1, True), (2, False), (3, True)])
def test_ranks_of_ngrams_are_those_of_the_whole_vocabulary(tmp_path, order, bos):
    path = arpa(tmp_path / "m.arpa", order, seed=order)
    random = np.random.default_rng(1)
    sentences = [[*random.choice([*VOCABULARY, "zebra"], 9)] for _ in range(8)]
    found = ngram_surprisal.ranks_of(path, sentences, bos)
    for sentence, (log10, rank), other in zip(
        sentences, found, ngram.score(path, sentences, bos), strict=True
    ):
        assert log10 == pytest.approx(other.log10)
        for place, word in enumerate(sentence):
            every = [
                ngram.score(path, [[*sentence[:place], v]], bos)[0].log10[-1]
                for v in ("<unk>", "</s>", *VOCABULARY)
            ]
            own = ngram.score(path, [[*sentence[:place], word]], bos)[0].log10[-1]
            assert rank[place] == 1 + (np.array(every) > own + 1e-9).sum()


def test_a_binary_has_no_ranks(tmp_path):
    (tmp_path / "m.bin").write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\x00")
    with pytest.raises(REFUSALS, match="is no ARPA file, and ranks need"):
        ngram_surprisal.ranks_of(tmp_path / "m.bin", [["a"]])


@pytest.fixture(scope="module")
def model():
    return network_of(MIX)


def network_of(bias):
    tokenizer = byte_tokenizer([" ".join(VOCABULARY)] * 3)
    network = architectures.new(TINY, bias, tokenizer.get_vocab_size(), seed=0).eval()
    return Model(network, tokenizer, bos_token="<|endoftext|>")


CONTEXTS = [["the", "dog"], ["a", "cat", "sat", "on"], ["the"]]


def by_hand(model, context, steps):
    """Take the likeliest token each time, one text at a time."""
    start = model.tokenizer.token_to_id("<|endoftext|>")
    ids = [start, *model.tokenizer.encode(" ".join(context)).ids]
    given = len(ids)
    for step in range(steps):
        with torch.no_grad():
            logits = model.network(torch.tensor([ids])).logits[0, -1, : len(model.kind)].numpy()
        if step == 0:
            logits = np.where(model.kind == 1, logits, -np.inf)
        ids.append(int(logits.argmax()))
    return model.tokenizer.decode(ids[given:])


def test_the_likeliest_continuation_is_that_of_single_steps(model):
    said = generation.continuations(model, CONTEXTS, longest=3)
    for context, (text, complete) in zip(CONTEXTS, said, strict=True):
        assert by_hand(model, context, generation.TOKENS * 3).strip().startswith(text.strip())
        assert complete or len(text.split()) <= 3


def test_a_bias_that_reads_surprisal_changes_no_step():
    """Its layers use the output layer, of which generation computes the last position alone."""
    gated = network_of({"form": "surprisal_gated", "slopes": "mix"})
    said = generation.continuations(gated, CONTEXTS, longest=3)
    for context, (text, _) in zip(CONTEXTS, said, strict=True):
        assert by_hand(gated, context, generation.TOKENS * 3).strip().startswith(text.strip())


BIASED = [
    {"form": "none"}, MIX, {"form": "window", "width": 3}, {"form": "power_law", "decay": 0.5},
    {"form": "surprisal_gated", "slopes": "mix"},
]  # fmt: skip


def with_shared_keys():
    """Return a Llama whose queries share keys, and a GPT-2 with 12 positions, with a bias."""
    shape = {"vocab_size": 300, "bos_token_id": 0, "eos_token_id": 0}
    llama = transformers.LlamaConfig(
        hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, **shape,
    )  # fmt: skip
    gpt2 = transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=12, **shape)
    networks = [transformers.LlamaForCausalLM(llama), transformers.GPT2LMHeadModel(gpt2)]
    for network in networks:
        recency.attention.attach(network.eval(), recency.attention.bias("linear", slopes=0.5))
    return networks


def with_states():
    """Return a Mamba, and a network of a convolution and attention."""
    shape = {"vocab_size": 300, "bos_token_id": 0, "eos_token_id": 0, "hidden_size": 16, "num_hidden_layers": 2}  # fmt: skip
    lfm2 = transformers.Lfm2Config(
        intermediate_size=32, num_attention_heads=4, num_key_value_heads=2,
        layer_types=["conv", "full_attention"], **shape,
    )  # fmt: skip
    mamba = transformers.MambaForCausalLM(transformers.MambaConfig(**shape))
    return [mamba.eval(), transformers.Lfm2ForCausalLM(lfm2).eval()]


def test_a_cache_changes_no_logits():
    """Rows leave it as their texts end, and a text may outgrow the network's window."""
    networks = [network_of(bias).network for bias in BIASED] + with_shared_keys() + with_states()
    random = np.random.default_rng(2)
    with_cache = []
    for network in networks:
        window = getattr(network.config, "max_position_embeddings", None)
        texts, cache = random.integers(3, 250, (3, 7)).tolist(), None
        for step in range(8):
            logits, cache = generation._next_logits(network, texts, window, cache)
            read = torch.tensor([text[-window:] if window else text for text in texts])
            with torch.no_grad():
                expected = network(read, use_cache=False).logits[:, -1]
            np.testing.assert_allclose(logits, expected, atol=2e-5)
            if cache is not None and step == 3:
                cache = generation._select_rows(cache, torch.tensor([0, 2]))
            texts = [text for row, text in enumerate(texts) if step != 3 or row != 1]
            texts = [[*text, int(random.integers(3, 250))] for text in texts]
            if step == 1:
                with_cache.append(cache is not None)
    assert with_cache == [True, True, True, True, False, True, True, True, True]


def test_draws_are_seeded_and_end_with_a_sentence(model):
    first, same, other = (
        generation.continuations(model, CONTEXTS, 2, 3.0, seed) for seed in (1, 1, 2)
    )
    assert first == same != other
    said = generation.continuations(model, CONTEXTS * 8, 4, 2.0, 3)
    assert {complete for _, complete in said} == {True, False}
    for text, complete in said:
        marked = bool(generation.END.search(text))
        # Without a mark it was the token that ends documents, or there were words or tokens enough.
        assert len(text.split()) <= 4 and (complete or not marked)


def words(sentences=12, size=18):
    random = np.random.default_rng(5)
    drawn = [[*random.choice(VOCABULARY[:-1], size - 1), "mat."] for _ in range(sentences)]
    drawn[3][2] = "dog:"
    drawn[4] = drawn[4][-6:]
    sizes = [len(each) for each in drawn]
    numbers = np.repeat(range(1, sentences + 1), sizes)
    return word_table(np.repeat(["a"], sum(sizes)), numbers, [w for each in drawn for w in each])


def test_sentences_are_long_enough_and_without_colons():
    table_of = words()
    found = score.chosen(table_of, 400, 16, 1)
    assert found["item"].nunique() == 10 and not found.word.str.contains(":").any()
    assert set(found.sentence) == set(range(1, 13)) - {4, 5}
    fewer = score.chosen(table_of, 4, 16, 1)
    assert fewer["item"].nunique() == 4 and fewer.equals(score.chosen(table_of, 4, 16, 1))
    with pytest.raises(REFUSALS, match="0 sentences have 40 words or more"):
        score.chosen(table_of, 4, 40, 1)


SETTINGS = {
    "sentences": 6,
    "min_words": 16,
    "prompt": 8,
    "longest": 2,
    "temperature": 0.0,
    "seed": 2,
}
LMS = [{"lm": lm, "label": lm, "bias": {"form": "none"}, "applied": "none"} for lm in ("net", "mlm", "kn", "table")]  # fmt: skip


@pytest.fixture(scope="module")
def scored(model, tmp_path_factory):
    """Score a causal and a masked network and an n-gram model; return their folder."""
    folder = tmp_path_factory.mktemp("ranks")
    words().to_parquet(folder / "words.parquet")
    model.network.save_pretrained(folder / "network")
    tokenizer = byte_tokenizer([" ".join(VOCABULARY)] * 3)
    tokenizer.add_special_tokens(["[MASK]", "[CLS]", "[SEP]"])
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=16, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=16, max_position_embeddings=128,
    )  # fmt: skip
    torch.manual_seed(0)
    BertForMaskedLM(config).save_pretrained(folder / "mlm_network")
    tokenizer.save(str(folder / "mlm_network" / "tokenizer.json"))
    about = {"mask_token": "[MASK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    about["tokenizer_class"] = "PreTrainedTokenizerFast"
    (folder / "mlm_network" / "tokenizer_config.json").write_text(json.dumps(about))
    model.tokenizer.save(str(folder / "network" / "tokenizer.json"))
    files = {
        "net": folder / "network",
        "mlm": folder / "mlm_network",
        "kn": arpa(folder / "m.arpa"),
    }
    for lm, path in files.items():
        (folder / lm).mkdir()
        own = path / "tokenizer.json" if path.is_dir() else None
        out = folder / lm / "x.parquet", folder / lm / "x.csv"
        score.main(folder / "words.parquet", LMSpec(lm, path, own), *out, **SETTINGS)
    return folder


def test_ranks_of_networks_are_those_of_their_logits(scored, model):
    rows = pd.read_parquet(scored / "net" / "x.parquet")
    assert rows.place.min() == 9 and rows.place.max() == 18 and rows.text.nunique() == 6
    texts = score.chosen(words(), 6, 16, 2)
    said = list(texts.word[texts["item"] == "0"])
    start = model.tokenizer.token_to_id("<|endoftext|>")
    ids = [start, *model.tokenizer.encode(" ".join(said)).ids]
    with torch.no_grad():
        logits = model.network(torch.tensor([ids])).logits[0].double()
    mine = rows[rows.text == 0]
    log = logits.log_softmax(-1)[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0].numpy()
    ranks = (
        1
        + (logits[:-1] > logits[:-1].gather(1, torch.tensor(ids[1:])[:, None]) * 1.0).sum(1).numpy()
    )
    assert mine.nats.to_numpy() == pytest.approx(-log[-len(mine) :], rel=1e-4)
    assert mine.log_rank.to_numpy() == pytest.approx(np.log(ranks[-len(mine) :]), abs=1e-6)
    assert (mine.top_1 == (ranks[-len(mine) :] == 1)).all()


def test_metrics_are_means_over_tokens(scored):
    rows = pd.read_parquet(scored / "kn" / "x.parquet")
    found = view.measured(rows)
    assert (found["texts"], found["words"], found["tokens"]) == (6, 60, 60)
    assert found["perplexity"] == pytest.approx(math.exp(rows.nats.mean())) == pytest.approx(found["word_perplexity"])  # fmt: skip
    assert found["top_1"] == pytest.approx(100 * rows.top_1.mean()) == pytest.approx(found["word_top_1"])  # fmt: skip
    assert (
        found["log_rank_low"]
        < found["mean_log_rank"]
        == rows.log_rank.mean()
        < found["log_rank_high"]
    )
    split = pd.DataFrame({"text": [0, 0, 1], "place": [1, 1, 1], "nats": 1.0, "log_rank": 0.0, "top_1": [True, False, True]})  # fmt: skip
    assert view.measured(split)["word_top_1"] == 50  # a word's every token
    with pytest.raises(REFUSALS, match="1 tokens have no rank"):
        view.measured(split.assign(nats=[1.0, math.nan, 1.0]))


def test_table_figure_and_sheet_for_judges(scored, tmp_path):
    ends = [tmp_path / f"t.{end}" for end in ("csv", "html", "tex")]
    known = tmp_path / "published.csv"
    known.write_text("model,perplexity,mean_log_rank,top_1,score\nRNN-all,45.7,2.12,31.9,2.08\n")
    files = [scored / lm / "x.parquet" for lm in ("net", "mlm", "kn")]
    show(view.table_rank_metrics, ranks=files, out=ends, lms=LMS, published=known)
    page = ends[1].read_text()
    assert "published: RNN-all" in page and "Not run: table (neither a network" in page
    show(
        view.figure_rank_metrics,
        metrics=ends[0],
        out=[tmp_path / "f.svg"],
        lms=LMS,
        published=known,
    )
    sheets = tmp_path / "blind.csv", tmp_path / "key.csv"
    judges.main([path.with_suffix(".csv") for path in files], *sheets, LMS, seed=3)
    blind, key = (pd.read_csv(sheet) for sheet in sheets)
    # A masked LM and an n-gram model go on from nothing, and say why.
    assert key.lm.value_counts().to_dict() == {"original": 6, "net": 6}
    assert list(blind.columns) == ["id", "context", "continuation", "rating"]
    assert key.text.tolist() != sorted(key.text) and key["id"].tolist() == blind["id"].tolist()
    told = pd.read_csv(scored / "net" / "x.csv").set_index("text")
    for row, context, said in zip(key.itertuples(), blind.context, blind.continuation, strict=True):
        assert context == told.context[row.text] and len(context.split()) == 8
        assert str(said).endswith("…") == (not row.complete)
    for lm, why in (("mlm", score.NONE_OF_MASKED), ("kn", score.NONE_OF_NGRAMS)):
        assert set(pd.read_csv(scored / lm / "x.csv").note) == {why}
