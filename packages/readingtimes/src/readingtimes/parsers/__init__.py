"""Parsers of reading-time corpora, one module each, selected by name in the config.

A parser module defines `MEASURES` (its measures; None: any that the options map to a column, in which
case `words` gets the dataset's as `measures`), `words(files, **options)` and
`responses(files, words, measure, **options)`; and where the corpus has fixations
`read_fixations(files, words, **options)`, with the options of `responses`, which returns contract 4 or
None if the files have none. It reads and checks but does not filter: filters are in
the definition, and `readingtimes.observations` applies and counts them.

Literals that are read without importing the module: `COLUMNS`, all columns of words and responses
beyond the contract, `CHOICES` (option → permitted values), and
`AMPLITUDES`, the measures that are amplitudes. An option `offset` of `responses` (default 0) shifts the
times by a number of words; the check of alignment reports the correct one.
"""

import inspect
from collections.abc import Callable
from types import ModuleType

from readingtimes import plugins
from readingtimes.errors import InputError
from readingtimes.names import nearest

_NO_OPTIONS = {"measures"}  # set by the workflow


def names() -> list[str]:
    """Return the names of the parsers."""
    return plugins.names("readingtimes.parsers")


def parser(name: str) -> ModuleType:
    """Load the parser `name`; InputError, with the nearest name, if there is none."""
    return plugins.load("readingtimes.parsers", name)


def accepted(module: ModuleType, function: Callable, options: dict) -> dict:
    """Return the options that `function` takes; InputError for options that no function takes.

    A dataset's options serve both functions of its parser, and each takes what it names.
    """
    keywords = _keywords(function) - _NO_OPTIONS
    all_keywords = sorted((_keywords(module.words) | _keywords(module.responses)) - _NO_OPTIONS)
    for key in options:
        if key not in all_keywords:
            parser_name = module.__name__.rpartition(".")[2]
            raise InputError(
                f"options: {parser_name} has no option {nearest(key, all_keywords)}; it has: "
                f"{', '.join(all_keywords) or 'none'}"
            )
    return {key: value for key, value in options.items() if key in keywords}


def _keywords(function: Callable) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
