"""The corpora beyond the paper: MECO, ZuCo, PoTeC, G-maze, and item means with ERPs."""

import shutil
import subprocess
import zipfile

import datasets
import numpy as np
import pandas as pd
import pytest
from datasets.contracts import check_responses, check_words, response_column
from datasets.fixations import measure, presented
from hypothesis import given, settings
from hypothesis import strategies as st
from job import InputError


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def words_of(name, files, **options):
    parser = datasets.parser(name)
    found = parser.words(files, **datasets.accepted(parser, parser.words, options))
    return check_words(found, name)


def read(name, files, words, measure, **options):
    parser = datasets.parser(name)
    options = datasets.accepted(parser, parser.responses, options)
    found = parser.responses(files, words, measure, **options)
    return check_responses(found, words, name)


def sizes(words, responses=None):
    found = (words["item"].nunique(), words.sentence.nunique(), len(words))
    return found if responses is None else (*found, responses.subject.nunique(), len(responses))


# ---------------------------------------------------------------- MECO


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
    found = read("meco", files, words, measure)
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


def test_mecos_own_file_is_read_by_r(tmp_path, capsys):
    text = JOINT.replace("Se,", "Sä,").replace("go,", "g’o,")
    csv = {"joint": write(tmp_path / "joint.csv", text)}
    own = {"joint": rda(tmp_path, text)}
    renamed = {"joint": own["joint"].rename(tmp_path / "joint")}
    for language, name in [("en", "GP"), ("en", "FP"), ("fi", "TFT")]:
        expected = words_of("meco", csv, language=language)
        words = words_of("meco", renamed, language=language)
        assert words.equals(expected)
        found = read("meco", renamed, words, name, language=language)
        assert found.equals(read("meco", csv, words, name, language=language))
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
        words_of("meco", {"joint": damaged})


def test_mecos_other_languages_are_asked_for_by_code(tmp_path):
    files = {"joint": write(tmp_path / "joint.csv", JOINT)}
    assert words_of("meco", files, language="fi").word.tolist() == ["Se"]
    with pytest.raises(InputError, match=r"options → language: .* no 'enn'; did you mean en\?"):
        words_of("meco", files, language="enn")


def test_mecos_item_means(shared_data):
    files = {"measures": shared_data / "meco" / "mecoL1_en_item_measures.csv.gz"}
    words = words_of("meco", files)
    found = {name: read("meco", files, words, name) for name in ("FFD", "FP", "TFT")}
    assert sizes(words, found["FP"]) == (12, 99, 2108, 1, 2108)
    assert (found["FFD"].time_ms <= found["FP"].time_ms + 1e-9).all()
    assert (found["FP"].time_ms <= found["TFT"].time_ms + 1e-9).all()
    with pytest.raises(InputError, match="item means, without GP"):
        read("meco", files, words, "GP")


# ---------------------------------------------------------------- ZuCo


TRT = """task subject sentence_id word_id word TRT
zuco1_SR A 0 0 paul\ufffds 100
zuco1_SR A 0 1 car 0
zuco1_SR A 0 2 , 0
zuco1_SR A 0 2 he 90
zuco1_SR A 0 3 said 80
zuco1_SR A 0 4 ) 0
zuco1_SR A 0 5 . 0
zuco1_SR A 2 0 yes 70
zuco1_SR A 2 1 . 0
zuco1_SR A 3 1 . 0
zuco1_SR A 3 1 . 0
zuco1_SR A 3 0 .. 60
zuco1_SR A 3 1 . 0
zuco1_SR A 3 1 no 50
zuco1_SR B 7 1 . 0
zuco1_SR B 7 1 . 0
zuco1_SR B 7 0 .. 0
zuco1_SR B 7 1 . 0
zuco1_SR B 7 1 no 40
zuco1_NR A 0 0 so 30
""".replace(" ", "\t")


