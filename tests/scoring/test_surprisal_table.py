"""Surprisals from tables, made of a known language model, come back as they are, however they are joined."""

import csv
import itertools
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from project import ROOT
from readingtimes.contracts import word_table
from readingtimes.joins import readings
from readingtimes.parsers import natural_stories
from recency.errors import REFUSALS
from recency.scoring import surprisal_table

STORIES = [
    ["The dog", "didn’t bark. It slept — déjà-vu! — on the mat."],
    ["A naïve “cat” sat.", "It purred, and purred, and purred."],
]
REFERENCE = ROOT.parent / "shared" / "data" / "naturalstories_reference_lms"


def dataset():
    """Two stories of two sentences each, numbered through the corpus from 1."""
    rows, sentence = [], 0
    for item, sentences in enumerate(STORIES, 1):
        for text in sentences:
            sentence += 1
            rows += [(f"{item:02}", sentence, word) for word in text.split()]
    return word_table(*zip(*rows, strict=True))


WORDS = dataset()
BITS = np.random.default_rng(1).gamma(2.0, 3.0, len(WORDS)).round(6)
TABLE = WORDS.assign(
    surprisal=BITS,
    nats=BITS * np.log(2),
    logprob=-BITS * np.log(2),
    log10=BITS / np.log2(10),
    p=2**-BITS,
    story=WORDS["item"].astype(int),
    place=WORDS.groupby("item").cumcount(),
    in_item=WORDS.sentence - WORDS.groupby("item").sentence.transform("min"),
)


def written(table, folder):
    path = folder / "table.csv"
    table.to_csv(path, index=False, na_rep="NA")
    return path


def scored(table, folder, columns, unit="bits", value="surprisal", **settings):
    columns = {value: value} | columns
    return surprisal_table.score(
        WORDS, written(table, folder), columns=columns, unit=unit, **settings
    )


JOINS = {
    "word_id": {"word_id": "word_id"},
    "item and position": {"item": "story", "position": "place"},
    "item, position and word": {"item": "story", "position": "place", "word": "word"},
    "sentence and position": {"sentence": "sentence", "position": "position"},
    "item, sentence and position": {"item": "item", "sentence": "in_item", "position": "position", "word": "word"},
}  # fmt: skip


@pytest.mark.parametrize("columns", JOINS.values(), ids=JOINS)
def test_joins_by_key_of_scrambled_rows(columns, tmp_path):
    shuffled = TABLE.sample(frac=1, random_state=2)
    result = scored(shuffled, tmp_path, columns)
    assert result.table["surprisal_bits"].tolist() == BITS.tolist()
    assert result.table["word_id"].tolist() == list(range(len(WORDS)))
    assert result.table["corrected_bits"].isna().all() and (result.table["tokens"] == 1).all()
    assert len(result.ledger) == 0


def test_joins_by_the_words_in_order(tmp_path):
    assert scored(TABLE, tmp_path, {"word": "word"}).table["surprisal_bits"].tolist() == BITS.tolist()  # fmt: skip
    # Items may stand in another order than the dataset's if they are named.
    turned = pd.concat([TABLE[TABLE["item"] == "02"], TABLE[TABLE["item"] == "01"]])
    result = scored(turned, tmp_path, {"word": "word", "item": "story"})
    assert result.table["surprisal_bits"].tolist() == BITS.tolist()


@pytest.mark.parametrize(
    ("column", "kind", "unit"),
    [("nats", "surprisal", "nats"), ("log10", "surprisal", "log10"), ("logprob", "logprob", "nats"), ("p", "probability", None)],
)  # fmt: skip
def test_units(column, kind, unit, tmp_path):
    path = written(TABLE, tmp_path)
    columns = {kind: column, "word_id": "word_id"}
    result = surprisal_table.score(WORDS, path, columns=columns, unit=unit)
    np.testing.assert_allclose(result.table["surprisal_bits"], BITS, rtol=1e-12)


def test_a_sign_that_cannot_be_is_refused_with_row_and_way_out(tmp_path):
    path = written(TABLE, tmp_path)
    with pytest.raises(REFUSALS, match=r"line 2: logprob is -.*below 0.*map it as `logprob:`"):
        surprisal_table.score(WORDS, path, columns={"surprisal": "logprob", "word_id": "word_id"})
    with pytest.raises(REFUSALS, match=r"line 2: nats is .*above 0.*map it as `surprisal:`"):
        surprisal_table.score(WORDS, path, columns={"logprob": "nats", "word_id": "word_id"})
    with pytest.raises(REFUSALS, match="not above 0 and at most 1"):
        surprisal_table.score(WORDS, path, columns={"probability": "nats", "word_id": "word_id"})
    with pytest.raises(REFUSALS, match="not both surprisal and logprob"):
        surprisal_table.value_column({"surprisal": "a", "logprob": "b"}, "bits")


