"""Read R's data files (.rda, .RData, .rds) by R, which writes a data frame as CSV.

The package rdata 1.1.0 reads the same values without R, but takes 30 s and 1.1 GB for 300,000 rows
of 50 columns, R 6 s and 0.25 GB. MECO's file is larger, and several jobs read it at a time.
"""

import lzma
import os
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recency.errors import InputError
from recency.reading.formats import serialized

# Finds the data frame that has the column `has`, and of it the rows whose `by` is `value`, if any.
_CODE = """
args <- commandArgs(trailingOnly = TRUE)
there <- new.env()
frames <- Filter(is.data.frame, mget(load(args[1], envir = there), envir = there))
frames <- Filter(function(frame) args[3] %in% names(frame), frames)
if (length(frames) == 0) stop("no data frame with a column ", args[3])
frame <- frames[[1]]
chosen <- !is.na(frame[[args[4]]]) & frame[[args[4]]] == args[5]
if (any(chosen)) frame <- frame[chosen, ]
write.csv(frame, args[2], row.names = FALSE, fileEncoding = "UTF-8")
"""

# Finds the data frame called args[3], or the only one, or the largest; an .rds file is one itself.
_ANY = """
args <- commandArgs(trailingOnly = TRUE)
found <- tryCatch(list(readRDS(args[1])), error = function(problem) {
  there <- new.env()
  mget(load(args[1], envir = there), envir = there)
})
frames <- Filter(is.data.frame, found)
if (length(frames) == 0) stop("no data frame is in it")
if (args[3] != "") {
  if (!args[3] %in% names(frames)) stop("no data frame is called ", args[3], "; there are: ",
                                        paste(names(frames), collapse = ", "))
  frames <- frames[args[3]]
}
frame <- frames[[which.max(vapply(frames, nrow, 1L))]]
odd <- names(frame)[!vapply(frame, is.atomic, TRUE)]
if (length(odd) > 0) stop("the column ", odd[1], " holds lists; save it without")
write.csv(frame, args[2], row.names = FALSE, fileEncoding = "UTF-8")
"""


@contextmanager
def any_as_csv(path: Path, frame: str | None = None) -> Iterator[Path]:
    """Yield a CSV file of a data frame in R's data: the one called `frame`, or the largest.

    Factors are written as their levels' names. Raises InputError, also in place of those that name
    the CSV file, which is gone afterwards.
    """
    with _written(path, _ANY, frame or "") as table:
        yield table


@contextmanager
def as_csv(path: Path, has: str, by: str, value: str) -> Iterator[Path]:
    """Yield `path`, or, for R's data, a CSV file of its data frame with the column `has`.

    Of that the rows are written whose column `by` is `value`, all if none is. Raises InputError,
    also in place of those that name the CSV file, which is gone afterwards.
    """
    if not is_r_data(path):
        yield path
        return
    with _written(path, _CODE, has, by, value) as table:
        yield table


@contextmanager
def _written(path: Path, code: str, *arguments: str) -> Iterator[Path]:
    """Yield the CSV file that R's `code` writes, after checking that loading runs no code."""
    serialized.refuse_code(path)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / f"{path.stem}.csv"
        command = ["Rscript", "--vanilla", "-e", code, path, table, *arguments]
        try:
            unicode = os.environ | {"LC_ALL": "C.UTF-8"}
            process = subprocess.run(
                command, capture_output=True, text=True, env=unicode, check=False
            )
        except FileNotFoundError:
            raise InputError(
                f"{path} is R's data, and Rscript is not on the PATH: `make setup` brings R, or "
                "write the data frame out as CSV in R and name that file"
            ) from None
        if process.returncode:
            reason = " ".join(process.stderr.split()) or f"status {process.returncode}"
            raise InputError(f"{path} cannot be read by R ({reason}); get the file again")
        try:
            yield table
        except InputError as error:
            raise InputError(str(error).replace(str(table), str(path))) from error


def is_r_data(path: Path) -> bool:
    """Return whether a file is R's, by its name or its first decompressed bytes."""
    if path.suffix.lower() in (".rda", ".rdata", ".rds"):
        return True
    try:
        with open(path, "rb") as plain:
            opener = serialized.OPENERS.get(plain.read(2), open)
        with opener(path, "rb") as stream:
            begin = stream.read(4)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return False  # reported when the file is read
    return begin[:3] == b"RDX" or begin in (b"X\n\0\0", b"A\n3\n", b"A\n2\n")