def test_zucos_punctuation_is_put_back_and_sentences_matched(tmp_path, capsys):
    text = TRT.replace("5\t.\t0", "4\t.\t0")
    files = {"trt": write(tmp_path / "trt.tsv", text)}
    words = words_of("zuco", files)
    texts = words.groupby("sentence").word.agg(" ".join).tolist()
    assert texts == ["paul’s car, he said).", "yes.", "... no", "so"]
    found = read("zuco", files, words, "TFT")
    assert found.subject.tolist() == ["A"] * 7 + ["B"] * 2 + ["A"]
    assert found.word_id.tolist() == [*range(7), 5, 6, 7]
    assert found.time_ms.tolist() == [100, 0, 90, 80, 70, 60, 50, 0, 40, 30]
    assert (
        found.previous_fixated.tolist()
        == [False, True, False, True, *[False] * 2, True] + [False] * 3
    )
    assert "1 rows with a lost character mended" in capsys.readouterr().err
    assert len(words_of("zuco", files, tasks=["zuco1_NR"])) == 1
    with pytest.raises(InputError, match=r"tasks: 'zuco1_RS' is none; did you mean zuco1_SR\?"):
        words_of("zuco", files, tasks=["zuco1_RS"])


def test_zucos_sentences_of_unclear_place_are_dropped_and_counted(tmp_path, capsys):
    header = "task\tsubject\tsentence_id\tword_id\tword\tTRT\n"
    rows = [f"zuco1_NR\tA\t{n}\t0\t{word}\t1" for n, word in enumerate(["yes", "no", "yes"])]
    rows += ["zuco1_NR\tB\t0\t0\tyes\t2"]
    files = {"trt": write(tmp_path / "trt.tsv", header + "\n".join(rows) + "\n")}
    words = words_of("zuco", files)
    found = read("zuco", files, words, "TFT")
    assert (found.subject == "A").all()
    assert "1 sentences dropped: which of several equal ones" in capsys.readouterr().err
    write(files["trt"], header + "\n".join([*rows, "zuco1_NR\tB\t1\t0\tmaybe\t2"]) + "\n")
    with pytest.raises(InputError, match="sentences of reader B in zuco1_NR are not, in order"):
        words_of("zuco", files)


def test_zucos_readers(shared_data):
    files = {"trt": shared_data / "zuco" / "zuco_TRT_by_subject.tsv.gz"}
    words = words_of("zuco", files, tasks=["zuco1_NR"])
    found = read("zuco", files, words, "TFT", tasks=["zuco1_NR"])
    assert sizes(words, found) == (295, 295, 6019, 12, 70_248)
    assert words.word[:7].tolist() == ["with", "his", "interest", "in", "race", "cars,", "he"]
    complete = found.groupby("subject").size() == len(words)
    assert complete.sum() == 10


def test_zucos_item_means(shared_data):
    files = {"means": shared_data / "zuco" / "zuco_all_item_means.tsv.gz"}
    words = words_of("zuco", files)
    found = {name: read("zuco", files, words, name) for name in ("FFD", "FP", "TFT")}
    assert sizes(words, found["FP"]) == (1216, 1216, 20_545, 1, 20_545)
    assert (found["FFD"].time_ms <= found["FP"].time_ms + 0.01).all()
    assert (found["FP"].time_ms <= found["TFT"].time_ms + 0.01).all()


# ---------------------------------------------------------------- PoTeC


def test_potec(shared_data):
    folder = shared_data / "potec"
    words = words_of("potec", {"words": folder / "potec_words.tsv.gz"})
    files = {"times": folder / "potec_reading_measures.tsv.gz"}
    found = {name: read("potec", files, words, name) for name in ("FFD", "FP", "GP", "RB", "TFT")}
    assert sizes(words, found["FP"]) == (12, 101, 1895, 75, 142_125)
    for short, long in [("FFD", "FP"), ("FP", "RB"), ("RB", "GP"), ("RB", "TFT")]:
        assert (found[short].time_ms <= found[long].time_ms).all()
    first = found["TFT"]
    assert not ((found["GP"].time_ms > 0) & ~first.first_pass).any()
    assert ((first.time_ms > 0) & ~first.first_pass).mean() == pytest.approx(0.1704, abs=1e-4)
    before = first.first_pass.shift(1, fill_value=False)
    inner = first.word_id.map(words.groupby("item").cumcount()) > 0
    assert (first.previous_fixated == (before & inner)).all()
    assert (first.words_since_fixation[first.previous_fixated] == 1).all()
    files["readers"] = folder / "potec_readers_by_text.tsv.gz"
    assert read("potec", files, words, "FP").text_accuracy.between(-1, 1).all()


