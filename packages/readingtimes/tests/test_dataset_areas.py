"""Reports by interest area (CELER, RastrOS, RSC) and ERPs (Frank et al., 2015): synthetic files in their formats."""

import numpy as np
import pytest
from scipy.io import savemat

from parsing import read, sizes, words_of
from readingtimes import parsers
from readingtimes.errors import InputError

TIMES = ["IA_SKIP", "IA_FIRST_FIXATION_DURATION", "IA_FIRST_RUN_DWELL_TIME"]
TIMES += ["IA_REGRESSION_PATH_DURATION", "IA_DWELL_TIME"]
ONCE = (0, 200, 250, 300, 350)  # fixated in first pass
LATER = (1, 180, 180, 180, 180)  # fixated after a word to its right
NEVER = (1, ".", ".", ".", 0)


def report(path, header, rows, missing="."):
    lines = ["\t".join([*header, *TIMES])]
    for row, times in rows:
        lines.append(
            "\t".join(str(v).replace(".", missing) if v == "." else str(v) for v in (*row, *times))
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"report": path}


CELER = ["DATA_FILE", "list", "sentenceid", "IA_ID", "IA_LABEL", "shared_text"]


def celer(path, last='"mills."'):
    first = [(("cl1.edf", 1, "wsj_7", n, w, 1), t) for n, w, t in
             [(1, "The", ONCE), (2, '"old', NEVER), (3, 'mills."', LATER)]]  # fmt: skip
    second = [
        (("cl2.edf", 2, "wsj_9", n, w, 0), t) for n, w, t in [(1, "They", ONCE), (2, last, ONCE)]
    ]
    third = [
        (("cl2.edf", 2, "wsj_7", n, w, 1), ONCE)
        for n, w in [(1, "The"), (2, '"old'), (3, 'mills."')]
    ]
    return report(path, CELER, first + second + third)


def test_celer(tmp_path):
    files = celer(tmp_path / "sent_ia.tsv")
    words, times = read("interest_areas", files, files, "FP")
    assert sizes(words, times) == (2, 2, 5, 2, 8)
    assert words.word.tolist() == ["The", '"old', 'mills."', "They", '"mills."']
    assert words.shared_text.tolist() == [True] * 3 + [False] * 2
    one, two = (times[times.subject == name] for name in ("cl1", "cl2"))
    assert one.time_ms.tolist() == [250, 0, 0] and two.time_ms.tolist() == [250] * 5
    assert one.previous_fixated.tolist() == [False, True, False]
    assert two.previous_fixated.tolist() == [False, True, True, False, True]
    of = {
        m: read("interest_areas", files, files, m)[1].time_ms[:3].tolist()
        for m in ("FFD", "GP", "TFT")
    }
    assert of == {"FFD": [200, 0, 0], "GP": [300, 0, 0], "TFT": [350, 0, 180]}


def test_first_languages_of_celers_readers(tmp_path):
    files = celer(tmp_path / "sent_ia.tsv")
    (tmp_path / "metadata.tsv").write_text("List\tL1\n1\tEnglish\n2\tSpanish\n")
    both = files | {"readers": tmp_path / "metadata.tsv"}
    times = read("interest_areas", files, both, "TFT")[1]
    assert times.groupby("subject").native.unique().str[0].to_dict() == {
        "cl1": "English",
        "cl2": "Spanish",
    }
    (tmp_path / "metadata.tsv").write_text("List\tL1\n1\tEnglish\n")
    with pytest.raises(InputError, match="no row has the List 2"):
        read("interest_areas", files, both, "TFT")


RASTROS = ["RECORDING_SESSION_LABEL", "Word_Unique_ID", "Word", "IA_LABEL"]


def test_rastros_has_its_commas_again_and_areas_of_two_words(tmp_path):
    texts = [("1", 1, "Hoje", "Hoje"), ("1", 2, "chove,", "chove."), ("1", 3, "mas", "mas"),
             ("1", 4, "São Paulo", "São\u00a0Paulo"), ("1", 5, "brilha.", "brilha."),
             ("2", 1, "\u0093Fim\u0094", "\u0093Fim\u0094")]  # fmt: skip
    rows = [((who, f"UID_{text}_{n}", word, label), ONCE)
            for who in ("p1", "p2") for text, n, word, label in texts]  # fmt: skip
    files = report(tmp_path / "eye.tsv", RASTROS, rows)
    words, times = read("interest_areas", files, files, "GP")
    assert words.word.tolist() == ["Hoje", "chove,", "mas", "São", "Paulo", "brilha.", "“Fim”"]
    assert words["item"].tolist() == ["1"] * 6 + ["2"] and words.sentence.nunique() == 2
    assert times.word_id.tolist() == [0, 1, 2, 3, 5, 6] * 2
    assert times["span"].tolist() == [1, 1, 1, 2, 1, 1] * 2
    assert times.previous_fixated.tolist() == [False, True, True, True, True, False] * 2
    report(tmp_path / "eye.tsv", RASTROS, rows[1:] + [(("p1", "UID_x", "a", "a"), ONCE)])
    with pytest.raises(InputError, match="Word_Unique_ID is 'UID_x', expected UID_text_word"):
        words_of("interest_areas", files)


RSC = ["DATA_FILE", "item.id", "word.serial.no", "item.text"]


