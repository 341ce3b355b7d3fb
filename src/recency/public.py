"""Names that a package offers and loads when they are first asked for, so that importing it is cheap."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazily(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` and `__all__`.

    `names` are public name → `module:attribute`, or a module. Modules of this project import from
    where things stand, not through these names: recency.workflow.code sees to it.
    """

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = names[name].partition(":")
        found = import_module(module)
        found = getattr(found, attribute) if attribute else found
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return load, listed, list(names)
