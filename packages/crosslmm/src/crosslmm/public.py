"""Lazy loading of a package's public names, so that importing the package is fast."""

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

EXTRAS = {"lme4": ("rpy2",), "plots": ("matplotlib",), "tests": ("statsmodels",)}
"""Extra of this package → packages that it installs."""


def lazily(
    package: str, file: str, extras: Mapping[str, Sequence[str]] = EXTRAS
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` and `__all__`.

    The names are those that the stub next to `file`, its `__init__.pyi`, imports. Type checkers read
    the same stub. Modules of this project import from the defining module, not through these names:
    a workflow of this project checks this.
    """
    names = _declared_names(package, f"{file}i")
    distribution = package.partition(".")[0]

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = names[name].partition(":")
        try:
            loaded = import_module(module)
        except ModuleNotFoundError as error:
            if not (extra := extra_of(error, extras)):
                raise
            raise ModuleNotFoundError(
                f"{package}.{name} needs the package {error.name}: pip install '{distribution}[{extra}]'",
                name=error.name,
            ) from error
        loaded = getattr(loaded, attribute) if attribute else loaded
        setattr(sys.modules[package], name, loaded)
        return loaded

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return load, listed, list(names)


def _declared_names(package: str, path: str) -> dict[str, str]:
    """Return public name → `module:attribute`, or a module, as a stub imports them."""
    with open(path, encoding="utf-8") as stub:
        tree = ast.parse(stub.read())
    names: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            separator = "." if node.module == package else ":"
            names |= {n.name: f"{node.module}{separator}{n.name}" for n in node.names}
    return names


def extra_of(error: ModuleNotFoundError, extras: Mapping[str, Sequence[str]]) -> str:
    """Return the extra that installs a missing package, "" if there is none."""
    missing = (error.name or "").partition(".")[0]
    return next((extra for extra, packages in extras.items() if missing in packages), "")
