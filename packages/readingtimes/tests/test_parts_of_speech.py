"""Parts of speech of words, from tags of their parts."""

import pytest

from parsing import write
from readingtimes import parsers, parts_of_speech
from readingtimes.errors import InputError
from readingtimes.parsers import ucl_eye_tracking, ucl_spr


def test_words_are_split_as_their_tags_are():
    split = {"laughed.": ["laughed", "."], "can't": ["ca", "n't"], "cannot": ["can", "not"]}
    split |= {"You'll": ["You", "'ll"], "man's,": ["man", "'s", ","], "1,978": ["1,978"]}
    split |= {"well-known": ["well-known"], "Cannes": ["Cannes"], "don't.": ["do", "n't", "."]}
    assert {word: parts_of_speech.parts(word) for word in split} == split
    assert parts_of_speech.of(["PRP", "VBZ"]) == "verb"
    assert parts_of_speech.of(["NNP", "POS"]) == "noun"
    assert parts_of_speech.of(["MD", "RB", "."]) == "verb"
    assert parts_of_speech.of(["JJ", "."]) == parts_of_speech.of([]) == "other"
    universal = {"PROPN": "noun", "AUX": "verb", "PRON": "other", "NUM": "other"}
    assert {tag: parts_of_speech.of([tag]) for tag in universal} == universal


def test_ucls_words_have_their_part_of_speech(tmp_path):
    stimuli, tags = tmp_path / "stimuli.txt", tmp_path / "tags.txt"
    stimuli.write_text("sent_nr\tsentence\n1\tAnne can't laugh.\n2\tHe's here.\n")
    files = {"stimuli": stimuli, "tags": tags}
    tags.write_text("sent_nr pos\n1\tNNP MD RB VB . \n2\tPRP VBZ RB .\n")
    for parser in (ucl_spr, ucl_eye_tracking):
        assert list(parser.words(files).pos) == ["noun", "verb", "verb", "verb", "other"]
        assert "pos" not in parser.words({"stimuli": stimuli})
    for text, said in (
        ("1\tNNP MD RB VB .\n2\tPRP RB .\n", "line 3 has 3 tags, and sentence 2 4 words"),
        ("1\tNNP MD RB VB .\n", "no tags of sentence 2"),
        ("NNP MD RB VB .\n", "line 2 begins with 'NNP', not a sentence's number"),
        ("\n", "line 2 begins with ''"),
    ):
        tags.write_text("sent_nr pos\n" + text)
        with pytest.raises(InputError, match=said) as error:
            ucl_spr.words(files)
        assert str(tags) in str(error.value) and "\n" not in str(error.value)


def test_ucls_own_tags_fit_all_its_sentences(shared_data):
    ucl = shared_data / "ucl"
    files = {"stimuli": ucl / "stimuli.txt", "tags": ucl / "stimuli_pos.txt"}
    counts = ucl_spr.words(files).pos.value_counts()
    assert counts.to_dict() == {"other": 2709, "verb": 1165, "noun": 1083}
    assert len(ucl_eye_tracking.words(files)) == 1931


def test_provos_summary_tells_of_its_words(tmp_path, capsys):
    """Not of a text's first, nor where a row's word is not its area's; rows of one area by majority."""
    norms = write(tmp_path / "n.tsv", "text_id\tword_number\tword\n1\t1\tWe\n1\t2\tsee\n1\t3\tred\n1\t4\tdogs.\n1\t5\tnow\n")  # fmt: skip
    rows = [
        *("1,1,We,NA,NA", "1,2,see,see,Verb", "1,2,see,see,Noun", "1,2,see,see,Verb"),
        *("1,3,red,red,Adjective", "1,4,dogs.,dogs.,Noun", "1,5,now,TRUE,Verb", ",,Practice,,"),
    ]

    def words(rows):
        text = "\n".join(["Text_ID,IA_ID,IA_LABEL,Word,Word_POS", *rows])
        tags = write(tmp_path / "areas.csv", text + "\n")
        return parsers.parser("provo").words({"norms": norms, "tags": tags})

    found = words(rows).pos
    assert found.fillna("").tolist() == ["", "verb", "other", "noun", ""]
    assert "pos" not in parsers.parser("provo").words({"norms": norms})
    with pytest.raises(InputError, match="Word_POS has no verb, but 'adjective', 'noun', 'v'"):
        words([row.replace("Verb", "V") for row in rows])
