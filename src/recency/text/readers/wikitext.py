"""WikiText (Merity et al. 2017): articles of Wikipedia; raw, or tokenised with rare words `<unk>`.

The files are text, or Parquet with one line per row (column `text`), with or without line breaks.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from recency.text.readers import parquet, plain
from recency.text.utf8 import decoded_file

# An article's title, between blank lines: ` = Title = `; its headings have more signs.
TITLE = re.compile(r" = (?!= ).+? = ")
MARK = re.compile(r" @([-,.])@ ")


def read(paths: list[Path], join: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each article, streamed; with `join`, `@-@`, `@,@`, `@.@` become `-`, `,`, `.` again."""
    for path in paths:
        lines = _rows(path) if path.suffix == ".parquet" else plain.lines(decoded_file(path))
        if join:
            lines = (MARK.sub(r"\1", line) for line in lines)
        for number, article in enumerate(_articles(lines), start=1):
            yield f"{path.stem}-{number:05}", article


def _rows(path: Path) -> Iterator[str]:
    for _, row in parquet.read([path], blanks=True):
        yield row.removesuffix("\n")


def _articles(lines: Iterable[str]) -> Iterator[str]:
    """Split the lines at titles, which have a blank line before and after."""
    article: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        title = len(article) > 1 and not article[-2].strip() and TITLE.fullmatch(article[-1])
        if (title and not line.strip()) or size > plain.LONGEST:
            if before := "\n".join(article[:-1]).strip():
                yield before
            article = article[-1:]
            size = sum(map(len, article)) + len(line) + 2
        article.append(line)
    if last := "\n".join(article).strip():
        yield last
