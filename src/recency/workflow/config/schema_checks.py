"""Check a config by its schema, with one line per fault and its remedy.

The head of config.schema.yaml explains the keywords in addition to JSON Schema's: `x-message` and
`x-at` set the message of an error; `x-below` and `x-at-most` compare two numbers; `x-table`,
`x-module`, `x-check` and `x-columns` look up a value, after all types are correct; `x-provided` is the
kind of plugins that define names.

Check options of modules selected by name, such as parsers: names, types and choices.

Column names of local tables, read during planning without pandas.

Look up single values of a config: names of entries and modules, files, columns of tables.

The schema marks these values by the keywords `x-table`, `x-module`, `x-columns` and `x-check` (a
function in `CHECKS`). Each check yields (path below the value, text) per fault.
"""

import csv
import glob
import gzip
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema

from readingtimes import joins
from readingtimes.downloads import addresses
from readingtimes.names import near, nearest
from recency import config as configuration
from recency import overrides, plugins, sources
from recency.errors import REFUSALS, InputError
from recency.scoring import measures
from recency.scoring.next_word import word_entropy_settings
from recency.workflow import lint

LARGEST = 2**53  # integers up to here are exact as floating-point numbers
LARGEST_SEED = 2**32 - 1  # maximum for all random number generators used
DEEPEST, MOST = 50, 200_000  # maximum nesting and number of values of a config
LOOKED_UP = ("x-table", "x-module", "x-check", "x-columns")
PROVIDED = "x-provided"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


class _Values(dict):
    """Values for the placeholders of a message; missing ones are `none`."""

    def __missing__(self, key: str) -> str:
        return "none"


def _fill_message(text: str, instance: object, **more: object) -> str:
    """Return a message with its placeholders filled in."""
    values = dict(instance) if isinstance(instance, Mapping) else {}
    values |= {"first": instance[0]} if isinstance(instance, list) and instance else {}
    values |= {"value": short(instance), "text": str(instance)[:60]}
    return text.format_map(_Values(values | more))


def _with_message(rule: Callable) -> Callable:
    """Wrap the validator of a keyword to use the `x-message` of its schema."""

    def checked(validator: Any, value: object, instance: object, schema: Mapping) -> Iterator:
        for error in rule(validator, value, instance, schema) or ():
            if "x-message" not in schema or error.validator in ("x-message", *LOOKED_UP):
                yield error
                continue
            path = list(error.path) if error.validator is None else []
            text = _fill_message(
                schema["x-message"], instance, **({"key": path[-1]} if path else {})
            )
            if "x-at" in schema:
                at = schema["x-at"] or []
                path = [at] if isinstance(at, str) else at
            yield jsonschema.ValidationError(text, validator="x-message", path=path)

    return checked


def _properties(validator: Any, value: Mapping, instance: object, schema: Mapping) -> Iterator:
    """Apply `properties`; jsonschema does not report the path of a forbidden key (`false`)."""
    for key, inner in value.items() if isinstance(instance, Mapping) else ():
        if key in instance and inner is False:
            yield jsonschema.ValidationError(
                "this key is not allowed here", validator=None, path=[key]
            )
        elif key in instance:
            yield from validator.descend(instance[key], inner, path=key, schema_path=key)


def _dependent(validator: Any, value: Mapping, instance: object, schema: Mapping) -> Iterator:
    """Apply `dependentSchemas`; by default a message refers to the dependent key."""
    for key, inner in value.items() if isinstance(instance, Mapping) else ():
        if key in instance:
            for error in validator.descend(instance, inner, schema_path=key):
                if error.validator == "x-message" and not error.path and "x-at" not in inner:
                    error.path.append(key)
                yield error


def _comparison_validator(holds: Callable[[float, float], bool]) -> Callable:
    """Return the validator of a keyword that compares two numbers of an entry."""

    def checked(validator: Any, value: Mapping, instance: object, schema: Mapping) -> Iterator:
        for key, (other, text) in value.items() if isinstance(instance, Mapping) else ():
            high, given = instance.get(other), instance.get(key)
            for low in given if isinstance(given, list) else [given]:
                numbers = isinstance(low, int | float) and isinstance(high, int | float)
                if numbers and not holds(low, high):
                    yield jsonschema.ValidationError(
                        _fill_message(text, instance, value=low), validator="x-message", path=[key]
                    )

    return checked


