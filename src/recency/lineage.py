"""Identity and lineage of results: which file is which, what it was made from, and whether it is unchanged.

A job writes a record of each of its outputs, `<results>/lineage/<file>.json`: the file's path, role, LM,
dataset and further identity, the SHA-256 of its content and of everything that the job read. Before a
job starts, its inputs are compared with their records (`require`). A file that was edited, that is
another file's, or whose own inputs have changed since it was made is refused. Records do not depend on
times or folders, so equal runs have equal records.

No file is hashed twice in a run: a hidden file next to a record has the file's inode, size and times
of modification and of change, for which its digest was computed. The last of these cannot be set back.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shlex
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from recency import digests
from recency.errors import InputError

FORMAT = 1
"""Version of the records; a folder of results with another version is refused."""
FOLDER = "lineage"
ROOT = "root.json"
"""File in the folder of records with their version, study and scale."""
EXPORTED = "lineage.json"
"""File in exports with the records of everything that they were made from."""
HUB = ".hub.json"
"""Ending of the list of the files of a checkpoint of the Hub (recency.networks.hub)."""
IDENTITY = ("lm", "second_lm", "dataset", "model", "seed", "draws", "step", "of")
"""Parameters of a rule that identify its outputs, in addition to its wildcards."""
_FIT = r"(?P<design>[^/]+)/(?P<dataset>[^/]+)\.(?P<measure>\w+)/(?P<lm>[^/]+)\.(?P<model>\w+)\.\w+$"
LAYOUT = tuple(
    re.compile(pattern)
    for pattern in (
        r"datasets/(?P<dataset>[^/]+)/responses\.(?P<measure>\w+)\.parquet$",
        r"datasets/(?P<dataset>[^/]+)/",
        r"observations/(?P<dataset>[^/]+)\.(?P<measure>\w+)/(?P<partition>\w+)\.parquet$",
        r"surprisal/(?P<lm>[^/]+)/(?P<dataset>[^/]+?)(\.ledger)?\.\w+$",
        rf"regression/{_FIT}",
        rf"crossed/draws-(?P<draws>\d+)/{_FIT}",
    )
)
"""Paths of outputs of rules that make several, whose wildcards say less."""


@dataclass(frozen=True)
class Record:
    """Record of a file that a job wrote."""

    file: str
    """path relative to the folder of results"""
    rule: str
    role: str
    """name of the output in its rule"""
    identity: Mapping[str, Any]
    """wildcards, and parameters such as lm and seed"""
    settings: str
    """digest of the rule's parameters"""
    sha256: str
    bytes: int
    inputs: Mapping[str, str] = field(default_factory=dict)
    """digest by path, relative to the folder of results"""
    outside: Mapping[str, str] = field(default_factory=dict)
    """digest by path, of inputs that are not in the folder of results"""
    adopted: bool = False
    """whether the file was there before its record"""

    def text(self) -> str:
        """Return the record as JSON, with its own checksum."""
        values = {"format": FORMAT} | asdict(self)
        return json.dumps(values | {"checksum": _checksum(values)}, indent=1) + "\n"


class Refused(InputError):
    """A file that is not the one that the workflow wrote under this path."""

    def __init__(self, path: str | Path, why: str):
        copy = "; a copy of yours needs another name" if str(path).endswith(".csv") else ""
        super().__init__(
            f"{path}: {why}. Put the original back, or make it again: rm {shlex.quote(str(path))}, and "
            f"repeat the command{copy}"
        )


# --- folders of records ---------------------------------------------------------------------------


def root_of(path: str | Path) -> Path | None:
    """Return the folder of results (or downloads) that contains a file; None outside of them."""
    return next((p for p in Path(path).parents if os.path.exists(p / FOLDER / ROOT)), None)


def record_path(root: Path, file: str) -> Path:
    """Return the path of the record of a file in a folder of results."""
    return root / FOLDER / f"{file}.json"


def read(root: Path, file: str) -> Record | None:
    """Return the record of a file; None without one. A damaged record raises InputError."""
    path = record_path(root, file)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        checksum = values.pop("checksum")
        if checksum == _checksum(values) and values.pop("format") == FORMAT:
            return Record(**values)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise Refused(root / file, f"its record {path} is damaged or of another version")


