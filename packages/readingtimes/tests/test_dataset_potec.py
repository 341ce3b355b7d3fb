"""PoTeC: tables, and the authors' own files by reader and text."""

import zipfile

import numpy as np
import pandas as pd
import pytest

from parsing import responses_of, sizes, words_of, write
from readingtimes import parsers
from readingtimes.errors import InputError

pytestmark = pytest.mark.merge


def test_potec(shared_data):
    folder = shared_data / "potec"
    words = words_of("potec", {"words": folder / "potec_words.tsv.gz"})
    files = {"times": folder / "potec_reading_measures.tsv.gz"}
    found = {
        name: responses_of("potec", files, words, name) for name in ("FFD", "FP", "GP", "RB", "TFT")
    }
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
    assert responses_of("potec", files, words, "FP").text_accuracy.between(-1, 1).all()


def test_potecs_files_of_two_versions_are_told(tmp_path):
    text = "itemid\tSentenceIndex\tWordIndexInText\tWORD\nb0\t1\t1\tUm\nb0\t1\t2\tdas\n"
    words = words_of("potec", {"words": write(tmp_path / "w.tsv", text)})
    times = "reader\titemid\tWordIndexInText\tFPRT\n0\tb0\t1\t9\n0\tb0\t2\t9\n"
    path = write(tmp_path / "t.tsv", times + "0\tb0\t3\t9\n")
    with pytest.raises(InputError, match="line 4: text b0 has no word 3"):
        responses_of("potec", {"times": path}, words, "FP")
    path = write(tmp_path / "t.tsv", times + "1\tb0\t1\t9\n")
    with pytest.raises(InputError, match="subject 1 has 1 of the 2 words of text b0; it looks cut"):
        responses_of("potec", {"times": path}, words, "FP")
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


NEW_NAMES = parsers.parser("potec")._NAMES


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
        found = responses_of("potec", {"times": own, "readers": own}, words, name)
        table = responses_of("potec", {"times": paths[1], "readers": paths[2]}, words, name)
        assert found.equals(table) and found.subject.tolist()[::6] == ["00", "02", "10"]


def test_faults_in_potecs_own_files_are_told_by_file_and_line(tmp_path, potec_tables):
    words, times, readers = potec_tables
    good = words_of("potec", {"words": merged(tmp_path / "good.zip", potec_tables, NEW_NAMES)})
    path = merged(tmp_path / "a.zip", (words, times.assign(FPRT=times.FPRT.astype("object").mask(
        (times.reader == 2) & (times.WordIndexInText == 3), "x")), readers))  # fmt: skip
    with pytest.raises(
        InputError, match=r"a.zip/.*/reader2_b0_merged.tsv, line 4: FPRT is 'x'.*2 such"
    ):
        responses_of("potec", {"times": path}, good, "FP")
    head = "reader\titemid\tWordIndexInText\tSentenceIndex\tWORD\tFPRT\n"
    for line, said in [
        (
            "2\tb0\t1\t1\tAm\t9\n",
            "line 2: itemid b0, WordIndexInText 1 differs from an earlier row",
        ),
        ("2\tp1\t1\t1\tUm\t9\n", "line 2: itemid is 'p1' here"),
        ("2\tb0\t1\t1\tUm\n", "line 2: 5 fields, the header has 6; the file looks cut off"),
    ]:
        path = merged(tmp_path / "b.zip", potec_tables, reader2_b0=head + line)
        with pytest.raises(InputError, match=f"b.zip/.*/reader2_b0_merged.tsv, {said}"):
            words_of("potec", {"words": path})
    path = merged(tmp_path / "c.zip", potec_tables, reader2_b0=head + "3\tb0\t1\t1\tUm\t9\n")
    with pytest.raises(InputError, match="reader2_b0_merged.tsv, line 2: reader is '3' here"):
        responses_of("potec", {"times": path}, good, "FP")
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
    found = responses_of("potec", {"times": own}, words, "GP")
    table = responses_of("potec", {"times": paths[1]}, words, "GP")
    table = table[table.subject.astype(int) < 8].reset_index(drop=True)
    assert len(found) == 1895 * found.subject.nunique() > 10_000
    columns = ["word_id", "time_ms", "first_pass", "previous_fixated"]
    assert found[columns].equals(table[columns])
