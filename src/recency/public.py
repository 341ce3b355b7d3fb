"""Lazy loading of public names, so that `import recency` is fast; extras that install what is missing."""

from collections.abc import Callable

from crosslmm import public

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
"""Extra of the package → packages that it installs."""


def lazily(
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` and `__all__`; see `crosslmm.public.lazily`."""
    return public.lazily(package, file, EXTRAS)


def extra_of(error: ModuleNotFoundError) -> str:
    """Return the extra that installs a missing package, "" if there is none."""
    return public.extra_of(error, EXTRAS)