def records(root: Path) -> dict[str, Record]:
    """Return the records below a folder of results, by file."""
    paths = sorted(Path(root, FOLDER).rglob("[!.]*.json"))
    files = (path.relative_to(root / FOLDER).as_posix()[: -len(".json")] for path in paths)
    found = {file: read(root, file) for file in files if f"{file}.json" != ROOT}
    return {file: record for file, record in found.items() if record is not None}


def _checksum(values: Mapping[str, Any]) -> str:
    return _hash(json.dumps(values, sort_keys=True))[:16]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def digest(path: str | Path, home: Path | None = None) -> str:
    """Return the SHA-256 of a file or folder, computed once per run.

    `home` is the folder of results that remembers it, for a file that is in none.
    """
    return digests.digest(path, _memory(path, home))


def stamp(outputs: Iterable[str | Path]) -> None:
    """Remember the times that Snakemake gave to the outputs of a job when it ended."""
    for path in outputs:
        digests.confirm(path, _memory(path, None))


def _memory(path: str | Path, home: Path | None) -> Path | None:
    """Return the file that remembers a digest."""
    if root := root_of(path):
        file = record_path(root, inside_of(path, root))
        return file.with_name(f".{file.stem}.stat")
    return home and home / FOLDER / ".outside" / f".{_hash(os.path.abspath(path))[:24]}.stat"


def inside_of(path: str | Path, root: Path) -> str:
    """Return a file's path relative to a folder of results."""
    return Path(os.path.relpath(path, root)).as_posix()


# --- jobs -----------------------------------------------------------------------------------------


def require(inputs: Iterable[str | Path], outputs: Iterable[str | Path]) -> dict[str, str]:
    """Return the digest of each input of a job.

    Parameters
    ----------
    inputs, outputs : iterable of path
        Those of the job.

    Raises
    ------
    Refused
        For the first input that was edited, is another file, has no record, or was made from files
        that have changed since.
    """
    home = next((root for path in outputs if (root := root_of(path))), None)
    if home is None:
        return {}
    contents, checked = {}, {}
    for path in dict.fromkeys(map(str, inputs)):
        contents[path] = digest(path, home)
        root = root_of(path)
        if root is None:
            continue
        record = read(root, inside_of(path, root))
        if record is None:
            if root == home:
                raise Refused(
                    path,
                    "the workflow has no record of it (supplied by hand? --config adopt=true records it as it is)",
                )
            continue  # a download of an older version: its digest is recorded as that of raw data
        if wrong := problem(record, root, inside_of(path, root), contents[path], checked):
            raise Refused(path, wrong)
    return contents


def problem(
    record: Record, root: Path, file: str, content: str, checked: dict[tuple[Path, str], str]
) -> str:
    """Describe how a file differs from its record; "" if it does not.

    Parameters
    ----------
    record : Record
        The record stored for the file.
    root : Path
        The folder of results.
    file : str
        The file's path in it.
    content : str
        The file's digest.
    checked : dict
        (folder of results, file) → digest of the present version of an input; filled here.
    """
    if record.file != file:
        return f"its record is not that of {file}, but of {record.file}"
    if content != record.sha256:
        other = _files(root).get(content)
        whose = f"it is that of {other}" if other else "edited by hand?"
        return f"its content is not what the workflow wrote ({whose})"
    for where, inputs in ((root, record.inputs), (None, record.outside)):
        for name, made_from in inputs.items():
            if _present(where, name, root, checked) not in ("", made_from):
                return f"it was made from another version of {name}"
    return ""


@functools.cache
def _files(root: Path) -> dict[str, str]:
    """Return file by digest, for errors."""
    return {record.sha256: record.file for record in records(root).values()}


def _present(
    root: Path | None, name: str, home: Path, checked: dict[tuple[Path | None, str], str]
) -> str:
    """Return the digest of the present version of an input; "" if it is gone."""
    if (root, name) not in checked:
        path = root / name if root else Path(name)
        record = None
        if root and path.exists():
            record = read(root, name)
        if record is not None:
            checked[root, name] = record.sha256
        else:
            checked[root, name] = digest(path, home) if path.exists() else ""
    return checked[root, name]


def first(path: str | Path) -> Record | None:
    """Return the record of a download that was here before; None for the first."""
    root = root_of(path)
    return read(root, inside_of(path, root)) if root else None