def test_potecs_files_of_two_versions_are_told(tmp_path):
    text = "itemid\tSentenceIndex\tWordIndexInText\tWORD\nb0\t1\t1\tUm\nb0\t1\t2\tdas\n"
    words = words_of("potec", {"words": write(tmp_path / "w.tsv", text)})
    times = "reader\titemid\tWordIndexInText\tFPRT\n0\tb0\t1\t9\n0\tb0\t2\t9\n"
    path = write(tmp_path / "t.tsv", times + "0\tb0\t3\t9\n")
    with pytest.raises(InputError, match="line 4: text b0 has no word 3"):
        read("potec", {"times": path}, words, "FP")
    path = write(tmp_path / "t.tsv", times + "1\tb0\t1\t9\n")
    with pytest.raises(InputError, match="subject 1 has 1 of the words of text b0; it looks cut"):
        read("potec", {"times": path}, words, "FP")
    with pytest.raises(InputError, match="there is no word before this one"):
        words_of("potec", {"words": write(tmp_path / "w.tsv", text.replace("\t1\tUm", "\t3\tUm"))})


def merged(path, tables, names=None, suffix=".tsv", **changed):
    """Write PoTeC's zip from its three tables: a file for each reader and text, all columns."""
    words, times, readers = tables
    whole = times.merge(words, on=["itemid", "WordIndexInText"]).merge(readers)
    whole = whole.assign(SFD=0).rename(columns=names or {})
    reader, text = (names or {}).get("reader", "reader"), (names or {}).get("itemid", "itemid")
    with zipfile.ZipFile(path, "w") as archive:
        for (who, what), part in whole.groupby([reader, text]):
            name = f"reading_measures_merged/reader{who}_{what}_merged{suffix}"
            data = changed.get(f"reader{who}_{what}", part.to_csv(sep="\t", index=False))
            archive.writestr(name, data)
        archive.writestr("reading_measures_merged/README.md", "no data")
        archive.writestr("__MACOSX/reading_measures_merged/._reader0_b0_merged.tsv", b"\0")
    return path


@pytest.fixture
def potec_tables():
    """Three readers of two texts of three words."""
    places = [("b0", 1, 1), ("b0", 1, 2), ("b0", 2, 3), ("p1", 1, 1), ("p1", 1, 2), ("p1", 2, 3)]
    words = pd.DataFrame(places, columns=["itemid", "SentenceIndex", "WordIndexInText"])
    words["WORD"] = ["Um", "null", "NA", "Die", "Größe", "x"]
    rows = [(who, *place) for who in (0, 2, 10) for place in places]
    times = pd.DataFrame(rows, columns=["reader", "itemid", "SentenceIndex", "WordIndexInText"])
    times = times.drop(columns="SentenceIndex")
    for number, name in enumerate(["FFD", "FPRT", "RBRT", "RPD_inc", "TFT"], 1):
        times[name] = [100 * number * (row % 3 > 0) + row for row in range(len(times))]
    readers = times[["reader", "itemid"]].drop_duplicates().assign(expert_status=1)
    readers["meanAccTQ"], readers["meanAccBQ"] = 0.5, np.arange(6) / 6
    return words, times, readers


NEW_NAMES = datasets.parser("potec")._NAMES


@pytest.mark.parametrize("names", [None, NEW_NAMES], ids=["first release", "now"])
def test_potecs_own_files_say_what_its_tables_do(tmp_path, potec_tables, names):
    paths = [tmp_path / name for name in ("words.tsv", "times.tsv", "readers.tsv")]
    for path, table in zip(paths, potec_tables, strict=True):
        table.to_csv(path, sep="\t", index=False)
    own = merged(tmp_path / "own.zip", potec_tables, names, ".txt" if names is None else ".tsv")
    words = words_of("potec", {"words": own})
    assert words.equals(words_of("potec", {"words": paths[0]}))
    assert words.word.tolist() == ["Um", "null", "NA", "Die", "Größe", "x"]
    for name in ("FFD", "FP", "GP", "RB", "TFT"):
        found = read("potec", {"times": own, "readers": own}, words, name)
        table = read("potec", {"times": paths[1], "readers": paths[2]}, words, name)
        assert found.equals(table) and found.subject.tolist()[::6] == ["00", "02", "10"]


