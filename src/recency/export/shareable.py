"""Results that may be shared: without texts, responses of single words, readers, or folders of this machine.

A table is left out, with the figure or page made from it, if a column holds words, texts, readers
or single responses: by its name, or by its values, compared with the corpora of the run. Pages
(explorer, quality reports, the report with its captions) and logs may hold all of these.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any

OPTION = "`export: {texts_and_times: true}` in the config includes them"
COLUMNS = frozenset(
    [
        "subject",
        "reader",
        "participant",
        "item",
        "stimulus",
        "sentence",
        "text",
        "context",
        "original",
        "continuation",
        "word",
        "word_id",
        "neighbour",
        "token",
        "query_token",
        "key_token",
        "time_ms",
        "amplitude_uv",
    ]
)
"""Columns that hold texts, readers or single responses."""
TABLES = (".csv", ".parquet")
TEXTS = (".csv", ".html", ".json", ".svg", ".tex", ".txt")
PHRASE = 5
"""Words in a row that make a passage of a corpus recognisable within other text."""
SENTENCE = 3
"""Words of a setting that is a text of a corpus as a whole."""
STIMULUS = "(a text of a corpus)"
_WORD = re.compile(r"[^\W\d_]+")


def _alphabetic(text: str) -> list[str]:
    """Return the words of a text in lower case, without digits and punctuation."""
    return _WORD.findall(text.lower())


def _is_distinctive(subject: str) -> bool:
    """Return whether a reader's id is recognisable outside of a column of ids."""
    if subject.isdigit():
        return len(subject) >= 5
    return len(subject) >= (4 if subject.isalpha() else 2)


@dataclass(frozen=True)
class Private:
    """The readers and texts of a run's corpora, which shared files must not hold.

    Parameters
    ----------
    readers : tuple of str
        Ids, sorted.
    words : frozenset of str
        Words of the texts, in lower case.
    phrases : frozenset of tuple of str
        Every `PHRASE` words in a row.
    text : str
        All words of the texts, separated by spaces, without digits and punctuation.
    """

    readers: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    phrases: frozenset[tuple[str, ...]] = field(default=frozenset(), repr=False)
    text: str = field(default="", repr=False)

    @classmethod
    def read(cls, words: Iterable[str | Path], responses: Iterable[str | Path]) -> Private:
        """Return those of contract 1 (`words`) and of responses."""
        import pandas as pd  # which plans avoid

        listed = [pd.read_parquet(path, columns=["word"])["word"].astype(str) for path in words]
        rows = [_alphabetic(" ".join(column)) for column in listed]
        subjects = {
            str(subject)
            for path in responses
            for subject in pd.read_parquet(path, columns=["subject"])["subject"].unique()
        }
        return cls(
            readers=tuple(sorted(subjects)),
            words=frozenset(word.lower() for column in listed for word in column.unique()),
            phrases=frozenset(
                gram for row in rows for gram in zip(*_shift_sequence(row), strict=False)
            ),
            text="".join(f" {' '.join(row)} " for row in rows),
        )

    @property
    def _of_readers(self) -> re.Pattern[str] | None:
        """Return the pattern of the readers' distinctive ids, longest first."""
        ids = sorted(filter(_is_distinctive, self.readers), key=len, reverse=True)
        listed = "|".join(map(re.escape, ids))
        return re.compile(rf"(?<!\w)(?:{listed})(?!\w)") if ids else None

    def reason(self, path: Path) -> str:
        """Return why a file may not be shared; "" if it may.

        All formats of a figure or table are left out if one holds something: letters in a picture
        cannot be searched.
        """
        if path.suffix == ".log" or (path.suffix == ".html" and not path.name.startswith("table_")):
            return "pages and logs may hold texts, times and readers"
        endings = dict.fromkeys(
            [path.suffix, *TABLES, *TEXTS] if path.suffix != ".txt" else [".txt"]
        )
        formats = [file for end in endings if (file := path.with_suffix(end)).exists()]
        return next(filter(None, map(self._reason_of, formats)), "")

    def _reason_of(self, path: Path) -> str:
        """Return why the content of one file may not be shared; "" if it may."""
        if path.suffix in TABLES and (column := self.column(path)):
            return f"column {column} of {path.name} holds texts, readers or single responses"
        if path.suffix in TEXTS:
            return self.reason_of_text(html.unescape(path.read_text(encoding="utf-8")))
        return ""

    def column(self, table: Path) -> str:
        """Return the first column of a table with texts, readers or single responses; "" if none."""
        import pandas as pd

        if table.suffix == ".csv":
            frame = pd.read_csv(table, dtype=str, keep_default_na=False)
        else:
            frame = pd.read_parquet(table)
        for name, column in frame.items():
            if str(name).lower() in COLUMNS:
                return str(name)
            if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
                continue
            values = {str(value) for value in column.unique()} - {""}
            of_words = sum(v.lower() in self.words and not v.isdigit() for v in values)
            of_readers = sum(v in self.readers and not v.isdigit() for v in values)
            if len(values) >= 5 and max(of_words, of_readers) >= 0.8 * len(values):
                return str(name)
        return ""

    def reason_of_text(self, text: str) -> str:
        """Return why a text may not be shared; "" if it may."""
        if self._of_readers and self._of_readers.search(text):
            return "holds a reader's id"
        if self.phrases.intersection(zip(*_shift_sequence(_alphabetic(text)), strict=False)):
            return "holds a passage of a corpus"
        if _names_folder(text):
            return "holds a folder of this machine"
        return ""

    def redacted(self, value: Any) -> Any:
        """Return settings without readers' ids, texts of corpora, and folders of this machine."""
        if isinstance(value, dict):
            return {self.redacted(key): self.redacted(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.redacted(item) for item in value]
        return self.redacted_text(value) if isinstance(value, str) else value

    def redacted_text(self, text: str) -> str:
        """Return a text in which readers are numbered, without folders; STIMULUS for a corpus's text."""
        words = _alphabetic(text)
        whole = len(words) >= SENTENCE and f" {' '.join(words)} " in self.text
        if whole or self.phrases.intersection(zip(*_shift_sequence(words), strict=False)):
            return STIMULUS
        return self.without_readers(without_folders(text))

    def without_readers(self, text: str) -> str:
        """Return a text with distinctive ids of readers replaced by numbers."""
        if (pattern := self._of_readers) is None:
            return text
        return pattern.sub(lambda found: f"reader-{self.readers.index(found[0]) + 1}", text)


def without_folders(value: Any) -> Any:
    """Return settings with the names of files instead of paths that name folders of this machine."""
    if isinstance(value, dict):
        return {without_folders(key): without_folders(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(item) for item in value]
    if not isinstance(value, str):
        return value
    for path in (PurePath(value), PureWindowsPath(value)):
        leads_out = path.is_absolute() or value.startswith(("~", "../"))
        if leads_out and len(path.parts) > 1 + path.is_absolute():  # not a mere "/"
            return path.name
    return _without_home(value)


def _folders() -> Sequence[str]:
    """Return the folders of this machine that results may name: the run's and the user's."""
    folders = {str(Path.cwd()), str(Path.home())} - {"/"}
    return sorted(folders, key=len, reverse=True)


def _names_folder(text: str) -> bool:
    return any(f"{folder}/" in text for folder in _folders())


def _without_home(text: str) -> str:
    for folder in _folders():
        text = text.replace(f"{folder}/", "")
    return text


def _shift_sequence(words: Sequence[str]) -> list[Sequence[str]]:
    """Return a sequence from its first, second, … word on, to be zipped into phrases."""
    return [words[start:] for start in range(PHRASE)]
