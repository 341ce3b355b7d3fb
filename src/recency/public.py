"""Lazy loading of a package's public names, so that importing the package is fast."""

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
"""Extra of the package → packages that it installs."""


def lazily(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` and `__all__`.

    `names` maps a public name to `module:attribute`, or a module. Modules of this project import the
    originals, not these names; recency.workflow.code enforces this.
    """

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = names[name].partition(":")
        try:
            loaded = import_module(module)
        except ModuleNotFoundError as error:
            if not (extra := extra_of(error)):
                raise
            raise ModuleNotFoundError(
                f"{package}.{name} needs the package {error.name}: pip install 'recency[{extra}]'",
                name=error.name,
            ) from error
        loaded = getattr(loaded, attribute) if attribute else loaded
        setattr(sys.modules[package], name, loaded)
        return loaded

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return load, listed, list(names)


def extra_of(error: ModuleNotFoundError) -> str:
    """Return the extra that installs a missing package, "" if there is none."""
    missing = (error.name or "").partition(".")[0]
    return next((extra for extra, packages in EXTRAS.items() if missing in packages), "")
