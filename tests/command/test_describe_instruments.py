"""`recency describe` of experiment software's files: the true words and times, or the cause in a message."""

import re
import sys
from urllib.parse import unquote

import pandas as pd
import pyreadstat
import pytest
import yaml
from instrument_files import (
    ITEMS,
    PRACTICE,
    QUESTION,
    STORIES,
    edataaid,
    eprime_log,
    excel,
    gorilla,
    ibex,
    interest_areas,
    json_lines,
    jspsych_csv,
    jspsych_json,
    jspsych_lines,
    mac,
    maze,
    opensesame,
    pcibex,
    plain,
    psychopy,
    psychopy_lists,
    r_table,
    trials,
)
from test_describe_damage import described, parsed

from readingtimes.errors import InputError
from readingtimes.formats import anything
from readingtimes.formats.anything import Style

pytestmark = pytest.mark.merge

#: name → (program, texts, a part of the notes that says what was left out)
FILES = {
    "results": (ibex, STORIES, "48 rows dropped, without a word, whose Controller name is Question"),
    "results of items": (ibex, ITEMS, "40 rows dropped, of practice: Type is practice"),
    "results of a maze": (maze, STORIES, "Maze in Maze time"),
    "results of PCIbex": (pcibex, ITEMS, "PennElementType is Selector"),
    "results of PCIbex, stories": (pcibex, STORIES, "of practice: Label is practice"),
    "jspsych.json": (jspsych_json, ITEMS, "trial_type is survey-likert"),
    "jspsych.txt": (jspsych_lines, STORIES, "of practice: phase is practice"),
    "jspsych.csv": (jspsych_csv, ITEMS, "trial_type is survey-likert"),
    "rows.jsonl": (json_lines, STORIES, ""),
    "psychopy.csv": (psychopy, STORIES, "of practice: practice_loop"),
    "psychopy_lists.csv": (psychopy_lists, ITEMS, "key_resp.rt rises in each trial"),
    "psychopy_own.csv": (lambda texts: psychopy_lists(texts, total=False), STORIES, "of practice: item is practice"),
    "eprime.txt": (eprime_log, ITEMS, "of practice: "),
    "edataaid.txt": (edataaid, ITEMS, "of practice: Item is practice"),
    "gorilla.csv": (gorilla, STORIES, "without a time, whose Zone Type is content_text"),
    "opensesame.csv": (opensesame, ITEMS, "of practice: item is practice"),
    "areas.xls": (interest_areas, STORIES, ""),
    "r.txt": (r_table, STORIES, "the first are names of rows"),
    "excel.csv": (excel, STORIES, ""),
    "mac.txt": (mac, ITEMS, ""),
}  # fmt: skip


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", FILES)
def test_every_word_and_time_is_read(tmp_path, name):
    program, texts, note = FILES[name]
    out = right(write(tmp_path / name, program(texts)), texts, extra=0.25 * (name == "gorilla.csv"))
    assert note in out


def right(path, texts, extra=0.0):
    """Return the command's output, whose entry reads every word and time of the texts."""
    status, out, err = described(path)
    assert status == 0, err
    words, times = parsed(out)
    found = words.groupby("item", sort=False).word.agg(" ".join)
    label = {text: story for story, text in texts.items()}
    assert sorted(found) == sorted(label)  # and no practice, no question
    item = found.map(label)
    place = words.groupby("item", sort=False).cumcount()
    read = {}
    for row in times.itertuples():
        key = item[words["item"].iloc[row.word_id]], int(place.iloc[row.word_id])
        read.setdefault(str(row.subject), {})[key] = row.time_ms
    true = {}
    for reader, _, text, _, durations in trials(texts):
        true.setdefault(reader, {}).update({(text, n): t + extra for n, t in enumerate(durations)})
    assert len(read) == len(true)
    for of_reader, of_true in zip(
        (read[key] for key in sorted(read, key=_number)), true.values(), strict=True
    ):
        if path.name.startswith("areas"):  # 0 or no value for a word that was not fixated
            of_true = {key: time for key, time in of_true.items() if time % 5}
        assert of_reader == pytest.approx(of_true, abs=1e-6)
    return out


