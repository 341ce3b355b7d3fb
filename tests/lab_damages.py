"""Damages of a lab's table of reading times, and what a message says that names each."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from lab_tables import Lab

ROLES = ("subject", "item", "sentence", "position", "place", "word", "length", "time")


@dataclass(frozen=True)
class Made:
    """A table as a lab has it, and its truth.

    `cells` are texts, a column a role, in the lab's order; `truth` has subject, text, sentence, place,
    word and time (NaN: none) of each row. `named` is a regular expression of the damage's message; None: the
    truth alone is right. `change` is applied to the bytes of the file.
    """

    lab: Lab
    cells: pd.DataFrame
    truth: pd.DataFrame
    named: str | None = None
    change: object = None
    separator: str | None = None
    quoting: int = 0

    def data(self) -> bytes:
        """Return the file."""
        named = self.cells.rename(columns=self.lab.columns)
        text = named.to_csv(
            index=False, sep=self.separator or self.lab.separator, quoting=self.quoting
        )
        data = text.encode()
        return data if self.change is None else self.change(data)

    def column(self, role: str) -> str:
        """Return a role's column, escaped for an expression."""
        return re.escape(self.lab.columns[role])


def made(lab: Lab, frame: pd.DataFrame) -> Made:
    """Return the undamaged table of rows of `lab_tables.table`."""
    times = [
        lab.missing if np.isnan(time) else f"{time:.2f}".rstrip("0").rstrip(".")
        for time in frame.time
    ]
    cells = frame.assign(time=times).astype("str")
    text = frame["item"] if "item" in lab.columns else frame.sentence.astype("str")
    truth = frame.assign(text=text, time=frame.time.round(2))
    columns = [role for role in lab.columns if role in ROLES]
    return Made(
        lab, cells[columns], truth[["subject", "text", "sentence", "place", "word", "time"]]
    )


def _numbers(t: Made) -> pd.Series:
    return pd.to_numeric(t.cells.time, errors="coerce").astype(float)


def _row(t: Made, share=0.6) -> int:
    """Return a row inside a sentence, with a time above 0."""
    words = t.cells.word
    inside = ~words.str.contains(r"[.!?]") & ~words.shift(1, fill_value=".").str.contains(r"[.!?]")
    timed = _numbers(t) > 0
    rows = np.flatnonzero(inside & timed & words.shift(-1, fill_value=".").str.isalpha())
    return int(rows[int(share * len(rows))])


def _cell(role, value, *shares, named=None, lost=False, means=True):
    """Return a damage that writes a value into cells; {line}, {column} and {value} are filled in."""

    def damage(t: Made, draw) -> Made | None:
        if role not in t.cells or (t.lab.means and not means):
            return None  # a word that stands there once is what it is
        rows = [_row(t, share) for share in shares or (0.6,)]
        cells = t.cells.copy()
        old = cells.loc[rows[0], role]
        cells.loc[rows, role] = value(old) if callable(value) else value
        shown = re.escape(cells.loc[rows[0], role])
        expression = named and named.format(line=min(rows) + 2, column=t.column(role), value=shown)
        truth = t.truth.assign(time=t.truth.time.drop(index=rows)) if lost else t.truth
        return replace(t, cells=cells, truth=truth, named=expression)

    return damage


def _with(named=None, **options):
    return lambda t, draw: replace(t, named=named, **options)


def _rows(function, named=None):
    """Return a damage of the rows: a function of the cells and the row of a word."""

    def damage(t: Made, draw) -> Made | None:
        cells = function(t, _row(t), draw)
        return None if cells is None else replace(t, cells=cells, named=named)

    return damage


def _same_word(t: Made, row: int) -> pd.Series:
    """Return which rows are of the word of a row."""
    keys = [k for k in ("item", "sentence", "position", "place") if k in t.cells]
    return (t.cells[keys] == t.cells.loc[row, keys]).all(axis=1)


def _word_lost(t, row, draw):
    return t.cells[~_same_word(t, row)]


def _row_lost(t, draw):
    row = _row(t)
    if t.lab.means:
        return None
    return replace(
        t, cells=t.cells.drop(index=row), truth=t.truth.assign(time=t.truth.time.drop(index=row))
    )


