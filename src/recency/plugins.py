"""Modules selected by name in a config: forms of bias, parsers, measures, evaluations.

Each kind is a package of this project with one module per name. Other installed packages can provide
more by entry points of the kind's group. Only `load` imports modules by a dynamic name, so that
recency.workflow.code can determine the code dependencies of a rule.
"""

import ast
import importlib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from recency.errors import InputError
from recency.names import nearest


@dataclass(frozen=True)
class Kind:
    """A kind of plugin.

    Attributes
    ----------
    package
        The package of this project with one module per name.
    title
        Noun for errors.
    marker
        Name that every module of the kind defines; a folder defines it in its spec.py.
    ending
        Suffix of a module's or folder's name.
    """

    package: str
    title: str
    marker: str
    ending: str = ".py"


#: Group of entry points, without `recency.` → kind.
KINDS = {
    "biases": Kind("recency.attention.biases", "form of bias", "PARAMETERS"),
    "memories": Kind("recency.networks.memories", "form of memory", "PARAMETERS"),
    "erasures": Kind("recency.networks.erasures", "form of erasure", "PARAMETERS"),
    "parsers": Kind("recency.reading.parsers", "parser", "MEASURES"),
    "readers": Kind("recency.text.readers", "reader of text", "read"),
    "measures": Kind("recency.scoring.measures", "measure", "MEASURE"),
    "likelihoods": Kind("recency.regression.likelihoods", "likelihood", "ENDPOINT"),
    "families": Kind("recency.mixed.densities", "family of responses", "PREDICTORS"),
    "statistics": Kind("recency.stats.statistics", "test statistic", "columns"),
    "evaluations": Kind("recency.evaluations", "evaluation", "EVALUATION", "/"),
    "lint": Kind("recency.workflow.lint", "lint rule", "RULE"),
}
_GROUPS = {kind.package: f"recency.{name}" for name, kind in KINDS.items()}


def provided(package: str) -> dict[str, str]:
    """Return the plugins that other installed packages provide: name → dotted name of the module.

    Parameters
    ----------
    package : str
        The package of a kind, such as `recency.attention.biases`.

    Raises
    ------
    InputError
        If two packages, or a package and this project, provide the same name.
    """
    return _provided(package, tuple(sys.path)) if package in _GROUPS else {}


def providers() -> list[str]:
    """Return the top-level packages that provide plugins of any kind, sorted."""
    return _providers(tuple(sys.path))


@lru_cache(maxsize=10)
def _providers(path: tuple[str, ...]) -> list[str]:
    modules = (module for package in _GROUPS for module in _provided(package, path).values())
    return sorted({module.partition(".")[0] for module in modules})


@lru_cache(maxsize=10)
def _entry_points(path: tuple[str, ...]) -> list:
    """Return the entry points of all kinds, sorted by name, cached by `sys.path`."""
    from importlib.metadata import entry_points  # slow import

    points = (point for group in _GROUPS.values() for point in entry_points(group=group))
    return sorted(points, key=lambda point: point.name)


@lru_cache(maxsize=100)
def _provided(package: str, path: tuple[str, ...]) -> dict[str, str]:
    modules: dict[str, str] = {}
    for point in _entry_points(path):
        if point.group != _GROUPS[package]:
            continue
        where = f"entry point {point.name!r} of group {_GROUPS[package]}, {point.value!r}"
        if not point.name.isidentifier():
            raise InputError(f"{where}: its name must consist of letters, digits and _; rename it")
        if point.attr or find_spec(point.module.partition(".")[0]) is None:
            raise InputError(f"{where}: the module is not installed; correct it in its package")
        if point.name in modules or _is_ours(package, point.name):
            other = modules.get(point.name, package)
            raise InputError(
                f"{where}: {other} already has this name; rename the entry point, or uninstall "
                f"{point.dist.name}"
            )
        modules[point.name] = point.module
    return modules


def _is_ours(package: str, name: str) -> bool:
    """Return whether a package of this project has a module or folder of this name."""
    path = folder(package) / name
    return path.is_dir() or path.with_name(f"{name}.py").is_file()


def dotted(package: str, name: str) -> str:
    """Return the dotted name of a plugin's module, or of a module in the plugin's folder."""
    head, dot, rest = str(name).partition(".")
    if _is_ours(package, head):
        return f"{package}.{name}"
    return provided(package).get(head, f"{package}.{head}") + dot + rest


@cache
def folder(package: str) -> Path:
    """Return the folder of a package such as `recency.attention.biases`, without importing it."""
    first, *parts = package.split(".")
    spec = find_spec(first)
    if spec.submodule_search_locations is None:  # a single module, not in a package
        return Path(spec.origin).with_suffix("")
    paths = [Path(where).joinpath(*parts) for where in spec.submodule_search_locations]
    return next((path for path in paths if path.is_dir()), paths[0])


