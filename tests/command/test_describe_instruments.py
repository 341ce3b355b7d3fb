"""`recency describe` of experiment software's files: the true words and times, or the cause in a message.

Twelve readers of three stories, and of 24 sentences each in an order of its own, written as each program
writes them, with practice, questions and instructions, none of which may become a word.
"""

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
import yaml

from readingtimes.errors import InputError
from readingtimes.formats import anything
from readingtimes.formats.anything import Style
from test_describe_damage import READERS, described, parsed
from test_describe_damage import STORIES as TEXTS

STORIES = {name: text.strip() for name, text in TEXTS.items()}
NOUNS = "sailor widow tailor baker clerk painter nurse farmer".split()
VERBS = "sold found hid".split()
ITEMS = {
    f"s{n:02d}": f"The {NOUNS[n % 8]}, whose {NOUNS[(n + 3) % 8]} had left, {VERBS[n % 3]} {n + 2} old lamps in "
    f"{'Rome Oslo Bonn Nice'.split()[n % 4]}."
    for n in range(24)
}
PRACTICE = "Try to press the bar."
QUESTION = "Was it old?"


def trials(texts):
    """Return reader, number of the trial, text's name, words and times (ms), in each reader's order."""
    draw = np.random.default_rng(11)
    rows = []
    for slow, reader in enumerate(READERS[: 12 if texts is STORIES else 8]):
        order = draw.permutation(list(texts))
        for number, name in enumerate(order, 1):
            words = texts[name].split()
            times = [int(190 + 5 * len(w) + 3 * slow + draw.gamma(4, 25)) for w in words]
            rows.append((reader, number, name, words, times))
    return rows


def practised(texts):
    """Return the trials, a reader's first one after practice (number 0)."""
    for reader, number, name, words, times in trials(texts):
        if number == 1:
            yield reader, 0, "practice", PRACTICE.split(), [600, 500, 400, 450, 700]
        yield reader, number, name, words, times


def _ibex_field(text):
    return str(text).replace("%", "%25").replace(",", "%2C")


def ibex(texts):
    """Return results of Ibex: a form, then words and a question per trial."""
    numbers = {name: n for n, name in enumerate(texts, 5)}
    lines, last = [], None
    for reader, number, name, words, times in practised(texts):
        head = f"{1700000000 + READERS.index(reader)},0cc175b9c0f1b6a8"  # all in one laboratory
        kind, item = ("practice", 1) if number == 0 else ("story", numbers[name])
        if reader != last:
            lines += [
                "#", "# Results on Sunday November 01 2026 10:00:00 UTC.", "# USER AGENT: Mozilla/5.0",
                "# Design number was non-random = 4", "#", "# Columns below this comment are as follows:",
                "# 1. Results reception time.", "# 2. MD5 hash of participant's IP address.",
                "# 3. Controller name.", "# 4. Item number.", "# 5. Element number.", "# 6. Type.",
                "# 7. Group.", "# 8. Field name.", "# 9. Field value.", f"{head},Form,0,0,intro,NULL,age,31",
            ]  # fmt: skip
        names = ["Word number", "Word", "Reading time", "Newline?", "Sentence (or sentence MD5)"]
        lines += [f"# {n}. {name}." for n, name in enumerate(names, 8)]
        text = _ibex_field(" ".join(words))
        group = "NULL" if number == 0 else item
        lines += [
            f"{head},DashedSentence,{item},0,{kind},{group},{n},{_ibex_field(word)},{time},False,{text}"
            for n, (word, time) in enumerate(zip(words, times), 1)
        ]
        names = [
            "Question (NULL if none)",
            "Answer",
            "Whether or not answer was correct (NULL if N/A)",
        ]
        lines += [f"# {n}. {name}." for n, name in enumerate([*names, "Time taken to answer"], 8)]
        lines.append(f"{head},Question,{item},1,{kind},{group},{QUESTION},Yes,1,1890")
        last = reader
    return "\n".join(lines) + "\n"


