"""Public reading corpora as synthetic files in their original formats, for tests."""

import csv
import io
import zipfile

import numpy as np
import openpyxl

TEXTS = {1: "Rain fell on the old town all night .", 2: "She read it , and smiled at him ."}
READERS = (1, 2, 11)
MEASURES = ("FFD", "FP", "GP", "TFT")


def words_of(text):
    """Return a text's words."""
    return TEXTS[text].split()


def times():
    """Return (reader, text, place from 1, measure) → ms: 0 where a word was not fixated."""
    rng = np.random.default_rng(7)
    found = {}
    for reader in READERS:
        for text in TEXTS:
            for place in range(1, len(words_of(text)) + 1):
                first = float(rng.integers(80, 300))
                values = (first, first + 60, first + 130, first + 90)
                kind = rng.choice(["read", "skipped", "later"], p=[0.6, 0.3, 0.1])
                if kind != "read":
                    values = (0.0, 0.0, 0.0, first if kind == "later" else 0.0)
                for measure, value in zip(MEASURES, values, strict=True):
                    found[reader, text, place, measure] = value
    return found


TIMES = times()


def rows(line):
    """Return a table's rows: those that `line` gives of a reader, text, place, word and times."""
    return [
        line(reader, text, place, word, {m: TIMES[reader, text, place, m] for m in MEASURES})
        for reader in READERS
        for text in TEXTS
        for place, word in enumerate(words_of(text), 1)
    ]


def written(path, table, separator=",", encoding="utf-8", absent=""):
    """Write rows, mappings of column to value, as delimited text; None is `absent`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(table[0]), delimiter=separator, lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({name: absent if value is None else value for name, value in row.items()})
    path.write_bytes(stream.getvalue().encode(encoding))
    return path


def zipped(path, members):
    """Write a zip archive of tables: name of the member → rows."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, table in members.items():
            archive.write(written(path.parent / "member", table), name)
        archive.writestr(f"__MACOSX/{next(iter(members))}", b"\0")
    return path


def onestop(folder):
    """Write an interest-area report: first runs also of words that were fixated later."""

    def line(reader, text, place, word, ms):
        later = ms["TFT"] > 0 and ms["FP"] == 0
        missing = ms["TFT"] == 0
        run = None if missing else ms["TFT"] if later else ms["FP"]
        return {
            "participant_id": f"l{reader:02}_{reader:02}", "article_batch": 1, "article_id": text,
            "difficulty_level": "Adv", "paragraph_id": 1, "question_preview": "False",
            "repeated_reading_trial": "False", "practice_trial": "False", "IA_ID": place,
            "IA_LABEL": word, "IA_SKIP": int(ms["FP"] == 0),
            "IA_FIRST_FIXATION_DURATION": run if later or missing else ms["FFD"],
            "IA_FIRST_RUN_DWELL_TIME": run,
            "IA_REGRESSION_PATH_DURATION": run if later or missing else ms["GP"],
            "IA_DWELL_TIME": ms["TFT"],
        }  # fmt: skip

    table = rows(line)
    table += [row | {"question_preview": "True", "IA_LABEL": "else"} for row in table[:9]]
    path = written(folder / "ia_Paragraph.csv", table, absent=".")
    with zipfile.ZipFile(folder / "ia.zip", "w") as archive:
        archive.write(path, "ia_Paragraph.csv")
    return {"areas": folder / "ia.zip"}


def pymovements_line(**names):
    """Return what makes a row with the measures' names in pymovements, and further columns."""

    def line(reader, text, place, word, ms):
        values = {"reader": reader, "text": text, "place": place, "word": word}
        ids = {column: values.get(key, key) for column, key in names.items()}
        measures = {"FFD": ms["FFD"], "FPRT": ms["FP"], "RPD_inc": ms["GP"], "TFT": ms["TFT"]}
        return ids | measures

    return line


def emtec(folder):
    """Write reading_measures.csv, separated by tabs."""
    line = pymovements_line(
        subject_id="reader", item_id="text", model="phi2", decoding_strategy="topp",
        word_id="place", word="word",
    )  # fmt: skip
    return {"measures": written(folder / "reading_measures.csv", rows(line), "\t")}


def copco(folder):
    """Write a file for each reader, who is named by the file alone."""

    def line(reader, text, place, word, ms):
        fixated = ms["TFT"] > 0
        return {
            "reader": reader, "part": 1, "trialId": text, "speechId": 18561, "paragraphId": text,
            "sentenceId": 630 + text, "wordId": place, "word": word, "char_IA_ids": "[1, 2]",
            "word_first_fix_dur": ms["FFD"] if fixated else None,
            "word_first_pass_dur": ms["FP"] if fixated else None,
            "word_go_past_time": ms["GP"] if fixated else None,
            "word_total_fix_dur": ms["TFT"] if fixated else None,
        }  # fmt: skip

    return {"measures": zipped(folder / "copco.zip", by_reader(line, "ReadingMeasures/P{:02}.csv"))}