def test_the_russian_sentence_corpus(tmp_path, capsys):
    text = "Старая мельница давно сгорела."
    rows = [((f"{who}.edf", 12, n, text), t) for who, n, t in
            [(9, 2, ONCE), (9, 3, NEVER), (10, 2, ONCE), (10, 3, ONCE), (10, 3, LATER)]]  # fmt: skip
    files = report(tmp_path / "data.csv", RSC, rows, missing="NA")
    words, times = read("interest_areas", files, files, "FP")
    assert words.word.tolist() == text.split()
    assert sizes(words, times) == (1, 1, 4, 2, 4)
    assert times.subject.tolist() == ["09", "09", "10", "10"]
    assert times.word_id.tolist() == [1, 2, 1, 2]
    assert times.time_ms.tolist() == [250, 0, 250, 250]  # the first of two readings counts
    assert "1 rows dropped, repeats of an earlier row" in capsys.readouterr().err
    for row, message in [
        (("9.edf", 12, 7, text), "word 7 of the sentence 12 is asked for"),
        (
            ("9.edf", 12, 4, text + " Да."),
            "item.text is .*, before it was another of the same text",
        ),
    ]:
        report(tmp_path / "data.csv", RSC, [*rows, (row, ONCE)], missing="NA")
        with pytest.raises(InputError, match=message):
            words_of("interest_areas", files)


def test_another_report_or_another_text_is_refused(tmp_path):
    path = tmp_path / "other.tsv"
    path.write_text("DATA_FILE\tIA_ID\na\t1\n")
    with pytest.raises(InputError, match="no tab-separated report by interest area"):
        words_of("interest_areas", {"t": path})
    files, other = celer(tmp_path / "a.tsv"), celer(tmp_path / "b.tsv", last="spun.")
    words = words_of("interest_areas", other)
    with pytest.raises(InputError, match="its words are not those"):
        parsers.parser("interest_areas").responses(files, words, "FP")
    text = files["report"].read_text().replace('\t2\t"old', "\t2\told", 1)
    files["report"].write_text(text)
    with pytest.raises(InputError, match="IA_LABEL is .*another of the same word"):
        words_of("interest_areas", files)


SENTENCES = [["The", "mill", "burned."], ["It", "was", "old", "anyway."]]


def erp(path, readers=3, **change):
    """Write stimuli_erp.mat: cells of words, and arrays words × readers × 6 components."""
    random = np.random.default_rng(4)
    arrays = {}
    cells = np.empty((2, 1), dtype=object)
    for n, words in enumerate(SENTENCES):
        cells[n, 0] = np.array(words, dtype=object).reshape(1, -1)
    arrays["sentences"] = cells
    for name in ("ERP", "ERPbase", "artefact", "reject"):
        cells = np.empty((2, 1), dtype=object)
        for n, words in enumerate(SENTENCES):
            trials = (len(words), readers)
            if name.startswith("ERP"):
                cells[n, 0] = random.normal(0, 5, (*trials, 6))
            else:
                cells[n, 0] = (random.random(trials) < 0.3).astype("uint8")
        arrays[name] = cells
    arrays["ERP"][1, 0][2, 0, :] = np.nan
    savemat(path, {name: value for name, value in (arrays | change).items() if value is not None})
    return {"erp": path}, arrays


def test_erps_by_reader_and_word(tmp_path, capsys):
    files, arrays = erp(tmp_path / "stimuli_erp.mat")
    words, found = read("frank2015", files, files, "N400")
    assert sizes(words, found) == (2, 2, 7, 3, 20)  # one trial was not recorded
    assert "1 of 21 trials dropped, without an amplitude" in capsys.readouterr().err
    place = {(n, w): 3 * n + w for n in range(2) for w in range(len(SENTENCES[n]))}
    by = found.set_index(["subject", "word_id"])
    for (n, w), word_id in place.items():
        for p in range(3):
            if np.isnan(arrays["ERP"][n, 0][w, p, 2]):
                continue
            row = by.loc[(str(p + 1), word_id)]
            assert row.amplitude_uv == arrays["ERP"][n, 0][w, p, 2]
            assert row.baseline_uv == arrays["ERPbase"][n, 0][w, p, 2]
            assert row.artefact == bool(arrays["artefact"][n, 0][w, p])
            assert row.reject == bool(arrays["reject"][n, 0][w, p])
    late = read("frank2015", files, files, "PNP")[1]
    assert late.amplitude_uv[0] == arrays["ERP"][0, 0][0, 0, 5]


def test_damaged_erps_are_named(tmp_path):
    files, arrays = erp(tmp_path / "a.mat", reject=None)
    with pytest.raises(InputError, match="has no variable reject"):
        words_of("frank2015", files)
    short = arrays["ERP"].copy()
    short[1, 0] = short[1, 0][:3]
    files, _ = erp(tmp_path / "b.mat", ERP=short)
    with pytest.raises(InputError, match=r"ERP\{2\} has the shape \(3, 3, 6\)"):
        words_of("frank2015", files)
    (tmp_path / "c.mat").write_bytes(b"no MATLAB file at all" * 20)
    with pytest.raises(InputError, match="cannot be read as a MATLAB file"):
        words_of("frank2015", {"erp": tmp_path / "c.mat"})
    files, _ = erp(tmp_path / "d.mat")
    words = words_of("frank2015", files)
    with pytest.raises(InputError, match="its words are not those"):
        parsers.parser("frank2015").responses(files, words.assign(word="mill"), "N400")
