"""Files as experiment software writes them, of readers and texts that are made here.

Twelve readers of three stories, and eight of 24 sentences, each in an order of its own, with practice,
questions and instructions, none of which may become a word.
"""

import json

import numpy as np
import pandas as pd
from test_describe_damage import READERS
from test_describe_damage import STORIES as TEXTS

STORIES = {name: text.strip() for name, text in TEXTS.items()}
NOUNS = ["sailor", "widow", "tailor", "baker", "clerk", "painter", "nurse", "farmer"]
VERBS = ["sold", "found", "hid"]
ITEMS = {
    f"s{n:02d}": f"The {NOUNS[n % 8]}, whose {NOUNS[(n + 3) % 8]} had left, {VERBS[n % 3]} {n + 2} old lamps in "
    f"{['Rome', 'Oslo', 'Bonn', 'Nice'][n % 4]}."
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


def maze(texts):
    """Return results of Ibex's Maze; a wrong answer is followed by the correct one."""
    names = [
        "Results reception time", "MD5 hash of participant's IP address", "Controller name", "Item number",
        "Element number", "Type", "Group", "Word number", "Word", "Alternative", "Word on (0=left, 1=right)",
        "Correct", "Reading time to first answer", "Sentence", "Total time to correct answer",
    ]  # fmt: skip
    numbers = {name: n for n, name in enumerate(texts, 3)}
    lines = [f"# {n}. {name}." for n, name in enumerate(names, 1)]
    for reader, _, name, words, times in trials(texts):
        head = (
            f"{1700000000 + READERS.index(reader)},0cc175b9c0f1b6a8,Maze,{numbers[name]},0,story,1"
        )
        for n, (word, time) in enumerate(zip(words, times, strict=True)):
            right, more = ("no", 400) if n % 9 == 8 else ("yes", 0)
            text = _ibex_field(" ".join(words))
            answer = f"x-x-x,{n % 2},{right},{time},{text},{time + more}"
            lines.append(f"{head},{n},{_ibex_field(word)},{answer}")
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
        if not run:
            text = "<p>Press the bar to read, word by word.</p>"
            run.append({"trial_type": "html-button-response", "rt": 5210, "stimulus": text})
        if by_word:
            run += [
                {
                    "trial_type": "html-keyboard-response",
                    "rt": time,
                    "stimulus": f"<p>{word}</p>",
                    "response": " ",
                    "word": word,
                    "word_number": n,
                    **part,
                }
                for n, (word, time) in enumerate(zip(words, times, strict=True), 1)
            ]
        else:
            sums = np.cumsum(times).tolist()
            run.append(
                {
                    "trial_type": "self-paced-reading",
                    "spr_words": words,
                    "spr_rts": times,
                    "spr_rts_total": sums,
                    "spr_sentence": " ".join(words),
                    "rt": sums[-1],
                    **part,
                }
            )
        run.append({"trial_type": "survey-likert", "rt": 2100, "response": {"Q0": 3}, **part})
    clock = {"plugin_version": "2.0.0", "question_order": [0, 1]}
    return {
        reader: [
            {**trial, **clock, "trial_index": n, "time_elapsed": 900 * n + 450}
            for n, trial in enumerate(run)
        ]
        for reader, run in runs.items()
    }


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