def _repeated(t, draw):
    row = _row(t)
    cells = pd.concat([t.cells[: row + 1], t.cells[row:]])
    return replace(t, cells=cells, named=f"line {row + 3}: .*(already|second response)")


def _scaled(mask, factor, t, named):
    time = _numbers(t)
    scaled = (time * factor).map(lambda v: f"{v:.6g}")
    return replace(
        t, cells=t.cells.assign(time=t.cells.time.mask(mask & time.notna(), scaled)), named=named
    )


def _seconds(t, draw):
    truth = t.truth.assign(time=(t.truth.time / 1000).map(lambda v: float(f"{v:.6g}")) * 1000)
    return replace(_scaled(pd.Series(True, t.cells.index), 0.001, t, None), truth=truth)


def _some_seconds(t, draw):
    mask = pd.Series(draw.random(len(t.cells)) < 0.05, t.cells.index)
    return _scaled(mask, 0.001, t, "are they seconds|another unit")


def _text_seconds(t, draw):
    key = "item" if "item" in t.cells else "sentence"
    if t.cells[key].nunique() < 2:
        return None
    text = t.cells[key].unique()[1]
    named = r"median time of text .* another unit"
    return _scaled(t.cells[key] == text, 0.001, t, named)


def _reader_seconds(t, draw):
    if t.lab.means:
        return None
    reader = t.cells.subject.unique()[2]
    named = rf"times of another size: {re.escape(reader)}|{re.escape(reader)}.*seconds"
    return _scaled(t.cells.subject == reader, 0.001, t, named)


def _thousands(mark, decimal="."):
    def damage(t, draw):
        time = _numbers(t)
        rows = [_row(t, share) for share in (0.2, 0.5, 0.8)]
        time[rows] = [1012.0, 1250.0, 2004.0]
        swap = str.maketrans({",": mark, ".": decimal})
        text = time.map(lambda v: (f"{v:,.2f}".rstrip("0").rstrip(".")).translate(swap))
        truth = t.truth.copy()
        truth.loc[rows, "time"] = time[rows]
        named = None
        return replace(
            t,
            cells=t.cells.assign(time=text.where(time.notna(), t.lab.missing)),
            truth=truth,
            named=named,
        )

    return damage


def _decimal_commas(separator):
    def damage(t, draw):
        time = _numbers(t)
        text = time.map(lambda v: f"{v + 0.25 * (v > 0):.2f}".replace(".", ","))
        truth = t.truth.assign(time=t.truth.time + 0.25 * (t.truth.time > 0))
        text = text.where(time.notna(), t.lab.missing)
        return replace(t, cells=t.cells.assign(time=text), truth=truth, separator=separator)

    return damage


def _copied(t, draw):
    if t.lab.means:
        return None
    reader = t.cells.subject.unique()[2]
    again = t.cells[t.cells.subject == reader].assign(subject="s77")
    named = (
        rf"'({re.escape(reader)}|s0*77)' and '({re.escape(reader)}|s0*77)' have the same responses"
    )
    return replace(t, cells=pd.concat([t.cells, again]), named=named)


def _spelled(t, draw):
    if t.lab.means or not t.cells.subject.str.contains("[a-zA-Z]").any():
        return None
    upper = t.cells.subject.str.swapcase()
    named = "written in two ways|one label in two spellings"
    return replace(
        t,
        cells=t.cells.assign(subject=t.cells.subject.where(t.cells.index % 40 > 0, upper)),
        named=named,
    )


def _reader_shuffled(t, draw):
    chosen = (
        t.cells.subject == t.cells.subject.unique()[2] if not t.lab.means else t.cells.word != ""
    )
    cells = t.cells.copy()
    cells.loc[chosen, "time"] = draw.permutation(cells.time[chosen].to_numpy())
    return replace(t, cells=cells, named="shuffl|correlat|word length")


