"""Corpora that their users have to supply, made in their authors' layouts and with their quirks.

Each function writes files as `data/supplied` has them, of sentences of five to twelve words, and returns how
many observations each measure keeps by the filters of the paper (Clark et al. 2025, Section 2.1), counted as
the records are written.
"""

import random
import zipfile
from itertools import pairwise
from pathlib import Path

from openpyxl import Workbook

TEXT = "rain fell on the old town all night while nobody spoke about £20 naïve plans"


def sentences(count: int, seed: int) -> list[list[str]]:
    """Return sentences; each ends with a full stop and begins with a capital."""
    draw, words = random.Random(seed), TEXT.split()
    made = [[draw.choice(words) for _ in range(draw.randint(5, 12))] for _ in range(count)]
    return [[first.capitalize(), *middle, f"{last}."] for first, *middle, last in made]


def brown(folder: Path, texts: int = 13, readers: int = 35, each: int = 40) -> dict[str, int]:
    """Write brown_spr.csv: an index, repeated rows, words with a space inside, times out of bounds."""
    draw, kept = random.Random(1), 0
    lines = [",subject,word,code,text_id,text_pos,word_in_exp,time"]
    for reader in range(readers):
        shown = 0
        for text in range(texts):
            position = 0
            for sentence in sentences(each, text):
                for place, word in enumerate(sentence):
                    time = round(draw.lognormvariate(5.6, 0.7), 1)
                    shown_as = word.replace("night", "ni ght")
                    line = f"s{reader},{shown_as},{position},{text},{position},{shown},{time}"
                    repeats = 1 + (draw.random() < 0.001)
                    lines += [f"{len(lines) + n},{line}" for n in range(repeats)]
                    kept += 100 < time < 3000 and 0 < place < len(sentence) - 1
                    position, shown = position + 1, shown + 1
    (folder / "brown_spr.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"SPR": kept}


def geco(folder: Path, pages: int = 588, readers: int = 14, each: int = 10) -> dict[str, int]:
    """Write GECO's two workbooks: unread words are `.`, some sentences `#N/A`, columns are many."""
    draw, kept = random.Random(2), {"FP": 0, "GP": 0}
    material = Workbook(write_only=True)
    sheet = material.create_sheet("ALL")
    sheet.append(["WORD_ID", "PART", "SENTENCE_ID", "WORD", "WORD_LENGTH"])
    text = []  # (part, page, [(place on the page, sentence, word, is an edge)])
    for page in range(pages):
        part, rows, place = 1 + 4 * page // pages, [], 0
        for number, sentence in enumerate(sentences(each, page)):
            for at, word in enumerate(sentence):
                place += 1
                edge = at in (0, len(sentence) - 1)
                rows.append((place, f"{part}-{page * each + number}", word, edge))
                joined = at > 0 and draw.random() < 0.002  # joins the sentence before it
                name = "#N/A" if joined else rows[-1][1]
                sheet.append([f"{part}-{page + 5}-{place}", part, name, word, len(word)])
        text.append((part, page + 5, rows))
    material.create_sheet("SENTENCE").append(["SENTENCE_ID"])
    material.save(folder / "EnglishMaterial.xlsx")
    times = Workbook(write_only=True)
    sheet = times.create_sheet("DATA")
    others = [f"WORD_RUN_{n}" for n in range(12)]
    columns = ["WORD_FIRST_FIXATION_TIME", "WORD_GAZE_DURATION", "WORD_GO_PAST_TIME"]
    sheet.append(
        ["PP_NR", "PART", "TRIAL", *columns, "WORD_TOTAL_READING_TIME", "WORD_ID", *others]
    )
    for reader in range(readers):
        for part, page, rows in text:
            clock, before = 100, None
            for place, _, _, edge in rows:
                row = [f"pp{reader + 21}", part, page]
                if draw.random() < 0.35:
                    row += ["."] * 4
                else:
                    gaze = draw.randint(80, 400)
                    row += [clock, gaze, gaze + 30, gaze + 60]
                    step = 0 if before is None else place - before
                    if not edge and step <= 4:
                        kept = {measure: count + 1 for measure, count in kept.items()}
                    clock, before = clock + gaze, place
                sheet.append([*row, f"{part}-{page}-{place}", *["."] * len(others)])
    times.save(folder / "MonolingualReadingData.xlsx")
    return kept


def dundee(folder: Path, texts: int = 20, readers: int = 10, each: int = 300) -> dict[str, int]:
    """Write the .dat files in a zip: Latin-1, CRLF, blinks, glances off the screen, lines and screens."""
    draw, kept = random.Random(3), {"SP": 0, "FP": 0, "GP": 0}
    path = folder / "dundee.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for text in range(1, texts + 1):
            words, lines = (
                [],
                [],
            )  # words: (word, is an edge), of lines of 9 words and screens of 5 lines
            for sentence in sentences(each, text):
                words += [(w, n in (0, len(sentence) - 1)) for n, w in enumerate(sentence)]
            for number, (word, _) in enumerate(words):
                line, screen = number // 9 % 5 + 1, number // 45 + 1
                rest = f"{number % 9 + 1} {number % 45 + 1} 3 3 0 0 0 0"
                lines.append(f"{word:<15} {text} {screen} {line} {rest} {number + 1} 99")
            name = f"Data/tx{text:02}wrdp.dat"
            archive.writestr(name, ("\r\n".join(lines) + "\r\n").encode("latin-1"))
            inner = [
                not edge and 0 < n % 9 < 8 and 0 < n < len(words) - 1
                for n, (_, edge) in enumerate(words)
            ]
            for reader in range(readers):
                record = _record(draw, words, inner, text, kept)
                name = f"Data/s{chr(97 + reader)}{text:02}ma1p.dat"
                archive.writestr(name, ("\r\n".join(record) + "\r\n").encode("latin-1"))
        archive.writestr("Data/readme.txt", "x")
    return kept


def _record(draw, words, inner, text, kept) -> list[str]:
    """Return one reader's fixations on a text, read from left to right, each word once or twice."""
    lines = ["WORD TEXT LINE OLEN WLEN XPOS WNUM FDUR OBLP"]
    read = [n for n in range(len(words)) if draw.random() < 0.6]
    for before, number in pairwise([-1, *read]):
        for again in range(1 + (draw.random() < 0.15)):
            lines.append(
                f"{words[number][0]} {text} 1 3 3 10 {number + 1} {draw.randint(60, 400)} 1"
            )
            step = 0 if again else number - before
            kept["SP"] += inner[number] and step <= 4
        if inner[number] and number - before <= 4:
            kept["FP"], kept["GP"] = kept["FP"] + 1, kept["GP"] + 1
        if draw.random() < 0.02:
            lines.append(f"*Blink {text} 1 0 0 0 0 {draw.randint(20, 90)} 1")
    return lines
