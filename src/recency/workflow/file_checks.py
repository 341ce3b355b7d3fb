"""Files that a config names: that it says where they are, and that those of this machine are there."""

import os
import re
from collections.abc import Mapping

from recency.sources import leads_out
from recency.workflow.schema_checks import short

#: Signs that Snakemake takes for wildcards and path variables.
_SIGNS = re.compile(r"[{}<>]")
_ROLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def problems(where: str, file: Mapping, simulated: bool = False) -> list[str]:
    """List what is wrong with an entry that names a file."""
    if not file.keys() & {"url", "local", "stand_in", "simulated"}:
        return [f"{where}: 'url', 'local' or 'stand_in' must say where it is"]
    if "simulated" in file:
        if not simulated:
            return [f"{where}: `simulated` is of a dataset with `simulate`"]
        if others := sorted(file.keys() - {"simulated"}):
            return [f"{where}: what is simulated has no {others[0]!r}"]
        return []
    found = [f"{where} → {key}: {p}" for key in ("url", "local") for p in _path(file.get(key))]
    for key, path in (("url", file.get("url")), ("stand_in → path", _of_stand_in(file))):
        if path is not None and leads_out(path):
            found.append(f"{where} → {key}: {short(path)} leads out of its folder (`..` or `/`)")
    first, last = file.get("byte_range", (0, 0))
    if first > last:
        found.append(f"{where} → byte_range: {first} comes after {last}")
    local = file.get("local")
    needed = local is not None and not {"placed", "stand_in"} & file.keys()
    if not found and needed and not os.path.isfile(local):
        what = "a folder, not a file:" if os.path.isdir(local) else "no file"
        found.append(f"{where} → local: {what} {short(local)}")
    return found


def roles(where: str, files: Mapping) -> list[str]:
    """List names of files that cannot be part of a path."""
    return [
        f"{where}: {short(role)} cannot be a file's name here; take letters, digits, _ and -"
        for role in files
        if not _ROLE.fullmatch(role)
    ]


def _of_stand_in(file: Mapping) -> str | None:
    """Return where a stand-in is in a mirror."""
    return file["stand_in"]["path"] if "stand_in" in file else None


def _path(path: str | None) -> list[str]:
    """List what is wrong with how a file is called."""
    if path is None:
        return []
    if not path.strip():
        return ["it is empty"]
    if sign := _SIGNS.search(path):
        return [
            f"{short(path)} has {sign[0]!r}, which Snakemake takes for its own; name it otherwise"
        ]
    return []


def patterns(where: str, listed: list[str], matches: bool) -> list[str]:
    """List what is wrong with patterns of files, of which any has to match one."""
    found = [f"{where}: {problem}" for each in listed for problem in _path(each)]
    if not found and not matches:
        found.append(f"{where}: no file matches {short(listed, 120)}")
    return found
