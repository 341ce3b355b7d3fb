"""A treebank in CoNLL-U: words, spaces and heads as annotated; damage named by file and line."""

import gzip

import numpy as np
import pytest

from readingtimes.errors import InputError
from readingtimes.formats import conllu

CONTRACTED = """# sent_id = 1
# text = I don't know (really).
1	I	I	PRON	_	_	4	nsubj	_	_
2-3	don't	_	_	_	_	_	_	_	_
2	do	do	AUX	_	_	4	aux	_	_
3	n't	not	PART	_	_	4	advmod	_	_
4	know	know	VERB	_	_	0	root	_	_
4.1	it	it	PRON	_	_	_	_	4:obj	_
5	(	(	PUNCT	_	_	6	punct	_	SpaceAfter=No
6	really	really	ADV	_	_	4	advmod	_	SpaceAfter=No
7	)	)	PUNCT	_	_	6	punct	_	Gloss=x|SpaceAfter=No
8	.	.	PUNCT	_	_	4	punct	_	_

# text = au lit
1-2	au	_	_	_	_	_	_	_	SpaceAfter=No
1	à	à	ADP	_	_	3	case	_	_
2	le	le	DET	_	_	3	det	_	_
3	lit	lit	NOUN	_	_	0	root	_	_
"""


def sentence(*heads):
    rows = [f"{n}\tw{n}\tw\tX\t_\t_\t{head}\tdep\t_\t_\n" for n, head in enumerate(heads, start=1)]
    return "# text\n" + "".join(rows) + "\n"


def test_words_heads_and_spaces(tmp_path):
    for name, data in (("a.conllu", CONTRACTED.encode()), ("b.gz", None), ("c", b"\xef\xbb\xbf")):
        data = gzip.compress(CONTRACTED.encode()) if data is None else data
        data = data + CONTRACTED.replace("\n", "\r\n").encode() if name == "c" else data
        (tmp_path / name).write_bytes(data)
        table = conllu.read(tmp_path / name)
        first = table[table.sentence == 1]
        assert list(first.word) == ["I", "do", "n't", "know", "(", "really", ")", "."]
        assert list(first.position) == list(range(1, 9))
        assert list(first["head"]) == [4, 4, 4, 0, 6, 4, 6, 4]
        # A space neither within "don't" nor where the text has none.
        assert list(first.space_after) == [True, False, True, True, False, False, False, True]
        assert list(first.relation)[:3] == ["nsubj", "aux", "advmod"]
        # "à le" is not how "au" is written, so its words stand apart.
        assert list(table[table.sentence == 2].space_after) == [True, False, True]


GOOD = sentence(2, 0)
DAMAGE = {
    "circle": (GOOD + sentence(0, 3, 2, 1), "line 7: word 2 ('w2'): its heads go round in a circle"),
    "itself": (GOOD + sentence(0, 2), "line 7: word 2 ('w2'): its heads go round in a circle"),
    "no root": (GOOD + sentence(2, 3, 1), "line 6: word 1 ('w1'): the sentence has no root"),
    "two roots": (GOOD + sentence(0, 1, 0), "line 8: word 3 ('w3'): a second root in addition to word 1"),
    "outside": (GOOD + sentence(0, 7), "line 7: word 2 ('w2'): its head 7 is outside the sentence"),
    "head": (GOOD.replace("\t0\t", "\t_\t"), "line 3: head '_' of word 2 ('w2') is no number"),
    "columns": (GOOD.replace("w1\tw\t", "w1\t"), "line 2: 9 columns instead of 10"),
    "order": (GOOD.replace("2\tw2", "3\tw2"), "line 3: ID '3' where 2 is expected"),
    "empty": (GOOD.replace("w2\t", " \t", 1), "line 3: word 2 is empty"),
    "range": (GOOD.replace("1\tw1", "1-9\t_\t_\t_\t_\t_\t_\t_\t_\t_\n1\tw1"), "words 1 to 9 of 2"),
    "reversed": (GOOD.replace("1\tw1", "1-x\t_\t_\t_\t_\t_\t_\t_\t_\t_\n1\tw1"), "ID '1-x'"),
    "no words": ("1.1\ta\ta\tX\t_\t_\t_\t_\t_\t_\n\n", "line 1: a sentence without words"),
    "nothing": ("# text\n\n", "has no sentences"),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_named(tmp_path, what):
    text, message = DAMAGE[what]
    path = tmp_path / "damaged.conllu"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        conllu.read(path)
    assert str(error.value).startswith(str(path)) and message in str(error.value)


def test_other_encodings_are_refused(tmp_path):
    (tmp_path / "a").write_bytes(GOOD.replace("w2", "wé").encode("latin-1"))
    with pytest.raises(InputError, match="a, line 3: not UTF-8"):
        conllu.read(tmp_path / "a")


def test_every_graph_that_is_no_tree_is_found():
    """All heads of three words, against a walk up from each word."""
    trees = 0
    for heads in np.ndindex(4, 4, 4):

        def reaches_root(word, heads=heads):
            for _ in range(4):
                word = heads[word - 1] if word else 0
            return word == 0

        good = heads.count(0) == 1 and all(map(reaches_root, (1, 2, 3)))
        assert (conllu._not_a_tree(list(heads)) is None) == good, heads
        trees += good
    assert trees == 3**2  # rooted labelled trees of three nodes, n^(n-1)


@pytest.mark.merge
def test_english_web_treebank(shared_data):
    """The counts of its provenance note, words joined as in the text."""
    counts = {"train": (12_544, 204_577), "dev": (2_001, 25_147), "test": (2_077, 25_094)}
    for split in ("dev", "test", "train"):
        path = shared_data / "ud_english_ewt" / f"en_ewt-ud-{split}.conllu.gz"
        if not path.exists():
            pytest.skip(f"{path} is absent")
        table = conllu.read(path)
        assert (table.sentence.max(), len(table)) == counts[split]
        if split == "dev":
            said = gzip.decompress(path.read_bytes()).decode().split("\n")
            said = [line[9:].rstrip() for line in said if line.startswith("# text = ")]
            pieces = table.word + table.space_after.map({True: " ", False: ""})
            written = pieces.groupby(table.sentence).sum().str.rstrip()
            same = [a == b for a, b in zip(written, said, strict=True)]
            assert np.mean(same) > 0.999