def _revisions(paths: Iterable[str]) -> dict[str, str]:
    """Return the checkpoint and commit of the Hub among the files of a job, as its identity."""
    listed = [
        json.loads(Path(path).read_text(encoding="utf-8"))
        for path in paths
        if path.endswith(HUB) and os.path.exists(path)
    ]
    named = (f"{found['checkpoint'].partition('@')[0]}@{found['commit']}" for found in listed)
    return {"revision": ", ".join(named)} if listed else {}


def write(job: Any, inputs: Mapping[str, str], adopted: bool = False) -> None:
    """Write the records of a job's outputs.

    Parameters
    ----------
    job : snakemake's script object, or a job of its plan
        With rule, input, output, params and wildcards.
    inputs : mapping of str to str
        Digest of each input, from `require`.
    adopted : bool
        Whether the outputs were there before their records.
    """
    rule = str(getattr(job.rule, "name", job.rule))
    params = dict(job.params.items())
    scalars = {k: v for k, v in params.items() if k in IDENTITY and isinstance(v, str | int)}
    scalars |= _revisions([*inputs, *map(str, job.output)])
    roles = {
        str(path): name
        for name, paths in job.output.items()
        for path in ([paths] if isinstance(paths, str) else paths)
    }
    for path in map(str, job.output):
        root = root_of(path)
        if root is None or not os.path.exists(path):  # Snakemake reports an output that is missing
            continue
        inside, outside = split(inputs, root)
        if os.path.isdir(path):  # an export, which leaves the folder of results
            digests.write_text(Path(path, EXPORTED), exported(chain(root, inside)))
        record = Record(
            file=(file := inside_of(path, root)),
            rule=rule.partition("_of_")[0],
            role=roles.get(path, ""),
            identity=scalars | _identity(file) | {k: str(v) for k, v in job.wildcards.items()},
            settings=settings(params),
            sha256=digest(path),
            bytes=0 if os.path.isdir(path) else os.path.getsize(path),
            inputs=inside,
            outside=outside,
            adopted=adopted,
        )
        store(record, root)


def _identity(file: str) -> dict[str, str]:
    """Return what the path of a file says of it."""
    matches = (pattern.match(file) for pattern in LAYOUT)
    return next((match.groupdict() for match in matches if match), {})


def split(inputs: Mapping[str, str], root: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the digests of inputs by path relative to a folder of results, and of others."""
    inside = {inside_of(p, root): value for p, value in inputs.items() if root_of(p) == root}
    outside = {_outside(p): value for p, value in inputs.items() if root_of(p) != root}
    return dict(sorted(inside.items())), dict(sorted(outside.items()))


def store(record: Record, root: Path) -> None:
    """Write a record."""
    digests.write_text(record_path(root, record.file), record.text())


def settings(params: Mapping[str, Any]) -> str:
    """Return the digest of a rule's named parameters."""
    return _hash(json.dumps(params, sort_keys=True, default=str))[:16]


def _outside(path: str) -> str:
    """Return an input's path, relative to the folder of the run if it is below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else Path(relative).as_posix()


def _is_elsewhere(name: str) -> bool:
    """Return whether an input's path leads out of the folder of the run."""
    return os.path.isabs(name) or name.startswith(os.pardir)


# --- from results back to raw data ----------------------------------------------------------------


def chain(root: Path, files: Iterable[str] | None = None) -> dict[str, Record]:
    """Return the records of files in a folder of results and of everything that they were made from.

    `files` are relative to the folder; default: all that have a record.
    """
    known = records(root)
    todo, reached = deque(known if files is None else files), {}
    while todo:
        file = todo.popleft()
        if file in known and file not in reached:
            reached[file] = known[file]
            todo.extend(name for name in known[file].inputs if name not in reached)
    return reached


def exported(reached: Mapping[str, Record]) -> str:
    """Return the records of a chain as JSON, without the names of folders on this machine."""
    files = {}
    for file, record in sorted(reached.items()):
        outside = {
            os.path.basename(name) if _is_elsewhere(name) else name: value
            for name, value in record.outside.items()
        }
        files[file] = asdict(replace(record, outside=outside))
    return json.dumps({"format": FORMAT, "files": files}, indent=1) + "\n"