def test_faults_in_potecs_own_files_are_told_by_file_and_line(tmp_path, potec_tables):
    words, times, readers = potec_tables
    good = words_of("potec", {"words": merged(tmp_path / "good.zip", potec_tables, NEW_NAMES)})
    path = merged(tmp_path / "a.zip", (words, times.assign(FPRT=times.FPRT.astype("object").mask(
        (times.reader == 2) & (times.WordIndexInText == 3), "x")), readers))  # fmt: skip
    with pytest.raises(
        InputError, match=r"a.zip/.*/reader2_b0_merged.tsv, line 4: FPRT is 'x'.*2 such"
    ):
        read("potec", {"times": path}, good, "FP")
    head = "reader\titemid\tWordIndexInText\tSentenceIndex\tWORD\tFPRT\n"
    for line, said in [
        ("2\tb0\t1\t1\tAm\t9\n", "line 2: itemid b0, WordIndexInText 1 is told otherwise"),
        ("2\tp1\t1\t1\tUm\t9\n", "line 2: itemid is 'p1' here"),
        ("2\tb0\t1\t1\tUm\n", "line 2: 5 fields, the header has 6; the file looks cut off"),
    ]:
        path = merged(tmp_path / "b.zip", potec_tables, reader2_b0=head + line)
        with pytest.raises(InputError, match=f"b.zip/.*/reader2_b0_merged.tsv, {said}"):
            words_of("potec", {"words": path})
    path = merged(tmp_path / "c.zip", potec_tables, reader2_b0=head + "3\tb0\t1\t1\tUm\t9\n")
    with pytest.raises(InputError, match="reader2_b0_merged.tsv, line 2: reader is '3' here"):
        read("potec", {"times": path}, good, "FP")
    for data, said in [(b"PK\x05\x06" + bytes(18), "no file reader<number>_<text>_merged"),
                       (path.read_bytes()[:-90], "zero byte")]:  # fmt: skip
        (tmp_path / "d.zip").write_bytes(data)
        with pytest.raises(InputError, match=said):
            words_of("potec", {"words": tmp_path / "d.zip"})


def test_potecs_own_files_made_of_the_real_tables(shared_data, tmp_path):
    names = ("potec_words", "potec_reading_measures", "potec_readers_by_text")
    paths = [shared_data / "potec" / f"{name}.tsv.gz" for name in names]
    tables = [pd.read_csv(p, sep="\t", keep_default_na=False) for p in paths]
    tables[1] = tables[1][tables[1].reader < 8]
    own = merged(tmp_path / "own.zip", tables, NEW_NAMES)
    words = words_of("potec", {"words": own})
    assert words.equals(words_of("potec", {"words": paths[0]}))
    found = read("potec", {"times": own}, words, "GP")
    table = read("potec", {"times": paths[1]}, words, "GP")
    table = table[table.subject.astype(int) < 8].reset_index(drop=True)
    assert len(found) == 1895 * found.subject.nunique() > 10_000
    columns = ["word_id", "time_ms", "first_pass", "previous_fixated"]
    assert found[columns].equals(table[columns])


# ---------------------------------------------------------------- G-maze


def test_the_maze(shared_data):
    folder = shared_data / "maze_witzel2012"
    words = words_of("witzel", {"sentences": folder / "witzel2012_gmaze_sentences.tsv"})
    found = read("witzel", {"times": folder / "witzel2012_gmaze.tsv.gz"}, words, "Maze")
    assert sizes(words, found) == (176, 176, 2465, 32, 40_877)
    assert (~found.correct).sum() == 811
    last = ~found.assign(item=found.word_id.map(words["item"])).duplicated(
        ["subject", "item"], keep="last"
    )
    assert last[~found.correct].all()  # a trial ends with its error
    assert (found.type == "practice").sum() == 2963


