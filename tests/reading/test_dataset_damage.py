"""Damaged files, for each parser: a clear error, the same data, or a drop that is reported.

Never a silent change. Every sample is a small file in the format of the original distribution.
"""

import contextlib
import functools
import gzip
import io
import itertools
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readingtimes import parsers
from readingtimes.contracts import check_responses
from readingtimes.formats import streamed
from recency.errors import REFUSALS
from recency.reading import words as reading_words

pytestmark = pytest.mark.merge

SENTENCES = [["It", "rained", "all", "day."], ["We", "saw", "nothing."], ["Then", "Ann", "left."]]
WORDS = [(s, p, w) for s, words in enumerate(SENTENCES, 1) for p, w in enumerate(words, 1)]
PLACES = list(enumerate(WORDS, 1))


@dataclass(frozen=True)
class Sample:
    """One parser's files: role → (name, text); `damaged` is the role that the tests damage."""

    parser: str
    measure: str
    files: dict
    columns: tuple  # that must be there
    number: str  # the column of times
    words: str = "t"  # the roles of words and of responses, a letter each
    responses: str = "t"
    separator: str = "\t"
    options: dict = field(default_factory=dict)
    encoding: str = "utf-8"
    negative: bool = False  # whether a value below 0 is right
    damaged: str = "t"
    pack: Callable[[bytes], bytes] = bytes  # how the damaged file is made of its text


def table(header, rows, separator="\t"):
    lines = [separator.join(map(str, row)) for row in [header, *rows]]
    return "\n".join(lines) + "\n"


def readings(make):
    """Make a row of each subject and word: make(subject, sentence, position, word, place, ms)."""
    return [
        make(subject, *word, n, 180 + 7 * n + 20 * subject)
        for subject in (1, 2, 3)
        for n, word in enumerate(WORDS, 1)
    ]


def self_paced():
    texts = [(n, " ".join(words)) for n, words in enumerate(SENTENCES, 1)]
    stimuli = ("stimuli.txt", table(["sent_nr", "sentence"], texts))
    header = ["subj_nr", "sent_nr", "word_pos", "correct", "word", "RT"]
    rows = readings(lambda who, s, p, w, n, ms: (who, s, p, "c", w, ms))
    files = {"s": stimuli, "t": ("times.txt", table(header, rows))}
    yield Sample("ucl_spr", "SPR", files, header, "RT", "s", encoding="latin-1")
    header = [*header[:-1], "RTfirstpass"]
    rows = readings(lambda who, s, p, w, n, ms: (who, s, p, "c", w, ms * (p != 2)))
    files = {"s": stimuli, "t": ("times.txt", table(header, rows))}
    yield Sample("ucl_eye_tracking", "FP", files, header, header[-1], "s", encoding="latin-1")
    stories = table(["word", "zone", "item"], [(w, n, 1) for n, (_, _, w) in PLACES])
    header = ["WorkerId", "correct", "item", "zone", "RT", "word"]
    rows = readings(lambda who, s, p, w, n, ms: (f"A{who}", 6, 1, n, ms, w))
    files = {"s": ("all_stories.tok", stories), "t": ("processed_RTs.tsv", table(header, rows))}
    offset = {"file_offset": 0}
    yield Sample("natural_stories", "SPR", files, header[1:-1], "RT", "s", options=offset)
    header = ["subject", "text_id", "text_pos", "word", "time"]
    rows = readings(lambda who, s, p, w, n, ms: (f"s{who}", 0, n, w, ms))
    files = {"t": ("brown_spr.csv", table(header, rows, ","))}
    yield Sample("brown", "SPR", files, header, "time", separator=",")
    header = ["item", "sentence", "position", "word", "subject", "time_ms"]
    rows = readings(lambda who, s, p, w, n, ms: ("a", s, p, w, who, ms))
    files = {"t": ("own.csv", table(header, rows, ","))}
    yield Sample("table", "SPR", files, header, "time_ms", separator=",")
    texts = [(1, *text) for text in texts]
    header = ["list", "subject", "item", "type", "word_num", "word", "rt", "correct"]
    rows = readings(lambda who, s, p, w, n, ms: (1, f"1_{who}", s, "filler", p - 1, w, ms, 1))
    sentences = ("sentences.tsv", table(["list", "item", "sentence"], texts))
    files = {"s": sentences, "t": ("maze.tsv", table(header, rows))}
    yield Sample("witzel", "Maze", files, header, "rt", "s")
    header = ["list", "subject", "item", "word_num", "word", "rt", "question_correct"]
    rows = readings(lambda who, s, p, w, n, ms: (1, f"1_{who}", s, p, w, ms, "NA"))
    yield Sample("witzel", "SPR", {"t": ("spr.tsv", table(header, rows))}, header, "rt")


