"""Dundee corpus, eye tracking (Kennedy et al., 2003): 10 subjects read 20 newspaper texts.

Files: a folder or zip of the distribution's `.dat` files, or single ones. words: `tx01wrdp.dat` …,
no header, 13 or more fields between spaces: word, text, screen, line, position in line, position in
screen, …, position in text (the 13th). Optionally `sentences`: one sentence per line for all texts.

responses: `sa01ma1p.dat` … (subject, text), with a header: WORD … WNUM (position in text; 0: off the
text), FDUR (ms); `*Blink` and `*Off-screen` replace words. The time of a blink is added to the word
fixated before; a glance off the screen ends all sums (as in the paper's pipeline).

Responses have `words_since_fixation` (the saccade's length in words), `previous_fixated` (it is 1) and
`line_first`, `line_last`, `screen_first`, `screen_last`: the word's position on the page.
"""

import re
import zipfile
from collections import Counter
from pathlib import Path

import pandas as pd

from readingtimes import fixations
from readingtimes.contracts import one_of, same_words, word_table
from readingtimes.errors import InputError
from readingtimes.sentences import sentence_numbers
from readingtimes.strict_tables import content, warn

MEASURES = ("SP", "FP", "GP", "FFD", "TFT")
COLUMNS = {
    "responses": {
        "words_since_fixation": ("number", "distance from the word fixated before, words"),
        "previous_fixated": ("flag", "whether the word before was fixated"),
        "fixation": ("number", "the fixation's place in the text, from 1", {"measures": ("SP",)}),
        "line_first": ("flag", "whether the word is the first of its line"),
        "line_last": ("flag", "whether the word is the last of its line"),
        "screen_first": ("flag", "whether the word is the first of its screen"),
        "screen_last": ("flag", "whether the word is the last of its screen"),
    }
}
CHOICES = {"scan_path": ("fixation", "visit")}

_ENCODING = "latin-1"
_WORD_FILE = re.compile(r"tx(\d\d)wrdp\.dat$", re.IGNORECASE)
_FIXATION_FILE = re.compile(r"(s[a-z])(\d\d)ma1p\.dat$", re.IGNORECASE)
_FIELDS = {"word": 0, "screen": 2, "line": 3, "place": 12}
_BLINK, _OFF_SCREEN = "*Blink", "*Off-screen"


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the texts, one item each; without `sentences`, `sentences.ends` finds them."""
    files = dict(files)
    given = files.pop("sentences", None)
    frame = _pages(files)
    sentences = sentence_numbers(frame.word, frame.text, given)
    return word_table(frame.text.to_numpy(), sentences, frame.word.to_numpy())


def responses(
    files: dict[str, Path], words: pd.DataFrame, measure: str, *, scan_path: str = "fixation"
) -> pd.DataFrame:
    """Read `measure` in ms: SP (scan path), FP (first pass), GP (go past), FFD or TFT (total).

    `scan_path`: `fixation`, one row a fixation (the counts of Table 1), or `visit`, one row for all
    fixations until another word is fixated (Appendix A). The files of the texts must be there, too.
    """
    one_of("scan_path", scan_path, CHOICES["scan_path"])
    pages = _pages(files)
    same_words(pages.word, words, "the texts of dundee")
    frame = _sequence(files)
    if frame.empty:
        raise InputError(f"responses of dundee: no files like sa01ma1p.dat in {_places(files)}")
    word_ids = pages.assign(word_id=pages.index, shown=pages.word)
    word_ids = word_ids[["text", "place", "word_id", "shown"]]
    frame = frame.merge(word_ids, on=["text", "place"], how="left")
    if (lost := frame.word_id.isna()).any():
        at = frame[lost].iloc[0]
        raise InputError(f"{at.file}, line {at.line}: text {at.text} has no word {at.place}")
    if (other := frame.word != frame.shown).any():
        at = frame[other].iloc[0]
        warn(
            at.file,
            f"line {at.line}: {at.word!r} is {at.shown!r} in the text; {other.sum():,} such rows",
        )
    columns = ["subject", "text", "place", "duration", "off_screen"]
    sums = fixations.measure(*(frame[name].to_numpy() for name in columns))
    times = {"SP": frame.duration if scan_path == "fixation" else sums.visit}
    start = frame.groupby(["subject", "text"]).cumcount() == 0
    since = sums.words_since_fixation.mask(start, frame.place)
    out = pd.DataFrame({"subject": frame.subject, "word_id": frame.word_id.astype("int32")})
    out["time_ms"] = times.get(measure, sums.get(measure))
    out["words_since_fixation"] = since
    out["previous_fixated"] = (since == 1) & ~start
    if measure == "SP":
        out["fixation"] = frame.groupby(["subject", "text"]).cumcount() + 1
    return _with_edges(fixations.presented(out, words), pages)


def _with_edges(frame: pd.DataFrame, pages: pd.DataFrame) -> pd.DataFrame:
    """Flag the words at the starts and ends of lines and screens."""
    line = pages.text + "/" + pages.screen + "/" + pages.line
    screen = pages.text + "/" + pages.screen
    for name, position in {"line": line, "screen": screen}.items():
        frame[f"{name}_first"] = frame.word_id.map(position != position.shift())
        frame[f"{name}_last"] = frame.word_id.map(position != position.shift(-1))
    return frame


def _pages(files: dict[str, Path]) -> pd.DataFrame:
    """Read all texts' words in order: text, place, word, screen, line."""
    rows = []
    for name, data in _members(files):
        if (match := _WORD_FILE.search(name)) is None:
            continue
        for number, line in enumerate(data.decode(_ENCODING).splitlines(), start=1):
            fields = line.split()
            if not fields:
                continue
            if len(fields) <= max(_FIELDS.values()):
                raise InputError(
                    f"{name}, line {number}: {len(fields)} fields, expected 13 or more"
                )
            row = {key: fields[column] for key, column in _FIELDS.items()}
            row |= {"text": match[1], "place": _whole(name, number, row["place"], "the place")}
            expected = rows[-1]["place"] + 1 if rows and rows[-1]["text"] == row["text"] else 1
            if row["place"] != expected:
                raise InputError(
                    f"{name}, line {number}: word {row['place']}, expected {expected}; "
                    "the file may be cut off"
                )
            rows.append(row)
    if not rows:
        raise InputError(f"no files of words like tx01wrdp.dat in {_places(files)}")
    return pd.DataFrame(rows, dtype="object").astype({"place": "int64"})


