"""WikiText (Merity et al. 2017): articles of Wikipedia, tokenised, rare words as `<unk>`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from corpora import decoded

# An article's title stands between empty lines: ` = Title = `; its headings have more signs.
TITLE = re.compile(r"(?<=\n \n) = (?!= )[^\n]+? = (?=\n \n)")


def read(paths: list[Path], join: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each article; with `join`, the marks `@-@`, `@,@`, `@.@` become `-`, `,`, `.` again."""
    for path in paths:
        text = "\n" + decoded(path.read_bytes(), path)
        if join:
            text = re.sub(r" @([-,.])@ ", r"\1", text)
        starts = [match.start() for match in TITLE.finditer(text)] or [0]
        if text[: starts[0]].strip():
            starts.insert(0, 0)
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)]), start=1):
            yield f"{path.stem}-{number:05}", text[start:end].strip()
