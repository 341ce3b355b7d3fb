"""Novels, one plain-text file each, as in 100 English Novels (Computational Stylistics Group)."""

import re
from collections.abc import Iterator
from pathlib import Path

from recency.text.utf8 import decoded


def read(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield each novel with runs of blanks, and of line breaks, replaced by one."""
    for path in paths:
        text = decoded(path.read_bytes(), path)
        text = re.sub(r"[ \t]+", " ", text)
        text = re.sub(r"\n{2,}", "\n", text)
        yield path.stem, text.strip("\n ")