def _moved(by, who="all"):
    def damage(t, draw):
        keys = [k for k in ("subject", "item") if k in t.cells] or ["sentence"]
        if keys == ["subject"]:
            keys = ["subject", "sentence"]
        time = t.cells.groupby(keys, sort=False).time.shift(by, fill_value="300")
        return replace(
            t, cells=t.cells.assign(time=time), named=r"correlat|Move each time|too (early|late)"
        )

    return damage


def _run(t, draw):
    row = _row(t, 0.3)
    cells = t.cells.copy()
    cells.loc[row : row + 39, "time"] = "402"
    return replace(t, cells=cells, named=r"402 \d+ times in a row|has 402")


def _one_time(t, draw):
    if t.lab.means:
        return None
    reader = t.cells.subject.unique()[2]
    cells = t.cells.assign(time=t.cells.time.mask(t.cells.subject == reader, "350"))
    return replace(t, cells=cells, named="same time throughout|350 .* times in a row")


def _apostrophes(t):
    """Return the table with typographic apostrophes, quotes or letters of its words, None if it has none."""
    words = t.cells.word.str.replace("'", "’", regex=False)
    if not words.str.contains("[^\x00-\x7f]").any():
        return None
    truth = t.truth.assign(word=t.truth.word.str.replace("'", "’", regex=False))
    return replace(t, cells=t.cells.assign(word=words), truth=truth)


def _mojibake(encoding):
    def damage(t, draw):
        if (t := _apostrophes(t)) is None:
            return None

        def wrong(data):
            return data.decode(encoding, "ignore").encode()

        return replace(
            t, change=wrong, named="UTF-8 read as another encoding|control character|lost"
        )

    return damage


def _encoded(encoding):
    def damage(t, draw):
        if (t := _apostrophes(t)) is None:
            return None
        try:
            data = t.data().decode().encode(encoding)
        except UnicodeEncodeError:
            return None
        return replace(t, change=lambda _: data)

    return damage


def _percents(t, draw):
    if not t.cells.word.str.contains(",").any():
        return None
    return replace(t, cells=t.cells.assign(word=t.cells.word.str.replace(",", "%2C")))


def _some_percents(t, draw):
    words = t.cells.word.str.replace(",", "%2C")
    row = _row(t)
    if not words.str.contains("%").any():
        return None
    words = words.mask(_same_word(t, row), "5%")
    truth = t.truth.assign(word=t.truth.word.mask(_same_word(t, row), "5%"))
    return replace(t, cells=t.cells.assign(word=words), truth=truth, named="percent-encoding in")


def _cut(keep):
    """Return a damage that cuts the last line; `keep` is the number of its fields that are left."""

    def damage(t, draw):
        separator = t.lab.separator.encode()

        def cut(data):
            lines = data.rstrip(b"\n").split(b"\n")
            fields = lines[-1].split(separator)
            left = max(1, int(len(fields) * keep))
            return b"\n".join([*lines[:-1], separator.join(fields[:left])])

        return replace(t, change=cut, named=r"line \d+: \d+ fields.*cut off")

    return damage


def _cut_number(t, draw):
    return replace(
        t, change=lambda data: data.rstrip(b"\n")[:-1], named="has no end of line|cut off"
    )


def _header_again(t, draw):
    def change(data):
        lines = data.split(b"\n")
        return b"\n".join([*lines[:200], lines[0], *lines[200:]])

    return replace(t, change=change, named="line 201: the header again")


def _trailing(header):
    def damage(t, draw):
        end = (t.separator or t.lab.separator).encode() + b"\n"

        def change(data):
            first, _, rest = data.partition(b"\n")
            first += end if header else b"\n"
            return first + rest.replace(b"\n", end)

        return replace(
            t, change=change, named=None if header else r"separator at the end of each line"
        )

    return damage


def _blank_lines(t, draw):
    def change(data):
        lines = data.split(b"\n")
        return b"\n".join([*lines[:200], b"", *lines[200:400], b"", *lines[400:]])

    return replace(t, change=change)


def _merged_alone(t, draw):
    """One reader's row has its word and the next."""
    row = _row(t)
    if t.lab.means:
        return None
    cells = t.cells.copy()
    both = cells.word[row] + cells.word[row + 1]
    cells.loc[row, "word"] = both
    return replace(t, cells=cells, named=re.escape(both))


