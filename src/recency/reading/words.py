"""Read the words of a reading-time corpus by the parser of its format into a table (contract 1)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from recency import contract_files
from recency.errors import InputError
from recency.reading import parsers
from recency.reading.contracts import check_words
from recency.reading.tagger import tag


@contextmanager
def _naming(files: Mapping[str, str | Path]) -> Iterator[None]:
    """Have an error name a file, or all that it is about."""
    try:
        yield
    except InputError as error:
        if any(str(path) in str(error) for path in files.values()):
            raise
        raise InputError(f"{', '.join(map(str, files.values()))}: {error}") from error


def read(module, parser: str, files: Mapping[str, Path], options: Mapping) -> pd.DataFrame:
    """Read and check words by a parser's module; an error names a file, or all that it is about."""
    with _naming(files):
        return check_words(module.words(files, **options), f"parser {parser}")


def main(
    files: Mapping[str, str | Path],
    parser: str,
    options: Mapping,
    out: str | Path,
    measures: Sequence[str] = (),
    tagger: Sequence[str | Path] = (),
) -> None:
    """Write item, sentence, position, word_id and word, and what else the parser has of words.

    `files` is role → path, `parser` a module of recency.reading.parsers, `options` its own keyword
    arguments. `measures` are the dataset's, for a parser whose words could be mistaken for them. With a
    `tagger` (one file of recency.reading.tagger) words get their part of speech, `pos`, by it.
    """
    module = parsers.parser(parser)
    chosen = parsers.accepted(module, module.words, dict(options or {}))
    if module.MEASURES is None:
        chosen["measures"] = list(measures)
    frame = read(module, parser, {role: Path(path) for role, path in files.items()}, chosen)
    with _naming(files):
        if tagger and "pos" in frame:
            raise InputError(
                "the words have parts of speech of their own (pos); leave the dataset's `tagger` out, or "
                "the role or column that they are read from"
            )
        for trained in tagger:
            frame = frame.assign(pos=tag(frame, trained))
    contract_files.write(frame, out)
