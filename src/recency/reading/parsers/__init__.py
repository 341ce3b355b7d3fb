"""Reading-time corpora, one module each; `parser` finds a module by the name in the config.

A parser module gives `MEASURES` (the measures it can give; None: any that the options map to a
column; its `words` are told the dataset's, as `measures`), `words(files, **options)` and `responses(files, words, measure, **options)`. It reads and
checks, and filters nothing: the filters stand in the config, and `recency.reading.observations` counts them.

Literals say what the config may ask for, and are read without importing the module: `COLUMNS`, every
column of its words and responses beyond the contract (`recency.reading.declared_columns` says how),
`CHOICES` (option → its values, where they are a few), and `AMPLITUDES`, the measures that are no
times. An option `offset` of `responses`, 0 unless given, is the number of words that times are moved by; the
check of alignment names the right one.
"""

import inspect
from collections.abc import Callable
from types import ModuleType

from recency import plugins
from recency.errors import InputError
from recency.names import nearest

_NO_OPTIONS = {"measures"}  # what the workflow itself tells a parser


def names() -> list[str]:
    """List the parsers there are."""
    return plugins.names("recency.reading.parsers")


def parser(name: str) -> ModuleType:
    """Load the parser `name`; raise an InputError with the nearest name if there is none."""
    return plugins.load("recency.reading.parsers", name)


def accepted(module: ModuleType, function: Callable, options: dict) -> dict:
    """Pick the options that `function` takes; an option that no function of the parser takes fails.

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
