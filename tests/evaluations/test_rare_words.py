"""Rare words: similarities of strings by their definitions, made vectors, Spearman's ρ on real pairs."""

import gzip
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from project import ROOT, show
from recency.errors import InputError
from recency.evaluations.rare_words import score, table
from recency.networks import string_similarity as similarity
from recency.networks import swordss

RW = ROOT.parent / "shared" / "data" / "rare_words" / "EN-RW-STANFORD.txt"


@pytest.mark.parametrize(
    ("a", "b", "jaro", "winkler"),
    [
        ("martha", "marhta", 0.944, 0.961),
        ("dixon", "dicksonx", 0.767, 0.813),
        ("dwayne", "duane", 0.822, 0.840),
        ("abc", "xyz", 0, 0),
    ],
)
def test_jaro_and_winkler_have_winkler_s_values(a, b, jaro, winkler):
    assert similarity.jaro(a, b) == pytest.approx(jaro, abs=5e-4)
    assert similarity.jaro_winkler(a, b) == pytest.approx(winkler, abs=5e-4)


def test_subsequences_are_all_pairs_of_letters_with_their_spans():
    def kernel(a, b):
        def of(word):
            found = {}
            for i, j in combinations(range(len(word)), 2):
                key = word[i] + word[j]
                found[key] = found.get(key, 0) + similarity.DECAY ** (j - i + 1)
            return found

        own, other = of(a), of(b)
        return sum(own[key] * other[key] for key in own.keys() & other.keys())

    for a, b in (("cat", "car"), ("unhappily", "happiness"), ("aab", "aba")):
        expected = kernel(a, b) / np.sqrt(kernel(a, a) * kernel(b, b))
        assert similarity.subsequences(a, b) == pytest.approx(expected)
    assert similarity.subsequences("a", "a") == 1 and similarity.subsequences("a", "b") == 0


def test_the_others_by_hand():
    assert similarity.jaccard("abc", "bcd") == 2 / 4
    assert similarity.most_frequent("aabbc", "aabd") == (2 + 2 + 2 + 1) / 9
    assert similarity.trigrams("at", marks=True) == {"^at", "at$"} and not similarity.trigrams("at")
    assert similarity.trigrams("language") == {"lan", "ang", "ngu", "gua", "uag", "age"}
    assert similarity.tversky("at", "bat") == 1 / (1 + 0.5 + 1)  # of ^ba, bat, at$
    for name, value in similarity.SIMILARITIES.items():
        assert value("rare", "rare") == pytest.approx(0.75 if name == "mfk" else 1), name
        assert 0 <= value("rare", "words") <= 1, name


def test_a_made_vector_is_of_the_words_that_share_trigrams():
    words = ["happy", "unhappy", "cat", "happily", "zzz"]
    matrix = np.arange(10.0).reshape(5, 2)
    index = swordss.Index(words)
    near = index.nearest("unhappily", 3)
    assert set(near) == {0, 1, 3} and near[0] in (1, 3)
    assert index.nearest("cap", 3) == []
    assert swordss.Index(words, marks=True).nearest("cap", 3) == [2]  # ^ca
    found = swordss.compose_vector("unhappily", index, matrix, "ji", 3)
    weights = [similarity.jaccard("unhappily", words[n]) for n in (0, 1, 3)]
    np.testing.assert_allclose(found, np.average(matrix[[0, 1, 3]], axis=0, weights=weights))
    assert swordss.compose_vector("qqqq", index, matrix, "ji", 3) is None
    assert index.nearest("unhappy", 5)[0] == 1


