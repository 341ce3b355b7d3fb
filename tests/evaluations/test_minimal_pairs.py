"""Minimal pairs: files and their damage, scores against transformers in float64, the rules."""

import csv
import gzip
import itertools
import json
import math
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from loaded import untracked
from project import copy_project, load, snakemake
from recency.errors import InputError
from recency.evaluations.minimal_pairs import pairs as minimal_pairs
from recency.evaluations.minimal_pairs import score as score_pairs
from recency.evaluations.minimal_pairs.score import score
from recency.networks import architectures
from recency.scoring import causal as scoring
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import Model
from small_networks import MIX, TINY

ROOT = Path(__file__).resolve().parents[2]
ROW = {
    "sentence_good": "The dogs bark.",
    "sentence_bad": "The dogs barks.",
    "field": "morphology",
    "linguistics_term": "agreement",
    "UID": "number",
    "pairID": "0",
}
SENTENCES = [
    'The cat\u2019s "friends"  didn\'t sit (on 3.5 mats), naïvely.',
    "Did you go?\nYes, I did.",
    " ".join(["a sentence longer than the window goes on and on"] * 4),
    "Word",
    "So it goes.",
    "so it goes.",
]


def write(path, rows):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return path


# Files


def test_pairs_of_two_files(tmp_path):
    rows = [ROW, ROW | {"sentence_good": "A b.", "sentence_bad": "A c."}]
    write(tmp_path / "a.jsonl", rows)
    table = "UID\tpairID\tsentence_good\tsentence_bad\n"
    table += 'turns\t0\t"""Go?""\\nNo, I don\'t."\t"""Go?""\\nNo, you don\'t."\n'
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(table.encode()))
    files = [tmp_path / "a.jsonl", tmp_path / "b.tsv.gz"]
    minimal_pairs.main(files, tmp_path / "out.parquet", {"agreement": "Agr.", "turns": "Turns"})
    pairs = pd.read_parquet(tmp_path / "out.parquet")
    assert list(pairs.columns) == ["pair", "paradigm", "phenomenon", "field", "good", "bad"]
    assert list(pairs.pair) == [0, 1, 2] and list(pairs.paradigm) == ["number", "number", "turns"]
    assert list(pairs.phenomenon) == ["Agr.", "Agr.", "Turns"]
    assert list(pairs.field) == ["morphology", "morphology", ""]
    assert pairs.good[2] == '"Go?"\nNo, I don\'t.' and pairs.bad[2] == '"Go?"\nNo, you don\'t.'
    assert pairs.good[0] == ROW["sentence_good"] and pairs.bad[0] == ROW["sentence_bad"]


