"""Abusive words: files and masks, WordNet's format, SVMs and F1 against scikit-learn and counts by hand."""

import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from project import ROOT, show
from recency.errors import InputError
from recency.evaluations.abusive_words import classify, features, lexicon, vectors, view
from recency.networks import swordss

LEXICA = ROOT.parent / "shared" / "data" / "abusive_words"
PUBLISHED = ROOT / "data" / "published"
#: A WordNet of two nouns, one of which a usage domain marks as slang; # stands for offsets.
SYNSETS = [
    "{0} 18 n 01 grub 0 001 ;u {2} n 0000 | a Dirty person, informally  ",
    "{1} 05 n 01 cloud 0 000 | visible vapour  ",
    "{2} 10 n 01 slang 0 000 | informal words  ",
]


def archive(path, lexnames, change=lambda text: text):
    """Write a small WordNet 3.0 in the format of wndb(5WN) as NLTK's package."""
    lines, place = [], 0
    for line in SYNSETS:
        lines.append((line, f"{place:08d}"))
        place += len(line.format("0" * 8, "0" * 8, "0" * 8)) + 1
    offsets = [offset for _, offset in lines]
    data = change("".join(line.format(*offsets) + "\n" for line, _ in lines))
    index = {"grub": offsets[0], "cloud": offsets[1], "slang": offsets[2]}
    text = "".join(f"{word} n 1 0 1 0 {at}  \n" for word, at in sorted(index.items()))
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("wordnet/lexnames", "".join(f"{n:02d}\t{name}\t1\n" for n, name in enumerate(lexnames)))  # fmt: skip
        for pos in ("noun", "verb", "adj", "adv"):
            file.writestr(f"wordnet/data.{pos}", data if pos == "noun" else "")
            file.writestr(f"wordnet/index.{pos}", text if pos == "noun" else "")
            file.writestr(f"wordnet/{pos}.exc", "")
        file.writestr("wordnet/cntlist.rev", "")
    return path


NAMES = [f"name.{n}" for n in range(45)]


def test_wordnet_gives_usage_supersense_and_gloss(tmp_path):
    path = archive(tmp_path / "wordnet.zip", NAMES)
    found = features.wordnet(path, ["grub_noun", "grub_verb", "cloud_noun", "nothing_noun"])
    assert found["WNusage"] == [("grub_noun", "slang.n.01", 1.0)]
    assert found["WNsuper"] == [("grub_noun", "name.18", 1.0), ("cloud_noun", "name.5", 1.0)]
    glosses = {(entry, token) for entry, token, _ in found["WNgloss"]}
    words = {"grub_noun": "a dirty person informally", "cloud_noun": "visible vapour"}
    assert glosses == {(entry, token) for entry, text in words.items() for token in text.split()}
    wrong = archive(tmp_path / "w.zip", NAMES, lambda text: text.replace("\n", "\r\n"))
    with pytest.raises(InputError, match=r"w\.zip: the index and the data of WordNet disagree"):
        features.wordnet(wrong, ["cloud_noun"])
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("a", "b")
    with pytest.raises(InputError, match="has no wordnet/data.noun"):
        features.wordnet(tmp_path / "x.zip", [])
    (tmp_path / "y.zip").write_text("no zip")
    with pytest.raises(InputError, match="is damaged or not a zip"):
        features.framenet(tmp_path / "y.zip", [])


def test_framenet_gives_the_frames_of_a_part_of_speech(tmp_path):
    units = [("abandon.v", "Leaving"), ("abandon.v", "Giving"), ("abandon.n", "Manner")]
    text = "".join(f'<lu name="{unit}" frameName="{frame}"/>' for unit, frame in units)
    with zipfile.ZipFile(tmp_path / "f.zip", "w") as file:
        file.writestr("framenet_v17/luIndex.xml", f'<luIndex xmlns="http://framenet">{text}</luIndex>')  # fmt: skip
    found = features.framenet(tmp_path / "f.zip", ["abandon_verb", "abandon_adj"])["FN"]
    assert sorted(found) == [("abandon_verb", "Giving", 1.0), ("abandon_verb", "Leaving", 1.0)]


RANDOM = np.random.default_rng(3)
BASE = {f"w{n:03d}_{('noun', 'verb')[n % 2]}": n % 3 == 0 for n in range(90)}
NEW = {f"new{n:02d}_noun": float(1 if n < 10 else -1) for n in range(30)}


