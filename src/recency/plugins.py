"""Modules that a config chooses by name: forms of bias, parsers of corpora, readers of text.

Each kind is a package with one module for each name. `load` is the one place where a module is
imported by a name that is not written in the code, so that recency.workflow.code finds what a
rule depends on.
"""

import ast
import importlib
import re
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from recency.errors import InputError
from recency.names import nearest


@cache
def folder(package: str) -> Path:
    """Return the folder of a package such as `recency.attention.biases`, without importing it."""
    parts = package.split(".")
    return Path(find_spec(parts[0]).submodule_search_locations[0]).joinpath(*parts[1:])


def names(package: str, marker: str) -> list[str]:
    """Return the modules of a package that define `marker` at their top level, sorted.

    None is imported, so that a config is checked without PyTorch.
    """
    modules = sorted(folder(package).glob("[a-z]*.py"))
    return [path.stem for path in modules if _defined(path, marker) is not None]


def constant(package: str, name: str, constant: str) -> object:
    """Return the value of a literal constant of a module, read without importing it."""
    node = _defined(_file(package, name), constant)
    if node is None:
        raise InputError(f"{package}.{name} sets no {constant}; see its neighbours for an example")
    return ast.literal_eval(node.value)


def literal(package: str, name: str, constant: str) -> object:
    """Return the value of a constant of a module as `constant` does; None if either is not there."""
    file = _file(package, name)
    node = _defined(file, constant) if file.is_file() else None
    try:
        return None if node is None else ast.literal_eval(node.value)
    except (ValueError, AttributeError):  # computed, or no constant
        return None


def attribute(package: str, name: str, attribute: str) -> object:
    """Return a literal attribute of the class `Form` of a module; None if it sets none."""
    file = _file(package, name)
    for form in _statements(file, file.stat().st_mtime_ns):
        if isinstance(form, ast.ClassDef) and form.name == "Form":
            for node in form.body:
                targets = node.targets if isinstance(node, ast.Assign) else []
                if any(isinstance(each, ast.Name) and each.id == attribute for each in targets):
                    return ast.literal_eval(node.value)
    return None


def keywords(package: str, name: str, function: str) -> dict[str, str]:
    """Return the arguments with a default that a module's function takes: name → its annotation."""
    node = _defined(_file(package, name), function)
    if not isinstance(node, ast.FunctionDef):
        return {}
    arguments = node.args
    first = len(arguments.args) - len(arguments.defaults)
    taken = [*arguments.args[first:], *arguments.kwonlyargs]
    return {each.arg: ast.unparse(each.annotation) if each.annotation else "" for each in taken}


def docstring(package: str, name: str) -> str:
    """Return the docstring of a module, read without importing it."""
    return ast.get_docstring(ast.parse(_file(package, name).read_text(encoding="utf-8"))) or ""


def load(package: str, name: str, what: str, marker: str) -> ModuleType:
    """Import the module `name` of a package; `what` says in an InputError what it was to be."""
    file = _file(package, name)
    if not file.is_file() or _defined(file, marker) is None:
        known = names(package, marker)
        raise InputError(
            f"no {what} is called {nearest(name, known)}; a new one is a file in "
            f"src/{package.replace('.', '/')}/"
        )
    return importlib.import_module(f"{package}.{name}")


def _file(package: str, name: str) -> Path:
    """Return the file of a module of a package, `name` with dots for one of its folders."""
    *folders, last = str(name).split(".")
    return folder(package).joinpath(*folders, f"{last}.py")


@lru_cache(maxsize=1000)
def _statements(path: Path, changed: int) -> list[ast.stmt]:
    """Return a module's statements as of `changed`: a check of the config asks for them often."""
    return ast.parse(path.read_text(encoding="utf-8")).body


def _defined(path: Path, name: str) -> ast.stmt | None:
    """Return the statement at a module's top level that defines `name`."""
    return _definition(path, path.stat().st_mtime_ns, name)


@lru_cache(maxsize=4000)
def _definition(path: Path, changed: int, name: str) -> ast.stmt | None:
    text = path.read_text(encoding="utf-8")
    if re.search(rf"\b{name}\b", text) is None:
        return None
    return _among(_beginning(text, name), name) or _among(_statements(path, changed), name)


def _among(statements: list[ast.stmt], name: str) -> ast.stmt | None:
    for node in statements:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
        targets = [node.target] if isinstance(node, ast.AnnAssign) else []
        targets = node.targets if isinstance(node, ast.Assign) else targets
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return node
    return None


def _beginning(text: str, name: str) -> list[ast.stmt]:
    """Return a module's statements up to the one that defines `name`, if that is seen: they are few.

    To read all of a hundred modules takes a run longer than all else that it does first.
    """
    if (found := re.search(rf"^(?:def )?{name}\b", text, re.MULTILINE)) is None:
        return []
    after = re.compile(r"^[^\s)\]}#]", re.MULTILINE).search(text, found.end())
    try:
        return ast.parse(text[: after.start()] if after else text).body
    except SyntaxError:  # the line stands in a string
        return []