def _merged(space):
    """Every row of a word has the next one, too, whose rows are lost; positions are counted afresh."""

    def damage(t, draw):
        row = _row(t)
        if "item" in t.cells and "sentence" in t.cells and "place" in t.cells:
            return None
        cells = t.cells.copy()
        both = cells.word[row] + space + cells.word[row + 1]
        cells.loc[_same_word(t, row), "word"] = both
        gone = _same_word(t, row + 1)
        number = "place" if "place" in cells else "position"
        keys = [k for k in ("item", "sentence") if k in cells]
        later = (cells[keys] == cells.loc[row, keys]).all(axis=1)
        value = cells[number].astype(int)
        value = value - (later & (value > value[row])).astype(int)
        cells = cells.assign(**{number: value.astype(str)})[~gone]
        return replace(t, cells=cells, named=re.escape(both) if space else r"\bmerged\b")

    return damage


def _two_texts(t, draw):
    key = "item" if "item" in t.cells else "sentence"
    labels = t.cells[key].unique()
    if len(labels) < 2:
        return None
    cells = t.cells.assign(**{key: t.cells[key].replace(labels[1], labels[0])})
    return replace(
        t,
        cells=cells,
        named=r"word \d+ of .* is '.*before it was|another place|two places|no word before",
    )


def _text_missing(t, draw):
    key = "item" if "item" in t.cells else "sentence"
    if t.lab.means or t.cells[key].nunique() < 2:
        return None
    gone = (t.cells.subject == t.cells.subject.unique()[1]) & (
        t.cells[key] == t.cells[key].unique()[1]
    )
    return replace(t, cells=t.cells[~gone], truth=t.truth[~gone])


def _without(role, named=None):
    def damage(t, draw):
        if role not in t.cells:
            return None
        return replace(t, cells=t.cells.drop(columns=role), named=named)

    return damage


def _no_readers(t, draw):
    if t.lab.means:
        return None
    return replace(
        t, cells=t.cells.drop(columns="subject"), named="second response|times over|begins again"
    )


def _no_times(t, draw):
    """Empty all times of a reader."""
    if t.lab.means:
        return None
    chosen = t.cells.subject == t.cells.subject.unique()[2]
    cells = t.cells.assign(time=t.cells.time.mask(chosen, t.lab.missing))
    return replace(t, cells=cells, truth=t.truth.assign(time=t.truth.time.mask(chosen)))


def _shuffled(t, draw):
    return replace(t, cells=t.cells.iloc[draw.permutation(len(t.cells))])


def _by_word(t, draw):
    return replace(t, cells=t.cells.sort_values("word", kind="stable"))


def _unquoted(t, draw):
    """Words with commas stand there without quotes."""
    if t.lab.separator != "," or not t.cells.word.str.contains(",").any():
        return None
    return replace(t, change=lambda data: data.replace(b'"', b""), named=r"line \d+: \d+ fields")


def _spaced(t, draw):
    """Spaces stand around cells."""
    return replace(t, cells=t.cells.map(lambda value: f" {value} "))


