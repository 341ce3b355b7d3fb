"""MECO: its item means, its authors' data frame, and reports by word."""

import shutil
import subprocess

import pytest

from parsing import responses_of, sizes, words_of, write
from readingtimes.errors import InputError

JOINT = """uniform_id,lang,trialid,sentnum,ianum,ia,dur,firstrun.skip,firstrun.dur,firstrun.gopast,firstfix.dur
en_2,en,1,1,1,It,200,0,200,200,200
en_2,en,1,1,2,rained.,380,0,300,420,180
en_2,en,1,2,3,,40,0,40,40,40
en_2,en,1,2,4,We,NA,NA,NA,NA,NA
en_2,en,1,2,5,"go,",150,1,150,0,150
en_2,en,1,2,6,now.,210,0,210,NA,210
en_10,en,1,1,1,It,190,0,190,190,190
en_10,en,1,1,2,rained.,NA,NA,NA,NA,NA
en_10,en,1,2,4,Wee,250,0,250,250,250
en_10,en,1,2,5,"go,",160,0,160,160,160
en_10,en,1,2,6,now.,220,0,220,220,220
en_3,en,1,2,4,We,250,0,250,250,250
fi_1,fi,1,1,1,Se,200,0,200,200,200
"""


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("FFD", [200, 180, 0, 0, 210, 190, 0, 160, 220, 250]),
        ("FP", [200, 300, 0, 0, 210, 190, 0, 160, 220, 250]),
        ("GP", [200, 420, 0, 0, 190, 0, 160, 220, 250]),
        ("TFT", [200, 380, 0, 150, 210, 190, 0, 160, 220, 250]),
    ],
)
def test_mecos_word_report(tmp_path, measure, expected, capsys):
    files = {"joint": write(tmp_path / "joint.csv", JOINT)}
    words = words_of("meco", files)
    assert words.word.tolist() == ["It", "rained.", "We", "go,", "now."]
    assert words.sentence.tolist() == [1, 1, 2, 2, 2]
    found = responses_of("meco", files, words, measure)
    order = {"en_02": 0, "en_03": 2, "en_10": 1}
    found = found.sort_values("subject", key=lambda s: s.map(order), kind="stable")
    assert found.time_ms.tolist() == expected
    told = capsys.readouterr().err
    assert "1 rows dropped, interest areas without a word" in told
    assert "1 rows dropped, with another word than most readers' there" in told
    assert ("1 rows dropped, of fixated words without GP" in told) == (measure == "GP")
    if measure == "FP":
        one = found[found.subject == "en_02"]
        assert one.previous_fixated.tolist() == [False, True, True, False, False]
        assert one.words_since_fixation.tolist()[1:] == [1, 1, 2, 3]


def rda(folder, text, name="joint_data_trimmed.rda"):
    """Save a CSV's data frame as MECO's file has it, beside another object, by R."""
    if not shutil.which("Rscript"):
        pytest.skip("Rscript is not on the PATH")
    write(folder / "made.csv", text)
    code = "a <- commandArgs(TRUE); joint.data <- read.csv(a[1], stringsAsFactors = TRUE);"
    code += "other <- data.frame(x = 1:3); save(other, joint.data, file = a[2])"
    path = folder / name
    subprocess.run(["Rscript", "--vanilla", "-e", code, folder / "made.csv", path], check=True)
    return path


@pytest.mark.merge
def test_mecos_own_file_is_read_by_r(tmp_path, capsys):
    text = JOINT.replace("Se,", "Sä,").replace("go,", "g’o,")
    csv = {"joint": write(tmp_path / "joint.csv", text)}
    own = {"joint": rda(tmp_path, text)}
    renamed = {"joint": own["joint"].rename(tmp_path / "joint")}
    for language, name in [("en", "GP"), ("en", "FP"), ("fi", "TFT")]:
        expected = words_of("meco", csv, language=language)
        words = words_of("meco", renamed, language=language)
        assert words.equals(expected)
        found = responses_of("meco", renamed, words, name, language=language)
        assert found.equals(responses_of("meco", csv, words, name, language=language))
    assert "g’o," in words_of("meco", csv).word.tolist()
    own = {"joint": renamed["joint"].rename(tmp_path / "own.rda")}
    with pytest.raises(InputError, match=r"language: .*/own.rda has no 'enn'; did you mean en\?"):
        words_of("meco", own, language="enn")


def test_r_data_that_cannot_be_read(tmp_path, monkeypatch):
    other = {"joint": rda(tmp_path, "a,b\n1,2\n")}
    with pytest.raises(
        InputError, match="no data frame with a column uniform_id.*get the file again"
    ):
        words_of("meco", other)
    damaged = tmp_path / "cut.rda"
    damaged.write_bytes(rda(tmp_path, JOINT).read_bytes()[:200])
    with pytest.raises(InputError, match="cut.rda cannot be read by R"):
        words_of("meco", {"joint": damaged})
    with pytest.raises(InputError, match="none.rda cannot be read by R"):
        words_of("meco", {"joint": tmp_path / "none.rda"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        InputError, match="Rscript is not on the PATH.*write the data frame out as CSV"
    ):
        words_of("meco", other)


def test_mecos_other_languages_are_asked_for_by_code(tmp_path):
    files = {"joint": write(tmp_path / "joint.csv", JOINT)}
    assert words_of("meco", files, language="fi").word.tolist() == ["Se"]
    with pytest.raises(InputError, match=r"options → language: .* no 'enn'; did you mean en\?"):
        words_of("meco", files, language="enn")


def test_mecos_item_means(shared_data):
    files = {"measures": shared_data / "meco" / "mecoL1_en_item_measures.csv.gz"}
    words = words_of("meco", files)
    found = {name: responses_of("meco", files, words, name) for name in ("FFD", "FP", "TFT")}
    assert sizes(words, found["FP"]) == (12, 99, 2108, 1, 2108)
    assert (found["FFD"].time_ms <= found["FP"].time_ms + 1e-9).all()
    assert (found["FP"].time_ms <= found["TFT"].time_ms + 1e-9).all()
    with pytest.raises(InputError, match="item means, without GP"):
        responses_of("meco", files, words, "GP")