def by_reader(line, name, column="reader"):
    """Return a member of an archive for each reader, without the column of the reader."""
    table = rows(line)
    return {
        name.format(reader): [
            {n: v for n, v in row.items() if n != column} for row in table if row[column] == reader
        ]
        for reader in READERS
    }


def teco(folder):
    """Write the words and, in another file, the measures."""
    number = {}
    for text in TEXTS:
        for place in range(1, len(words_of(text)) + 1):
            number[text, place] = len(number) + 1

    def line(reader, text, place, word, ms):
        names = {"ffd": "FFD", "gd": "FP", "rpd": "GP", "tfd": "TFT"}
        ids = {"book": "P2", "subjectid": reader, "textid": text, "itemid": number[text, place]}
        return ids | {name: ms[m] if ms["TFT"] else None for name, m in names.items()}

    words = [
        {"textid": text, "itemid": number[text, place], "position": place, "ia": word}
        for text in TEXTS
        for place, word in enumerate(words_of(text), 1)
    ]
    measures = written(folder / "wordmeasure_v1.csv", rows(line), absent="NA")
    return {"words": written(folder / "word_info.csv", words)}, {"measures": measures}


def raccoons(folder):
    """Write ET_word_data.tsv in Latin-1."""

    def line(reader, text, place, word, ms):
        ids = {"subj_nr": reader, "sent_nr": text, "word_pos": place, "word": word}
        return ids | {"RTfirstfix": ms["FFD"], "RTfirstpass": ms["FP"], "RTgopast": ms["GP"]}

    return {"measures": written(folder / "ET.tsv", rows(line), "\t", "latin-1")}


def cervino(folder):
    """Write a file for each text and reader, in folders."""
    line = pymovements_line(reader="reader", text="text", word_index="place", word="word")
    members = {}
    for row in rows(line):
        name = f"CERVINO/preprocessed_data/{row.pop('text')}/lett{row.pop('reader')}/reading_measures.csv"
        members.setdefault(name, []).append(row)
    return {"measures": zipped(folder / "cervino.zip", members)}


def ggtg(folder):
    """Write a file for each reader; a story runs over two pages."""

    def line(reader, text, place, word, ms):
        stimulus = f"story{text}-pos.text.{int(place > 4)}"
        ids = {"reader": reader, "stimulus": stimulus, "aoi_index": place - 1, "aoi_content": word}
        return ids | {"fprt": ms["FP"]}

    return {"measures": zipped(folder / "ggtg.zip", by_reader(line, "P{:02}.csv"))}


def colagaze(folder):
    """Write a file for each reader."""
    line = pymovements_line(reader="reader", item_id="text", word_id="place", word="word")
    name = "measures/raw_measures_for_features{}.csv"
    return {"measures": zipped(folder / "measures.zip", by_reader(line, name))}


def potec(folder):
    """Write a file for each reader and text."""

    def line(reader, text, place, word, ms):
        measures = {"FFD": ms["FFD"], "FPRT": ms["FP"], "RPD_inc": ms["GP"], "TFT": ms["TFT"]}
        return {
            "reader_id": reader, "text_id": f"b{text}", "sent_index_in_text": 1,
            "word_index_in_text": place, "word": word, **measures, "RBRT": ms["FP"],
            "expert_status_numeric": 0, "mean_acc_tq": 1, "mean_acc_bq": 1,
        }  # fmt: skip

    members = {}
    for row in rows(line):
        name = f"merged/reader{row['reader_id']}_{row['text_id']}_merged.tsv"
        members.setdefault(name, []).append(row)
    path = folder / "merged.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, table in members.items():
            archive.write(written(folder / "member", table, "\t"), name)
    return {"merged": path}, {"times": path, "readers": path}


def meco(code, text="itemid"):
    """Return what writes popEye's word report, with rows of another language."""

    def write(folder):
        def line(reader, text_, place, word, ms):
            fixated = ms["TFT"] > 0
            first = ms["FP"] if ms["FP"] else ms["TFT"]
            return {
                "uniform_id": f"{code}_{reader}", "lang": code, "trialid": text_, text: text_,
                "sentnum": 1, "ianum": place, "ia": word, "dur": ms["TFT"] if fixated else None,
                "firstrun.skip": int(ms["FP"] == 0), "firstrun.dur": first if fixated else None,
                "firstrun.gopast": (ms["GP"] if ms["GP"] else 0) if fixated else None,
                "firstfix.dur": (ms["FFD"] or first) if fixated else None,
            }  # fmt: skip

        table = rows(line)
        more = [row | {"lang": "xx", "uniform_id": "xx_1", "ia": "mot"} for row in table[:9]]
        return {"joint": written(folder / "joint.csv", table + more * (code != "l2"), absent="NA")}

    return write


TABLES = {
    "onestop": onestop,
    "emtec": emtec,
    "copco": copco,
    "teco": teco,
    "raccoons": raccoons,
    "cervino": cervino,
    "ggtg": ggtg,
    "colagaze": colagaze,
    "potec_merged": potec,
    "meco_l1_de": meco("ge"),
    "meco_l1_nl": meco("du"),
    "meco_l1w2_zh_s": meco("ch_s"),
    "meco_l1w2_no": meco("no"),
    "meco_l2": meco("l2"),
    "meco_l2w2": meco("l2"),
}