def pcibex(texts):
    """Return results of PCIbex: an item's number is that of its turn; `id` is logged."""
    lines = []
    first = (
        "Results reception time", "MD5 hash of participant's IP address", "Controller name",
        "Order number of item", "Inner element number", "Label", "Latin Square Group", "PennElementType",
        "PennElementName", "Parameter", "Value", "EventTime",
    )  # fmt: skip
    last = None
    for reader, number, name, words, times in practised(texts):
        head = f"{1700000000 + READERS.index(reader)},0cc175b9c0f1b6a8,PennController,{number}"
        if reader != last:
            lines += [
                "# Results on Sun, 01 Nov 2026 10:00:00 GMT",
                "# USER AGENT: Mozilla/5.0",
                "#",
            ]
            lines += [f"# {n}. {column}." for n, column in enumerate([*first, "Comments"], 1)]
        trial = f"{head},0,{'practice' if number == 0 else 'experiment'},NULL"
        lines.append(f"{trial},PennController,{number},_Trial_,Start,17{number}0000000000,NULL")
        more = ["Reading time", "Newline?", "Sentence (or sentence MD5)", "Comments"]
        lines += [f"# {n}. {column}." for n, column in enumerate(more, 13)]
        text = _ibex_field(" ".join(words))
        lines += [
            f"{trial},Controller-DashedSentence,DashedSentence,{n},{_ibex_field(word)},1700000000123,{time},"
            f"false,{text},Any addtional parameters were appended as additional columns"
            for n, (word, time) in enumerate(zip(words, times), 1)
        ]
        lines.append("# 13. Comments.")
        lines.append(f"{trial},Selector,answer,Selection,yes,1700000009999,NULL")
        last = reader
    return "\n".join(lines) + "\n"


def jspsych_trials(texts, by_word):
    """Return jsPsych's trials of each reader."""
    runs = {}
    for reader, number, name, words, times in practised(texts):
        run = runs.setdefault(reader, [])
        part = {"phase": "practice" if number == 0 else "main", "item": name}

        def add(kind, **values):
            at = {"trial_type": kind, "trial_index": len(run), "plugin_version": "2.0.0"}
            run.append(
                {
                    **values,
                    **at,
                    "time_elapsed": 900 * len(run) + 450,
                    "internal_node_id": f"0.0-{len(run)}",
                }
            )

        if not run:
            add(
                "html-button-response",
                rt=5210,
                stimulus="<p>Press the bar to read, word by word.</p>",
                response=0,
            )
        if by_word:
            for n, (word, time) in enumerate(zip(words, times), 1):
                add(
                    "html-keyboard-response",
                    rt=time,
                    stimulus=f"<p>{word}</p>",
                    response=" ",
                    word=word,
                    word_number=n,
                    **part,
                )
        else:
            sums = np.cumsum(times).tolist()
            add(
                "self-paced-reading",
                spr_words=words,
                spr_rts=times,
                spr_rts_total=sums,
                spr_sentence=" ".join(words),
                rt=sums[-1],
                **part,
            )
        add("survey-likert", rt=2100, response={"Q0": 3}, question_order=[0], **part)
    return runs


def jspsych_json(texts):
    """Return an array of one reader's trials after another's."""
    runs = jspsych_trials(texts, by_word=False)
    return json.dumps(
        [{**t, "subject_id": r} for r, of in runs.items() for t in of], indent=1, ensure_ascii=False
    )


def jspsych_lines(texts):
    """Return JATOS's results: a line with an array per reader, who has no name."""
    runs = jspsych_trials(texts, by_word=False)
    return "".join(json.dumps(of) + "\n" for of in runs.values())


def jspsych_csv(texts):
    """Return jsPsych's CSV: every value in quotes, a row per word."""
    runs = jspsych_trials(texts, by_word=True)
    frame = pd.DataFrame([{"participant": r, **t} for r, of in runs.items() for t in of])
    whole = frame.select_dtypes("number").columns
    frame[whole] = frame[whole].astype("Int64")
    return frame.to_csv(index=False, quoting=1)


def json_lines(texts):
    """Return a line of JSON per word."""
    return "".join(
        json.dumps({"reader": r, "item": name, "position": n, "word": w, "rt": t}) + "\n"
        for r, _, name, words, times in trials(texts)
        for n, (w, t) in enumerate(zip(words, times))
    )


