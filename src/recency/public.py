"""Names that a package offers and loads when they are first asked for, so that importing it is cheap."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

EXTRAS = {
    "lm": ("torch", "transformers", "tokenizers", "safetensors", "jsonschema"),
    "lme4": ("rpy2",),
    "explore": ("altair", "vl_convert", "itables"),
    "workflow": (
        "snakemake",
        "yaml",
        "openpyxl",
        "matplotlib",
        "optuna",
        "statsmodels",
        "nltk",
        "sklearn",
    ),
}
"""Extra of the package → the packages that it installs."""


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
        try:
            found = import_module(module)
        except ModuleNotFoundError as error:
            if not (extra := extra_of(error)):
                raise
            raise ModuleNotFoundError(
                f"{package}.{name} needs the package {error.name}: pip install 'recency[{extra}]'",
                name=error.name,
            ) from error
        found = getattr(found, attribute) if attribute else found
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return load, listed, list(names)


def extra_of(error: ModuleNotFoundError) -> str:
    """Return the extra that installs the package that was not found; "" where none does."""
    missing = (error.name or "").partition(".")[0]
    return next((extra for extra, packages in EXTRAS.items() if missing in packages), "")
