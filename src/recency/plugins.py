"""Modules selected by name in a config: forms of bias, parsers, measures, evaluations.

Each kind is a package of this project with one module per name. Other installed packages can provide
more by entry points of the kind's group; one that cannot be read is set aside with the reason, and
refused where a config names it. Only `load` imports modules by a dynamic name, so that
recency.workflow.plan.code can determine the code dependencies of a rule.
"""

import ast
import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from readingtimes.names import nearest
from recency import module_source as source
from recency.errors import InputError, first_line


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
    literals
        Names of constants that are read without running the module.
    ending
        Suffix of a module's or folder's name.
    """

    package: str
    title: str
    marker: str
    literals: tuple[str, ...] = ()
    ending: str = ".py"


#: Group of entry points, without `recency.` → kind.
KINDS = {
    "biases": Kind("recency.attention.biases", "form of bias", "PARAMETERS", ("PARAMETERS",)),
    "memories": Kind("recency.networks.memories", "form of memory", "PARAMETERS", ("PARAMETERS",)),
    "erasures": Kind("recency.networks.erasures", "form of erasure", "PARAMETERS", ("PARAMETERS",)),
    "parsers": Kind("readingtimes.parsers", "parser", "MEASURES", ("MEASURES",)),
    "readers": Kind("recency.text.readers", "reader of text", "read"),
    "measures": Kind("recency.scoring.measures", "measure", "MEASURE", ("MEASURE",)),
    "likelihoods": Kind("recency.regression.likelihoods", "likelihood", "ENDPOINT", ("ENDPOINT",)),
    "families": Kind(
        "crosslmm.densities",
        "family of responses",
        "PREDICTORS",
        ("PREDICTORS", "LINKS", "POSITIVE"),
    ),
    "statistics": Kind("crosslmm.stats.statistics", "test statistic", "columns"),
    "evaluations": Kind("recency.evaluations", "evaluation", "EVALUATION", ending="/"),
    "lint": Kind("recency.workflow.lint", "module of lint rules", "RULES", ("RULES",)),
}
_GROUPS = {kind.package: f"recency.{name}" for name, kind in KINDS.items()}


def provided(package: str) -> dict[str, str]:
    """Return the plugins that other installed packages provide: name → dotted name of the module.

    Parameters
    ----------
    package : str
        The package of a kind, such as `recency.attention.biases`.

    Returns
    -------
    dict
        Without those that are set aside (`unreadable`).
    """
    if package not in _GROUPS:
        return {}
    modules, problems = _find_plugins(package, tuple(sys.path))
    return {name: module for name, module in modules.items() if name not in problems}


def unreadable(package: str) -> dict[str, str]:
    """Return the plugins of other packages that are set aside: name → entry point and reason."""
    return dict(_find_plugins(package, tuple(sys.path))[1]) if package in _GROUPS else {}


def set_aside(package: str, name: str, reason: object) -> None:
    """Set a plugin of another package aside; raise InputError for one of this project.

    Parameters
    ----------
    package, name : str
        The package of the kind, and the plugin.
    reason : object
        Why it cannot be read.
    """
    modules, problems = _find_plugins(package, tuple(sys.path))
    if name not in modules:
        raise InputError(str(reason))
    problems[name] = f"{_entry(package, name, modules[name])} cannot be read: {reason}"


def notices() -> list[str]:
    """Return a line on each plugin that is set aside, of the kinds that were asked for."""
    path, lines = tuple(sys.path), []
    for package in _GROUPS:
        if (package, path) in _ASKED:
            lines += (f"{problem}; it is skipped" for problem in unreadable(package).values())
    return lines


def providers() -> list[str]:
    """Return the top-level packages that provide plugins of any kind, sorted."""
    return _providers(tuple(sys.path))


@lru_cache(maxsize=10)
def _providers(path: tuple[str, ...]) -> list[str]:
    modules = (module for package in _GROUPS for module in provided(package).values())
    return sorted({module.partition(".")[0] for module in modules})


@lru_cache(maxsize=10)
def _entry_points(path: tuple[str, ...]) -> list:
    """Return the entry points of all kinds, sorted by name, cached by `sys.path`."""
    from importlib.metadata import entry_points  # slow import

    every = entry_points()  # one scan of the installed packages for all kinds
    points = (point for group in _GROUPS.values() for point in every.select(group=group))
    return sorted(points, key=lambda point: (point.name, point.value))


#: Kinds whose plugins were asked for, with the `sys.path`.
_ASKED: set[tuple[str, tuple[str, ...]]] = set()


@lru_cache(maxsize=100)
def _find_plugins(package: str, path: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """Return name → module of all plugins, and name → reason of those that are set aside."""
    _ASKED.add((package, path))
    points = [point for point in _entry_points(path) if point.group == _GROUPS[package]]
    count = Counter(point.name for point in points)
    modules, problems = {}, {}
    for point in points:
        modules[point.name] = point.module
        reason = _problem(package, point)
        if count[point.name] > 1:
            both = " and ".join(other.value for other in points if other.name == point.name)
            reason = f"{both} have one name; uninstall one of their packages"
        if reason:
            problems[point.name] = (
                f"{_entry(package, point.name, point.value)} cannot be read: {reason}"
            )
    return modules, problems


def _entry(package: str, name: str, value: str) -> str:
    return f"entry point {name!r} of group {_GROUPS[package]}, {value!r},"


def _problem(package: str, point) -> str:
    """Return why an entry point cannot be read; "" if nothing speaks against it."""
    if not point.name.isidentifier():
        return "its name must consist of letters, digits and _; rename it"
    if _is_ours(package, point.name):
        return f"{package} already has this name; rename it, or uninstall {point.dist.name}"
    if point.attr or point.extras:
        return "it names more than a module; write the module alone"
    if not source.is_installed(point.module):
        return "the module is not installed; correct it in its package"
    kind = _kind(package)
    parts = point.module.split(".")
    parents = [_file(".".join(parts[:end])) for end in range(1, len(parts))]
    files = [path for path in parents if path.is_file()]  # a package may lack __init__.py
    files.append(_file(point.module + (".spec" if kind.ending == "/" else "")))
    for path in files:
        if not path.is_file():
            return f"there is no file {path}; correct it in its package"
        if reason := source.problem(path):
            return f"{path}: {reason}"
    for name in dict.fromkeys((kind.marker, *kind.literals)):
        node = source.defined(files[-1], name)
        if node is None:
            return f"{files[-1]} lacks {name}; see modules of {package} for examples"
        if name in kind.literals and not source.is_literal(node):
            return f"{files[-1]}: {name} is read without running the module; write it as a literal"
    return ""


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
    ours = [path.stem for path in modules if source.defined(path, marker) is not None]
    ours += sorted(p.parent.name for p in folder(package).glob("*/spec.py") if package in _GROUPS)
    return [*ours, *provided(package)]


def _kind(package: str) -> Kind:
    return KINDS[_GROUPS[package].partition(".")[2]]


def constant(package: str, name: str, constant: str) -> object:
    """Return the value of a literal constant of a module without importing it."""
    path = file(package, name)
    node = source.defined(path, constant) if path.is_file() else None
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
    node = source.defined(path, constant) if path.is_file() else None
    try:
        return None if node is None else ast.literal_eval(node.value)
    except (ValueError, AttributeError):  # not a literal
        return None


def defines(package: str, name: str, what: str) -> bool:
    """Return whether a module defines a function or constant at its top level."""
    return source.defined(file(package, name), what) is not None


def attribute(package: str, name: str, attribute: str) -> object:
    """Return a literal attribute of a module's class `Form`, None if it is not set."""
    path = file(package, name)
    for form in source.statements(path, path.stat().st_mtime_ns):
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
    node = source.defined(file(package, name), function)
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
    path, plugin = file(package, name), str(name).partition(".")[0]
    if plugin in unreadable(package) and not _is_ours(package, plugin):
        raise InputError(f"no {what} is called {unknown(package, plugin)}")
    if not path.is_file() or source.defined(path, marker) is None:
        raise InputError(f"no {what} is called {unknown(package, name)}")
    module = dotted(package, name)
    if plugin not in provided(package):
        return importlib.import_module(module)
    try:
        return importlib.import_module(module)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # sys.exit() too
        reason = f"{module} cannot be imported: {type(error).__name__}: {first_line(error)}"
        raise InputError(
            f"{_entry(package, plugin, provided(package)[plugin])} {reason}; correct its package, or "
            "uninstall it"
        ) from error