@pytest.fixture
def files(tmp_path):
    """Write lexica, a table in which abusive words often have `bad`, and vectors of an LM."""
    (tmp_path / "base.txt").write_text("".join(f"{e}\t{str(v).upper()}\n" for e, v in BASE.items()))
    listed = NEW | {entry: 0.5 if abusive else -0.5 for entry, abusive in list(BASE.items())[:20]}
    (tmp_path / "new.txt").write_text("".join(f"{e}\t{v}\n" for e, v in listed.items()))
    truth = BASE | {entry: score > 0 for entry, score in NEW.items()}
    rows = ["A note on the table"]
    for entry, abusive in truth.items():
        kind = "bad" if RANDOM.random() < (0.8 if abusive else 0.2) else "good"
        key = entry if RANDOM.random() < 0.5 else entry.split("_")[0]
        rows += [f"{key}\t{kind}", f"{key}\tstrength\t{RANDOM.normal() + 2 * abusive:.3f}"]
    (tmp_path / "NRC.tsv").write_text("\n".join(rows))
    (tmp_path / "lm").mkdir()
    kinds = [("own", "made", "none")[n // 3 % 3] for n in range(len(truth))]
    matrix = RANDOM.normal(size=(len(truth), 4)) + 2 * np.array(list(truth.values()))[:, None]
    matrix[np.array(kinds) == "none"] = 0
    frame = pd.DataFrame({"entry": list(truth), "kind": kinds}).assign(vector=matrix.tolist())
    frame.to_parquet(tmp_path / "lm" / "v.parquet")
    return tmp_path


def resources(files):
    return [
        {"name": "NRC", "format": "table", "here": True, "supplied": "", "groups": ("NRC",)},
        {
            "name": "VIEW",
            "format": "table",
            "here": False,
            "supplied": "v.tsv: views",
            "groups": (),
        },
    ]


def classified(files):
    features.main(
        files / "base.txt",
        files / "new.txt",
        [files / "NRC.tsv"],
        resources(files),
        files / "f.parquet",
    )
    out = [files / name for name in ("c.csv", "a.csv", "e.parquet")]
    classify.main(
        files / "base.txt",
        files / "new.txt",
        files / "f.parquet",
        [files / "lm" / "v.parquet"],
        *out,
        5,
        2,
    )
    return pd.read_csv(out[0]).fillna({"lm": "", "missing": ""}).set_index(["features", "lm"]), out


def by_hand(truth, predicted):
    """Return macro precision and recall and their harmonic mean from the four counts."""
    (tn, fp), (fn, tp) = confusion_matrix(truth, predicted)
    p = (tp / (tp + fp) + tn / (tn + fn)) / 2
    r = (tp / (tp + fn) + tn / (tn + fp)) / 2
    return [100 * p, 100 * r, 200 * p * r / (p + r)]


def test_scores_are_those_of_scikit_learn_called_directly(files, capsys):
    rows, out = classified(files)
    assert "VIEW: not run, v.tsv: views" in capsys.readouterr().err
    assert rows.f1["MAJORITY", ""] == pytest.approx(2 * 100 / 3 / 2 * 50 / (200 / 3 / 2 + 50) * 2)
    assert rows.missing["VIEW", ""] == "VIEW" and np.isnan(rows.f1["VIEW", ""])
    assert rows.entries["NRC", ""] == 90 and rows.entries["embeddings", "lm"] == 30
    assert rows.entries["embeddings+SWordSS", "lm"] == 60

    # The same from the table's lines: two columns for a kind, one for strength, over the largest.
    told = {}
    for line in (files / "NRC.tsv").read_text().splitlines()[1:]:
        key, *rest = line.split("\t")
        told.setdefault(key.split("_")[0], []).append(rest)
    x = []
    for entry in BASE:
        (kind,), (_, strength) = told[entry.split("_")[0]]
        x.append([kind == "bad", kind == "good", float(strength)])
    x, truth = np.array(x, float), np.array(list(BASE.values()))
    every = [abs(float(rest[1])) for pair in told.values() for rest in pair if len(rest) == 2]
    x[:, 2] /= max(every)
    predicted, scores = np.zeros(90, bool), []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=2).split(x, truth):
        machine = SVC(kernel="linear", C=1 / (x[train] ** 2).sum(1).mean())
        predicted[test] = machine.fit(x[train], truth[train]).predict(x[test])
        scores.append(by_hand(truth[test], predicted[test])[2])
    assert rows.loc[("NRC", ""), view.MEASURES].tolist() == pytest.approx(by_hand(truth, predicted))
    assert [float(s) for s in rows.fold_f1["NRC", ""].split()] == pytest.approx(scores, abs=1e-4)
    assert rows.f1["embeddings+SWordSS", "lm"] > rows.f1["embeddings", "lm"] > 50

    # The new words' classes were those of their features.
    about = pd.read_csv(out[1]).iloc[0]
    words = pd.read_parquet(out[2])
    new = words[~words.in_base].set_index("entry")
    assert (about.entries, about.abusive_published) == (30, 10) and len(words) == 50
    pairs = [(a > b) + (a == b) / 2 for a in new.score[new.published > 0] for b in new.score[new.published < 0]]  # fmt: skip
    assert about.auc == pytest.approx(np.mean(pairs)) and about.auc > 0.8
    top = new.score.nlargest(10).index
    assert about.overlap == pytest.approx(100 * np.mean([entry in list(NEW)[:10] for entry in top]))
    assert about.spearman == pytest.approx(new.score.rank().corr(new.published.rank()))


def test_tables_mask_words_and_name_what_is_missing(files):
    _, out = classified(files)
    ends = [files / f"t.{end}" for end in ("csv", "html", "tex")]
    lms = [{"lm": "lm", "label": "LM", "bias": {"form": "none"}, "applied": "none"}]
    show(view.table_abusive_words, 
        scores=out[0], out=ends, lms=lms, resources=resources(files), folds=5, title="A",
        published=PUBLISHED / "thesis_tables6_7_and_6_8.csv",
    )  # fmt: skip
    page = ends[1].read_text()
    assert "v.tsv: views" in page and "MICR:proj" in page and "published 77.5" in page
    rows = pd.read_csv(ends[0])
    assert rows.features[0] == "MAJORITY" and rows.published_f1[0] == 40.0
    assert len(view.summary(ends[0]).rows) == rows.f1.notna().sum()
    for in_full in (False, True):
        told = {"words": out[2], "agreement": out[1], "show_words": in_full, "title": "A"}
        view.table_abusive_expansion(out=ends, **told)
        written = "".join(path.read_text() for path in ends)
        assert ("new0" in written, "n***" in written) == (in_full, not in_full)
    known = PUBLISHED / "thesis_tables6_10_to_6_12.csv"
    show(view.table_abusive_cross_domain, out=ends, title="A", published=known)
    assert "ot run: the microposts" in ends[1].read_text() and "74.15" in ends[1].read_text()
    show(view.table_abusive_cross_domain, out=ends, title="A")
    assert lexicon.shown("fish_noun", False) == "f*** (noun)"


def test_the_published_f1_is_the_harmonic_mean_of_precision_and_recall():
    known = pd.read_csv(PUBLISHED / "thesis_tables6_7_and_6_8.csv")
    harmonic = 2 * known.precision * known.recall / (known.precision + known.recall)
    assert (harmonic - known.f1).abs().max() < 0.11


def test_made_vectors_are_those_of_swordss():
    words, matrix = ["kind", "kindly", "cat"], np.arange(6.0).reshape(3, 2)
    entries = ["kind_adj", "Cat_noun", "unkind_adj", "zzz_noun"]
    found = vectors.look_up_vectors(entries, words, matrix, "jw", 2).set_index("entry")
    assert found.kind.tolist() == ["own", "own", "made", "none"]
    assert list(found.vector["Cat_noun"]) == [4, 5] and list(found.vector["zzz_noun"]) == [0, 0]
    expected = swordss.compose_vector("unkind", swordss.Index(words), matrix, "jw", 2)
    assert list(found.vector["unkind_adj"]) == pytest.approx(list(expected))


def test_folds_need_entries_of_both_classes(files):
    blocks = classify.Blocks(list(BASE), pd.DataFrame(columns=features.COLUMNS), [])
    with pytest.raises(InputError, match="31 folds, and 30 entries of a class"):
        classify.evaluate(blocks, BASE, 31, 1)
    assert classify.measured(np.array([True, False]), np.array([False, True]))["f1"] == 0
    assert classify.machine(sparse.csr_matrix((2, 1))).C == 1


WRONG = {
    "base": (lexicon.read_base, {
        "a_noun\tTRUE\nb_noun\tmaybe\n": "line 2: .* is not word_pos, a tab and TRUE or FALSE",
        "a\tTRUE\n": "line 1: 'a.tTRUE' is not word_pos",
        "a_noun\tTRUE\na_noun\tTRUE\n": "line 2: 'a_noun' occurs twice",
        "a_noun\tTRUE\nb_noun\tFALSE\n": "needs two TRUE and two FALSE",
        "": "has no entries",
    }),
    "expanded": (lexicon.read_expanded, {
        "a_noun\t1,5\n": "line 1: .* a number", "a_noun\tnan\n": "line 1", "a_noun 1\n": "line 1",
    }),
    "features": (lexicon.read_features, {
        "a\tb\nc\n": "line 2: 'c' is not a word, a feature", "a\tb\tc\n": "line 1", "note\n": "no features",
    }),
}  # fmt: skip
CASES = [(read, text, said) for read, wrong in WRONG.values() for text, said in wrong.items()]


@pytest.mark.parametrize(("read", "text", "said"), CASES, ids=range(len(CASES)))
def test_wrong_lines_are_named(tmp_path, read, text, said):
    path = tmp_path / "x.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"x\.txt.*{said}"):
        read(path)


@pytest.mark.skipif(not LEXICA.is_dir(), reason="../shared/data/abusive_words is not there")
def test_real_lexica_have_the_published_counts():
    base = lexicon.read_base(LEXICA / "baseLexicon.txt")
    assert (len(base), sum(base.values())) == (1650, 551)
    scores = lexicon.read_expanded(LEXICA / "expandedLexicon.txt")
    assert (len(scores), sum(score > 0 for score in scores.values())) == (8478, 2989)
