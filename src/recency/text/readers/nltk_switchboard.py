"""Telephone calls of NLTK's Switchboard sample (Godfrey et al. 1992), 36 of them."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from recency.text.utf8 import decoded


def read(paths: list[Path], labels: bool = True) -> Iterator[tuple[str, str]]:
    """Yield each call, one turn per line; without `labels`, remove `A.1:` before a turn."""
    for path in paths:
        with zipfile.ZipFile(path) as archive:
            name = "switchboard/transcript"
            text = decoded(archive.read(name), f"{path}:{name}")
        if not labels:
            text = re.sub(r"(?m)^[AB]\.\d+: ", "", text)
        calls = [call.strip() for call in text.split("\n\n")]
        for number, call in enumerate(filter(None, calls), start=1):
            yield f"call{number:02}", call