def mazes():
    header = ["type", "sentence", "word_num", "word", "distractor", "correct", "rt", "native"]
    header += ["num_correct", "subject"]
    rows = readings(lambda who, s, p, w, n, ms: (
        "Mill", " ".join(SENTENCES[s - 1]), p - 1, w, "x-x-x", "yes", ms, "English", 6, who))  # fmt: skip
    yield Sample("boyce2023", "Maze", {"t": ("cleaned.tsv", table(header, rows))}, header, "rt")


def interest_areas():
    times = ["IA_SKIP", "IA_FIRST_RUN_DWELL_TIME"]
    header = ["DATA_FILE", "IA_ID", "IA_LABEL", "shared_text", *times, "sentenceid"]
    rows = readings(lambda who, s, p, w, n, ms: (f"{who}.edf", p, w, 1, 0, ms, f"wsj_{s}"))
    files = {"t": ("sent_ia.tsv", table(header, rows))}
    yield Sample("interest_areas", "FP", files, header[:-1], header[-2])
    header = ["RECORDING_SESSION_LABEL", "IA_LABEL", "Word", *times, "Word_Unique_ID"]
    rows = readings(lambda who, s, p, w, n, ms: (who, w, w, 0, ms, f"UID_1_{n}"))
    files = {"t": ("rastros.tsv", table(header, rows))}
    yield Sample("interest_areas", "FP", files, header[:-1], header[-2])
    header = ["DATA_FILE", "word.serial.no", "item.text", *times, "item.id"]
    rows = readings(lambda who, s, p, w, n, ms: (who, p, " ".join(SENTENCES[s - 1]), 0, ms, s))
    files = {"t": ("data.csv", table(header, rows))}
    yield Sample("interest_areas", "FP", files, header[:-1], header[-2])