#: name → damage: a function of the table and a random generator; None if the table can't have it.
DAMAGES = {
    "none": lambda t, draw: t,
    "shuffled rows": _shuffled,
    "sorted by word": _by_word,
    "byte order mark": _with(change=lambda data: b"\xef\xbb\xbf" + data),
    "CRLF": _with(change=lambda data: data.replace(b"\n", b"\r\n")),
    "all quoted": _with(quoting=1),
    "text quoted": _with(quoting=2),
    "semicolons": _with(separator=";"),
    "tabs": _with(separator="\t"),
    "spaces around cells": _spaced,
    "blank lines": _blank_lines,
    "Windows-1252": _encoded("cp1252"),
    "UTF-16": _with(change=lambda data: data.decode().encode("utf-16"), named="UTF-16"),
    "empty reader": _cell("subject", "", named="line {line}: {column} is empty"),
    "NA reader": _cell("subject", "NA", named="line {line}: {column} is 'NA'"),
    "empty text": _cell("item", "", named="line {line}: {column} is empty"),
    "empty sentence": _cell("sentence", "", named="line {line}: {column} is empty"),
    "empty place": _cell("place", "", named="line {line}: {column} is ''"),
    "empty position": _cell("position", "", named="line {line}: {column} is ''"),
    "place of text": _cell("place", "x", named="line {line}: {column} is 'x'"),
    "position of text": _cell("position", "x", named="line {line}: {column} is 'x'"),
    "half a place": _cell("place", lambda v: f"{v}.5", named="line {line}: {column} is '{value}'|{column} looks like positions"),
    "empty word": _cell("word", "", named="line {line}: {column} is ''"),
    "another word": _cell("word", "zebra", means=False, named="is 'zebra'|before it was 'zebra'"),
    "another word's place": _cell("place", lambda v: str(int(v) + 1), named="line {line}|before it was|already"),
    "another reader": _cell("subject", "s77", named="s0*77|line {line}"),
    "empty time": _cell("time", "", lost=True),
    "n/a": _cell("time", "n/a", 0.3, 0.6, lost=True),
    "dash": _cell("time", "-", lost=True),
    "-999": _cell("time", "-999", 0.3, 0.6, 0.8, named="line {line}: {column} is '-999'"),
    "-1": _cell("time", "-1", 0.3, 0.6, named="line {line}: {column} is '-1'"),
    "99999": _cell("time", "99999", 0.3, 0.5, 0.6, 0.7, 0.8, named="99,?999"),
    "time with unit": _cell("time", "402 ms", named="line {line}: {column} is '402 ms'"),
    "two times": _cell("time", "402|403", named=r"line {line}: {column} is '402\|403'"),
    "letter O": _cell("time", "4O2", named="line {line}: {column} is '4O2'"),
    "infinity": _cell("time", "Inf", named="line {line}: {column} is 'Inf'"),
    "spreadsheet error": _cell("time", "#REF!", named="line {line}: {column} is '#REF!'"),
    "thousands, commas": _thousands(","),
    "thousands, points": _thousands(".", ","),
    "thousands, spaces": _thousands(" "),
    "thousands, apostrophes": _thousands("'"),
    "decimal commas, ;": _decimal_commas(";"),
    "decimal commas, quoted": _decimal_commas(","),
    "decimal commas, tabs": _decimal_commas("\t"),
    "seconds": _seconds,
    "some seconds": _some_seconds,
    "a text in seconds": _text_seconds,
    "a reader in seconds": _reader_seconds,
    "repeated row": _repeated,
    "table twice": _rows(lambda t, row, draw: pd.concat([t.cells, t.cells]), "already|second response|times over|begins again"),
    "word lost": _rows(_word_lost, r"no word before \d"),
    "row lost": _row_lost,
    "reader copied": _copied,
    "reader in two spellings": _spelled,
    "reader shuffled": _reader_shuffled,
    "times of the row before": _moved(1),
    "times of the row after": _moved(-1),
    "constant run": _run,
    "constant reader": _one_time,
    "reader without times": _no_times,
    "percent-encoding": _percents,
    "some percent-encoding": _some_percents,
    "mojibake, Latin-1": _mojibake("latin-1"),
    "mojibake, Windows": _mojibake("cp1252"),
    "last line cut": _cut(0.5),
    "last number cut": _cut_number,
    "header again": _header_again,
    "comma at line ends": _trailing(False),
    "comma at all line ends": _trailing(True),
    "merged for one reader": _merged_alone,
    "merged with a space": _merged(" "),
    "merged": _merged(""),
    "two texts with one id": _two_texts,
    "text missing for a reader": _text_missing,
    "no sentences": _without("sentence", "before it was|neither a column .* nor sentence"),
    "no places": _without("place"),
    "no positions": _without("position"),
    "no texts": _without("item", "before it was|no word before|sentences shown alone"),
    "no readers": _no_readers,
    "no words": _rows(lambda t, row, draw: t.cells.drop(columns="word"), "no column looks like words"),
    "commas unquoted": _unquoted,
}  # fmt: skip
