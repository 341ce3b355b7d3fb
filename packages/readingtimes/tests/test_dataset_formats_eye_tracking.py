"""The eye-tracking parsers on small files made to the original distributions' formats."""

import io
import zipfile

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsing import read, write
from readingtimes import parsers
from readingtimes.errors import InputError

# ---------------------------------------------------------------- Provo


NORMS = (
    "Word_Unique_ID,Text_ID,Text,Word_Number\n"
    'QID1,1,"It isn’t ""so"" bad. We see.",2\nQID2,1,"It isn’t ""so"" bad. We see.",3\n'
)
LABELS = ["It", "isn't", '"so"', "bad.", "We", "see."]


def report(tmp_path):
    header = (
        "RECORDING_SESSION_LABEL,page,TRIAL_START_TIME,PREVIOUS_SAC_END_TIME,"
        "CURRENT_FIX_INTEREST_AREA_LABEL,CURRENT_FIX_INTEREST_AREA_INDEX,CURRENT_FIX_DURATION\n"
    )
    rows = []
    sequence = [(1, ".", 200), (2, 230, 100), (2, 350, 80), (None, 450, 90), (4, 560, 150)]
    sequence += [(3, 730, 70), (4, 820, 60), (5, 900, 110)]
    for trial in (1000, 9000):
        for place, onset, duration in sequence:
            label = "." if place is None else LABELS[place - 1].replace('"', '""')
            rows.append(f'sub1,1,{trial},{onset},"{label}",{place or "."},{duration}')
    return write(tmp_path / "report.csv", header + "\n".join(rows) + "\n")


def provo(tmp_path, measure, **options):
    norms = write(tmp_path / "norms.csv", NORMS, encoding="mac_roman")
    return read("provo", {"norms": norms}, {"report": report(tmp_path)}, measure, **options)


def test_provos_fixation_report(tmp_path, capsys):
    found, got = provo(tmp_path, "FP", durations="fixation")
    assert found.word.tolist() == ["It", "isn’t", '"so"', "bad.", "We", "see."]
    assert found.sentence.tolist() == [1, 1, 1, 1, 2, 2]
    assert got.time_ms.tolist() == [200, 180, 0, 150, 110, 0]
    assert got.words_since_fixation[[0, 1, 3, 4]].tolist() == [0, 1, 2, 1]
    assert got.words_since_fixation[[2, 5]].isna().all()
    assert got.previous_fixated.tolist() == [False, True, False, False, True, False]
    assert got.page_first.tolist() == [True] + [False] * 5
    assert got.page_last.tolist() == [False] * 4 + [True, False]
    assert got.word_matches[[0, 1, 3]].all()
    assert "8 fixations dropped, of passages shown a second time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("measure", "options", "expected"),
    [
        ("FFD", {"durations": "fixation"}, [200, 100, 0, 150, 110, 0]),
        ("GP", {"durations": "fixation"}, [200, 180, 0, 280, 110, 0]),
        ("TFT", {"durations": "fixation"}, [200, 180, 70, 210, 110, 0]),
        ("FP", {}, [230, 330, 0, 170, 110, 0]),
        ("SP", {"durations": "fixation"}, [200, 100, 80, 70, 150, 60, 110, 0]),
        ("SP", {"durations": "fixation", "scan_path": "visit"}, [200, 180, 70, 150, 60, 110, 0]),
    ],
)
def test_provos_measures(tmp_path, measure, options, expected):
    _, got = provo(tmp_path, measure, **options)
    assert got.time_ms.tolist() == expected


def test_provos_areas_with_another_word_are_dropped_and_reported(tmp_path, capsys):
    norms = write(tmp_path / "norms.csv", NORMS.replace("We see.", "You see."))
    _, got = read("provo", {"norms": norms}, {"report": report(tmp_path)}, "FP")
    assert got.time_ms.tolist()[4] == 0
    assert "1 fixations dropped, on another word than the text's (We for You)" in (
        capsys.readouterr().err
    )


