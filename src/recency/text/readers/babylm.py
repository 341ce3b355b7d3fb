"""BabyLM (Warstadt et al. 2023): developmentally plausible text, 10 or 100 million words.

An archive has a folder for each track, `babylm_10M/` and `babylm_100M/` in babylm_data.zip of 2023,
`train_10M/` or `train_100M/` in the later ones, with one `<source>.train` for each source of text.
"""

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from recency.errors import InputError
from recency.text.readers.plain import LONGEST, lines
from recency.text.utf8 import decoded_chunks

TRACKS = {"strict-small": "10M", "strict": "100M"}
CHOICES = {"track": ("strict-small", "strict")}
# A book of Gutenberg, an article of Wikipedia: `= = = PG1342 = = =`.
HEADING = re.compile(r"\s*= = = .+ = = =\s*")


def read(
    paths: list[Path], track: str = "strict-small", longest: int = LONGEST
) -> Iterator[tuple[str, str]]:
    """Yield the documents of a track, source by source, streamed from the archive.

    A line `= = = … = = =` begins a document; a source without such lines is one document. Documents
    over `longest` characters are split at line breaks.
    """
    if track not in TRACKS:
        raise InputError(f"track: {track!r} is not one of {', '.join(TRACKS)}")
    for path in paths:
        try:
            with zipfile.ZipFile(path) as archive:
                for member in _members(archive, path, TRACKS[track]):
                    source = PurePosixPath(member).stem
                    with archive.open(member) as file:
                        chunks = decoded_chunks(file, f"{path}, {member}")
                        for number, text in enumerate(_documents(chunks, longest), 1):
                            yield f"{source}-{number:05}", text
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise InputError(f"{path} is damaged, or no zip ({error}); get it again") from error


def _members(archive: zipfile.ZipFile, path: Path, words: str) -> list[str]:
    """Return the track's files in alphabetical order, without those that macOS adds."""
    members = [name for name in archive.namelist() if PurePosixPath(name).suffix == ".train"]
    folders = {m: PurePosixPath(m).parent.name for m in members if not m.startswith("__MACOSX")}
    names = sorted(name for name, folder in folders.items() if folder.endswith(f"_{words}"))
    if not names:
        there = ", ".join(sorted(set(folders.values()))) or "no .train file at all"
        raise InputError(
            f"{path} has no folder …_{words} with .train files, but {there}; take the archive "
            "of the track, or set `track` in the corpus's options"
        )
    return names


def _documents(chunks: Iterable[str], longest: int) -> Iterator[str]:
    """Split the text at headings, without blank documents."""
    held: list[str] = []
    size = 0
    for line in lines(chunks, longest):
        if held and (HEADING.fullmatch(line) or size + len(line) + 1 > longest):
            text = "\n".join(held)
            held, size = [], 0
            if text.strip():
                yield text
        held.append(line)
        size += len(line) + 1
    if (text := "\n".join(held)).strip():
        yield text
