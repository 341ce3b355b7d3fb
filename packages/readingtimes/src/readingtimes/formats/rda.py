"""Read R's data files (.rda, .RData, .rds) by R, which writes a data frame as CSV.

The package rdata 1.1.0 reads the same values without R, but takes 30 s and 1.1 GB for 300,000 rows
of 50 columns, R 6 s and 0.25 GB. MECO's file is larger, and several jobs read it at a time.

Scan R's serialised data, without R, for code that would run on loading.

A promise, an expression that R evaluates when its value is accessed, can be saved unevaluated
(`delayedAssign`), alone or inside other data, so that loading a file runs its author's code
(CVE-2024-27322). Data frames need no promises. Functions and expressions are harmless, because they are
not called. The format is that of "R Internals", section 1.8.
"""

import bz2
import gzip
import lzma
import os
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from readingtimes.errors import InputError

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
    with _written_csv(path, _ANY, frame or "") as table:
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
    with _written_csv(path, _CODE, has, by, value) as table:
        yield table


@contextmanager
def _written_csv(path: Path, code: str, *arguments: str) -> Iterator[Path]:
    """Yield the CSV file that R's `code` writes, after checking that loading runs no code."""
    refuse_code(path)
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
            opener = OPENERS.get(plain.read(2), open)
        with opener(path, "rb") as stream:
            begin = stream.read(4)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return False  # reported when the file is read
    return begin[:3] == b"RDX" or begin in (b"X\n\0\0", b"A\n3\n", b"A\n2\n")


#: R types (SEXPTYPE) by their representation in the stream.
SYMBOL, PAIRLIST, CLOSURE, ENVIRONMENT, PROMISE, LANGUAGE = 1, 2, 3, 4, 5, 6
SPECIAL, BUILTIN, CHARACTERS, DOTS, STRINGS, LIST, EXPRESSIONS = 7, 8, 9, 17, 16, 19, 20
BYTECODE, POINTER, WEAK, RAW, S4 = 21, 22, 23, 24, 25
ALTREP, NAMESPACE, PACKAGE, PERSISTENT, REFERENCE = 238, 249, 250, 248, 255
ALONE = {0, 241, 242, 247, 251, 252, 253, 254, S4}  # NULL, the empty environment …
BYTES = {10: 4, 13: 4, 14: 8, 15: 16, RAW: 1}  # of an element: logical, integer, double, complex
HAS_ATTRIBUTES, HAS_TAG = 0x200, 0x400
OPENERS = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
BLOCK = 1 << 20


def refuse_code(path: Path) -> None:
    """Raise InputError if a file of R's data has a promise, or cannot be scanned.

    The line names the variable that holds it. Files saved as ASCII are refused with the way out.
    """
    try:
        with path.open("rb") as plain:
            opener = OPENERS.get(plain.read(2), open)
        with opener(path, "rb") as stream:
            _Walk(stream, path).all()
    except (EOFError, OSError, lzma.LZMAError, RecursionError) as error:
        raise InputError(
            f"{path} cannot be read by R ({error or 'it ends too early'}); get the file again"
        ) from None


class _Walk:
    """One pass over a stream, element by element."""

    def __init__(self, stream: BinaryIO, path: Path):
        self.stream, self.path = stream, path
        self.references: list[str] = []  # symbols that later elements may refer to
        self.variable = ""

    def all(self) -> None:
        """Scan the header and all elements."""
        begin = self.read(2)
        if begin == b"RD":  # save(); saveRDS() has no such line
            self.read(3)
            begin = self.read(2)
        if begin != b"X\n":
            raise InputError(
                f"{self.path} is R's data saved as text or in the machine's own form; save it again with "
                "R's defaults (ascii = FALSE)"
            )
        version, _, _ = (self.integer() for _ in range(3))
        if version not in (2, 3):
            raise InputError(
                f"{self.path} is R's data of version {version}; versions 2 and 3 are read"
            )
        if version == 3:
            self.skip(self.integer())
        self.item(top=True)

    def read(self, size: int) -> bytes:
        chunk = self.stream.read(size)
        if len(chunk) != size:
            raise EOFError
        return chunk

    def integer(self) -> int:
        return int.from_bytes(self.read(4), "big", signed=True)

    def length(self) -> int:
        """Return a vector's length; long ones are written in two parts."""
        length = self.integer()
        return (self.integer() << 32) + self.integer() if length == -1 else length

    def skip(self, size: int) -> None:
        if size < 0:
            raise EOFError("a negative length")
        while size > 0:
            size -= len(self.read(min(size, BLOCK)))

    def item(self, top: bool = False) -> str:
        """Scan one element; return its name if it is a symbol or a string."""
        while True:  # over the rest of a pairlist, which may be long
            flags = self.integer()
            kind = flags & 0xFF
            if kind == PROMISE:
                where = f"the variable {self.variable!r}" if self.variable else "it"
                raise InputError(
                    f"{self.path}: {where} holds a promise, code that runs when it is looked at; if you trust its "
                    "source, open it in R and save the data frame alone"
                )
            if kind not in (PAIRLIST, LANGUAGE, CLOSURE, DOTS):
                return self.other(kind, flags)
            if flags & HAS_ATTRIBUTES:
                self.item()
            tag = self.item() if flags & HAS_TAG else ""
            self.variable = tag if top else self.variable
            self.item()

    def other(self, kind: int, flags: int) -> str:
        """Scan an element other than a pair."""
        name = ""
        if kind in ALONE:
            pass
        elif kind == REFERENCE:
            number = flags >> 8 or self.integer()
            if not 0 < number <= len(self.references):
                raise EOFError("a reference to nothing")
            return self.references[number - 1]
        elif kind == SYMBOL:
            name = self.item()
            self.references.append(name)
            return name
        elif kind == CHARACTERS:
            size = self.integer()
            name = self.read(size).decode("utf-8", "replace") if size >= 0 else "NA"
        elif kind in (STRINGS, LIST, EXPRESSIONS):
            for _ in range(self.length()):
                self.item()
        elif kind in BYTES:
            self.skip(self.length() * BYTES[kind])
        elif kind == ENVIRONMENT:
            self.references.append("")
            self.integer()  # whether it is locked
            for _ in range(4):
                self.item()
            return name
        elif kind in (NAMESPACE, PACKAGE, PERSISTENT):
            self.integer()
            for _ in range(self.integer()):
                self.item()
            self.references.append("")
            return name
        elif kind in (POINTER, WEAK):
            self.references.append("")
            for _ in range(2 if kind == POINTER else 0):
                self.item()
        elif kind in (SPECIAL, BUILTIN):
            self.skip(self.integer())
        elif kind == ALTREP:
            for _ in range(3):
                self.item()
            return name
        else:
            what = "compiled functions" if kind == BYTECODE else f"an element of type {kind}"
            raise InputError(f"{self.path} holds {what}; save the data frame alone")
        if flags & HAS_ATTRIBUTES:
            self.item()
        return name
