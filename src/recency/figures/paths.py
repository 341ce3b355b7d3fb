"""Types of paths in figures and tables, and a writer of CSV files."""

import os
from collections.abc import Iterable

import pandas as pd

from readingtimes.files import atomic

File = str | os.PathLike
"""The path of a file."""
Files = Iterable[File]


def write_csv(path: File, table: pd.DataFrame, **how) -> None:
    """Write a table as CSV without its index, with the same line endings on all systems.

    `how` are other arguments of `DataFrame.to_csv`.
    """
    with atomic(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n", **how)