AREAS = """Participant_ID,Word_Unique_ID,Text_ID,Word_Number,Word,TRIAL_INDEX,IA_ID,IA_LABEL,\
IA_SKIP,IA_FIRST_FIXATION_DURATION,IA_FIRST_RUN_DWELL_TIME,IA_REGRESSION_PATH_DURATION,IA_DWELL_TIME
Sub02,NA,1,NA,NA,7,1,It ,0,200,200,200,250
Sub02,QID1,1,2,isn?t,7,2,isn’t ,0,150,210,300,210
Sub02,QID2,1,3,so,7,3,*so* ,1,90,90,NA,90
Sub02,QID3,1,5,bad.,7,4,bad. ,1,NA,NA,NA,0
Sub02,QID4,1,6,TRUE,7,5,We ,0,180,180,.,180
Sub02,QID5,1,7,see.,7,6,see. ,0,120,120,120,120
Sub02,QID6,2,1,Well,9,1,Well ,0,100,100,100,100
Sub02,QID7,2,2,done.,9,2,— ,0,110,110,110,110
Sub02,QID8,2,3,done.,9,3,done. ,0,130,130,130,130
Sub01,QID5,1,7,see.,3,6,see. ,0,70,70,70,70
Sub01,QID5,1,7,see.,8,6,see. ,0,75,75,75,75
Sub01,QID4,1,6,We,3,5,Wee ,0,80,80,80,80
Sub01,NA,1,NA,NA,3,1,It ,1,NA,NA,NA,0
Sub01,,,,,4,1,Practice ,0,80,80,80,80
"""


def areas(tmp_path, text=AREAS):
    norms = NORMS + 'QID7,2,"Well done.",2\n'
    quoted = text.replace("*so* ", '"""so"" "')
    return (
        {"norms": write(tmp_path / "norms.csv", norms, encoding="mac_roman")},
        {"areas": write(tmp_path / "areas.csv", quoted, encoding="cp1252")},
    )


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("FFD", [0, 70, 200, 150, 0, 0, 180, 120, 100, 130]),
        ("FP", [0, 70, 200, 210, 0, 0, 180, 120, 100, 130]),
        ("GP", [0, 70, 200, 300, 0, 0, 120, 100, 130]),
        ("TFT", [0, 70, 250, 210, 90, 0, 180, 120, 100, 130]),
    ],
)
def test_provos_summary_by_areas(tmp_path, capsys, measure, expected):
    words, got = read("provo", *areas(tmp_path), measure)
    assert len(words) == 8 and got.time_ms.tolist() == expected
    told = capsys.readouterr().err
    assert "1 rows dropped, without a text (first: line 15)" in told
    assert "1 rows dropped, of texts shown a second time (first: line 12)" in told
    assert "2 rows dropped, on areas with another word than the text's (area 2 of text 2" in told
    assert ("1 rows dropped, of fixated words without IA_REGRESSION_PATH" in told) == (
        measure == "GP"
    )
    if measure == "FP":
        assert got.subject.tolist() == ["Sub01"] * 2 + ["Sub02"] * 8
        assert got.word_id.tolist() == [0, 5, *range(8)]
        assert got.previous_fixated.tolist() == [False] * 3 + [True, True, False, False, True] + [
            False,
            True,
        ]
        assert got.words_since_fixation.tolist() == [1, 2, 1, 1, 1, 2, 3, 1, 1, 1]
        assert got.word_matches.tolist() == [True] * 3 + [False] * 2 + [True] * 5


def test_provos_reports_are_not_taken_for_each_other(tmp_path):
    norms, file = areas(tmp_path)
    with pytest.raises(InputError, match="summary by areas: it gives FFD, FP, GP, TFT, and no SP"):
        read("provo", norms, file, "SP")
    with pytest.raises(InputError, match="report: fixations, but .*areas.csv is a report of areas"):
        read("provo", norms, file, "FP", report="fixations")
    with pytest.raises(InputError, match=r"report: 'area' is not possible .* mean areas\?"):
        read("provo", norms, file, "FP", report="area")
    with pytest.raises(InputError, match="there is no text 3 in the words, only 1 to 2"):
        read("provo", *areas(tmp_path, AREAS.replace("QID8,2,3", "QID8,3,3")), "FP")
    other = AREAS
    for word, new in (("It ", "He "), ("isn’t ", "was "), ("*so*", "well"), ("bad. ", "on. ")):
        other = other.replace(word, new)
    with pytest.raises(InputError, match=r"areas of text 1 are not its words, but \['he', 'was'"):
        read("provo", *areas(tmp_path, other.replace("see. ", "saw. ")), "FP")
    with pytest.raises(InputError, match="line 3: IA_SKIP is 2, expected 0 or 1"):
        read("provo", *areas(tmp_path, AREAS.replace("isn’t ,0", "isn’t ,2")), "FP")