def eye_tracking():
    rows = [(f"1-1-{n}", f"1-{s}", w) for n, (s, _, w) in PLACES]
    material = ("m.csv", table(["WORD_ID", "SENTENCE_ID", "WORD"], rows))
    header = ["PP_NR", "WORD_ID", "WORD_FIRST_FIXATION_TIME", "WORD_GAZE_DURATION"]
    rows = readings(lambda who, s, p, w, n, ms: (f"pp2{who}", f"1-1-{n}", 300 * n, ms))
    files = {"material": material, "t": ("t.csv", table(header, rows))}
    yield Sample("geco", "FP", files, header[1:], header[-1], ["material"], ["material", "t"])
    norms = table(["text_id", "word_number", "word"], [(1, n, w) for n, (_, _, w) in PLACES])
    header = ["subject", "text_id", "trial_order", "fix_num", "word_text", "fix_dur"]
    rows = readings(lambda who, s, p, w, n, ms: (f"S{who}", 1, 1, n, n, ms))
    files = {"n": ("n.tsv", norms), "t": ("fixations.tsv", table(header, rows))}
    yield Sample("provo", "FP", files, header, "fix_dur", "n")
    header = ["Participant_ID", "Text_ID", "TRIAL_INDEX", "IA_ID", "IA_LABEL", "IA_SKIP"]
    header += ["IA_FIRST_RUN_DWELL_TIME", "IA_DWELL_TIME"]
    rows = readings(lambda who, s, p, w, n, ms: (f"S{who}", 1, 2, n, w, 0, ms, ms + 50))
    files = {"n": ("n.tsv", norms), "t": ("areas.csv", table(header, rows, ","))}
    yield Sample("provo", "FP", files, header[:-1], header[-2], "n", separator=",")
    header = ["subject", "item", "onset", "position", "word", "duration"]
    rows = readings(lambda who, s, p, w, n, ms: (f"S{who}", 1, 250 * n, n, w, ms))
    places = {"areas": {"columns": {"word": "word"}, "sentences": "punctuation"}}
    places["columns"] = {name: name for name in ("onset", "position", "word")}
    areas = table(["item", "position", "word"], [(1, n, w) for n, (_, _, w) in PLACES], ",")
    files = {"areas": ("areas.csv", areas), "t": ("fixations.csv", table(header, rows, ","))}
    roles = ["areas"], ["t"], ","
    yield Sample("fixations", "FP", files, header, "duration", *roles, options=places)
    pages = "".join(f"{w} 1 1 1 1 1 3 3 0 0 0 0 {n} 9\n" for n, (_, _, w) in PLACES)
    header = ["WORD", "TEXT", "LINE", "OLEN", "WLEN", "XPOS", "WNUM", "FDUR", "OBLP"]
    rows = [(w, 1, 1, 3, 3, 10, n, 200 + n, 1) for n, (_, _, w) in PLACES]
    files = {"w": ("tx01wrdp.dat", pages), "t": ("sa01ma1p.dat", table(header, rows, " "))}
    columns, style = ("WORD", "WNUM", "FDUR"), {"separator": " ", "encoding": "latin-1"}
    yield Sample("dundee", "FP", files, columns, "FDUR", "wt", "wt", **style)
    header = ["uniform_id", "lang", "trialid", "sentnum", "ianum", "ia", "firstrun.skip"]
    header += ["dur", "firstrun.dur"]
    rows = readings(lambda who, s, p, w, n, ms: (f"en_{who}", "en", 1, s, n, w, 0, ms + 50, ms))
    files = {"t": ("joint.csv", table(header, rows, ","))}
    yield Sample("meco", "FP", files, header, "firstrun.dur", separator=",")
    header = ["itemid", "SentenceIndex", "WordIndexInText", "WORD"]
    texts = ("w.tsv", table(header, [("b0", s, n, w) for n, (s, _, w) in PLACES]))
    header = ["reader", "itemid", "WordIndexInText", "FPRT"]
    rows = readings(lambda who, s, p, w, n, ms: (who, "b0", n, ms))
    files = {"w": texts, "times": ("times.tsv", table(header, rows))}
    roles = (["w"], ["times"])
    yield Sample("potec", "FP", files, header, "FPRT", *roles, damaged="times")
    header = ["reader_id", "text_id", "sent_index_in_text", "word_index_in_text", "word", "FPRT"]
    rows = readings(lambda who, s, p, w, n, ms: (who, "b0", s, n, w, ms))
    parts = [table(header, [row for row in rows if row[0] == who]) for who in (1, 2, 3)]
    pack = functools.partial(potec_zip, [part.encode() for part in parts[1:]])
    files = {"t": ("own.zip", parts[0])}
    yield Sample("potec", "FP", files, header, "FPRT", pack=pack)
    header, rows = ["task", "subject", "sentence_id", "word_id", "word", "TRT"], []
    for who, (s, p, w) in itertools.product(("ZAB", "ZDM", "ZDN"), WORDS):
        rows.append(("zuco1_NR", who, s - 1, p - 1, w.lower().rstrip("."), 100 + p))
        if w.endswith("."):
            rows.append(("zuco1_NR", who, s - 1, p, ".", 0))
    yield Sample("zuco", "TFT", {"t": ("trt.tsv", table(header, rows))}, header, "TRT")


