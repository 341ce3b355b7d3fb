"""Check options of modules selected by name, such as parsers: names, types and choices."""

import re
from collections.abc import Iterable, Iterator, Mapping

from recency.names import nearest
from recency.workflow.schema_checks import short

#: Prefix of an annotation → the types of its value in a config, and their names.
_TYPES = {
    "bool": (bool, "true or false"),
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "str": (str, "a text"),
    "dict": (dict, "a mapping"),
    "Mapping": (dict, "a mapping"),
    "list": (list, "a list"),
    "Sequence": (list, "a list"),
    "Iterable": (list, "a list"),
}


def faults(
    options: Mapping, taken: Mapping[str, str], choices: Mapping[str, Iterable] | None = None
) -> Iterator[tuple[tuple, str]]:
    """Yield (path, text) of options that a function does not take, and of invalid values.

    Parameters
    ----------
    options : mapping
        Option → its value in the config.
    taken : mapping of str to str
        Option → the annotation of the function's argument.
    choices : mapping, optional
        Option → its permitted values; in a list, each must be one of them.
    """
    for name, value in options.items():
        if name not in taken:
            yield (), f"no option is called {nearest(name[:60], sorted(taken))}"
        elif wrong := _wrong(value, taken[name]):
            yield (name,), f"{short(value)} is not {wrong}"
        elif value == []:
            yield (name,), "the list is empty"
        elif allowed := list((choices or {}).get(name, ())):
            for item in value if isinstance(value, list) else [value]:
                if item is not None and item not in allowed:
                    yield (name,), f"none is called {nearest(str(item)[:60], allowed)}"


def _wrong(value: object, annotation: str) -> str | None:
    """Return the type that a value should have by an annotation, None if it has it or it is unknown."""
    kinds = [kind.strip() for kind in re.sub(r"\[.*\]", "", annotation).split("|")]
    if not annotation or any(kind != "None" and kind not in _TYPES for kind in kinds):
        return None
    if value is None and "None" in kinds:
        return None
    allowed = [_TYPES[kind] for kind in kinds if kind in _TYPES]
    for types, _ in allowed:
        if isinstance(value, types) and (types is bool or not isinstance(value, bool)):
            of_text = isinstance(value, list) and "[str]" in annotation
            if of_text and not all(isinstance(item, str) for item in value):
                return "a list of texts; write numbers in quotes"
            return None
    return " or ".join(name for _, name in allowed)