def test_z_scores_are_called_by_their_name(tmp_path):
    z = np.random.default_rng(1).normal(size=60).round(3)
    words = word_table(["a"] * 60, [0] * 60, [f"w{n}" for n in range(60)])
    pd.DataFrame({"word_id": range(60), "z": z}).to_csv(tmp_path / "lm.csv", index=False)
    for kind in ("surprisal", "logprob"):
        with pytest.raises(REFUSALS, match=r"line \d+: z is .*z-scores, centred values"):
            surprisal_table.score(
                words, tmp_path / "lm.csv", columns={kind: "z", "word_id": "word_id"}
            )


def tokens_of(kind):
    """Cut the stories' texts as vocabularies do; give token, item, offset and log probability."""
    rng, rows = np.random.default_rng(3), []
    table = readings._byte_of()
    shown = {byte: character for character, byte in table.items()}
    totals = np.zeros(len(WORDS))
    for item, words in WORDS.groupby("item", sort=False):
        offset = 0
        for place, (number, word) in enumerate(words["word"].items()):
            text = " " * (place > 0) + word
            if kind == "byte":
                data = text.encode()
                cuts = [0, *sorted({rng.integers(1, len(data)) for _ in range(2)} if len(data) > 1 else ()), len(data)]  # fmt: skip
                pieces = [data[a:b] for a, b in itertools.pairwise(cuts)]
                pieces = ["".join(shown[bytes([b])] for b in piece) for piece in pieces]
            else:
                cut = rng.integers(0, len(word) + 1)
                pieces = [piece for piece in (word[:cut], word[cut:]) if piece]
                if kind == "sentencepiece":
                    pieces[0] = "▁" + pieces[0]
                    if "ï" in pieces[0]:
                        before, _, after = pieces[0].partition("ï")
                        pieces[:1] = [p for p in (before, "<0xC3>", "<0xAF>", after) if p]
                elif kind == "wordpiece":
                    pieces = [pieces[0].lower(), *("##" + p.lower() for p in pieces[1:])]
                elif kind == "api" and place:
                    pieces[0] = " " + pieces[0]
            for piece in pieces:
                value = rng.gamma(2.0, 1.5)
                totals[number] += value
                rows.append((item, piece, offset, -value))
                offset += len(piece)
        if kind == "api":
            rows.append((item, "\n", offset, -0.5))
            totals[number] += 0.5  # at the end nothing stands behind it
    return pd.DataFrame(rows, columns=["item", "token", "offset", "logprob"]), totals


@pytest.mark.parametrize("kind", ["byte", "sentencepiece", "wordpiece", "api"])
@pytest.mark.parametrize("scrambled", [False, True])
def test_tokens_are_summed_to_the_words_that_they_are_of(kind, scrambled, tmp_path):
    table, nats = tokens_of(kind)
    columns = {"logprob": "logprob", "token": "token", "item": "item"}
    if scrambled:
        table, columns = table.sample(frac=1, random_state=4), columns | {"offset": "offset"}
    path = tmp_path / "tokens.csv"
    table.to_csv(path, index=False)
    result = surprisal_table.score(WORDS, path, columns=columns, unit="nats")
    np.testing.assert_allclose(result.table["surprisal_bits"], nats / np.log(2), rtol=1e-12)
    assert result.table["tokens"].sum() == len(table) and len(result.ledger) == 0