def names(package: str, marker: str | None = None) -> list[str]:
    """Return the plugins of a kind, or the modules of any package that define `marker`.

    Those of this project come first, then those of other packages, both sorted. None is imported, so
    that configs can be checked without PyTorch. `marker` defaults to the kind's.
    """
    marker = marker or _kind(package).marker
    modules = sorted(folder(package).glob("[a-z]*.py"))
    ours = [path.stem for path in modules if _defined(path, marker) is not None]
    ours += sorted(p.parent.name for p in folder(package).glob("*/spec.py") if package in _GROUPS)
    return [*ours, *provided(package)]


def _kind(package: str) -> Kind:
    return KINDS[_GROUPS[package].partition(".")[2]]


def constant(package: str, name: str, constant: str) -> object:
    """Return the value of a literal constant of a module without importing it."""
    path = file(package, name)
    node = _defined(path, constant) if path.is_file() else None
    if node is None:
        raise InputError(
            f"{package}.{name} lacks {constant}; see other modules of the package for examples"
        )
    try:
        return ast.literal_eval(node.value)
    except (ValueError, AttributeError):
        raise InputError(
            f"{path}: {constant} is read without running the module; write it as a literal"
        ) from None


def literal(package: str, name: str, constant: str) -> object:
    """Return the value of a literal constant of a module, None if the module or constant is missing."""
    path = file(package, name)
    node = _defined(path, constant) if path.is_file() else None
    try:
        return None if node is None else ast.literal_eval(node.value)
    except (ValueError, AttributeError):  # not a literal
        return None


def defines(package: str, name: str, what: str) -> bool:
    """Return whether a module defines a function or constant at its top level."""
    return _defined(file(package, name), what) is not None


def attribute(package: str, name: str, attribute: str) -> object:
    """Return a literal attribute of a module's class `Form`, None if it is not set."""
    path = file(package, name)
    for form in _statements(path, path.stat().st_mtime_ns):
        if isinstance(form, ast.ClassDef) and form.name == "Form":
            for node in form.body:
                targets = node.targets if isinstance(node, ast.Assign) else []
                if any(
                    isinstance(target, ast.Name) and target.id == attribute for target in targets
                ):
                    return ast.literal_eval(node.value)
    return None


def keywords(package: str, name: str, function: str) -> dict[str, str]:
    """Return name → annotation for the parameters with defaults of a module's function."""
    node = _defined(file(package, name), function)
    if not isinstance(node, ast.FunctionDef):
        return {}
    arguments = node.args
    first = len(arguments.args) - len(arguments.defaults)
    taken = [*arguments.args[first:], *arguments.kwonlyargs]
    return {a.arg: ast.unparse(a.annotation) if a.annotation else "" for a in taken}


def docstring(package: str, name: str) -> str:
    """Return the docstring of a module without importing it."""
    return ast.get_docstring(ast.parse(file(package, name).read_text(encoding="utf-8"))) or ""


def load(package: str, name: str, what: str | None = None, marker: str | None = None) -> ModuleType:
    """Import the module of a plugin.

    Parameters
    ----------
    package, name : str
        The package of the kind, and the plugin, or `<plugin>.<module>` for a folder.
    what, marker : str, optional
        Noun for errors, and name that the module defines; default the kind's.

    Raises
    ------
    InputError
        If there is no such module, with the nearest name and how to add it.
    """
    what, marker = what or _kind(package).title, marker or _kind(package).marker
    path = file(package, name)
    if not path.is_file() or _defined(path, marker) is None:
        raise InputError(f"no {what} is called {unknown(package, name)}")
    return importlib.import_module(dotted(package, name))


def unknown(package: str, name: object, candidates: Iterable[str] | None = None) -> str:
    """Return an unknown name, quoted, with the nearest plugin or all, and how to add one."""
    candidates = names(package) if candidates is None else list(candidates)
    quoted, listed, rest = nearest(name, candidates).partition("; known: ")
    where = f"src/{package.replace('.', '/')}/<name>{_kind(package).ending}"
    if not listed:
        return f"{quoted} If not, add {where}, or install the package that provides it"
    return f"{quoted}; add {where}, or install the package that provides it{listed}{rest}"


def file(package: str, name: str) -> Path:
    """Return the path of a plugin's module, which may not exist; for a folder, its `__init__.py`."""
    where, _, last = dotted(package, name).rpartition(".")
    path = folder(where) / f"{last}.py" if where else folder(last).with_suffix(".py")
    inside = path.with_suffix("") / "__init__.py"
    return inside if not path.is_file() and inside.is_file() else path


@lru_cache(maxsize=1000)
def _statements(path: Path, changed: int) -> list[ast.stmt]:
    """Return a module's statements, cached by its modification time `changed`."""
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
    """Return a module's statements up to the one that defines `name`, if found.

    Parsing complete modules would dominate the start of a run.
    """
    if (match := re.search(rf"^(?:def )?{name}\b", text, re.MULTILINE)) is None:
        return []
    after = re.compile(r"^[^\s)\]}#]", re.MULTILINE).search(text, match.end())
    try:
        return ast.parse(text[: after.start()] if after else text).body
    except SyntaxError:  # the line is in a string
        return []
