"""Tables in a zip archive: one member, or many with the same columns, such as one per reader or text.

A pattern matches the end of members' paths: `*` is any part of a name, and `{name}` a part that becomes
the column `name` of the member's rows
(`{text}/lett{subject}/reading_measures.csv`).
"""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from recency.errors import InputError
from recency.names import hint

_PART = re.compile(r"(\*|\{[A-Za-z]\w*\})")
_SHOWN = 5
#: Members that macOS adds to its archives.
_HIDDEN = ("__MACOSX/", "/._")


@dataclass(frozen=True)
class Member:
    """A table in an archive: name, size in bytes, and labels in its name."""

    archive: Path
    name: str
    size: int
    labels: dict[str, str]

    @property
    def path(self) -> Path:
        """Name of the member in errors."""
        return Path(f"{self.archive}/{self.name}")

    def open(self) -> io.BufferedIOBase:
        """Open the member as a binary stream."""
        return zipfile.ZipFile(self.archive).open(self.name)

    def content(self) -> bytes:
        """Return the member's bytes; InputError if they are damaged."""
        try:
            with self.open() as stream:
                return stream.read()
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise InputError(f"{self.path} is damaged ({error}); get the archive again") from error


def is_archive(path: Path) -> bool:
    """Return whether a file is a zip archive."""
    return path.is_file() and zipfile.is_zipfile(path)


def members(path: Path, pattern: str) -> list[Member]:
    """List the members of a zip archive that match a pattern, sorted by name.

    Parameters
    ----------
    path : Path
        A zip archive.
    pattern : str
        The end of the members' paths, with `*` and `{name}`.

    Raises
    ------
    InputError
        If no member has such a name, or two have the same labels.
    """
    expression = compiled(pattern)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{path} is no whole zip archive ({error}); get it again") from error
    entries = [
        entry for entry in entries if not any(part in f"/{entry.filename}" for part in _HIDDEN)
    ]
    matches = [(entry, expression.fullmatch(entry.filename)) for entry in entries]
    paths = [
        Member(path, entry.filename, entry.file_size, match.groupdict())
        for entry, match in matches
        if match is not None
    ]
    if not paths:
        names = [entry.filename for entry in entries]
        listed = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        raise InputError(
            f"{path} has no member {pattern} (options → members); {hint(pattern, names)}"
            f"It has: {listed or 'none'}"
        )
    return sorted(_distinct(paths, pattern), key=lambda entry: _natural(entry.name))


def compiled(pattern: str) -> re.Pattern:
    """Convert a pattern of members to a regular expression."""
    parts = [
        "[^/]*" if part == "*" else f"(?P<{part[1:-1]}>[^/]+?)" if index % 2 else re.escape(part)
        for index, part in enumerate(_PART.split(pattern))
    ]
    try:
        return re.compile(r"(?:.*/)?" + "".join(parts))
    except re.error as error:
        raise InputError(f"options → members: {pattern!r} cannot be read ({error})") from None


def _distinct(members: list[Member], pattern: str) -> Iterator[Member]:
    """Yield members; InputError if two have the same labels."""
    seen: dict[tuple, str] = {}
    for member in members:
        key = tuple(member.labels.values()) or (member.name,)
        other = seen.setdefault(key, member.name)
        if other != member.name:
            raise InputError(
                f"{member.archive} has two members {pattern}: {other} and {member.name}; state more "
                "of the path in options → members"
            )
        yield member


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names by their size."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if index % 2 else (-1, part) for index, part in enumerate(parts)]
