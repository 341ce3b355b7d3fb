"""Column names of local tables, read during planning without pandas."""

import csv
import gzip
import os
from collections.abc import Mapping

#: Formats whose first line has the column names.
READ_HERE = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
LONGEST = 1 << 20  # maximum bytes of a line


def of_file(path: str | os.PathLike, options: Mapping) -> list[str] | None:
    """Return the columns of a table; None if it is missing or needs its parser.

    Parameters
    ----------
    path : path
        CSV, TSV or other delimited text, gzipped or not, or Parquet.
    options : mapping
        The dataset's: `separator` and `encoding`.
    """
    name = str(path).lower()
    if not os.path.isfile(path):
        return None
    try:
        if name.endswith(".parquet"):
            import pyarrow.parquet as pq

            return pq.read_schema(path).names
        if not name.endswith(READ_HERE):
            return None
        opened = gzip.open if name.endswith(".gz") else open
        with opened(path, "rt", encoding=options.get("encoding", "utf-8"), newline="") as file:
            line = file.readline(LONGEST).lstrip("\ufeff").rstrip("\r\n")
        separator = options.get("separator") or max("\t,;", key=line.count)
        if len(separator) != 1 or not line.strip():
            return None
        return [name.strip() for name in next(csv.reader([line], delimiter=separator))]
    except (OSError, EOFError, ValueError, LookupError, csv.Error, StopIteration):
        return None  # the parser reports the fault