def test_tokens_of_a_known_model_come_back(tmp_path):
    """What the package sums itself over a tokenizer's tokens is what it reads from their table."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    from recency.scoring import alignment

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([" ".join(WORDS["word"])] * 3, trainer)
    surprisal = np.random.default_rng(5).gamma(2.0, 2.0, tokenizer.get_vocab_size())
    rows, expected, count = [], np.zeros(len(WORDS)), np.zeros(len(WORDS))
    for item, part in WORDS.groupby("item", sort=False):
        text = alignment.align(part["word"].tolist(), tokenizer)
        np.add.at(expected, part.index.to_numpy()[text.word], surprisal[text.ids])
        np.add.at(count, part.index.to_numpy()[text.word], 1)
        rows += [(item, tokenizer.id_to_token(int(n)), -surprisal[n]) for n in text.ids]
    path = tmp_path / "tokens.csv"
    pd.DataFrame(rows, columns=["item", "token", "logprob"]).to_csv(path, index=False)
    columns = {"logprob": "logprob", "token": "token", "item": "item"}
    result = surprisal_table.score(WORDS, path, columns=columns, unit="bits")
    np.testing.assert_allclose(result.table["surprisal_bits"], expected, rtol=1e-12)
    assert result.table["tokens"].tolist() == count.tolist()


@pytest.mark.parametrize(
    "columns", [{"word": "word"}, {"item": "story", "position": "place", "word": "word"}]
)
def test_missing_and_extra_rows_are_listed(columns, tmp_path):
    extra = TABLE.iloc[[3]].assign(word="qwertyuiop", place=900, surprisal=99.0)
    table = pd.concat([TABLE.iloc[:4], extra, TABLE.iloc[4:]]).drop(index=10)
    table.loc[12, "surprisal"] = np.nan
    with pytest.raises(REFUSALS, match=r"2 of \d+ words have no value .*1 not in the table.*`missing: 0\.\d+`"):  # fmt: skip
        scored(table, tmp_path, columns)
    result = scored(table, tmp_path, columns, missing=0.2)
    expected = np.where(np.isin(np.arange(len(WORDS)), [10, 12]), np.nan, BITS)
    np.testing.assert_array_equal(result.table["surprisal_bits"], expected)
    listed = result.ledger
    assert listed["word_id"].dropna().tolist() == [10, 12]
    assert listed["reason"].tolist() == ["not in the table", "no value in the table", "no word of the dataset"]  # fmt: skip
    assert listed["treatment"].tolist() == ["null", "null", "left out"]
    result.write(tmp_path / "out.parquet", tmp_path / "ledger.csv")
    assert pd.read_csv(tmp_path / "ledger.csv")["tokens"].iloc[-1] == "line 6"


def test_a_word_that_is_spelled_otherwise_keeps_its_value(tmp_path):
    table = TABLE.copy()
    table.loc[5, "word"] = "sleept"
    result = scored(table, tmp_path, {"word_id": "word_id", "word": "word"})
    assert result.table["surprisal_bits"].tolist() == BITS.tolist()
    assert result.ledger[["word_id", "reason", "treatment"]].to_numpy().tolist() == [[5, "is spelled otherwise", "kept"]]  # fmt: skip
    assert "not the same: 'sleept' for 'slept'" in result.notes[1]
    result = scored(table, tmp_path, {"word": "word"}, missing=0.1)  # not by characters alone
    assert result.table["surprisal_bits"].isna().to_numpy().nonzero()[0].tolist() == [5]


def test_another_word_has_no_value(tmp_path):
    table = TABLE.copy()
    table.loc[6, "word"] = "mewed"
    for columns in ({"word_id": "word_id", "word": "word"}, {"word": "word"}):
        result = scored(table, tmp_path, columns, missing=0.1)
        assert result.table["surprisal_bits"].isna().to_numpy().nonzero()[0].tolist() == [6]
    swapped = TABLE.copy()  # words and values of two rows, but not their positions
    swapped.loc[[3, 9], ["word", "surprisal"]] = TABLE.loc[[9, 3], ["word", "surprisal"]].to_numpy()
    result = scored(swapped, tmp_path, {"word_id": "word_id", "word": "word"}, missing=0.1)
    assert result.table["surprisal_bits"].isna().to_numpy().nonzero()[0].tolist() == [3, 9]


def test_rows_that_are_moved_by_one_are_refused(tmp_path):
    moved = TABLE.assign(place=TABLE["place"] + 1)
    columns = {"item": "story", "position": "place", "word": "word"}
    assert scored(moved, tmp_path, columns).ledger.empty  # counted from 1
    wrong = {"position": "from 0 in item"}
    with pytest.raises(REFUSALS, match="no alignment gives the rows their own words"):
        scored(moved, tmp_path, columns, join=wrong, missing=0.5)


def test_items_are_found_by_the_order_of_texts(tmp_path):
    """Two texts of 12 and 10 words, by other names."""
    columns = {"item": "story", "position": "place"}
    named = TABLE.assign(story=TABLE["story"].map({1: "dog", 2: "cat"}))
    result = scored(named, tmp_path, columns)
    assert result.table["surprisal_bits"].tolist() == BITS.tolist()
    assert "item: order" in result.notes[1]


def test_a_table_of_other_words_is_refused(tmp_path):
    with pytest.raises(REFUSALS, match="no row has a word in the dataset"):
        scored(TABLE.assign(word="qqqqqqq"), tmp_path, {"word": "word"})
    columns = {"item": "story", "position": "place"}
    with pytest.raises(REFUSALS, match="no row has a word in the dataset"):  # fmt: skip
        scored(TABLE[TABLE["story"] == 1].assign(story=9), tmp_path, columns)


API = ["The", " dog", " didn", "’t", " bark", ".", " It", " slept", "bytes: \\xe2\\x80", "bytes:\\x94", " d", "bytes:\\xc3", "bytes:\\xa9j", "à-vu", "!"]  # fmt: skip
TREEBANK = ["The", "dog", "did", "n't", "bark", ".", "It", "slept", "--", "deja-vu", "!", "A", "naive", "``", "cat", "''", "sat", "."]  # fmt: skip


def test_parts_of_characters_and_quotes_of_treebanks():
    """Tokens that hold some bytes of a character, as APIs show them; `` and '' of treebanks."""
    words = ["The", "dog", "didn’t", "bark.", "It", "slept", "—", "déjà-vu!"]
    found = readings.find(words, API)
    assert found.row.tolist() == [0, 1, 2, 2, 3, 3, 4, 5, 6, 6, 7, 7, 7, 7, 7]
    assert found.whole.all()
    words = [*words, "A", "naïve", "“cat”", "sat."]
    found = readings.find(words, TREEBANK)
    assert found.row[-7:].tolist() == [8, 9, 10, 10, 10, 11, 11]
    assert (~found.whole).nonzero()[0].tolist() == [6]  # two dashes for one


def test_two_values_of_a_word_are_refused(tmp_path):
    twice = pd.concat([TABLE, TABLE.iloc[[3]]])
    assert scored(twice, tmp_path, {"word_id": "word_id"}).table["surprisal_bits"].tolist() == BITS.tolist()  # fmt: skip
    twice.iloc[-1, twice.columns.get_loc("surprisal")] = 1.0
    with pytest.raises(REFUSALS, match="word_id 3 repeats an earlier row"):
        scored(twice, tmp_path, {"word_id": "word_id"})


def test_several_datasets_and_further_columns(tmp_path):
    table = pd.concat([TABLE.assign(corpus="Mine", entropy=BITS / 2, tokens=2, fixed=BITS + 1),
                       TABLE.assign(corpus="Other", surprisal=1.0, entropy=0, tokens=1, fixed=0)])  # fmt: skip
    columns = {"word_id": "word_id", "dataset": "corpus", "tokens": "tokens", "corrected": "fixed"}
    made = scored(table, tmp_path, columns, dataset="mine", called="Mine", measures={"entropy_bits": "entropy"}).table  # fmt: skip
    assert made["surprisal_bits"].tolist() == BITS.tolist()
    assert made["entropy_bits"].tolist() == (BITS / 2).tolist()
    assert made["corrected_bits"].tolist() == (BITS + 1).tolist() and (made["tokens"] == 2).all()
    with pytest.raises(REFUSALS, match="no row has 'mine' as corpus; there are Mine, Other"):
        scored(table, tmp_path, columns, dataset="mine")


def test_several_seeds(tmp_path):
    table = pd.concat(
        [TABLE.assign(run=1), TABLE.assign(run=2, surprisal=TABLE["surprisal"] + 1.0)]
    )
    columns = {"word_id": "word_id", "seed": "run"}
    for seed in (1, 2):
        made = scored(table.sample(frac=1, random_state=seed), tmp_path, columns, seed=seed).table
        np.testing.assert_allclose(made["surprisal_bits"], BITS + seed - 1, atol=1e-12)
    with pytest.raises(REFUSALS, match="no row has 3 as run; there are 1, 2; set `seed` of the LM"):
        scored(table, tmp_path, columns, seed=3)
    with pytest.raises(REFUSALS, match="word_id 0 repeats an earlier row"):
        scored(table, tmp_path, {"word_id": "word_id"})


def test_long_texts_stay_in_step(tmp_path):
    """A whole part of the text is missing in the middle, another is there twice."""
    rng = np.random.default_rng(6)
    letters = list("abcdefghijklmnop")
    words = ["".join(rng.choice(letters, rng.integers(1, 9))) for _ in range(4000)]
    rows = words[:1000] + words[1500:3000] + words[2980:3000] + words[3000:]
    found = readings.find(words, rows)
    assert found.row[:1000].tolist() == list(range(1000))
    assert found.row[1000:2500].tolist() == list(range(1500, 3000))
    assert (found.row[2500:2520] == -1).all() and found.row[2520:].tolist() == list(range(3000, 4000))  # fmt: skip
    assert (~found.whole).nonzero()[0].tolist() == list(range(1000, 1500))
    # Of two copies, neither is surely the right one.
    doubtful = readings.ambiguous(words, rows, found.row)
    assert set(range(2980, 3000)) <= set(doubtful) and len(doubtful) < 60


@pytest.mark.merge
@pytest.mark.skipif(not REFERENCE.is_dir(), reason="needs the published surprisals beside the project")  # fmt: skip
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R to read .rds")
def test_published_surprisals_of_natural_stories(tmp_path):
    """Boyce & Levy (2023): each value is the file's; what has none are words that begin sentences."""
    path = tmp_path / "reference.csv"
    code = "write.csv(as.data.frame(readRDS(commandArgs(TRUE)[1])), commandArgs(TRUE)[2], row.names = FALSE)"  # fmt: skip
    rds = REFERENCE / "natural_stories_surprisals.rds"
    subprocess.run(["Rscript", "--vanilla", "-e", code, rds, path], check=True)
    stories = ROOT.parent / "shared" / "data" / "naturalstories" / "all_stories.tok"
    words = natural_stories.words({"stories": stories})
    with open(path, newline="") as file:
        given = {
            (int(row["Story_Num"]), int(row["Word_In_Story_Num"])): row
            for row in csv.DictReader(file)
        }
    place = words.groupby("item").cumcount() + 1
    keys = list(zip(words["item"].astype(int), place))
    columns = {"item": "Story_Num", "position": "Word_In_Story_Num", "word": "Word"}
    for name, lacking in (("txl_surp", 474), ("grnn_surp", 474 + 318), ("ngram_surp", 474 + 796)):
        result = surprisal_table.score(
            words, path, columns=columns | {"surprisal": name}, unit="bits", missing=0.15
        )
        expected = [float(given[k][name].replace("NA", "nan")) if k in given else np.nan for k in keys]  # fmt: skip
        np.testing.assert_array_equal(result.table["surprisal_bits"], expected)
        assert result.table["surprisal_bits"].isna().sum() == lacking
        assert (result.ledger["reason"] == "no word of the dataset").sum() == 0
        other = result.ledger[result.ledger["reason"] == "is spelled otherwise"]
        assert other[["word", "tokens"]].to_numpy().tolist() == [["peaked", "peeked"]]
    # By the words alone the same rows are found, but for the one that is spelled otherwise.
    by_text = surprisal_table.score(
        words, path, columns={"word": "Word", "item": "Story_Num", "surprisal": "txl_surp"}, unit="bits", missing=0.15
    )  # fmt: skip
    by_key = surprisal_table.score(
        words, path, columns=columns | {"surprisal": "txl_surp"}, unit="bits", missing=0.15
    ).table["surprisal_bits"]
    found = by_text.table["surprisal_bits"]
    assert (found[found.notna()] == by_key[found.notna()]).all()
    # "… the. The …" of which one is missing may be either: such words have no value.
    lost = words["word"][(found.isna() & by_key.notna()).to_numpy()]
    assert len(lost) < 10 and "peaked" in lost.tolist()