def psychopy(texts):
    """Return PsychoPy's wide CSV: a row per word, times in s, a trailing comma."""
    rows = []
    for reader, number, name, words, times in practised(texts):
        loop = "practice_loop" if number == 0 else "word_loop"
        more = {
            "participant": reader,
            "date": "2026-11-01_10h00",
            "expName": "spr",
            "psychopyVersion": "2024.2.4",
            "frameRate": 60.01,
        }
        if number == 0:
            rows.append(
                {
                    "instructions.started": 1.25,
                    "key_start.keys": "space",
                    "key_start.rt": 4.2,
                    **more,
                }
            )
        for n, (word, time) in enumerate(zip(words, times)):
            rows.append({
                f"{loop}.thisRepN": 0, f"{loop}.thisTrialN": n, f"{loop}.thisN": n, f"{loop}.thisIndex": n,
                "text_name": name, "word": word, "word_nr": n + 1, "word_text.started": 7.5 + n,
                "key_resp.keys": "space", "key_resp.rt": time / 1000, "key_resp.started": 7.5 + n, **more,
            })  # fmt: skip
        rows.append(
            {"question_text.started": 9.1, "key_answer.keys": "y", "key_answer.rt": 1.75, **more}
        )
    text = pd.DataFrame(rows).rename(columns={"text_name": "item"}).to_csv(index=False)
    return text.replace("\n", ",\n")


def psychopy_lists(texts, total=True):
    """Return PsychoPy's CSV of routines that keep all keys: a list per trial, since its beginning."""
    rows = []
    for reader, number, name, words, times in practised(texts):
        loop = "practice" if number == 0 else "trials"
        seconds = [round(s, 3) for s in (np.cumsum(times) if total else np.array(times)) / 1000]
        rows.append({
            "sentence": " ".join(words), "item": name, f"{loop}.thisN": number, "key_resp.keys": str(["space"] * len(words)),
            "key_resp.rt": str([float(s) for s in seconds]), "key_answer.rt": 1.5, "participant": reader, "expName": "spr",
        })  # fmt: skip
    return pd.DataFrame(rows).to_csv(index=False)


def eprime_log(texts):
    """Return E-Prime's logs, one after another: frames of words, each trial's after its words'."""
    lines, last = [], None

    def frame(level, **values):
        tabs = "\t" * (level - 1)
        body = [f"{tabs}\t{key.replace('__', '.')}: {value}" for key, value in values.items()]
        lines.extend(
            [
                f"{tabs}Level: {level}",
                f"{tabs}*** LogFrame Start ***",
                *body,
                f"{tabs}*** LogFrame End ***",
            ]
        )

    for reader, number, name, words, times in practised(texts):
        if reader != last:
            if last:
                frame(1, Experiment="spr", Clock__Information="<xml/>")
            lines += [
                "*** Header Start ***",
                "VersionPersist: 1",
                "LevelName: Session",
                "LevelName: Trial",
                "LevelName: SubTrial",
            ]
            lines += [
                "Experiment: spr",
                "SessionDate: 11-01-2026",
                f"Subject: {READERS.index(reader) + 1}",
                "Session: 1",
                "*** Header End ***",
            ]
        what = "Practice" if number == 0 else "Main"
        for n, (word, time) in enumerate(zip(words, times), 1):
            frame(
                3,
                Procedure="WordProc",
                Word=word,
                Running="WordList",
                WordList__Sample=n,
                Slide__OnsetTime=9000 + n,
                Slide__RTTime=9000 + n + time,
                Slide__RT=time,
                Slide__RESP="{SPACE}",
            )
        frame(
            2,
            Procedure=f"{what}Proc",
            Item=name,
            Running=f"{what}List",
            Question__RT=1600 + number,
            Question__RESP="y",
        )
        last = reader
    frame(1, Experiment="spr", Clock__Information="<xml/>")
    return ("\ufeff" + "\r\n".join(lines) + "\r\n").encode("utf-16-le")


