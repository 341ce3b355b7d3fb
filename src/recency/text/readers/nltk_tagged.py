"""Tagged text of NLTK's data archives, the tags removed: Brown (`/`) and MASC (`_`).

Francis and Kučera (1979), A Standard Corpus of Present-Day Edited American English; Ide et al.
(2010), The Manually Annotated Sub-Corpus. The taggers' tokenization is kept.
"""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from recency.errors import InputError
from recency.text.utf8 import decoded

# Archive → pattern of its text files, and separator of word and tag.
ARCHIVES = {
    "brown": (r"brown/(c[a-r]\d\d)", "/"),
    "masc_tagged": (r"masc_tagged/((?:spoken|written)/.+)\.txt", "_"),
}


def read(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield each text of the archives, in the order of the names."""
    for path in paths:
        with zipfile.ZipFile(path) as archive:
            names = sorted(archive.namelist())
            corpus = names[0].split("/")[0] if names else ""
            if corpus not in ARCHIVES:
                raise InputError(f"{path} holds {corpus!r}, not one of {', '.join(ARCHIVES)}")
            pattern, mark = ARCHIVES[corpus]
            for name in names:
                if match := re.fullmatch(pattern, name):
                    yield match[1], remove_tags(decoded(archive.read(name), f"{path}:{name}"), mark)


def remove_tags(text: str, mark: str) -> str:
    """Remove the tag after the last `mark` of each word, and empty lines."""
    lines = (
        " ".join(word.rsplit(mark, 1)[0] for word in line.split()) for line in text.split("\n")
    )
    return "\n".join(line.strip() for line in lines if line.strip())
