"""Refuse Parquet files that need more memory than there is, before they are decoded.

A file of a megabyte can hold a long text once and refer to it a million times.
"""

import io
from pathlib import Path

from readingtimes.errors import InputError, first_line

#: Tables of at most so many bytes are read without looking at their texts.
SURE = 2**30
#: Bytes that are free if the system does not report them.
ASSUMED = 2**36
#: Most rows, and about the most bytes, that are decoded at once.
ROWS, AT_ONCE = 2**16, 2**28
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}


def require_room(source: Path | bytes, where: str) -> None:
    """Raise InputError for a Parquet file whose values do not fit into half of the free memory.

    Parameters
    ----------
    source
        The file, or its content.
    where
        The file's name, for messages.

    Raises
    ------
    InputError
        With the bytes needed and free; also for a file that is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    room = min(available(), ASSUMED) / 2
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    try:
        with pq.ParquetFile(file) as opened:
            needed, texts, most = _sizes(opened)
            require(needed, room, where)
            if needed + most <= min(room, SURE):
                return
            for name, longest in texts.items():
                at_once = int(max(1, min(ROWS, AT_ONCE / max(longest, 1))))
                for batch in opened.iter_batches(at_once, columns=[name], use_threads=False):
                    needed += batch.nbytes
                    require(needed, room, where)
    except InputError:
        raise
    except (pa.ArrowException, ValueError, OSError, MemoryError) as error:
        raise InputError(
            f"{where} is no whole Parquet file ({first_line(error)[:150]}); get it again"
        ) from None


def _sizes(opened) -> tuple[int, dict[str, int], int]:
    """Return the bytes of values of fixed width, column of texts → most bytes of one, of all texts."""
    about, needed, texts, most = opened.metadata, 0, {}, 0
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    for number in range(about.num_columns):
        column = opened.schema.column(number)
        parts = [group.column(number) for group in groups]
        values = sum(part.num_values for part in parts)
        width = _WIDTHS.get(column.physical_type, column.length)
        needed += values * max(width, 8)
        if column.physical_type == "BYTE_ARRAY":
            texts[column.path] = max((part.total_uncompressed_size for part in parts), default=0)
            most += sum(part.num_values * part.total_uncompressed_size for part in parts)
    return needed, texts, most


def require(needed: float, room: float, where: str) -> None:
    """Raise InputError if values of a file need more bytes than there is `room`."""
    if needed > room:
        raise InputError(
            f"{where} holds {needed / 1e9:,.1f} GB or more once it is decoded, over half of the "
            f"{2 * room / 1e9:,.1f} GB that are free; write the columns and rows that you need into a file "
            "of their own"
        )


def available() -> float:
    """Return the available memory in bytes; infinity if unknown."""
    meminfo = Path("/proc/meminfo")
    lines = meminfo.read_text(encoding="utf-8").splitlines() if meminfo.exists() else []
    sizes = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return sizes[0] if sizes else float("inf")