WORDS = ["the", "sea", "isn't", "so", "calm", "as", "it", "was", "on", "far", "off", "shores"]


@pytest.mark.merge
@settings(max_examples=40, deadline=None)
@given(
    # Each once: where a word stands in two places, an area may be either's, and is dropped.
    words=st.lists(st.sampled_from(WORDS), min_size=4, max_size=12, unique=True),
    edits=st.lists(
        st.tuples(st.integers(0, 12), st.sampled_from(["", "x", "—", "drop"])), max_size=2
    ),
)
def test_areas_are_laid_on_the_words_in_order(tmp_path_factory, words, edits):
    """Whatever areas are added or lost, a row is of a word with its letters, or dropped."""
    folder = tmp_path_factory.mktemp("areas")
    labels = list(words)
    for at, what in edits:
        if what == "drop":
            labels[at : at + 1] = []
        else:
            labels.insert(at, what)
    norms = write(folder / "n.tsv", "text_id\tword_number\tword\n" + "".join(
        f"1\t{n}\t{word}\n" for n, word in enumerate(words, 1)))  # fmt: skip
    header = "Participant_ID,Text_ID,TRIAL_INDEX,IA_ID,IA_LABEL,IA_SKIP,IA_FIRST_RUN_DWELL_TIME"
    rows = [f"S1,1,1,{n},{label} ,0,{n}" for n, label in enumerate(labels, 1)]
    text = "\n".join([f"{header},IA_DWELL_TIME", *(f"{row},1" for row in rows)]) + "\n"
    found, got = read("provo", {"n": norms}, {"t": write(folder / "t.csv", text)}, "FP")
    assert got.time_ms.is_monotonic_increasing and got.word_id.is_monotonic_increasing
    assert not got.duplicated("word_id").any()
    for row in got.itertuples():
        assert labels[int(row.time_ms) - 1] == found.word[row.word_id]
    assert len(got) >= len(words) - len(edits)


@pytest.mark.merge
def test_provos_summary_made_of_real_fixations(shared_data, tmp_path):
    """First-pass times of real readers, laid out as the summary, are read as they were."""
    files = [
        {"f": shared_data / "provo" / f"provo_{what}.tsv.gz"} for what in ("words", "fixations")
    ]
    words, got = read("provo", *files, "FP")
    got = got[got.subject.isin(got.subject.unique()[:6])].reset_index(drop=True)
    rows = got.join(words[["item", "word"]], on="word_id")
    place = words.groupby("item").cumcount() + 1
    table = pd.DataFrame(
        {
            "Participant_ID": rows.subject,
            "Text_ID": rows["item"].astype(int),
            "TRIAL_INDEX": 1,
            "IA_ID": rows.word_id.map(place),
            "IA_LABEL": rows.word.str.replace("[’“”]", "?", regex=True) + " ",
            "IA_SKIP": (rows.time_ms == 0).astype(int),
            "IA_FIRST_RUN_DWELL_TIME": rows.time_ms.mask(rows.time_ms == 0, None),
            "IA_DWELL_TIME": rows.time_ms,
        }
    ).sample(frac=1, random_state=0)
    path = tmp_path / "areas.csv"
    table.to_csv(path, index=False, na_rep="NA", encoding="cp1252")
    _, found = read("provo", files[0], {"a": path}, "FP", report="areas")
    names = ["subject", "word_id", "time_ms"]
    expected = got[names].sort_values(names[:2]).reset_index(drop=True)
    assert len(expected) > 15_000 and found[names].equals(expected)


def test_provos_options_are_checked(tmp_path):
    with pytest.raises(InputError, match=r"scan_path: 'visits' is not possible .* mean visit\?"):
        provo(tmp_path, "SP", scan_path="visits")


# ---------------------------------------------------------------- Dundee