def potec_zip(others, first):
    """Zip the files of three readers, one of them damaged."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for reader, data in enumerate([first, *others], start=1):
            archive.writestr(f"merged/reader{reader}_b0_merged.tsv", data)
    return file.getvalue()


def item_means():
    header = ["StimulusID", "ContextLength", "Region", "GazeDuration"]
    rows = [(1, n - 1, w, 200.5 + n) for n, (_, _, w) in PLACES]
    files = {"t": ("means.csv", table(header, rows, ","))}
    yield Sample("meco", "FP", files, header, "GazeDuration", separator=",")
    header = ["split", "sentence_num", "word", "first_pass_dur"]
    rows = [("train", s, w, 90.5 + n) for n, (s, _, w) in PLACES]
    yield Sample("zuco", "FP", {"t": ("means.tsv", table(header, rows))}, header, header[-1])
    header = ["sent_id", "word_pos", "word", "rt"]
    rows = [(s - 1, p, w, "NA" if p == 1 else 300 + n) for n, (s, p, w) in PLACES]
    files = {"t": ("items.tsv", table(header, rows))}
    yield Sample("devarda_marelli2024", "SPR", files, header, "rt")
    for measure, column in {"GD": "RTfirstpass", "N400": "N400"}.items():
        header = ["word", "sentence", "context_length", "sent_id", column]
        rows = [
            (w, " ".join(SENTENCES[s - 1]), p - 1, s, 0.5 + n) for n, (s, p, w) in PLACES if p > 1
        ]
        files = {"t": ("all_measures.tsv", table(header, rows))}
        yield Sample("devarda2024", measure, files, header, column, negative=measure == "N400")


ALL = [*self_paced(), *mazes(), *eye_tracking(), *interest_areas(), *item_means()]
NAMES = [f"{s.parser}-{s.files[s.damaged][0]}-{s.measure}" for s in ALL]
every = pytest.mark.parametrize("sample", ALL, ids=NAMES)


def outcome(sample, damaged: bytes | None = None):
    """Read a sample, one file replaced; give words and responses, or the error, and the notes."""
    notes = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(notes):
        paths = {}
        for role, (name, text) in sample.files.items():
            paths[role] = Path(folder) / name
            data = text.encode(sample.encoding)
            if role == sample.damaged:
                data = sample.pack(data if damaged is None else damaged)
            paths[role].write_bytes(data)
        parser = parsers.parser(sample.parser)
        try:
            options = parsers.accepted(parser, parser.words, sample.options)
            files = {r: paths[r] for r in sample.words}
            words = reading_words.read(parser, sample.parser, files, options)
            options = parsers.accepted(parser, parser.responses, sample.options)
            files = {r: paths[r] for r in sample.responses}
            times = parser.responses(files, words, sample.measure, **options)
            return words, check_responses(times, words, sample.parser), notes.getvalue()
        except REFUSALS as error:
            return str(error), None, notes.getvalue()


@functools.cache
def read_once(number):
    return outcome(ALL[number])


def text_of(sample):
    return sample.files[sample.damaged][1]


def same(first, second):
    return first[0].equals(second[0]) and first[1].equals(second[1])


def cell(sample, line, column, value):
    """Give the damaged file's text with one value changed (lines count from 1)."""
    lines = text_of(sample).splitlines()
    fields = lines[line - 1].split(sample.separator)
    fields[lines[0].split(sample.separator).index(column)] = value
    lines[line - 1] = sample.separator.join(fields)
    return "\n".join(lines) + "\n"


@every
def test_the_sample_itself_is_read(sample):
    words, times, notes = outcome(sample)
    assert isinstance(words, pd.DataFrame), words
    assert words.word.str.lower().tolist() == [word.lower() for _, _, word in WORDS]
    assert words.sentence.nunique() == len(SENTENCES)
    assert not times.duplicated(["subject", "word_id"]).any()
    assert times.word_id.isin(words.word_id).all()
    assert "dropped" not in notes


@every
def test_a_byte_order_mark_and_crlf_change_nothing(sample):
    plain = text_of(sample)
    for data in (
        b"\xef\xbb\xbf" + plain.encode(sample.encoding),
        plain.replace("\n", "\r\n").encode(sample.encoding),
    ):
        found = outcome(sample, data)
        assert isinstance(found[0], pd.DataFrame), found[0]
        assert same(found, outcome(sample))


@every
def test_another_delimiter_is_an_error_or_no_change(sample):
    other = ";" if sample.separator == "," else ","
    text = text_of(sample).replace(sample.separator, other)
    found = outcome(sample, text.encode(sample.encoding))
    if isinstance(found[0], str):
        assert sample.files[sample.damaged][0] in found[0]
        assert "separated by" in found[0] or "no column" in found[0] or "total" in found[0]
    else:
        assert same(found, outcome(sample))


@every
def test_a_missing_column_is_named(sample):
    for column in sample.columns:
        header, rest = text_of(sample).split("\n", 1)
        names = [f"X{n}" if n == column else n for n in header.split(sample.separator)]
        text = sample.separator.join(names) + "\n" + rest
        found = outcome(sample, text.encode(sample.encoding))
        assert isinstance(found[0], str), column
        assert sample.files[sample.damaged][0] in found[0]
        assert column in found[0] or "no column" in found[0]