def test_the_mazes_foils(shared_data, tmp_path):
    folder = shared_data / "maze_witzel2012"
    files = {"sentences": folder / "witzel2012_gmaze_sentences.tsv"}
    words = words_of("witzel", files | {"foils": folder / "witzel2012_gmaze.tsv.gz"})
    first = words[words["item"] == "101"]  # "The husband …", beside x-x-x, everyone …
    assert first.foil_length.tolist()[:2] == [5, 8]
    assert words.drop(columns="foil_length").equals(words_of("witzel", files))
    text = "list\titem\tword_num\tdistractor\n1\t1\t0\tx-x-x\n1\t1\t1\twere\n"
    sentences = {"s": write(tmp_path / "s.tsv", "list\titem\tsentence\n1\t1\tHe left.\n")}
    foils = {"foils": write(tmp_path / "f.tsv", text)}
    assert words_of("witzel", sentences | foils).foil_length.tolist() == [5, 4]
    write(foils["foils"], text + "1\t1\t1\twas\n")
    with pytest.raises(InputError, match="word 1 of item 1, list 1, has several distractors"):
        words_of("witzel", sentences | foils)
    write(foils["foils"], text[: text.rindex("1\t1\t1")])
    with pytest.raises(InputError, match="no row is word 1 of item 1, list 1"):
        words_of("witzel", sentences | foils)


def test_the_mazes_self_paced_reading(shared_data):
    files = {"times": shared_data / "maze_witzel2012" / "witzel2012_spr.tsv.gz"}
    words = words_of("witzel", files)
    found = read("witzel", files, words, "SPR")
    assert sizes(words, found) == (176, 176, 2465, 32, 46_560)
    assert found.answer.value_counts().to_dict() == {"-": 23_296, "c": 20_710, "e": 2_554}
    assert {"hrself", "Sarah", "Yesterday,"} < set(words.word)


def test_lists_that_differ_are_items_of_their_own(tmp_path):
    text = "list\titem\tsentence\n1\t1\tHe left.\n1\t2\tOh no.\n2\t1\tShe left.\n2\t2\tOh no.\n"
    words = words_of("witzel", {"s": write(tmp_path / "s.tsv", text)})
    assert words["item"].tolist() == ["001/1"] * 2 + ["001/2"] * 2 + ["002"] * 2
    header = "list\tsubject\titem\ttype\tword_num\tword\trt\tcorrect\n"
    rows = "2\t2_9\t1\tfiller\t0\tShe\t900\t1\n2\t2_9\t1\tfiller\t1\tleft.\t800\t0\n"
    rows += "2\t2_10\t2\tfiller\t0\tOh\t700\t1\n2\t2_10\t2\tfiller\t1\tno.\t600\t1\n"
    path = write(tmp_path / "t.tsv", header + rows)
    found = read("witzel", {"t": path}, words, "Maze")
    assert found.subject.tolist() == ["2_09"] * 2 + ["2_10"] * 2
    assert found.word_id.tolist() == [2, 3, 4, 5]
    write(path, (header + rows).replace("She", "He"))
    with pytest.raises(InputError, match="word 0 of item 1, list 2, is 'He'; .* have 'She'"):
        read("witzel", {"t": path}, words, "Maze")
    write(path, (header + rows).replace("600\t1", "600\t2"))
    with pytest.raises(InputError, match="line 5: correct is '2', expected 0 or 1"):
        read("witzel", {"t": path}, words, "Maze")


# ---------------------------------------------------------------- item means


@pytest.mark.parametrize(
    ("name", "measure", "texts", "expected"),
    [
        ("meco", "FP", True, (12, 99, 2108, 1, 2096)),
        ("ucl", "FP", False, (205, 205, 1931, 1, 1726)),
        ("ucl_spr", "SPR", False, (205, 205, 1931, 1, 1726)),
        ("provo", "FP", True, (55, 131, 2714, 1, 2659)),
        ("brown", "SPR", False, (13, 450, 7188, 1, 6738)),
        ("natstor", "SPR", False, (497, 497, 10_256, 1, 9759)),
    ],
)
def test_devarda_and_marelli(shared_data, name, measure, texts, expected, capsys):
    files = {"words": shared_data / "devarda_marelli2024" / f"{name}.tsv.gz"}
    words = words_of("devarda_marelli2024", files, texts=texts)
    found = read("devarda_marelli2024", files, words, measure)
    assert sizes(words, found) == expected
    assert f"{expected[2] - expected[4]:,} of {expected[2]:,} words have no time" in (
        capsys.readouterr().err
    )


