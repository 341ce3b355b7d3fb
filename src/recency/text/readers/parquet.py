"""Parquet files with one row per document, such as OpenWebText (Gokaslan and Cohen 2019)."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from recency.errors import InputError


def read(
    paths: list[Path], column: str = "text", rows_at_once: int = 256, blanks: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield each row's text, streamed; empty rows are omitted unless `blanks`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in paths:
        try:
            file = pq.ParquetFile(path)
        except pa.ArrowInvalid as error:
            raise InputError(f"{path} is not a Parquet file: {error}") from error
        with file:
            names = file.schema_arrow.names
            if column not in names:
                raise InputError(f"{path} has no column {column!r}, only {', '.join(names)}")
            row = 0
            # Batches of a whole file keep all that was read of it; those of a row group, only that.
            batches = chain.from_iterable(
                file.iter_batches(
                    rows_at_once, row_groups=[group], columns=[column], use_threads=False
                )
                for group in range(file.num_row_groups)
            )
            while True:
                try:
                    batch = next(batches, None)
                except (pa.ArrowException, OSError, MemoryError) as error:
                    raise InputError(
                        f"{path} is damaged after row {row:,} ({error}); get it again"
                    ) from error
                if batch is None:
                    break
                for text in batch.column(0).to_pylist():
                    if text is not None and (blanks or text.strip()):
                        yield f"{path.stem}-{row}", text
                    row += 1
