"""Write the Parquet files of the three contracts: words, responses or observations, surprisal."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from recency import checksums
from recency.files import atomic

if TYPE_CHECKING:
    import pandas as pd


class _Hashed:
    """A file that hashes its content while it is written."""

    def __init__(self, path: Path):
        self.file, self.digest = path.open("wb"), hashlib.sha256()
        self.closed = False

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self.file.write(data)

    def tell(self) -> int:
        return self.file.tell()

    def flush(self) -> None:
        self.file.flush()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        self.file.close()
        self.closed = True


def write(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a contract's table as Parquet, with the checksum of its content.

    The pages are those of `frame.to_parquet(path, compression="zstd", index=False)`.

    Parameters
    ----------
    frame : DataFrame
        The table.
    path : path
        The file; written atomically.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False)
    if frame.attrs:  # in pandas' format, so that pandas restores them
        attributes = {b"PANDAS_ATTRS": json.dumps(frame.attrs).encode()}
        table = table.replace_schema_metadata(table.schema.metadata | attributes)
    with atomic(path) as part:
        file = _Hashed(part)
        try:
            with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
                writer.write_table(table)
                digest = checksums.with_schema(file.digest, table.schema)
                writer.add_key_value_metadata({checksums.KEY: digest.encode()})
        finally:
            file.close()
