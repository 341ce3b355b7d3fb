"""Parts of speech by a tagger that is trained on a treebank: what it learns, says and refuses."""

import gzip

import pandas as pd
import pytest

from readingtimes import parsers
from readingtimes.contracts import word_table
from readingtimes.formats import conllu
from recency.errors import REFUSALS
from recency.reading import tagger, words

SENTENCES = [
    [("the", "DET"), ("dog", "NOUN"), ("did", "AUX"), ("n't", "PART"), ("bark", "VERB"), (".", "PUNCT")],
    [("the", "DET"), ("cat", "NOUN"), ("will", "AUX"), ("run", "VERB"), (".", "PUNCT")],
    [("a", "DET"), ("dog", "NOUN"), ("'s", "PART"), ("bone", "NOUN"), ("fell", "VERB"), (".", "PUNCT")],
    [("cats", "NOUN"), ("ran", "VERB"), ("away", "ADV"), (".", "PUNCT")],
]  # fmt: skip


def table(**splits):
    """Return a treebank's table, as far as a tagger reads it."""
    rows = [
        (split, number, word, upos)
        for split, sentences in splits.items()
        for number, sentence in enumerate(sentences, 1)
        for word, upos in sentence
    ]
    return pd.DataFrame(rows, columns=["split", "sentence", "word", "upos"])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger")
    # Of the test, `run` is called a noun and `away` a verb: the tagger will be wrong about both.
    test = [SENTENCES[0], [("the", "DET"), ("run", "NOUN")], [("cats", "NOUN"), ("away", "VERB")]]
    table(train=SENTENCES * 24, dev=SENTENCES, test=test).to_parquet(folder / "bank.parquet")
    tagger.train(folder / "bank.parquet", folder / "tagger.json", folder / "quality.csv")
    return folder


def test_what_a_tagger_is_worth_is_counted(trained):
    found = pd.read_csv(trained / "quality.csv").set_index("part_of_speech")
    assert list(found.columns) == ["words", "found", "right"]
    assert found.loc["verb"].tolist() == [3, 3, 2] and found.loc["noun"].tolist() == [3, 2, 2]
    assert found.loc["other"].tolist() == [4, 5, 4] and found.loc["all"].tolist() == [10, 10, 8]


def test_words_have_the_part_of_speech_of_their_parts(trained):
    """Clitics and marks are tagged by themselves, and a word is its first noun or verb's."""
    said = "the dog didn't bark. the cat's bone fell. cats ran away."
    sentences = [1] * 4 + [2] * 4 + [3] * 3
    frame = word_table(["a"] * 11, sentences, said.split())
    found = tagger.tag(frame, trained / "tagger.json")
    assert found.tolist() == [
        *("other", "noun", "verb", "verb"),
        *("other", "noun", "noun", "verb"),
        *("noun", "verb", "other"),
    ]


def test_training_again_gives_the_same_bytes(trained, tmp_path):
    tagger.train(trained / "bank.parquet", tmp_path / "again.json", tmp_path / "q.csv")
    assert (tmp_path / "again.json").read_bytes() == (trained / "tagger.json").read_bytes()


def test_words_with_parts_of_speech_of_their_own_keep_them(trained, tmp_path):
    """One of two would be lost; a dataset with a tagger is told so by its own files' names."""
    stimuli, tags = tmp_path / "stimuli.txt", tmp_path / "tags.txt"
    stimuli.write_text("sent_nr\tsentence\n1\tthe dog ran.\n")
    tags.write_text("sent_nr pos\n1\tDT NN VBD .\n")
    read = {"parser": "ucl_spr", "options": {}, "out": tmp_path / "words.parquet"}
    given = {"tagger": [trained / "tagger.json"]}
    words.main({"stimuli": stimuli}, **read, **given)
    assert pd.read_parquet(tmp_path / "words.parquet").pos.tolist() == ["other", "noun", "verb"]
    with pytest.raises(
        REFUSALS, match=r"stimuli.txt.*words have parts of speech of their own \(pos\)"
    ):
        words.main({"stimuli": stimuli, "tags": tags}, **read, **given)


def test_words_of_another_language_are_refused(trained, tmp_path):
    """A tagger calls them something all the same, and nobody would see it."""
    table = "subject,item,sentence,position,word,SPR\n"
    for n, word in enumerate(["der", "Hund", "und", "die", "Katze", "ran."], 1):
        table += f"a,1,1,{n},{word},300\nb,1,1,{n},{word},300\n"
    (tmp_path / "mine.csv").write_text(table)
    read = {
        "parser": "table",
        "options": {},
        "out": tmp_path / "words.parquet",
        "measures": ["SPR"],
    }
    said = r"mine.csv: the treebank that the tagger is trained on has 17% of these words"
    with pytest.raises(REFUSALS, match=said):
        words.main({"table": tmp_path / "mine.csv"}, **read, tagger=[trained / "tagger.json"])
    assert not (tmp_path / "words.parquet").exists()


@pytest.mark.merge
def test_it_agrees_with_two_corpora_s_own_tags(shared_data, tmp_path):
    """UCL's, and those of Natural Stories' trees, by a tagger of a sixth of the English Web Treebank."""
    bank = shared_data / "ud_english_ewt"
    parts = {split: conllu.read(bank / f"en_ewt-ud-{split}.conllu.gz") for split in ("dev", "test")}
    halves = {"train": parts["dev"], "test": parts["test"][parts["test"].sentence <= 500]}
    made = pd.concat([part.assign(split=split) for split, part in halves.items()])
    made.to_parquet(tmp_path / "bank.parquet")
    tagger.train(tmp_path / "bank.parquet", tmp_path / "tagger.json", tmp_path / "quality.csv")
    right = pd.read_csv(tmp_path / "quality.csv").set_index("part_of_speech").loc["all"]
    assert right.right / right.words > 0.93
    stories, trees = (
        shared_data / "naturalstories" / name
        for name in ("all_stories.tok", "all-parses-aligned.txt.penn.gz")
    )
    (tmp_path / "trees").write_bytes(gzip.decompress(trees.read_bytes()))
    ucl = {"stimuli": shared_data / "ucl" / "stimuli.txt", "tags": shared_data / "ucl" / "stimuli_pos.txt"}  # fmt: skip
    for parser, files in (
        ("ucl_spr", ucl),
        ("natural_stories", {"stories": stories, "trees": tmp_path / "trees"}),
    ):
        tagged = parsers.parser(parser).words(files)
        found = tagger.tag(tagged.drop(columns="pos"), tmp_path / "tagger.json")
        assert (found == tagged.pos).mean() > 0.9, parser