def _number(label):
    return [int(n) for n in re.findall(r"\d+", label)]


def text_of(name):
    """Return a file's content as text."""
    program, texts, _ = FILES[name]
    content = program(texts)
    return content.decode("utf-16") if isinstance(content, bytes) else content


def shortened(name, pattern):
    """Return a file in whose middle a list lacks its last value, and the line of that."""
    text = text_of(name)
    at = list(re.finditer(pattern, text))
    match = at[len(at) // 2 + 3]  # no practice
    return text[: match.start(1)] + text[match.end(1) :]


def without_line(name, pattern):
    """Return a file without the first line that matches."""
    lines = text_of(name).splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if re.search(pattern, line))
    return "".join(lines[:at] + lines[at + 1 :])


def counted_screen(name):
    """Return PsychoPy's lists with a key before the first word, too."""
    return text_of(name).replace('"[0.', '"[0.75, 0.')


#: name → (file, what the message says)
DAMAGES = {
    "results cut": (
        lambda: text_of("results")[:-40],
        r"line \d+: no end of line, and \d fields, which no row before it has; the file looks cut off",
    ),
    "results cut in a row of words": (
        lambda: re.search(r"(?s).*DashedSentence,\d+,0,story,\d+,9,", text_of("results"))[0],
        r"line \d+: no end of line, and 9 fields, which no row",
    ),
    "results with a field more": (
        lambda: text_of("results").replace(",Yes,1,1890\n", ",Yes,1,1890,0,0\n", 1),
        r"line 31: 13 fields, and no comment names column 13",
    ),
    "results without a comment": (
        lambda: without_line("results", r"# 9\. Field"),
        r"line \d+: 9 fields, and no comment names column 9",
    ),
    "results without words": (
        lambda: (
            "\n".join(li for li in text_of("results").splitlines() if ",DashedSentence," not in li)
            + "\n"
        ),
        "no column looks like words|no column looks like reading times",
    ),
    "JSON cut": (lambda: text_of("jspsych.json")[:-300], r"line \d+: JSON that breaks off"),
    "lines of JSON cut": (lambda: text_of("rows.jsonl")[:-9], r"line 1776: JSON that breaks off"),
    "a time less": (
        lambda: shortened("jspsych.json", r'(?s)"spr_rts": \[[^\]]*?(,\s*\d+)\s*\]'),
        r"spr_rts has 11 times, and spr_words 12 words",
    ),
    "a word less": (
        lambda: shortened("jspsych.json", r'(?s)"spr_words": \[[^\]]*?(,\s*"\w+\.")\s*\]'),
        r"spr_rts has 12 times, and spr_words 11 words",
    ),
    "a key less": (
        lambda: shortened("psychopy_lists.csv", r"\[[\d., ]{40,}(, [\d.]+)\]"),
        r"line \d+: key_resp.rt has 11 times, and sentence 12 words",
    ),
    "a first screen": (
        lambda: counted_screen("psychopy_own.csv"),
        r"line 3: key_resp.rt has \d+ times, and sentence \d+ words",
    ),
    "a clock that falls": (
        lambda: (
            text_of("psychopy_lists.csv")
            .replace('"[0.', '"[7.0, 0.', 1)
            .replace("bar.", "bar. Now", 1)
            .replace("practice", "main")
        ),
        r"line 2: key_resp.rt falls by 6.\d+, and rises in other trials: a clock",
    ),
    "two times a word": (
        lambda: re.sub(r"content_text,,", "content_text,333,", text_of("gorilla.csv")),
        r"has a response to this word already|before it was",
    ),
    "log cut": (
        lambda: text_of("eprime.txt")[:-50],
        r"line \d+: the frame that begins on line \d+ has no end",
    ),
    "log cut after a frame": (
        lambda: re.search(
            r"(?s).*\*\*\* LogFrame End \*\*\*\r?\n(?=\tLevel: 2)", text_of("eprime.txt")
        )[0],
        r"Item is empty",
    ),
    "log of E-Prime joined to its end": (
        lambda: text_of("eprime.txt").replace("*** LogFrame End ***", "", 1),
        r"the frame that begins on line 12 has no end",
    ),
    "Gorilla, a row cut": (
        lambda: re.sub(r"(?s),[^,]*\nEND OF FILE.*", "\n", text_of("gorilla.csv")),
        r"line \d+: \d+ fields .*, the header has",
    ),
    "R, names of rows cut": (
        lambda: text_of("r.txt")[:-12],
        r"line 1777: \d fields .*, the header has",
    ),
    "a web page": (lambda: "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", "is a web page"),
    "a PDF": (lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "is a PDF"),
    "a pointer": (
        lambda: "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 12345\n",
        "is a pointer of Git LFS",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_named(tmp_path, name):
    damaged, message = DAMAGES[name]
    status, out, err = described(write(tmp_path / "mine.csv", damaged()))
    assert status == 2 and yaml.safe_load(out or "#") is None
    assert re.search(message, err), err


def test_blocks_with_other_columns_are_read_by_their_own(tmp_path):
    """A further logged value, from the middle of the file on, shifts no time."""
    halves = pcibex(ITEMS).partition("# Results on")[2].split("# Results on")
    changed = []
    for at, block in enumerate(halves):
        if at >= 4:
            block = re.sub(r"# 16\. Comments\.", "# 16. list.\n# 17. Comments.", block)
            block = re.sub(r"# 13\. Comments\.", "# 13. list.\n# 14. Comments.", block)
            block = re.sub(r"(?m)^((?:[^,#\n]*,){12})(NULL)$", r"\1B,\2", block)
            block = re.sub(r"(?m)^((?:[^,#\n]*,){15})(Any.*)$", r"\1B,\2", block)
        changed.append(block)
    text = "# Results on" + "# Results on".join(changed)
    status, out, err = described(write(tmp_path / "results", text))
    assert status == 0, err
    words, times = parsed(out)
    assert sorted(words.groupby("item", sort=False).word.agg(" ".join)) == sorted(ITEMS.values())
    assert sum(sum(of) for *_, of in trials(ITEMS)) == times.time_ms.sum()


def test_none_is_a_word(tmp_path):
    """What stands for no word in one program is a word in another, and where another stands for it."""
    texts = {name: text.replace("The", "None", 1) for name, text in ITEMS.items()}
    for name in ("results of PCIbex", "jspsych.csv", "opensesame.csv"):
        right(write(tmp_path / "mine.csv", FILES[name][0](texts)), texts)


def test_a_csv_of_pcibex_has_its_comments_as_its_header(tmp_path):
    rows = [line for line in text_of("results of PCIbex").splitlines() if "Dashed" in line]
    names = {
        int(n): name for n, name in re.findall(r"# (\d+)\. (.*)\.", text_of("results of PCIbex"))
    }
    names |= {13: "Reading time"}
    table = pd.DataFrame([map(unquote, row.split(",")) for row in rows])
    table = table.set_axis([f"# {n}. {names[n]}." for n in range(1, table.shape[1] + 1)], axis=1)
    right(write(tmp_path / "mine.csv", table.to_csv(index=False)), ITEMS)


def test_gorilla_without_its_last_row_is_read_with_a_note(tmp_path):
    text = text_of("gorilla.csv").partition("END OF FILE")[0]
    status, out, err = described(write(tmp_path / "gorilla.csv", text))
    assert status == 0 and "no last row END OF FILE" in err
    assert parsed(out)[1].time_ms.sum() == sum(
        sum(of) + 0.25 * len(of) for *_, of in trials(STORIES)
    )


def test_rows_keep_the_practice_that_they_list(tmp_path):
    path = write(tmp_path / "jspsych.csv", text_of("jspsych.csv"))
    rows = {"phase": ["practice", "main"]}
    table = anything.read(path, Style(rows=rows))
    assert PRACTICE.split()[0] in set(table["word"]) and QUESTION.split()[0] not in set(
        table["word"]
    )
    assert (anything.read(path, Style(rows={"phase": "main"}))["phase"] == "main").all()


def test_a_wrong_response_of_dmdx_has_no_time(tmp_path):
    lines = ["Subjects incorporated to date: 002", "Data file started on machine LAB1", ""]
    for reader in ("anna", "ben"):
        lines += [
            "*" * 70,
            f"Subject {reader == 'ben':d}, 11/01/2026 10:00:00 on LAB1, refresh 16.67ms, ID {reader}",
        ]
        lines += [
            "  Item       RT",
            "   101    612.31",
            "!a message",
            "   102   -548.20",
            "   103    498.06",
            "   104    533.4",
        ]
    path = write(tmp_path / "mine.azk", "\r\n".join(lines) + "\r\n")
    table = anything.read(path, Style())
    assert table["rt"].tolist() == ["612.31", "", "498.06", "533.4"] * 2
    assert table["subject"].tolist() == ["anna"] * 4 + ["ben"] * 4
    assert table["signed"].tolist()[1] == "-548.20" and table["correct"].tolist()[1] == "false"
    status, _, err = described(path)
    assert (
        status == 2
        and "2 responses below 0 are errors" in err
        and "no column looks like words" in err
    )
    cut = write(tmp_path / "cut.azk", "\n".join(lines[:9]))
    with pytest.raises(InputError, match="1 subjects, and its first lines say 2"):
        anything.read(cut, Style())


def labelled():
    """Return a table with codes: of conditions, of a scale whose ends alone have labels, and missing times."""
    frame = plain(STORIES).reset_index(drop=True)
    frame["cond"] = (frame.index % 2 + 1).astype(float)
    frame["scale"] = (frame.index % 7 + 1).astype(float)
    return frame, {"cond": {1.0: "object", 2.0: "subject"}, "scale": {1.0: "bad", 7.0: "good"}}


def test_spss_has_labels_and_missing_values(tmp_path):
    frame, labels = labelled()
    frame["rt"] = frame.rt.astype(float)
    frame.loc[5, "rt"] = 9999.0
    path = tmp_path / "mine.sav"
    pyreadstat.write_sav(
        frame,
        str(path),
        variable_value_labels={**labels, "rt": {9999.0: "no response"}},
        missing_ranges={"rt": [9999.0]},
    )
    status, out, err = described(path)
    assert status == 0, err
    assert "labels of values are read, not their codes: cond" in err and "label of its own: " in err
    words, times = parsed(out)
    assert times.time_ms.sum() == frame.rt.sum() - 9999 and len(times) == len(frame) - 1
    assert sorted(words.groupby("item").word.agg(" ".join)) == sorted(STORIES.values())
    table = anything.read(path, Style())
    assert set(table["cond"]) == {"object", "subject"} and table["scale"].iloc[0] == "1"
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match="is no whole SPSS file"):
        anything.read(path, Style())


def test_spss_needs_pyreadstat(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    status, _, err = described(
        write(tmp_path / "mine.csv", b"$FL2@(#) SPSS DATA FILE" + bytes(200))
    )
    assert status == 2 and "an SPSS file needs pyreadstat (pip install" in err


def test_stata_has_labels(tmp_path):
    frame, labels = labelled()
    path = tmp_path / "mine.dta"
    whole = {name: {int(code): text for code, text in of.items()} for name, of in labels.items()}
    frame = frame.astype({"cond": int, "scale": int})
    frame.to_stata(path, write_index=False, value_labels=whole)
    status, out, err = described(path)
    assert status == 0, err
    words, times = parsed(out)
    assert times.time_ms.sum() == frame.rt.sum() and len(times) == len(frame)
    assert sorted(words.groupby("item").word.agg(" ".join)) == sorted(STORIES.values())
    table = anything.read(path, Style())
    assert set(table["cond"]) == {"object", "subject"} and table["scale"].iloc[0] == "1"
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(InputError, match="is no whole Stata file"):
        anything.read(path, Style())