def _sequence(files: dict[str, Path]) -> pd.DataFrame:
    """Read fixations on words in order, with times of blinks added to the previous one."""
    rows = []
    for name, data in _members(files):
        if (match := _FIXATION_FILE.search(name)) is None:
            continue
        lines = data.decode(_ENCODING).splitlines()
        header = lines[0].split() if lines else []
        for column in ("WORD", "WNUM", "FDUR"):
            if column not in header:
                raise InputError(f"{name} has no column {column}; it has: {', '.join(header)}")
        places = [header.index(column) for column in ("WORD", "WNUM", "FDUR")]
        fixations, off_screen = [], False
        usual = Counter(len(line.split()) for line in lines[1:] if line.strip()).most_common(1)
        for number, line in enumerate(lines[1:], start=2):
            fields = line.split()
            if not fields:
                continue
            if len(fields) <= max(places) or len(fields) != usual[0][0]:
                raise InputError(
                    f"{name}, line {number}: {len(fields)} fields, the header has {len(header)}, "
                    f"most lines have {usual[0][0]}; the file may be cut off"
                )
            word, position, time = (fields[i] for i in places)
            position, time = (
                _whole(name, number, position, "WNUM"),
                _whole(name, number, time, "FDUR"),
            )
            if word == _OFF_SCREEN:
                off_screen = True
            elif word == _BLINK:
                if fixations and not off_screen:
                    fixations[-1]["duration"] += time
            elif word.startswith("*"):
                raise InputError(
                    f"{name}, line {number}: {word} is neither {_BLINK} nor {_OFF_SCREEN}"
                )
            elif position > 0:
                key = {"subject": match[1].lower(), "text": match[2], "file": name, "line": number}
                fixations.append(
                    {
                        **key,
                        "word": word,
                        "place": position,
                        "duration": time,
                        "off_screen": off_screen,
                    }
                )
                off_screen = False
        rows += fixations
    return pd.DataFrame(rows)


def _members(files: dict[str, Path]) -> list[tuple[str, bytes]]:
    """Return all files in folders and zips, sorted by name."""
    members = []
    for path in map(Path, files.values()):
        if path.is_dir():
            members += [(f"{path}/{p.name}", p.read_bytes()) for p in path.rglob("*.dat")]
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if name.lower().endswith(".dat")]
                members += [(f"{path}/{name}", archive.read(name)) for name in names]
        else:
            members.append((str(path), content(path)))
    for name, data in members:
        if data.strip() and not data.endswith((b"\n", b"\r")):
            warn(name, "the last line has no end; if the file was cut off, get it again")
    members = [(name, data.removeprefix(b"\xef\xbb\xbf")) for name, data in members]
    return sorted(members, key=lambda pair: Path(pair[0]).name.lower())


def _whole(name: str, line: int, text: str, what: str) -> int:
    if not re.fullmatch(r"\d+(\.0*)?", text):
        raise InputError(f"{name}, line {line}: {what} is {text!r}, not a whole number from 0")
    return int(float(text))


def _places(files: dict[str, Path]) -> str:
    return ", ".join(map(str, files.values())) or "no file"