def test_item_means_in_disorder_are_refused(tmp_path):
    text = "sent_id\tword_pos\tword\trt\n0\t1\tIt\tNA\n0\t2\tis.\t300\n1\t2\tOh\t250\n"
    with pytest.raises(InputError, match="line 4: word 2 of 1 does not follow the word before"):
        words_of("devarda_marelli2024", {"t": write(tmp_path / "t.tsv", text)})


def test_the_psychometric_set(shared_data):
    files = {"measures": shared_data / "devarda2024" / "all_measures.human.tsv.gz"}
    words = words_of("devarda2024", files)
    parser = datasets.parser("devarda2024")
    found = {name: read("devarda2024", files, words, name) for name in parser.MEASURES}
    assert len(found) == 11
    for name, frame in found.items():
        assert sizes(words, frame) == (205, 205, 1931, 1, 1726)
        assert not frame.word_id.isin(words.word_id[words.position == 1]).any()
        erp = name in ("ELAN", "LAN", "N400", "EPNP", "P600", "PNP")
        assert response_column(frame, name) == ("amplitude_uv" if erp else "time_ms")
        assert ("time_ms" in frame) != erp
    assert found["N400"].amplitude_uv.mean() == pytest.approx(-0.1136, abs=1e-4)
    for short, long in [("FFD", "GD"), ("GD", "RB"), ("RB", "GP")]:
        assert (found[short].time_ms <= found[long].time_ms + 1e-9).all()


def test_a_response_is_a_time_or_an_amplitude():
    words = pd.DataFrame({"word_id": [0], "item": ["a"]})
    frame = pd.DataFrame({"subject": ["mean"], "word_id": [0], "amplitude_uv": [-2.5]})
    assert check_responses(frame, words, "mine").amplitude_uv.tolist() == [-2.5]
    with pytest.raises(InputError, match="one column of time_ms and amplitude_uv is needed"):
        check_responses(frame.assign(time_ms=1.0), words, "mine")
    with pytest.raises(InputError, match="neither of them; there are subject, word_id"):
        check_responses(frame.drop(columns="amplitude_uv"), words, "mine")
    with pytest.raises(InputError, match="inf of mean to word 0 is not a finite amplitude"):
        check_responses(frame.assign(amplitude_uv=np.inf), words, "mine")


# ---------------------------------------------------------------- what holds of all fixations


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(1, 8), st.integers(1, 500), st.booleans()),
        min_size=1,
    )
)
def test_first_pass_is_part_of_go_past_and_no_word_stands_twice(rows):
    rows = sorted(rows, key=lambda row: row[0])
    text, place, time, glance = (np.array(column) for column in zip(*rows, strict=True))
    sums = measure(np.zeros(len(rows)), text, place, time.astype(float), glance)
    assert (sums.FP <= sums.GP).all()
    assert (sums.FP > 0).equals(sums.GP > 0)
    words = pd.DataFrame({"item": np.repeat(["0", "1"], 8), "word_id": np.arange(16)})
    frame = pd.DataFrame({"subject": "s", "word_id": text * 8 + place - 1})
    frame["previous_fixated"] = sums.words_since_fixation == 1
    for name in ("FP", "GP"):
        whole = presented(frame.assign(time_ms=sums[name]), words)
        assert not whole.duplicated(["subject", "word_id"]).any()
        assert len(whole) == 8 * len(set(text))
        assert whole.time_ms.sum() == sums[name].sum()
        assert not whole.previous_fixated[whole.time_ms == 0].any()
    # The word before was fixated where a saccade of one word is claimed.
    for row in np.flatnonzero(sums.words_since_fixation == 1):
        assert (text[row - 1], place[row - 1] + 1) == (text[row], place[row])