#: A word with two capitals.
_ABBREVIATION = re.compile(r"\b\w*[A-Z]\w*[A-Z]\w*\b")


def unknown(package: str, name: object, candidates: Iterable[str] | None = None) -> str:
    """Return an unknown name, quoted, with the nearest plugin or all, and how to add one.

    For a plugin that is set aside, return the reason; for an abbreviation, such as ALiBi, the plugin whose
    documentation begins with it.
    """
    if problem := unreadable(package).get(str(name)):
        return f"{str(name)!r}: {problem}"
    if candidates is None:
        for each in names(package):
            first = docstring(package, each).partition("\n\n")[0]
            if str(name).lower() in map(str.lower, _ABBREVIATION.findall(first)):
                return f"{str(name)!r}; did you mean {each!r}?"
    candidates = names(package) if candidates is None else list(candidates)
    quoted, listed, rest = nearest(name, candidates).partition("; known: ")
    above = "" if package.startswith("recency.") else f"packages/{package.partition('.')[0]}/"
    where = f"{above}src/{package.replace('.', '/')}/<name>{_kind(package).ending}"
    if not listed:
        return f"{quoted} If not, add {where}, or install the package that provides it"
    return f"{quoted}; add {where}, or install the package that provides it{listed}{rest}"


def file(package: str, name: str) -> Path:
    """Return the path of a plugin's module, which may not exist; for a folder, its `__init__.py`."""
    return _file(dotted(package, name))


def _file(module: str) -> Path:
    """Return the path of a module by its dotted name."""
    where, _, last = module.rpartition(".")
    path = folder(where) / f"{last}.py" if where else folder(last).with_suffix(".py")
    inside = path.with_suffix("") / "__init__.py"
    return inside if not path.is_file() and inside.is_file() else path
