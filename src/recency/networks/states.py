"""The state of an unfinished training: its progress and specification, read without PyTorch.

A training does not resume with changed code unless the user declares that the change has no effect.
A file next to the state then names both versions of the code, and is kept.
"""

import json
import pickle
import pickletools
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from readingtimes.files import atomic


def state_path(folder: Path) -> Path:
    """Return the path of the state of a training that writes to `folder`."""
    return folder.with_name(f".{folder.name}.state.pt")


def unfinished(path: Path) -> dict | None:
    """Return the specification of an unfinished training's state; None if finished or damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
            words = _words(archive.read(name))
            specification = json.loads(_behind("specification", words))
            return None if _behind("optimizer", words) == "NONE" else specification
    except (OSError, StopIteration, ValueError, zipfile.BadZipFile, pickle.UnpicklingError):
        return None  # the job that opens it reports the problem


def difference(old: object, new: object, where: str = "") -> list[str]:
    """List `key: old in the state, new now` for every leaf that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        lines = []
        for key in sorted(old.keys() | new.keys()):
            lines += difference(old.get(key), new.get(key), f"{where}.{key}".lstrip("."))
        return lines
    return [] if old == new else [f"{where}: {old!r} in the state, {new!r} now"]


def differ_in_code_only(lines: Iterable[str]) -> bool:
    """Return whether two specifications differ only in their code, given their `difference`."""
    return all(line.startswith("code.") for line in lines)


def declare(path: Path, code: Mapping[str, str]) -> None:
    """Declare that an unfinished training may resume with `code`, module → fingerprint.

    Earlier declarations are kept if they led to the code that saved the state.
    """
    begun_by = unfinished(path).get("code", {})
    declarations = _declarations(path)
    last = declarations["resumed"][-1:]
    earlier = declarations["resumed"] if last and last[0]["goes_on_by"] == begun_by else []
    _write(path, declarations | {"resumed": [*earlier, _change(begun_by, code)]})


def is_declared(path: Path, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether a training begun with the code `before` was declared to resume with `now`."""
    last = _declarations(path)["resumed"][-1:]
    return [{**change, "step": None} for change in last] == [_change(before, now) | {"step": None}]


def declare_retraining(path: Path, modules: Iterable[str]) -> None:
    """Record that a finished training is repeated because these modules changed."""
    declarations, modules = _declarations(path), sorted(modules)
    if modules not in declarations["retrained"]:
        _write(path, declarations | {"retrained": [*declarations["retrained"], modules]})


def changes(path: Path, done: int) -> dict:
    """Return the declared changes of code for a training that resumes after step `done`.

    `resumed` has for each change the two versions of the code, module → fingerprint, and the step
    after which it was made; `retrained` lists the modules whose change caused the training to be
    repeated. A training that starts from the beginning has no `resumed`.
    """
    declarations = _declarations(path)
    resumed = [{"step": done} | change for change in declarations["resumed"]] if done else []
    if resumed != declarations["resumed"]:
        _write(path, declarations | {"resumed": resumed})
    return {key: value for key, value in (declarations | {"resumed": resumed}).items() if value}


def _declarations(path: Path) -> dict[str, list]:
    """Read the declarations of a training; older versions wrote a single change."""
    file = _declaration(path)
    stored = json.loads(file.read_text()) if file.exists() else {}
    stored = {"resumed": [stored]} if "begun_by" in stored else stored
    return {"resumed": [], "retrained": []} | stored


def _write(path: Path, declarations: Mapping[str, list]) -> None:
    with atomic(_declaration(path)) as part:
        part.write_text(json.dumps(declarations, indent=1) + "\n")


def _declaration(path: Path) -> Path:
    return path.with_name(f"{path.name}.code.json")


def _change(before: Mapping[str, str], now: Mapping[str, str]) -> dict:
    return {"begun_by": dict(before), "goes_on_by": dict(now)}


def _words(pickled: bytes):
    """Yield a pickle's texts and names of operations in order, without running any."""
    for operation, argument, _ in pickletools.genops(pickled):
        if "PUT" not in operation.name and operation.name != "MEMOIZE":
            yield argument if operation.name.endswith("UNICODE") else operation.name


def _behind(key: str, words) -> str:
    """Return the item that follows a text."""
    next(word for word in words if word == key)
    return next(words)