DAMAGE = {
    "key": ([ROW, {k: v for k, v in ROW.items() if k != "UID"}], r"a\.jsonl, line 2: no 'UID'"),
    "empty": (
        [ROW, ROW, ROW | {"sentence_bad": " "}],
        r"a\.jsonl, line 3: sentence_bad is empty; complete or remove",
    ),
    "same": (
        [ROW, ROW | {"sentence_bad": "The dogs bark."}],
        r"line 2: both sentences are 'The dogs bark\.', and so in 1 of 2 pairs",
    ),
    "cut": ([ROW, '{"sentence_good": "The'], r"a\.jsonl, line 2: not JSON .*one whole object"),
    "number": ([ROW | {"UID": 7}], r"a\.jsonl, line 1: UID is 7, not a string"),
    "list": (["[1]"], r"a\.jsonl, line 1: no 'linguistics_term'"),
    "nothing": ([], r"a\.jsonl has no pairs"),
    "overall": ([ROW | {"linguistics_term": "overall"}], "a phenomenon is called 'overall'"),
    "phenomena": ([ROW, ROW | {"linguistics_term": "b"}], "'number' has several phenomena"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_named(tmp_path, what):
    rows, message = DAMAGE[what]
    file = write(tmp_path / "a.jsonl", rows)
    with pytest.raises(InputError, match=message):
        minimal_pairs.main([file], tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


TABLES = {
    "UID\tsentence_good\na\tb\n": r"no column 'sentence_bad', only UID, sentence_good",
    "UID\tsentence_good\tsentence_bad\na\tb\tc\na\tb\n": r"a\.tsv, line 3: 2 fields, and the header has 3",
    "UID\tsentence_good\tsentence_bad\na\tb\tc\td\n": r"a\.tsv, line 2: 4 fields, and the header has 3",
    "UID\tsentence_good\tsentence_bad\tUID\na\tb\tc\td\n": r"2 columns are named 'UID'",
    "UID\tsentence_good\tsentence_bad\n\tb\tc\n": r"a\.tsv, line 2: UID is empty",
}


@pytest.mark.parametrize("text", TABLES)
def test_damage_of_a_table_is_named(tmp_path, text):
    (tmp_path / "a.tsv").write_text(text)
    with pytest.raises(InputError, match=TABLES[text]):
        minimal_pairs.read(tmp_path / "a.tsv")


@pytest.mark.parametrize(
    "row", ['a\t"""Me?"" he said."\t"""I?"" he said."', 'a\t"Me?" he said.\t"I?" he said.']
)
def test_a_table_is_read_the_same_with_and_without_quotes(tmp_path, row):
    (tmp_path / "a.tsv").write_text(f"UID\tsentence_good\tsentence_bad\n{row}\n")
    pairs = minimal_pairs.read(tmp_path / "a.tsv")
    assert list(pairs.good) == ['"Me?" he said.'] and list(pairs.bad) == ['"I?" he said.']


def test_a_few_pairs_may_be_of_one_sentence(tmp_path, capsys):
    """BLiMP has such pairs: they are kept, named, and ties."""
    same = ROW | {"sentence_bad": ROW["sentence_good"]}
    pairs = minimal_pairs.read(write(tmp_path / "a.jsonl", [ROW] * 149 + [same]))
    assert len(pairs) == 150 and "a.jsonl, line 150: both sentences are" in capsys.readouterr().err


@pytest.mark.merge
def test_real_blimp(mirror, tmp_path):
    """67 paradigms of 1,000 pairs; 13 terms, which the config counts as BLiMP's 12 phenomena."""
    entry = load()["minimal_pairs"]["blimp"]
    with (ROOT / entry["sources"]).open(newline="") as file:
        urls = [urlsplit(row["url"]) for row in csv.DictReader(file, delimiter="\t")]
    files = [mirror / f"{url.netloc}{url.path}.gz" for url in urls]
    if not files[0].exists():
        pytest.skip("BLiMP is not in the mirror")
    assert pd.concat([minimal_pairs.read(path) for path in files]).phenomenon.nunique() == 13
    minimal_pairs.main(files, tmp_path / "blimp.parquet", entry["labels"])
    pairs = pd.read_parquet(tmp_path / "blimp.parquet")
    sizes = pairs.groupby("paradigm").size()
    assert len(sizes) == 67 and set(sizes) == {1000} and pairs.phenomenon.nunique() == 12
    assert set(pairs.phenomenon) == set(entry["labels"].values()) - {"syntax_semantics"}
    assert (pairs.phenomenon == "Argument structure").sum() == 9000
    assert set(pairs.field) == {"syntax", "morphology", "semantics", "syntax_semantics"}
    assert (pairs.good == pairs.bad).sum() == 7


def test_real_supplement(shared_data):
    path = shared_data / "blimp" / "babylm_supplement_filtered.tsv.gz"
    pairs = minimal_pairs.read(path, load()["minimal_pairs"]["blimp_supplement"]["labels"])
    assert len(pairs) == 5218 and pairs.phenomenon.nunique() == 5
    turns = pairs[pairs.phenomenon == "Turn taking"]
    assert not pairs.good.str.contains('""').any() and turns.good.str.startswith('"').any()
    assert turns.good.str.contains("\n").any() and not pairs.good.str.contains(r"\\n").any()


# Scores


@pytest.fixture(scope="module")
def tokenizer():
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet,
        show_progress=False,
    )  # fmt: skip
    made.train_from_iterator(SENTENCES, trainer)
    return made


def causal(tokenizer, bias):
    made = architectures.new(TINY | {"context": 64}, bias, tokenizer.get_vocab_size(), 1).eval()
    with torch.no_grad():
        made.lm_head.weight *= 30  # sharper than a fresh network
    return made


def float64_bits(text, model, tokenizer, bos):
    """Bits of each token of a sentence by plain transformers, one forward pass in float64."""
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    stream = torch.tensor([[0] * bos + ids])
    with torch.no_grad():
        log_p = torch.log_softmax(model.double()(stream).logits[0], -1)
    model.float()
    bits = [-log_p[place + bos - 1, token].item() / math.log(2) for place, token in enumerate(ids)]
    return bits if bos else [math.nan, *bits[1:]]


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("bias", [{"form": "none"}, MIX, {"form": "primacy_recency"}])
def test_sentences_against_transformers_in_float64(tokenizer, bias, bos):
    model = causal(tokenizer, bias)
    model.config.max_position_embeddings = 512  # no sentence is cut into windows
    bits, rest, count = score(SENTENCES, Model(model, tokenizer), bos)
    for index, text in enumerate(SENTENCES):
        expected = float64_bits(text, model, tokenizer, bos)
        assert count[index] == len(expected)
        near = {"abs": 2e-4, "rel": 2e-7}  # float32; whole texts have thousands of bits
        assert rest[index] == pytest.approx(sum(expected[1:]), **near)
        if bos:
            assert bits[index] == pytest.approx(sum(expected), **near)
    assert np.isnan(bits).all() == (not bos)


def test_case_and_spaces_are_kept(tokenizer):
    bits, _, count = score(
        ["so it goes.", "So it goes.", "So  it goes."], Model(causal(tokenizer, MIX), tokenizer)
    )
    assert len(set(np.round(bits, 6))) == 3 and count[2] == count[1] + 1


def test_long_sentences_slide_as_texts_do(tokenizer):
    model = Model(causal(tokenizer, MIX), tokenizer)
    ids = np.array(tokenizer.encode(SENTENCES[2], add_special_tokens=False).ids)
    bits, rest, _ = score([SENTENCES[2]], model, True, 8, {"window": 16})
    alone = scoring.score(model.network, [ids], model.kind, 0, 8, window=16)[0].log_probability
    assert len(ids) > 32
    assert bits[0] == pytest.approx(-alone.sum() / math.log(2), abs=1e-4)
    assert rest[0] == pytest.approx(-alone[1:].sum() / math.log(2), abs=1e-4)


def test_each_sentence_is_scored_once_and_batches_do_not_matter(tokenizer, tmp_path, monkeypatch):
    model, seen = Model(causal(tokenizer, {"form": "none"}), tokenizer), []

    def spy(sentences, *rest):
        seen.extend(sentences)
        return score(sentences, *rest)

    monkeypatch.setattr(score_pairs, "score", spy)
    monkeypatch.setattr(LMSpec, "open", lambda self: model)
    good, bad = zip(*itertools.permutations(SENTENCES, 2))
    pairs = pd.DataFrame({"pair": range(len(good)), "good": good, "bad": bad})
    pairs.to_parquet(tmp_path / "p.parquet")
    out = tmp_path / "out.parquet"
    score_pairs.main(tmp_path / "p.parquet", LMSpec("Pythia", "x"), out)
    assert sorted(seen) == sorted(set(SENTENCES))
    made = pd.read_parquet(out)
    assert list(made.columns) == [
        "pair",
        *(f"{s}_{n}" for n in ("bits", "rest_bits", "tokens") for s in ("good", "bad")),
    ]
    for side, texts in (("good", good), ("bad", bad)):
        for row in range(0, len(pairs), 7):
            (bits,), (rest,), (count,) = score([texts[row]], model)
            assert made[f"{side}_bits"][row] == pytest.approx(bits, abs=1e-4)
            assert made[f"{side}_rest_bits"][row] == pytest.approx(rest, abs=1e-4)
            assert made[f"{side}_tokens"][row] == count


def test_masked_models_give_pseudo_log_likelihood():
    """One forward pass a token in float64, the token (and what follows of its word) masked."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "sat", "on", "mat"]
    tokenizer = Tokenizer(models.WordPiece({p: n for n, p in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(pieces[:5])
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, ends)
    torch.manual_seed(3)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    shape |= {"intermediate_size": 64, "initializer_range": 0.3, "max_position_embeddings": 32}
    model = BertForMaskedLM(BertConfig(vocab_size=len(pieces), **shape)).eval()
    sentences = ["the cats sat", "sat the cats on the mats"]
    for metric in ("original", "within_word_l2r"):
        bits, rest, count = score(
            sentences, Model(model, tokenizer, True), scoring={"metric": metric}
        )
        assert list(count) == [4, 8] and np.isnan(rest).all()
        for text, found in zip(sentences, bits, strict=True):
            ids, total = tokenizer.encode(text).ids, 0.0
            for place in range(1, len(ids) - 1):
                masked = torch.tensor([ids])
                masked[0, place] = 4
                if metric == "within_word_l2r" and ids[place + 1] == 7:  # ##s
                    masked[0, place + 1] = 4
                with torch.no_grad():
                    logits = model.double()(masked).logits[0, place]
                total -= torch.log_softmax(logits, -1)[ids[place]].item() / math.log(2)
            model.float()
            assert found == pytest.approx(total, abs=1e-4)


ARPA = """\\data\\
ngram 1=6

\\1-grams:
-1.0\t<unk>
-99\t<s>
-2.0\t</s>
-0.3\ta
-0.7\tb
-0.1\tc

\\end\\
"""


def test_ngram_models(tmp_path):
    """Words in another order are ties, to the last bit."""
    (tmp_path / "m.arpa").write_text(ARPA)
    sentences = ["a b c", "c b a", "a d", "b"]
    bits, rest, count = score_pairs.score_ngram(sentences, tmp_path / "m.arpa")
    one = math.log2(10)
    np.testing.assert_allclose(bits, np.array([1.1, 1.1, 1.3, 0.7]) * one)
    np.testing.assert_allclose(rest, np.array([0.8, 1.0, 1.0, 0.0]) * one)
    assert bits[0] == bits[1] and list(count) == [3, 3, 2, 1]
    pairs = pd.DataFrame({"pair": [0, 1], "good": ["a b c", "b"], "bad": ["c b a", "a d"]})
    pairs.to_parquet(tmp_path / "p.parquet")
    out = tmp_path / "out.parquet"
    score_pairs.main(tmp_path / "p.parquet", LMSpec("unigram", tmp_path / "m.arpa"), out)
    found = pd.read_parquet(out)
    assert list(found.good_bits) == [bits[0], bits[3]]
    assert list(found.bad_bits) == [bits[1], bits[2]]
    assert list(found.bad_rest_bits) == [rest[1], rest[2]] and list(found.bad_tokens) == [3, 2]


def test_a_sentence_without_tokens_is_named(tokenizer):
    nothing = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    nothing.normalizer = normalizers.Replace("b", "")
    with pytest.raises(InputError, match="leaves nothing of the sentence 'b'"):
        score(["a", "b"], Model(causal(tokenizer, MIX), nothing), False)


# The rules

CONFIG = """
run: [mine, placed]
study: pairs
check_machine: false
lms:
  plain: {checkpoint: mine/plain, bos: true}
  biased: {checkpoint: mine/plain, bias: ALiBi-1, applied: inference, bos: true}
minimal_pairs:
  mine: {label: My pairs, table: {local: mine/pairs.tsv}, labels: {number: Number}}
  placed: {label: Placed pairs, table: {supplied: "pairs of mine, from me", stand_in: {path: a/b.tsv}}}
experiments:
  mine: {title: Mine, lms: [plain, biased], baseline: plain, minimal_pairs: mine}
  placed: {title: Placed, lms: [plain, biased], baseline: plain, minimal_pairs: placed}
targets:
  my_figure1: {label: Figure 1 of mine, experiment: mine, of: [figure_minimal_pairs]}
"""


@pytest.mark.merge
def test_from_a_table_to_the_figures(tokenizer, tmp_path):
    """Two LMs that need no training; pairs that are not here are said to be, and the rest is run."""
    project = copy_project(tmp_path)
    (project / "mine").mkdir()
    made = architectures.new(TINY, {"form": "none"}, tokenizer.get_vocab_size(), 1)
    made.save_pretrained(project / "mine" / "plain")
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    ).save_pretrained(project / "mine" / "plain")
    lines = ["UID\tlinguistics_term\tfield\tsentence_good\tsentence_bad"]
    for number, (good, bad) in enumerate([("goes", "go"), ("sits", "sit"), ("is", "are")] * 2):
        lines.append(f"p{number % 2}\tnumber\tx\tThe cat {good} {number}.\tThe cat {bad} {number}.")
    (project / "mine" / "pairs.tsv").write_text("\n".join(lines) + "\n")
    (project / "mine.yaml").write_text(CONFIG)
    configs = ["config/demo.yaml", "mine.yaml"]
    run = snakemake(project, configs=configs)
    assert run.returncode == 0, run.stdout[-4000:]
    reason = "Placed pairs (minimal pairs) is not here: a/b.tsv: pairs of mine, from me"
    assert f"not run: {reason}" in run.stdout
    assert untracked(project) == []
    results = project / "results" / "pairs" / "cores"
    assert [path.name for path in (results / "experiments").iterdir()] == ["mine"]
    where = results / "experiments" / "mine"
    for name in ("figure_minimal_pairs", "figure_minimal_pairs_by_phenomenon"):
        for end in ("pdf", "svg", "png", "csv"):
            assert (where / f"{name}.{end}").stat().st_size > 50
    table = pd.read_csv(where / "table_minimal_pairs.csv")
    assert set(table.lm) == {"plain", "biased"} and set(table.group) == {"overall", "Number"}
    scores = {
        lm: pd.read_parquet(results / f"minimal_pairs/{lm}/mine.parquet") for lm in set(table.lm)
    }
    bits, _, _ = score(["The cat goes 0."], Model(made.eval(), tokenizer))
    assert scores["plain"].good_bits[0] == pytest.approx(bits[0], abs=1e-4)
    assert (scores["plain"].good_bits != scores["biased"].good_bits).all()
    said = " ".join((results / "summary.txt").read_text().split())
    assert "Mine" in said and reason in said
    run = snakemake(project, "--report", "report.html", configs=configs)
    assert run.returncode == 0, run.stdout[-3000:]
    page = (project / "report.html").read_text()
    assert "Figure 1 of mine: Accuracy on minimal pairs, by LM" in page and reason in page
