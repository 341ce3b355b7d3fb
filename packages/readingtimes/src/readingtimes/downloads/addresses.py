"""Addresses of files, and paths that lead out of their folder."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from readingtimes.errors import InputError, first_line


def split_url(url: str) -> SplitResult:
    """Return the parts of an address; raise InputError for one that no request can have.

    >>> from readingtimes.downloads.addresses import split_url
    >>> split_url("https://example.org/a.csv").hostname
    'example.org'
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # ValueError if it is no number
        host = parts.hostname or ""
        if parts.scheme in ("http", "https"):
            if not host:
                raise ValueError("it names no host")
            if ":" not in host:  # no IPv6 address
                host.encode("idna")
            if odd := re.search(r"[\s\x00-\x1f\x7f]", url):
                raise ValueError(f"it has the character {odd[0]!r}")
    except ValueError as error:  # UnicodeError too
        raise InputError(f"{url!r} is no address ({first_line(error)}); correct the URL") from None
    return parts


def leads_out(path: str) -> bool:
    """Return whether a relative path, or the path of a URL, leads out of its folder.

    Paths are checked as written and unquoted (`%2e%2e` is `..`).
    """
    written = split_url(path).path.lstrip("/") if "://" in path else path
    return any(
        spelling.startswith("/")
        or "\\" in spelling
        or "\0" in spelling
        or ".." in spelling.split("/")
        for spelling in (written, unquote(written))
    )


def with_stand_ins(entries: object) -> dict[str, set[str]]:
    """Return URL → the stand-ins that files of this URL have, in mappings and lists of any depth.

    A URL whose one file serves several datasets may have a stand-in for each, which are not one file.
    """
    found: dict[str, set[str]] = {}
    rest = [entries]
    while rest:
        entry = rest.pop()
        if isinstance(entry, Mapping):
            if "url" in entry and isinstance(entry.get("stand_in"), Mapping):
                found.setdefault(entry["url"], set()).add(entry["stand_in"]["path"])
            rest += entry.values()
        elif isinstance(entry, list):
            rest += entry
    return found


def name_of(file: Mapping[str, Any], stand_ins: Mapping[str, set[str]]) -> str:
    """Return what the name of a downloaded file ends in: the stand-in's name if there are several, else ""."""
    several = "stand_in" in file and len(stand_ins.get(file["url"], ())) > 1
    return "." + file["stand_in"]["path"].rpartition("/")[2] if several else ""
