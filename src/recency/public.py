"""Names that a package offers and loads when they are first asked for, so that importing it is cheap."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module

EXTRAS = {
    "lm": ("torch", "transformers", "tokenizers", "safetensors", "jsonschema", "tqdm"),
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
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` and `__all__`.

    The names are those that the stub next to `file`, its `__init__.pyi`, imports. Type checkers read
    the same stub. Modules of this project import from the defining module, not through these names:
    recency.workflow.code checks this.
    """
    names = _declared(package, f"{file}i")

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


def _declared(package: str, path: str) -> dict[str, str]:
    """Return public name → `module:attribute`, or a module, as a stub imports them."""
    with open(path, encoding="utf-8") as stub:
        tree = ast.parse(stub.read())
    names: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            separator = "." if node.module == package else ":"
            names |= {n.name: f"{node.module}{separator}{n.name}" for n in node.names}
    return names


def extra_of(error: ModuleNotFoundError) -> str:
    """Return the extra that installs the package that was not found; "" where none does."""
    missing = (error.name or "").partition(".")[0]
    return next((extra for extra, packages in EXTRAS.items() if missing in packages), "")