def edataaid(texts):
    """Return E-DataAid's export: the file's name, then columns by name, UTF-16."""
    rows = [
        {
            "ExperimentName": "spr", "Subject": READERS.index(reader) + 1, "Session": 1, "Item": name,
            "Procedure[Trial]": "PracticeProc" if number == 0 else "MainProc", "Question.RT": 1600 + number,
            "Slide.OnsetTime": 9000 + n, "Slide.RT": time, "Slide.RTTime": 9000 + n + time, "SubTrial": n,
            "Trial": number, "Word": word, "Practice": 1 if number == 0 else "NULL",
        }
        for reader, number, name, words, times in practised(texts)
        for n, (word, time) in enumerate(zip(words, times), 1)
    ]  # fmt: skip
    table = pd.DataFrame(rows).to_csv(index=False, sep="\t", lineterminator="\r\n")
    return ("\ufeff" + "C:\\data\\spr.emrg2\r\n" + table).encode("utf-16-le")


def gorilla(texts):
    """Return Gorilla's CSV: a screen that shows the word, and its key; BEGIN and END of the task."""
    rows, last = [], None
    for reader, number, name, words, times in practised(texts):
        more = {
            "Participant Private ID": 9000 + READERS.index(reader),
            "Participant Public ID": "BLINDED",
            "Task Name": "spr",
        }
        if reader != last:
            rows += [{**more, "Trial Number": "END TASK"}] * bool(last) + [
                {**more, "Trial Number": "BEGIN TASK"}
            ]
        more |= {
            "Trial Number": number,
            "display": "practice" if number == 0 else "trial",
            "item": name,
        }
        for n, (word, time) in enumerate(zip(words, times), 1):
            more |= {"word": word, "word_nr": n}
            rows.append({**more, "Zone Type": "content_text", "Reaction Time": ""})
            rows.append(
                {
                    **more,
                    "Zone Type": "response_keyboard",
                    "Reaction Time": time + 0.25,
                    "Response": "SPACE",
                }
            )
        rows.append(
            {
                **more,
                "word": "",
                "word_nr": "",
                "Zone Type": "response_button_text",
                "Reaction Time": 1800.5,
                "Response": "Yes",
            }
        )
        last = reader
    rows.append({**more, "word": "", "word_nr": "", "Trial Number": "END TASK"})
    frame = pd.DataFrame(rows)
    frame.insert(0, "Event Index", range(1, len(frame) + 1))
    return frame.to_csv(index=False) + "END OF FILE" + "," * (frame.shape[1] - 1) + "\n"


def opensesame(texts):
    """Return OpenSesame's CSV: names in order, in quotes, the last question's time in each row."""
    rows = [
        {
            "average_response_time": 512.5 + n, "avg_rt": 512.5 + n, "count_word_loop": n, "item": name,
            "practice": "yes" if number == 0 else "no", "response": "space", "response_time": time,
            "response_time_question": 1500 + number if number else "NA", "response_time_word_key": time,
            "subject_nr": READERS.index(reader) + 1, "subject_parity": "odd", "time_word_key": 5000 + 300 * n,
            "word": word, "word_nr": n,
        }
        for reader, number, name, words, times in practised(texts)
        for n, (word, time) in enumerate([*zip(words, times), ("NA", 1700)], 1)
    ]  # fmt: skip
    return pd.DataFrame(rows).to_csv(index=False, quoting=1)


def interest_areas(texts):
    """Return a report of EyeLink's Data Viewer, UTF-16; a reader's trials in their order."""
    rows = [
        {
            "RECORDING_SESSION_LABEL": reader, "TRIAL_INDEX": number, "trial_text": name, "IA_ID": n, "IA_LABEL": word,
            "IA_DWELL_TIME": time if time % 5 else 0, "IA_FIRST_RUN_DWELL_TIME": time if time % 5 else ".",
            "IA_SKIP": int(time % 5 == 0),
        }
        for reader, number, name, words, times in trials(texts)
        for n, (word, time) in enumerate(zip(words, times), 1)
    ]  # fmt: skip
    table = pd.DataFrame(rows).rename(columns={"trial_text": "text_id"})
    return ("\ufeff" + table.to_csv(index=False, sep="\t", lineterminator="\r\n")).encode(
        "utf-16-le"
    )


def r_table(texts):
    """Return what R's write.table writes: row names without a name."""
    return plain(texts).to_csv(sep=" ", quoting=2, index_label=False)


