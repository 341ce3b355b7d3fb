"""Fast reading of faultless delimited tables by PyArrow."""

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute, csv


def read(
    text: str, separator: str, quoted: bool, first: list[str], places: dict[str, int]
) -> pd.DataFrame | None:
    """Return the columns of `places`, indexed by line, or None if the table needs reading row by row.

    `first` is the header, and `places` each column's position in it. None is returned if rows are
    uneven or not one per line, if quotes do not enclose whole fields, or if a row may be empty or a
    repeated header, in whatever order.
    """
    data = text.encode()
    lines = text.count("\n") + (not text.endswith("\n"))
    if len(first) == 1 or text.count("\r") != text.count("\r\n"):
        return None
    if quoted and not _well_quoted(data, separator):
        return None
    names = [str(number) for number in range(len(first))]
    taken = [str(number) for number in places.values()]
    try:
        table = csv.read_csv(
            pa.py_buffer(data),
            csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False),
            csv.ParseOptions(
                delimiter=separator, quote_char='"' if quoted else False, ignore_empty_lines=False
            ),
            csv.ConvertOptions(
                column_types=dict.fromkeys(taken, pa.large_string()),
                include_columns=taken,
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    if not len(table) or len(table) != lines - 1:
        return None
    empty = again = True
    for name in taken:
        column = table[name]
        empty = compute.and_(empty, compute.equal(compute.utf8_trim_whitespace(column), ""))
        again = compute.and_(again, compute.is_in(column, pa.array(first, pa.large_string())))
    if compute.any(compute.or_(empty, again)).as_py():
        return None
    frame = table.to_pandas(types_mapper=lambda _: pd.StringDtype("pyarrow", na_value=np.nan))
    return frame.set_axis(list(places), axis=1).set_axis(range(2, lines + 1))


def _well_quoted(data: bytes, separator: str) -> bool:
    """Return whether quotes enclose whole fields on one line, and are doubled within."""
    characters = np.frombuffer(b"\n" + data + b"\n", dtype=np.uint8)
    quotes = np.flatnonzero(characters == ord('"'))
    if not len(quotes):
        return True
    opens, closes = quotes[::2], quotes[1::2]
    ends = np.flatnonzero(characters == ord("\n"))
    return (
        len(opens) == len(closes)
        and np.isin(characters[opens - 1], list(f'{separator}\n"'.encode())).all()
        and np.isin(characters[closes + 1], list(f'{separator}\r\n"'.encode())).all()
        and (np.searchsorted(ends, opens) == np.searchsorted(ends, closes)).all()
    )