@every
def test_a_header_twice_is_an_error_or_a_counted_drop(sample):
    header, rest = text_of(sample).split("\n", 1)
    lines = rest.splitlines()
    middle = "\n".join([header, *lines[:5], header, *lines[5:]]) + "\n"
    found = outcome(sample, middle.encode(sample.encoding))
    assert isinstance(found[0], str) or "dropped" in found[2]
    names = header.split(sample.separator)
    if sample.parser == "dundee":
        return  # its fields are between any number of spaces
    doubled = sample.separator.join([*names, sample.number])
    text = "\n".join([doubled, *(f"{line}{sample.separator}1" for line in lines)]) + "\n"
    found = outcome(sample, text.encode(sample.encoding))
    assert f"the header has {sample.number} 2 times" in found[0]


@every
@pytest.mark.parametrize("value", ["NaN", "nan", "", "x", "inf", "1,5", "1e999", "-1"])
def test_what_is_no_number_is_an_error_or_a_counted_drop(sample, value):
    if value == "-1" and sample.negative:
        pytest.skip("amplitudes may be negative")
    if value == "1,5" and sample.separator == ",":
        value = "1.5.5"
    found = outcome(sample, cell(sample, 4, sample.number, value).encode(sample.encoding))
    if isinstance(found[0], str):
        assert "line 4" in found[0]
    else:
        # An empty cell is a word without a time where the format says so; of one's own, NaN as well.
        assert value == "" or (sample.parser == "table" and value in ("NaN", "nan"))
        assert "dropped" in found[2] or sample.parser in ("geco", "meco")


@every
def test_another_encoding_is_told(sample):
    text = text_of(sample)
    found = outcome(sample, text.encode("utf-16"))
    if sample.parser in ("table", "boyce2023"):  # tables in any format
        sound = outcome(sample)
        assert found[0].equals(sound[0]) and found[1].equals(sound[1])
    else:
        assert isinstance(found[0], str)
        assert sample.parser == "dundee" or "UTF-16" in found[0]
    accented = text.replace("rained", "rainéd")
    if sample.encoding == "utf-8" and sample.parser != "provo":  # provo's is Macintosh or UTF-8
        found = outcome(sample, accented.encode("latin-1"))
        if accented != text:
            assert "is not utf-8" in found[0]


@every
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_file_cut_off_is_an_error_or_reported(sample, data):
    """Cut anywhere but where readings, or of item means sentences, end; fixations may end early."""
    full = text_of(sample).encode(sample.encoding)
    lines = full.splitlines(keepends=True)
    ends = list(itertools.accumulate(map(len, lines)))
    at = data.draw(st.integers(1, len(full) - 1))
    last = full[:at].decode(sample.encoding, "ignore").splitlines()[-1]
    if at in ends and ("." in last or ends.index(at) % len(WORDS) == 0):
        return
    early = sample.parser in ("provo", "dundee", "fixations")
    if at in ends and early and ends.index(at) % len(WORDS) > 6:
        return
    found = outcome(sample, full[:at])
    whole = read_once(ALL.index(sample))
    assert isinstance(found[0], str) or same(found, whole) or found[2] != whole[2], full[:at]


@every
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_a_row_twice_is_an_error_or_a_counted_drop(sample, data):
    if sample.number == "first_pass_dur" or sample.parser == "dundee":
        pytest.skip("rows have no key: a word, or a fixation, may follow its like")
    lines = text_of(sample).splitlines()
    row = data.draw(st.integers(1, len(lines) - 1))
    to = data.draw(st.integers(1, len(lines)))
    text = "\n".join([*lines[:to], lines[row], *lines[to:]]) + "\n"
    found = outcome(sample, text.encode(sample.encoding))
    assert isinstance(found[0], str) or "dropped" in found[2] or "repeat" in found[2]


def test_a_gzipped_table_of_fixations_that_was_cut_is_refused(tmp_path):
    """Within its first block, from which the names of its columns are read."""
    path = tmp_path / "fixations.csv.gz"
    path.write_bytes(gzip.compress(b"subject,word\n" + bytes(range(256)) * 40)[:60])
    with pytest.raises(REFUSALS, match=r"fixations.csv.gz is damaged \(Compressed file ended"):
        streamed.header_of(path, lambda: streamed.opened(path), None, "utf-8")
