"""Families of responses and test statistics: modules that are selected by name.

Each module of `crosslmm.densities` is a family, and each of `crosslmm.stats.statistics` a statistic.
Other packages add theirs by entry points of the kind's group, which name a module.
"""

import sys
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from crosslmm.errors import InputError, nearest

#: Package → group of entry points, noun for errors, and a name that each of its modules defines.
KINDS = {
    "crosslmm.densities": ("recency.families", "family of responses", "PREDICTORS"),
    "crosslmm.stats.statistics": ("recency.statistics", "test statistic", "columns"),
}


def load(package: str, name: str) -> ModuleType:
    """Import the module of a family or statistic.

    Raises
    ------
    InputError
        If there is none of this name, with the nearest or all; or if its package is broken.
    """
    group, title, marker = KINDS[package]
    if name in _own(package):
        return import_module(f"{package}.{name}")
    module = _find_plugins(group, tuple(sys.path)).get(name)
    if module is None:
        raise InputError(f"no {title} is called {nearest(name, names(package))}")
    try:
        loaded = import_module(module)
    except Exception as error:
        raise InputError(
            f"entry point {name!r} of group {group}: {module} cannot be imported: "
            f"{type(error).__name__}: {error}; correct its package, or uninstall it"
        ) from error
    if not hasattr(loaded, marker):
        raise InputError(f"entry point {name!r} of group {group}: {module} lacks {marker}")
    return loaded


def names(package: str) -> list[str]:
    """Return the names of a kind: those of this package, then those of others, both sorted."""
    ours = _own(package)
    return [*ours, *sorted(_find_plugins(KINDS[package][0], tuple(sys.path)).keys() - set(ours))]


def _own(package: str) -> tuple[str, ...]:
    (folder,) = find_spec(package).submodule_search_locations
    return tuple(sorted(path.stem for path in Path(folder).glob("[a-z]*.py")))


@lru_cache(maxsize=10)
def _find_plugins(group: str, path: tuple[str, ...]) -> dict[str, str]:
    """Return name → module of the entry points of a group, cached by `sys.path`."""
    from importlib.metadata import entry_points  # slow import

    return {point.name: point.module for point in entry_points(group=group)}
