"""The state of an unfinished training: where it is, and by what it was trained, read without PyTorch.

By other code a training does not go on, unless who runs it declares that this alters nothing: a file beside the
state then names the code that began it and that by which it goes on, and stays.
"""

import json
import pickle
import pickletools
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from recency.files import atomic


def place(folder: Path) -> Path:
    """Return where the state of a training lies that ends in `folder`."""
    return folder.with_name(f".{folder.name}.state.pt")


def unfinished(path: Path) -> dict | None:
    """Return the specification of an unfinished training's state; None of a finished or a damaged one."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
            words = _words(archive.read(name))
            specification = json.loads(_behind("specification", words))
            return None if _behind("optimizer", words) == "NONE" else specification
    except (OSError, StopIteration, ValueError, zipfile.BadZipFile, pickle.UnpicklingError):
        return None  # the job that opens it says what is wrong


def difference(old: object, new: object, where: str = "") -> list[str]:
    """List `key: old in the state, new now` for every leaf that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        lines = []
        for key in sorted(old.keys() | new.keys()):
            lines += difference(old.get(key), new.get(key), f"{where}.{key}".lstrip("."))
        return lines
    return [] if old == new else [f"{where}: {old!r} in the state, {new!r} now"]


def of_code_alone(lines: Iterable[str]) -> bool:
    """Say whether `difference` of two specifications is of nothing but their code."""
    return all(line.startswith("code.") for line in lines)


def declare(path: Path, code: Mapping[str, str]) -> None:
    """Have an unfinished training go on by other code, module → fingerprint, that is said to alter nothing.

    Earlier declarations stay if the state was saved by the code that they led to.
    """
    begun_by = unfinished(path).get("code", {})
    found = _declarations(path)
    last = found["resumed"][-1:]
    earlier = found["resumed"] if last and last[0]["goes_on_by"] == begun_by else []
    _write(path, found | {"resumed": [*earlier, _change(begun_by, code)]})


def declared(path: Path, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Say whether a training that the code `before` began was declared to go on by `now`."""
    last = _declarations(path)["resumed"][-1:]
    return [{**each, "step": None} for each in last] == [_change(before, now) | {"step": None}]


def declare_again(path: Path, modules: Iterable[str]) -> None:
    """Note that a finished training is done again since these modules changed."""
    found, modules = _declarations(path), sorted(modules)
    if modules not in found["retrained"]:
        _write(path, found | {"retrained": [*found["retrained"], modules]})


def changes(path: Path, done: int) -> dict:
    """Return the changes of code that were declared for a training that goes on after step `done`.

    `resumed` are the two codes of each change, module → fingerprint, and the step after which it was
    made; `retrained` are the modules for whose change the training was done again. A training that
    begins anew has no `resumed`.
    """
    found = _declarations(path)
    resumed = [{"step": done} | each for each in found["resumed"]] if done else []
    if resumed != found["resumed"]:
        _write(path, found | {"resumed": resumed})
    return {key: value for key, value in (found | {"resumed": resumed}).items() if value}


def _declarations(path: Path) -> dict[str, list]:
    """Read what was declared of a training; older versions wrote one change by itself."""
    file = _declaration(path)
    found = json.loads(file.read_text()) if file.exists() else {}
    found = {"resumed": [found]} if "begun_by" in found else found
    return {"resumed": [], "retrained": []} | found


def _write(path: Path, declarations: Mapping[str, list]) -> None:
    with atomic(_declaration(path)) as part:
        part.write_text(json.dumps(declarations, indent=1) + "\n")


def _declaration(path: Path) -> Path:
    return path.with_name(f"{path.name}.code.json")


def _change(before: Mapping[str, str], now: Mapping[str, str]) -> dict:
    return {"begun_by": dict(before), "goes_on_by": dict(now)}


def _words(pickled: bytes):
    """Yield what a pickle puts together, in its order: texts, and the names of its operations; none is run."""
    for operation, argument, _ in pickletools.genops(pickled):
        if "PUT" not in operation.name and operation.name != "MEMOIZE":
            yield argument if operation.name.endswith("UNICODE") else operation.name


def _behind(key: str, words) -> str:
    """Return what comes next behind a text."""
    next(word for word in words if word == key)
    return next(words)