@pytest.fixture
def made(tmp_path):
    """Write vectors in which words with a stem are near, and pairs, one of whose words is new."""
    rng = np.random.default_rng(1)
    stems = [rng.normal(size=20) for _ in range(6)]
    words, rows = [], []
    for letter, stem in zip("bcdfgh", stems, strict=True):
        for end in ("", "s", "ed", "ing"):
            words.append(f"{letter}olk{letter}{end}")
            rows.append(stem + 0.1 * rng.normal(size=20))
    lines = [" ".join([word, *map(repr, map(float, row))]) for word, row in zip(words, rows)]
    (tmp_path / "v.vec").write_text("\n".join([f"{len(words)} 20", *lines]))
    pairs = []
    for n, letter in enumerate("bcdfgh"):
        other = "bcdfgh"[n - 1]
        pairs.append((f"{letter}olk{letter}er", f"{letter}olk{letter}", 9 + n / 10))
        pairs.append((f"{letter}olk{letter}er", f"{other}olk{other}s", 1 + n / 10))
    (tmp_path / "p.txt").write_text("#a:b:c\n" + "\n".join(":".join(map(str, p)) for p in pairs))
    return tmp_path


def test_pairs_of_a_word_without_a_match_are_left_out(made):
    pairs = score.read_pairs(made / "p.txt")
    words, matrix = score.read_vectors(made / "v.vec")
    unmatched = [("qqqq", words[0], 5.0), (words[1], "zzz", 1.0)]
    found = score.evaluate([*unmatched, *pairs], words, matrix, 4)
    plain = score.evaluate(pairs, words, matrix, 4)
    assert (found.left_out == 2).all() and (plain.left_out == 0).all()
    pd.testing.assert_frame_equal(found.drop(columns="left_out"), plain.drop(columns="left_out"))
    with pytest.raises(InputError, match="none of 2 pairs has two words"):
        score.evaluate(unmatched, words, matrix, 4)


def test_made_vectors_agree_with_people_where_without_there_is_none(made):
    score.score_vectors(made / "p.txt", made / "v.vec", made / "s.csv", neighbours=4)
    found = pd.read_csv(made / "s.csv", dtype={"similarity": str}).set_index("similarity")
    assert np.isnan(found.spearman["without"]) and found.known_pairs["without"] == 0
    assert (found.spearman.drop("without") > 0.75).all() and found.made_words["ji"] == 6
    words, matrix = score.read_vectors(made / "v.vec")
    index = swordss.Index(words)
    pairs = score.read_pairs(made / "p.txt")
    cosines = []
    for a, b, _ in pairs:
        new, old = swordss.compose_vector(a, index, matrix, "tc", 4), matrix[words.index(b)]
        cosines.append(new @ old / np.linalg.norm(new) / np.linalg.norm(old))
    expected = spearmanr(cosines, [rating for *_, rating in pairs]).statistic
    assert found.spearman["tc"] == pytest.approx(expected)

    lms = [{"lm": "a", "label": "LM a", "bias": {"form": "none"}, "applied": "none"}]
    vectors = [{"name": "p", "label": "Polyglot", "here": False, "supplied": "x.vec: Polyglot's"}]
    out = [made / f"t.{end}" for end in ("csv", "html", "tex")]
    published = ROOT / "data" / "published" / "thesis_rare_words.csv"
    sets = [
        {"label": "Gur65", "vectors": vectors, "not_run": None},
        {"label": "absent", "vectors": vectors, "not_run": "absent is not here: y"},
        {"label": "again", "vectors": [vectors[0] | {"here": True}], "not_run": None},
    ]
    told = {"lms": lms, "sets": sets, "title": "Rare", "published": published}
    show(table.main, scores=[made / "s.csv"] * 3, out=out, **told)
    page = out[1].read_text()
    assert "published 37.6" in page and "SO2015" not in page  # whose pairs are not of these sets
    assert "ot run: x.vec: Polyglot" in page
    assert "absent is not here: y" in page
    rows = pd.read_csv(out[0]).dropna(subset="spearman").groupby(["set", "label"], sort=False)
    best = pd.read_csv(out[0]).query("set == 'Gur65' and label == 'LM a'").set_index("similarity")
    assert best.spearman["best"] == best.spearman[["ji", "jaro", "jw", "mfk", "ssk", "tc"]].max()
    rw = table.with_published(best.reset_index().assign(set="RW (2,034 pairs)"), published)
    notes = table.layout(rw, "Rare").notes
    assert [n for n in notes if "SO2015" in n] == [
        "RW (2,034 pairs), published, SO2015 without morphology: 44.7",
        "RW (2,034 pairs), published, SO2015 with morphology: 52",
    ]
    assert list(rows.size().index) == [("Gur65", "LM a"), ("again", "LM a"), ("again", "Polyglot")]


