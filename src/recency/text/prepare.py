"""Convert a corpus's original files to text, one row per document."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from readingtimes.files import atomic
from recency.errors import InputError
from recency.sources import read
from recency.text import readers

# Characters per row group, the unit that later steps hold in memory.
ROW_GROUP = 1 << 23


def main(
    files: Iterable[str | Path],
    out: str | Path,
    sources: Sequence[str | Path] = (),
    reader: str | None = None,
    exclude: Iterable[str] = (),
    options: Mapping[str, Mapping] | None = None,
    documents: Mapping | None = None,
    row_group: int = ROW_GROUP,
) -> None:
    """Write `document`, `text` for every document of the corpus.

    With `sources` (at most one list as in data/sources/), `files` are the originals of its rows in order, with or
    without the parts in `exclude`; documents are named `part/name`. Otherwise `reader` reads all of
    `files`. `options` maps readers to their settings. `documents` selects, out of every `of`
    consecutive documents, those with these `numbers`.
    """
    files = [Path(file) for file in files]
    if sources:
        groups = _parts(sources[0], files, list(exclude))
    elif reader:
        if exclude:
            raise InputError(
                f"exclude: {list(exclude)} needs a table of sources, to know the parts"
            )
        groups = [("", reader, files)]
    else:
        raise InputError("a corpus needs `sources`, a table of its files, or a `reader` for them")
    options = options or {}
    if unused := set(options) - {name for _, name, _ in groups}:
        raise InputError(f"options for {', '.join(sorted(unused))}: no file has such a reader")
    if not files:
        raise InputError(f"there is no file to make {out} from")
    texts = _documents(groups, options)
    if documents:
        chosen = frozenset(documents["numbers"])
        texts = (document for n, document in enumerate(texts) if n % documents["of"] in chosen)
    _write(texts, Path(out), row_group)


def _parts(
    sources: str | Path, files: list[Path], exclude: list[str]
) -> list[tuple[str, str, list[Path]]]:
    """Return (part, reader, files) for each run of rows with the same part."""
    rows = read(sources, exclude)
    if not all(row.reader for row in rows):
        raise InputError(f"{sources} has no columns part and reader, which text needs")
    if len(files) != len(rows):
        every = read(sources)
        if len(files) != len(every):
            raise InputError(
                f"{sources} has {len(every)} files, {len(rows)} of them not excluded, but "
                f"{len(files)} were given"
            )
        files = [file for file, row in zip(files, every) if row.part not in exclude]
    pairs = groupby(zip(rows, files), key=lambda pair: (pair[0].part, pair[0].reader))
    return [(part, name, [file for _, file in group]) for (part, name), group in pairs]


def _documents(
    groups: list[tuple[str, str, list[Path]]], options: Mapping[str, Mapping]
) -> Iterator[tuple[str, str]]:
    for part, name, files in groups:
        words = number = 0
        for document, text in readers.reader(name)(files, **options.get(name, {})):
            if not text.strip():
                raise InputError(f"{part or name}: document {document} has no text")
            yield f"{part}/{document}" if part else document, text
            number += 1
            words += len(text.split())
        if number == 0:
            raise InputError(f"{part or name}: no text in {', '.join(map(str, files))}")
        print(f"{part or name}: {number:,} documents, {words:,} words", file=sys.stderr)


def _write(documents: Iterable[tuple[str, str]], out: Path, row_group: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("document", pa.string()), ("text", pa.string())])
    with atomic(out) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as file:
        names: list[str] = []
        texts: list[str] = []
        size = 0

        def flush() -> None:
            file.write_table(pa.table([names, texts], schema=schema))
            names.clear()
            texts.clear()

        for name, text in documents:
            if names and size + len(text) > row_group:
                flush()
                size = 0
            names.append(name)
            texts.append(text)
            size += len(text)
        if names:
            flush()
