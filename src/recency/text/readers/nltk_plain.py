"""Plain text of NLTK's data archives: presidents' inaugural and State of the Union addresses.

Seven of the 126 files are not UTF-8. Six of them are Big5, where only dashes, quotation marks, dots
and wide blanks are more than ASCII; the other, Eisenhower 1954, is Latin-1.
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path

from recency.text.utf8 import decoded


def read(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield each text of the archives, in the order of the names."""
    for path in paths:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".txt"):
                    text = address(archive.read(name), f"{path}:{name}")
                    yield Path(name).stem, text.strip()


def address(data: bytes, name: str) -> str:
    """Decode UTF-8, else Big5 if all non-ASCII characters are punctuation, else Latin-1."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        try:
            text = data.decode("big5")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        if any(c > "\x7f" and not "\u2010" <= c <= "\u2027" and c != "\u3000" for c in text):
            text = data.decode("latin-1")
        data = text.replace("\u3000", " ").encode("utf-8")
    return decoded(data, name)