def dundee(tmp_path, fixations=None, words_text=None):
    """Write a text of two lines on one screen and one on the next, and one subject's record."""
    tokens = ["It", "rained", "hard.", "We", "stayed", "in."]
    pages = [(1, 1), (1, 1), (1, 2), (1, 2), (2, 1), (2, 1)]
    rows = []
    for number, (token, (screen, line)) in enumerate(zip(tokens, pages, strict=True), start=1):
        middle = "1 1 3 3 0 0 0 0"
        rows.append(f"{token:<12} 1 {screen} {line} {middle} {number} 99")
    lines = fixations or [
        *("It 1 200", "rained 2 150", "*Blink 2 40", "rained 2 60", "hard. 3 100", "It 1 90"),
        *("hard. 3 80", "We 4 120", "*Off-screen 0 500", "We 4 70", "in. 6 210", "x 0 55"),
    ]
    fields = [line.split() for line in lines]
    record = ["WORD TEXT LINE OLEN WLEN XPOS WNUM FDUR OBLP"]
    record += [f"{word} 1 1 3 3 10 {place} {time} 1" for word, place, time in fields]
    path = tmp_path / "dundee.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/tx01wrdp.dat", words_text or "\r\n".join(rows))
        archive.writestr("data/sa01ma1p.dat", "\n".join(record))
        archive.writestr("data/readme.txt", "x")
    return {"corpus": path}


def test_dundees_words_and_edges(tmp_path):
    files = dundee(tmp_path)
    found, got = read("dundee", files, files, "FP")
    assert found.word.tolist() == ["It", "rained", "hard.", "We", "stayed", "in."]
    assert found.sentence.tolist() == [1, 1, 1, 2, 2, 2]
    assert got.line_first.tolist() == [True, False, True, False, True, False]
    assert got.line_last.tolist() == [False, True, False, True, False, True]
    assert got.screen_first.tolist() == [True, False, False, False, True, False]
    assert got.screen_last.tolist() == [False, False, False, True, False, True]


@pytest.mark.parametrize(
    ("measure", "options", "expected"),
    [
        ("FFD", {}, [200, 190, 100, 120, 0, 210]),
        ("FP", {}, [200, 250, 100, 120, 0, 210]),
        ("TFT", {}, [290, 250, 180, 190, 0, 210]),
        ("GP", {}, [200, 250, 270, 120, 0, 210]),
        ("SP", {}, [200, 90, 190, 60, 100, 80, 120, 70, 0, 210]),
        ("SP", {"scan_path": "visit"}, [200, 90, 250, 100, 80, 120, 70, 0, 210]),
    ],
)
def test_dundees_measures(tmp_path, measure, options, expected):
    files = dundee(tmp_path)
    _, got = read("dundee", files, files, measure, **options)
    assert got.time_ms.tolist() == expected
    assert (got.subject == "sa").all()
    if measure == "FP":
        assert got.words_since_fixation[[0, 1, 2, 3, 5]].tolist() == [1, 1, 1, 1, 2]
        assert got.previous_fixated.tolist() == [False, True, True, True, False, False]


def test_dundees_folder_and_given_sentences(tmp_path):
    with zipfile.ZipFile(dundee(tmp_path)["corpus"]) as archive:
        archive.extractall(tmp_path / "folder")
    given = write(tmp_path / "sentences.txt", "It rained\nhard. We stayed in.\n")
    files = {"corpus": tmp_path / "folder"}
    found = parsers.parser("dundee").words({**files, "sentences": given})
    assert found.sentence.tolist() == [1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("fixations", "words_text", "message"),
    [
        (["It 1 x"], None, "sa01ma1p.dat, line 2: FDUR is 'x', not a whole number"),
        (["It 9 200"], None, "sa01ma1p.dat, line 2: text 01 has no word 9"),
        (["*Sneeze 1 200"], None, r"line 2: \*Sneeze is neither"),
        (None, "It 1 1 1", "tx01wrdp.dat, line 1: 4 fields, expected 13"),
        (None, "It 1 1 1 1 1 3 3 0 0 0 0 2", "line 1: word 2, expected 1"),
    ],
)
def test_dundees_faults_are_told(tmp_path, fixations, words_text, message):
    files = dundee(tmp_path, fixations, words_text)
    with pytest.raises(InputError, match=message):
        read("dundee", files, files, "FP")


def test_dundees_files_are_asked_for(tmp_path):
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    (tmp_path / "no.zip").write_bytes(buffer.getvalue())
    with pytest.raises(InputError, match="no files of words like tx01wrdp.dat in .*no.zip"):
        parsers.parser("dundee").words({"corpus": tmp_path / "no.zip"})