PAIRS = "cat\tdog\t1\ncat\tcow\t2\ndog\tcow\t3\n"
VECTORS = "3 2\ncat 1 2\ndog 3 4\ncow 5 6\n"
WRONG_PAIRS = {
    "a b 1\na b\n": "line 2: 'a b' is not a word, a word and a rating",
    PAIRS + "x\ty\tnan\n": "line 4: 'x.ty.tnan' is not a word",
    PAIRS.replace("3", "3,5"): "line 3: .* is not a word",
    PAIRS.replace("1", "1,5"): "line 1: .* is not a word",
    "\tdog\t1\n" + PAIRS: "line 1: 'dog.t1' is not a word",
    "cat dog 1\ncat cow 2\n": "2 pairs of words; ranks need three or more",
    "cat dog 1\ncat cow 1\ndog cow 1\n": "all 3 pairs have the rating 1",
    PAIRS.encode("utf-16"): "is not UTF-8: byte 0xff",
    gzip.compress(PAIRS.encode() * 90)[:-12]: "the gzip is damaged or truncated",
}
WRONG_VECTORS = {
    "a 1 2\nb 1\n": "line 2: 1 numbers, not 2 as before",
    VECTORS.replace("4", "nan"): "line 3: 'dog 3 nan' is not a word and numbers",
    VECTORS.replace("4", "1e99"): "line 3: 'dog 3 1e99' is not a word and numbers",
    VECTORS.replace(" ", "\t"): "line 1: .* is not a word and numbers separated by single spaces",
    VECTORS.replace("3 2\n", "3 5\n"): "line 2: 2 numbers, not 5",
    VECTORS.replace("3 2\n", "9 2\n"): "3 vectors, and its first line says 9",
    VECTORS.replace("dog", "d\xf6g").encode("latin1"): "is not UTF-8: byte 0xf6",
    "": "has 0 vectors",
}


@pytest.mark.parametrize(
    ("read", "data", "said"),
    [(score.read_pairs, *each) for each in WRONG_PAIRS.items()]
    + [(score.read_vectors, *each) for each in WRONG_VECTORS.items()],
    ids=range(len(WRONG_PAIRS) + len(WRONG_VECTORS)),
)
def test_what_is_no_vector_or_pair_is_named(tmp_path, read, data, said):
    path = tmp_path / "x.txt"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(InputError, match=rf"x\.txt.*{said}"):
        read(path)


def test_what_is_right_is_read(tmp_path, capsys):
    path = tmp_path / "x.txt"
    for data in (
        PAIRS,
        "#a:b:c\n" + PAIRS.replace("\t", ":"),
        "a b rating\n" + PAIRS,
        "\ufeff" + PAIRS,
    ):
        path.write_text(data)
        assert score.read_pairs(path) == [("cat", "dog", 1), ("cat", "cow", 2), ("dog", "cow", 3)]
    path.write_text(VECTORS.replace("3 2", "4 2") + "cat 7 8\n")
    words, matrix = score.read_vectors(path)
    assert words == ["cat", "dog", "cow"] and matrix[0].tolist() == [1, 2]
    assert "1 words occur twice; the first" in capsys.readouterr().err
    path.write_text("cat 1\ndog 2\n")  # no counts, though they would be as many
    assert score.read_vectors(path)[0] == ["cat", "dog"]


@pytest.mark.skipif(not RW.is_file(), reason="../shared/data/rare_words is not there")
def test_real_pairs_are_read():
    pairs = score.read_pairs(RW)
    assert len(pairs) == 2034 and pairs[0] == ("squishing", "squirt", 5.88)
    german = score.read_pairs(RW.parent / "de_wortpaare65.gold.pos.txt")
    assert len(german) == 65 and german[0] == ("Auto", "Fahrt", 2.75)
