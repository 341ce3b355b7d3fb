"""Reading-time corpora, one module each; `parser` finds a module by the name in the config.

A parser module gives `MEASURES` (the measures it can give; None: any that the options map to a
column), `words(files, **options)` and `responses(files, words, measure, **options)`. It reads and
checks, and filters nothing: the filters stand in the config, and `observations.py` counts them.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from job import InputError

_INTERFACE = ("MEASURES", "words", "responses")


def _is_parser(module: ModuleType) -> bool:
    return all(hasattr(module, name) for name in _INTERFACE)


def names() -> list[str]:
    """List the parsers there are."""
    stems = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    return [stem for stem in stems if _is_parser(importlib.import_module(f"{__name__}.{stem}"))]


def parser(name: str) -> ModuleType:
    """Load the parser `name`; raise an InputError with the nearest name if there is none."""
    if name not in (known := names()):
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise InputError(
            f"parser: {name} is no parser of a reading-time corpus; {hint}There are: "
            f"{', '.join(known)}; a new one is a file in workflow/scripts/datasets/"
        )
    return importlib.import_module(f"{__name__}.{name}")


def accepted(module: ModuleType, function: Callable, options: dict) -> dict:
    """Pick the options that `function` takes; an option that no function of the parser takes fails.

    A dataset's options serve both functions of its parser, and each takes what it names.
    """
    own = _keywords(function)
    known = sorted(_keywords(module.words) | _keywords(module.responses))
    for key in options:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            there = ", ".join(known) or "none"
            parser_name = module.__name__.rpartition(".")[2]
            raise InputError(
                f"options → {key}: {parser_name} has no such option; {hint}It has: {there}"
            )
    return {key: value for key, value in options.items() if key in own}


def _keywords(function: Callable) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