def test_several_columns_are_one_label(tmp_path):
    """Texts that item and condition name together, as those of `shape: items`."""
    words = WORDS.assign(item=WORDS["item"].map({"01": "7 high", "02": "7 low"}))
    table = TABLE.assign(number=7, condition=words["item"].str.split().str[1])
    columns = {"item": ["number", "condition"], "position": "place", "word": "word"}
    made = surprisal_table.score(
        words, written(table, tmp_path), columns=columns | {"surprisal": "surprisal"}
    )
    assert made.table["surprisal_bits"].tolist() == BITS.tolist()


def test_words_are_found_by_their_ids_in_the_corpus(tmp_path):
    """Names identify words even where some are missing; numbers do not."""
    ids = [f"QID{7 * n % 23}" for n in range(len(WORDS))]
    words = WORDS.assign(unique_id=ids)
    table = TABLE.assign(id=ids).drop(index=[0, 9]).sample(frac=1, random_state=5)
    columns = {"surprisal": "surprisal", "unique_id": "id"}
    made = surprisal_table.score(words, written(table, tmp_path), columns=columns, missing=0.1)
    expected = np.where(np.isin(np.arange(len(WORDS)), [0, 9]), np.nan, BITS)
    np.testing.assert_array_equal(made.table["surprisal_bits"], expected)
    assert "verified by the words' ids" in made.notes[1]
    numbered = words.assign(unique_id=[i[3:] for i in ids])
    path = written(table.assign(id=table["id"].str[3:]), tmp_path)
    with pytest.raises(REFUSALS, match="nothing verifies the alignment"):
        surprisal_table.score(numbered, path, columns=columns, missing=0.1)