def excel(texts):
    """Return a CSV of Excel, with its separator on the first line and Windows' line ends."""
    return "sep=;\r\n" + plain(texts).to_csv(sep=";", index=False, lineterminator="\r\n")


def mac(texts):
    """Return a table with the line ends of old Macs."""
    return plain(texts).to_csv(sep="\t", index=False, lineterminator="\r")


def plain(texts):
    """Return a plain table of the words."""
    rows = [
        (reader, name, n, word, time)
        for reader, _, name, words, times in trials(texts)
        for n, (word, time) in enumerate(zip(words, times), 1)
    ]
    frame = pd.DataFrame(rows, columns=["reader", "item", "position", "word", "rt"])
    return frame.set_axis(range(1, len(frame) + 1))


#: name → (program, texts, a part of the notes that says what was left out)
FILES = {
    "results": (ibex, STORIES, "48 rows dropped, without a word, whose Controller name is Question"),
    "results of items": (ibex, ITEMS, "40 rows dropped, of practice: Type is practice"),
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
    "r.txt": (r_table, STORIES, ""),
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
    "results cut": (lambda: text_of("results")[:-40], r"line \d+: no end of line, and \d fields, which no row before it has; the file looks cut off"),
    "results cut in a row of words": (
        lambda: re.search(r"(?s).*DashedSentence,\d+,0,story,\d+,9,", text_of("results"))[0],
        r"line \d+: no end of line, and 9 fields, which no row",
    ),
    "results with a field more": (
        lambda: text_of("results").replace(",Yes,1,1890\n", ",Yes,1,1890,0,0\n", 1), r"line 31: 13 fields, and no comment names column 13"
    ),
    "results without a comment": (lambda: without_line("results", r"# 9\. Field"), r"line \d+: 9 fields, and no comment names column 9"),
    "results without words": (
        lambda: "\n".join(li for li in text_of("results").splitlines() if ",DashedSentence," not in li) + "\n",
        "no column looks like words|no column looks like reading times",
    ),
    "JSON cut": (lambda: text_of("jspsych.json")[:-300], r"line \d+: JSON that breaks off"),
    "lines of JSON cut": (lambda: text_of("rows.jsonl")[:-9], r"line 1776: JSON that breaks off"),
    "a time less": (
        lambda: shortened("jspsych.json", r'(?s)"spr_rts": \[[^\]]*?(,\s*\d+)\s*\]'), r"spr_rts has 11 times, and spr_words 12 words"
    ),
    "a word less": (
        lambda: shortened("jspsych.json", r'(?s)"spr_words": \[[^\]]*?(,\s*"\w+\.")\s*\]'), r"spr_rts has 12 times, and spr_words 11 words"
    ),
    "a key less": (
        lambda: shortened("psychopy_lists.csv", r"\[[\d., ]{40,}(, [\d.]+)\]"), r"line \d+: key_resp.rt has 11 times, and sentence 12 words"
    ),
    "a first screen": (lambda: counted_screen("psychopy_own.csv"), r"line 3: key_resp.rt has \d+ times, and sentence \d+ words"),
    "log cut": (lambda: text_of("eprime.txt")[:-50], r"line \d+: the frame that begins on line \d+ has no end"),
    "log cut after a frame": (
        lambda: re.search(r"(?s).*\*\*\* LogFrame End \*\*\*\r?\n(?=\tLevel: 2)", text_of("eprime.txt"))[0], r"Item is empty"
    ),
    "log of E-Prime joined to its end": (
        lambda: text_of("eprime.txt").replace("*** LogFrame End ***", "", 1), r"the frame that begins on line 12 has no end"
    ),
    "Gorilla, a row cut": (lambda: re.sub(r"(?s),[^,]*\nEND OF FILE.*", "\n", text_of("gorilla.csv")), r"line \d+: \d+ fields .*, the header has"),
    "R, names of rows cut": (lambda: text_of("r.txt")[:-12], r"line 1777: \d fields .*, the header has"),
    "a web page": (lambda: "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", "is a web page"),
    "a PDF": (lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "is a PDF"),
    "a pointer": (
        lambda: "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 12345\n", "is a pointer of Git LFS"
    ),
}  # fmt: skip


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
    pyreadstat = pytest.importorskip("pyreadstat")
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