def _looked_up(keyword: str) -> Callable:
    """Return the validator of a keyword whose value is looked up after all types are correct."""

    def deferred(validator: Any, value: object, instance: object, schema: Mapping) -> Iterator:
        yield jsonschema.ValidationError(
            "", validator=keyword, validator_value=value, instance=instance
        )

    return deferred


_BASE = jsonschema.Draft202012Validator
#: 4.0 is not an integer.
Validator = jsonschema.validators.extend(
    _BASE,
    {
        name: _with_message(_properties if name == "properties" else rule)
        for name, rule in _BASE.VALIDATORS.items()
    }
    | {
        "dependentSchemas": _dependent,
        "x-below": _comparison_validator(lambda low, high: low < high),
        "x-at-most": _comparison_validator(lambda low, high: low <= high),
    }
    | {keyword: _looked_up(keyword) for keyword in LOOKED_UP},
    type_checker=_BASE.TYPE_CHECKER.redefine(
        "integer", lambda checker, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def problems(
    config: dict, schema: dict, where: str = "", look_up: Callable | None = None
) -> list[str]:
    """List the faults of a config by a schema, and values that are never allowed.

    Parameters
    ----------
    config, schema : dict
        The config and its JSON Schema.
    where : str
        Prefix of each line, such as a file name.
    look_up : callable, optional
        `look_up(keyword, value of the keyword, value in the config)` yields (path, text) for each
        fault of a value under a keyword of `LOOKED_UP`; called if all types are correct.
    """
    faults = [f"{where}{problem}" for problem in _values(config)]
    if faults:
        return faults
    faults = errors(config, schema, 2)
    if plain := [error for error in faults if error.validator not in LOOKED_UP]:
        return [f"{where}{message(error, schema)}" for error in plain]
    return [
        f"{where}{_place([*error.path, *path])}: {text}"
        for error in (faults if look_up else ())
        for path, text in look_up(error.validator, error.validator_value, error.instance)
    ]


def errors(value: object, schema: dict, depth: int) -> list[jsonschema.ValidationError]:
    """Return the errors of a value, sorted by path.

    Rules with an `x-message` are skipped for entries (at `depth` keys) that have wrong types.
    """
    ranked = sorted(Validator(schema).iter_errors(value), key=lambda e: [*map(str, e.path)])
    ruled = ("x-message", *LOOKED_UP)
    wrong = {tuple(error.path)[:depth] for error in ranked if error.validator not in ruled}
    return [e for e in ranked if e.validator not in ruled or tuple(e.path)[:depth] not in wrong]


def _place(path: list, whole: bool = False) -> str:
    """Format the path of a value, without a final list index unless `whole`."""
    while path and isinstance(path[-1], int) and not whole:
        path = path[:-1]
    return " → ".join(short(key, 40).strip("'") for key in path) or "top level"


def short(value: object, longest: int = 60) -> str:
    """Return the representation of a value, truncated."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def message(error: jsonschema.ValidationError, schema: dict) -> str:
    """Format a schema error: path, fault and way out."""
    if error.validator == "x-message":
        return f"{_place(list(error.path))}: {error.message}"
    where = _place(list(error.path), whole=True)
    if error.validator == "additionalProperties":
        allowed = list(error.schema.get("properties", ()))
        unknown = [key for key in error.instance if key not in allowed]
        if len(unknown) > 3:
            first, more = ", ".join(short(key, 40) for key in unknown[:3]), len(unknown) - 3
            return f"{where}: unknown keys {first} and {more} more"
        return "; ".join(
            f"{where}: unknown key {_near(error, key[:60], allowed)}" for key in unknown
        )
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"{where}: {', '.join(map(repr, missing))} is missing"
    description = error.schema.get("description") if isinstance(error.schema, dict) else None
    text = f"{where}: {_describe_fault(error)}"
    return f"{text} ({description})" if description and len(text + description) < 290 else text


def _near(error: jsonschema.ValidationError, name: object, candidates: list[str]) -> str:
    """Return an unknown name with the nearest one, and how to add a plugin of the name."""
    if PROVIDED in error.schema:
        return plugins.unknown(plugins.KINDS[error.schema[PROVIDED]].package, name, candidates)
    return nearest(name, candidates)


def _describe_fault(error: jsonschema.ValidationError) -> str:
    """Describe the fault of a value."""
    value, wanted = error.instance, error.validator_value
    if error.validator == "enum":
        names = [name for name in wanted if isinstance(name, str)]
        if PROVIDED in error.schema:
            return f"none is called {_near(error, value, names)}"
        close = near(value, names)
        way = f"; did you mean {close!r}?" if close else ""
        if len(str(wanted)) < 150:
            return f"{short(value)} is not one of {wanted}{way}"
        return f"{short(value)} is not one of the {len(wanted)} permitted values{way}"
    if error.validator == "type":
        wanted = [wanted] if isinstance(wanted, str) else wanted
        types = ", ".join(map(repr, wanted))
        return f"{short(value)} is not of type {types}{_as_type(value, wanted)}"
    if error.validator in ("anyOf", "oneOf"):
        return _alternatives(error)
    if error.validator == "uniqueItems":
        again = next(name for n, name in enumerate(value) if name in value[:n])
        return f"{short(again)} stands twice"
    return error.message.replace(repr(value), short(value))


def _as_type(value: object, wanted: list[str]) -> str:
    """Return how to write a value so that YAML reads the intended type."""
    if "integer" in wanted and isinstance(value, float) and value.is_integer():
        return f"; write {int(value)}" if abs(value) < LARGEST else ""
    if {"number", "integer"} & set(wanted) and isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return ""
        if "e" in value.lower() and "." not in value and math.isfinite(number):
            return f"; YAML reads it as text: write {value.lower().replace('e', '.0e', 1)}"
        return "; write it without quotes" if math.isfinite(number) else ""
    if "string" in wanted and not isinstance(value, dict | list | type(None)):
        return "; write it in quotes"
    return ""


def _alternatives(error: jsonschema.ValidationError) -> str:
    """Describe a value that matches none, or several, of its alternatives."""
    keys = [key for part in error.validator_value for key in part.get("required", [])]
    entry = error.instance
    if keys and isinstance(entry, dict):
        given = [key for key in dict.fromkeys(keys) if key in entry]
        if not error.context and given:
            return f"{' and '.join(map(repr, given))} exclude each other; give one"
        if all(part.validator == "required" for part in error.context):
            listed = ", ".join(map(repr, dict.fromkeys(keys)))
            also = f", in addition to {given[0]!r}" if given else ""
            return f"{short(entry, 40)} fits none of what it may be: it needs one of {listed}{also}"
    reasons = [part.message.replace(repr(entry), short(entry)) for part in error.context]
    reasons = [part if len(part) < 90 else f"{part[:89]}…" for part in dict.fromkeys(reasons)]
    return f"{short(entry)} fits none of what it may be: {'; or '.join(reasons[:3])}"


def _values(config: dict) -> list[str]:
    """List values that are never allowed: NaN, invisible characters, too deep or too many."""
    faults: list[str] = []
    seen, waiting = 0, [((), config)]
    while waiting:
        path, value = waiting.pop()
        seen += 1
        if len(path) > DEEPEST or seen > MOST:
            what = f"more than {DEEPEST} levels" if len(path) > DEEPEST else f"over {MOST:,} values"
            raise InputError(f"the config has {what} ({_path(path[:3])}); a list may hold itself")
        if isinstance(value, dict):
            for key, item in value.items():
                if not isinstance(key, str):
                    faults.append(
                        f"{_path(path)}: the key {short(key)} is not text; write it in quotes"
                    )
                else:
                    waiting.append(((*path, key), item))
                    faults += _text(path, key)
        elif isinstance(value, list | tuple):
            waiting += [((*path, n), item) for n, item in enumerate(value)]
        else:
            faults += _scalar(path, value)
    return sorted(faults)


def _scalar(path: tuple, value: object) -> list[str]:
    """List faults of a scalar, independent of its key."""
    if isinstance(value, str):
        return _text(path, value)
    if isinstance(value, float) and not math.isfinite(value):
        return [f"{_path(path)}: {value} is not a finite number"]
    if isinstance(value, int) and not isinstance(value, bool):
        largest = LARGEST_SEED if path and str(path[-1]).endswith("seed") else LARGEST
        if "seeds" in path or "seed" in path:
            largest = LARGEST_SEED
        if abs(value) > largest:
            written = f"a number of {len(str(abs(value)))} digits" if abs(value) > 10**18 else value
            return [f"{_path(path)}: {written} is larger than the maximum, {largest}"]
    return []


def _text(path: tuple, text: str) -> list[str]:
    """List invisible characters of a text."""
    if sign := _CONTROL.search(text):
        code = f"U+{ord(sign[0]):04X}"
        return [f"{_path(path)}: {text[:30]!a} has an invisible character, {code}"]
    return []


def _path(path: tuple) -> str:
    return (
        " → ".join(ascii(key)[1:-1][:40] if isinstance(key, str) else str(key) for key in path)
        or "top level"
    )


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


#: Formats whose first line has the column names.
READ_HERE = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
LONGEST = 1 << 20  # maximum bytes of a line


def of_file(path: str | os.PathLike, options: Mapping) -> list[str] | None:
    """Return the columns of a table; None if it is missing or needs its parser.

    Parameters
    ----------
    path : path
        CSV, TSV or other delimited text, gzipped or not, or Parquet.
    options : mapping
        The dataset's: `separator` and `encoding`.
    """
    name = str(path).lower()
    if not os.path.isfile(path):
        return None
    try:
        if name.endswith(".parquet"):
            import pyarrow.parquet as pq

            return pq.read_schema(path).names
        if not name.endswith(READ_HERE):
            return None
        opened = gzip.open if name.endswith(".gz") else open
        with opened(path, "rt", encoding=options.get("encoding", "utf-8"), newline="") as file:
            line = file.readline(LONGEST).lstrip("\ufeff").rstrip("\r\n")
        separator = options.get("separator") or max("\t,;", key=line.count)
        if len(separator) != 1 or not line.strip():
            return None
        return [name.strip() for name in next(csv.reader([line], delimiter=separator))]
    except (OSError, EOFError, ValueError, LookupError, csv.Error, StopIteration):
        return None  # the parser reports the fault


PUBLISHED = Path("data", "published")
#: Characters that Snakemake interprets as wildcards and path variables.
_SIGNS = re.compile(r"[{}<>]")
Faults = Iterator[tuple[tuple, str]]


@dataclass(frozen=True)
class Lookup:
    """Look up values of a config.

    Attributes
    ----------
    config, schema : dict
        The config, with correct types, and its schema; a table's `title` is the noun for its entries.
    root : Path
        The project's folder.
    """

    config: dict
    schema: dict
    root: Path

    def __call__(self, keyword: str, asked: object, value: object) -> Faults:
        """Yield the faults of a value under a keyword of the schema."""
        if keyword == "x-table":
            yield from self.names(asked, value)
        elif keyword == "x-module":
            yield from _module(asked, value)
        elif keyword == "x-columns":
            yield from self.published(asked, value)
        else:
            yield from CHECKS[asked](self, value)

    def names(self, table: str, value: object) -> Faults:
        """Yield names that a table does not define."""
        defined = self.config.get(table, {})
        one = self.schema["properties"][table].get("title", table[:-1])
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name not in defined:
                yield (), f"no {one} is called {nearest(name, defined)}"

    def published(self, columns: list[str], table: str) -> Faults:
        """Yield a missing table of published values, and a missing column."""
        there = sorted(path.stem for path in (self.root / PUBLISHED).glob("*.csv"))
        if table not in there:
            yield (), f"{PUBLISHED} has no table {nearest(table[:60], there)}"
            return
        with open(self.root / PUBLISHED / f"{table}.csv", encoding="utf-8", newline="") as file:
            header = next(csv.reader(file), [])
        if lost := [column for column in columns if column not in header]:
            yield (), f"{table}.csv has no column {nearest(lost[0], header)}"


def _module(kind: str, name: str) -> Faults:
    """Yield an unknown plugin, and how to add it."""
    package = plugins.KINDS[kind].package
    if name not in plugins.names(package):
        yield (), f"none is called {plugins.unknown(package, name)}"


def _file(look: Lookup, file: Mapping) -> Faults:
    """Yield faults of a file's path, and a missing local file."""
    of_stand_in = file.get("stand_in", {}).get("path")
    faults = [((key,), fault) for key in ("url", "local") for fault in _path_of(file.get(key))]
    for at, path in ((("url",), file.get("url")), (("stand_in", "path"), of_stand_in)):
        try:
            if path is not None and addresses.leads_out(path):
                faults.append((at, f"{short(path)} leads out of its folder (`..` or `/`)"))
        except REFUSALS as error:  # no address
            faults.append((at, str(error)))
    local = file.get("local")
    needed = local is not None and not {"supplied", "stand_in"} & file.keys()
    if needed and not faults and not os.path.isfile(local):
        what = "a folder, not a file:" if os.path.isdir(local) else "no file"
        way = "correct it, or describe its source in `supplied`"
        faults.append((("local",), f"{what} {short(local)}; {way}"))
    yield from faults


def _path_of(path: str | None) -> Iterator[str]:
    """Yield faults of a path."""
    if path is not None and not path.strip():
        yield "it is empty"
    elif path is not None and (sign := _SIGNS.search(path)):
        yield f"{short(path)} has {sign[0]!r}, which is special in Snakemake; rename it"


def _patterns(look: Lookup, listed: list[Any]) -> Faults:
    """Yield faults of file patterns, at least one of which must match a file."""
    if not (listed := [pattern for pattern in listed if isinstance(pattern, str)]):
        return  # files to download
    faults = [((), fault) for pattern in listed for fault in _path_of(pattern)]
    if not faults and not any(glob.glob(pattern) for pattern in listed if "\0" not in pattern):
        faults = [((), f"no file matches {short(listed, 120)}")]
    yield from faults


def _by_language(table: str, look: Lookup, value: Mapping) -> Faults:
    """Yield members of `languages` that are undefined, or have `languages` themselves."""
    for language, name in value.items():
        yield from (((language,), fault) for _, fault in look.names(table, name))
        if "languages" in look.config.get(table, {}).get(name, {}):
            way = "name one of a single language"
            yield (language,), f"{name!r} has `languages` itself; {way}"


def _byte_range(look: Lookup, value: list[int]) -> Faults:
    """Yield a range that ends before it begins."""
    if value[0] > value[1]:
        yield (), f"{value[0]} comes after {value[1]}"


def _tokens(look: Lookup, file: Mapping) -> Faults:
    """Yield a range of bytes that splits a token."""
    first, last = file.get("byte_range", (0, 1))
    if first <= last and (first % 2 or not last % 2):
        text = f"a token has two bytes; {first} to {last} begins or ends within one"
        yield ("byte_range",), text


def _join(look: Lookup, value: Mapping) -> Faults:
    """Yield an unknown join key or interpretation."""
    if problem := joins.problem(value):
        yield (), problem


def _measures(look: Lookup, value: list[str]) -> Faults:
    """Yield unknown measures."""
    try:
        measures.check(value)
    except REFUSALS as error:
        yield (), str(error)


def _word_entropy(look: Lookup, value: Mapping) -> Faults:
    """Yield incompatible settings of word entropy, and a missing list of words."""
    try:
        word_entropy_settings.check(value)
    except REFUSALS as error:
        yield (), str(error)


def _checkpoint(look: Lookup, value: str) -> Faults:
    """Yield a checkpoint that is neither a folder, nor a GGUF file, nor a name on the Hub."""
    if value.endswith(".gguf") and os.path.isfile(value):
        return
    if value.startswith(("/", "./", "../", "~")) and not os.path.isdir(value):
        yield (), f"no folder {short(value)}"
    elif not value.strip() or set(value) & set(" {}<>"):
        yield (), f"{short(value)} is neither a folder nor a name on the Hub"


def _form(kind: str, look: Lookup, entry: Mapping) -> Faults:
    """Yield an unknown form, and invalid parameters."""
    if faults := list(_module(kind, entry["form"])):
        yield from ((("form",), text) for _, text in faults)
        return
    package = plugins.KINDS[kind].package
    properties = plugins.constant(package, entry["form"], "PARAMETERS")
    schema = plugins.literal(package, entry["form"], "RULES") or {}
    schema |= {"properties": properties, "additionalProperties": False}
    schema["required"] = [key for key, value in properties.items() if "default" not in value]
    others = ("form", "layers") if kind == "biases" else ("form",)
    settings = {key: value for key, value in entry.items() if key not in others}
    for error in errors(settings, schema, 0):
        path = tuple(error.path)
        error.path.clear()
        yield path, message(error, schema).removeprefix("top level: ")


def _text_of(look: Lookup, corpus: str) -> Faults:
    """Yield a corpus without text."""
    if "pretokenized" in look.config["corpora"].get(corpus, {}):
        yield (), f"{corpus!r} is pretokenized; text is required"


def _sources(look: Lookup, path: str, exclude: Iterable[str] = ()) -> Faults:
    """Yield faults of a list of files to download."""
    try:
        sources.read(sources.resolve(path, look.root), exclude)
    except REFUSALS as error:
        yield (), str(error)[:200]


def _responses(look: Lookup, listed: list[str]) -> Faults:
    """Yield unknown responses (dataset.measure)."""
    for response in listed:
        dataset, _, measure = response.partition(".")
        yield from (unknown := list(look.names("datasets", dataset)))
        measures = [] if unknown else look.config["datasets"][dataset]["measures"]
        if not unknown and measure not in measures:
            yield ((), f"no measure {nearest(response, [f'{dataset}.{m}' for m in measures])}")


def _corpus(look: Lookup, corpus: Mapping) -> Faults:
    """Yield faults of a corpus's list of files, and of its readers' options."""
    readers = [corpus["reader"]] if "reader" in corpus else []
    if "sources" in corpus:
        wrong = list(_sources(look, corpus["sources"], corpus.get("exclude", ())))
        yield from ((("sources",), text) for _, text in wrong)
        if wrong:
            return
        path = sources.resolve(corpus["sources"], look.root)
        rows = sources.read(path, corpus.get("exclude", ()))
        if not rows:
            yield ("exclude",), f"nothing is left of {corpus['sources']}"
        if not all(row.reader for row in rows):
            yield ("sources",), f"{corpus['sources']} has no columns part and reader"
        readers = list(dict.fromkeys(row.reader for row in rows if row.reader))
        unknown = [fault for reader in readers for fault in _module("readers", reader[:60])]
        yield from ((("reader",), text) for _, text in unknown)
    for reader, options in corpus.get("options", {}).items():
        if reader not in readers:
            yield ("options",), f"no file of it has the reader {nearest(reader[:60], readers)}"
        else:
            taken = plugins.keywords(configuration.READERS, reader, "read")
            choices = plugins.literal(configuration.READERS, reader, "CHOICES")
            for path, text in faults(options, taken, choices):
                yield ("options", reader, *path), text


def _accept(table: str | None, look: Lookup, accept: list[str]) -> Faults:
    """Yield names that are neither a check of a table's entries nor a lint rule that reports them."""
    known = [*overrides.CHECKS.get(table or "", ()), *lint.rules(table)]
    for name in accept:
        if name not in known:
            yield (), f"no check or rule is called {plugins.unknown(lint.PACKAGE, name, known)}"


CHECKS: dict[str, Callable[[Lookup, object], Faults]] = {
    "accept": partial(_accept, None),
    **{f"accept_{table}": partial(_accept, table) for table in lint.ACCEPTING},
    "bias": partial(_form, "biases"),
    "byte_range": _byte_range,
    "checkpoint": _checkpoint,
    "corpus": _corpus,
    "erasure": partial(_form, "erasures"),
    "file": _file,
    "join": _join,
    "lms_by_language": partial(_by_language, "lms"),
    "measures": _measures,
    "word_entropy": _word_entropy,
    "memory": partial(_form, "memories"),
    "patterns": _patterns,
    "responses": _responses,
    "sources": _sources,
    "text": _text_of,
    "tokens": _tokens,
    "unigrams_by_language": partial(_by_language, "unigrams"),
}