def scanpath(reader, text):
    """Return the places (from 1) and durations of a reading, in order."""
    rng = np.random.default_rng(100 * reader + text)
    steps = rng.choice([-2, 0, 1, 1, 1, 2], 14)
    place = np.clip(np.cumsum(steps) + 1, 1, len(words_of(text)))
    return place.tolist(), [float(ms) for ms in rng.integers(80, 400, 14)]


def by_hand(path, size):
    """Return measure → times of the words of a text, summed fixation by fixation."""
    made = {measure: [0.0] * size for measure in MEASURES}
    furthest, left = 0, False
    for index, (at, ms) in enumerate(zip(*path, strict=True)):
        made["TFT"][at - 1] += ms
        if at > furthest:
            furthest, left = at, False
            made["FFD"][at - 1] = ms
        elif path[0][index - 1] != at:
            left = True
        if at == furthest and not left:
            made["FP"][at - 1] += ms
        made["GP"][furthest - 1] += ms
    return made


def fixations_of(line):
    """Return rows of fixations: those that `line` gives of reader, text, order, place, word, ms."""
    return [
        line(reader, text, order, at, words_of(text)[at - 1], ms)
        for reader in READERS
        for text in TEXTS
        for order, (at, ms) in enumerate(zip(*scanpath(reader, text), strict=True))
    ]


def bsc(folder):
    """Write the workbook of words, and the fixations in an archive."""
    book = openpyxl.Workbook()
    book.active.title = "about"
    sheet = book.create_sheet("word")
    sheet.append(["SN", "NW", "WORD", "LEN"])
    for text in TEXTS:
        for place, word in enumerate(words_of(text), 1):
            sheet.append([text, place, word, len(word)])
    book.save(folder / "words.xlsx")

    def line(reader, text, order, at, word, ms):
        size = len(words_of(text))
        return {"id": reader, "sn": text, "nw": size, "wn": at, "fl": 1, "dur": ms, "ao": 0.5}

    path = written(folder / "BSC.EMD.txt", fixations_of(line), "\t")
    with zipfile.ZipFile(folder / "BSC.EMD.zip", "w") as archive:
        archive.write(path, "BSC.EMD.txt")
    return {"areas": folder / "words.xlsx"}, {"fixations": folder / "BSC.EMD.zip"}


def sb_sat(folder):
    """Write the fixation report: reading and questions, fixations off the text and on a button."""

    def line(reader, text, order, at, word, ms):
        return {
            "RECORDING_SESSION_LABEL": f"msd{reader:03}", "INDEX": text, "type": "reading",
            "book_name": "dickens", "page": text, "CURRENT_FIX_DURATION": ms,
            "CURRENT_FIX_INTEREST_AREA_ID": at, "CURRENT_FIX_INTEREST_AREA_LABEL": word,
        }  # fmt: skip

    table = []
    area, label = "CURRENT_FIX_INTEREST_AREA_ID", "CURRENT_FIX_INTEREST_AREA_LABEL"
    for row in fixations_of(line):
        table += [row, row | {area: ".", label: "."}, row | {area: 99, label: "next_PAGE"}]
    table += [row | {"type": "question", area: 1, label: "A"} for row in table[:3]]
    # Every word is fixated by somebody.
    for text in TEXTS:
        table += [line(99, text, i, i, w, 100) for i, w in enumerate(words_of(text), 1)]
    path = written(folder / "18sat_fixfinal.csv", table)
    return {"fixations": path}, {"fixations": path}


def chinese_reading(folder):
    """Write Raw Data.txt."""

    def line(reader, text, order, at, word, ms):
        ids = {"Subject": reader, "Sentence_ID": text, "Word_Order": at, "Word": word}
        return ids | {"Fixation_Duration": ms}

    table = fixations_of(line)
    for text in TEXTS:
        table += [line(99, text, i, i, w, 100) for i, w in enumerate(words_of(text), 1)]
    path = written(folder / "Raw Data.txt", table, "\t")
    return {"fixations": path}, {"fixations": path}


def interead(folder):
    """Write areas in pixels, and fixations by pixels."""
    areas = [
        {"page_id": text, "word_id": place, "word": word, "left": 60 * place,
         "right": 60 * place + 60, "top": 100 * text, "bottom": 100 * text + 30}
        for text in TEXTS for place, word in enumerate(words_of(text), 1)
    ]  # fmt: skip

    def line(reader, text, order, at, word, ms):
        ids = {"participant_id": reader, "page_id": text, "x": 60 * at + 20, "y": 100 * text + 9}
        return ids | {"duration": ms}

    table = fixations_of(line)
    table = [each for row in table for each in (row, row | {"y": 5})]
    roles = {"areas": written(folder / "areas.csv", areas)}
    return roles, roles | {"fixations": written(folder / "fixations.csv", table)}


EVENTS = {
    "bsc": bsc,
    "sb_sat": sb_sat,
    "chinese_reading": chinese_reading,
    "interead": interead,
}
