"""Look up single values of a config: names of entries and modules, files, columns of tables.

The schema marks these values by the keywords `x-table`, `x-module`, `x-columns` and `x-check` (a
function in `CHECKS`). Each check yields (path below the value, text) per fault.
"""

import csv
import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from recency import config as configuration
from recency import overrides, plugins, sources
from recency.errors import InputError
from recency.names import nearest
from recency.reading import join_keys
from recency.scoring import measures
from recency.scoring.next_word import word_entropy_settings
from recency.workflow import lint, schema_checks
from recency.workflow.schema_checks import short

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
    faults = [((key,), fault) for key in ("url", "local") for fault in _path(file.get(key))]
    for at, path in ((("url",), file.get("url")), (("stand_in", "path"), of_stand_in)):
        try:
            if path is not None and sources.leads_out(path):
                faults.append((at, f"{short(path)} leads out of its folder (`..` or `/`)"))
        except InputError as error:  # no address
            faults.append((at, str(error)))
    local = file.get("local")
    needed = local is not None and not {"supplied", "stand_in"} & file.keys()
    if needed and not faults and not os.path.isfile(local):
        what = "a folder, not a file:" if os.path.isdir(local) else "no file"
        way = "correct it, or describe its source in `supplied`"
        faults.append((("local",), f"{what} {short(local)}; {way}"))
    yield from faults


def _path(path: str | None) -> Iterator[str]:
    """Yield faults of a path."""
    if path is not None and not path.strip():
        yield "it is empty"
    elif path is not None and (sign := _SIGNS.search(path)):
        yield f"{short(path)} has {sign[0]!r}, which is special in Snakemake; rename it"


def _patterns(look: Lookup, listed: list[str]) -> Faults:
    """Yield faults of file patterns, at least one of which must match a file."""
    faults = [((), fault) for pattern in listed for fault in _path(pattern)]
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
    if problem := join_keys.problem(value):
        yield (), problem


def _measures(look: Lookup, value: list[str]) -> Faults:
    """Yield unknown measures."""
    try:
        measures.check(value)
    except InputError as error:
        yield (), str(error)


def _word_entropy(look: Lookup, value: Mapping) -> Faults:
    """Yield incompatible settings of word entropy, and a missing list of words."""
    try:
        word_entropy_settings.check(value)
    except InputError as error:
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
    for error in schema_checks.errors(settings, schema, 0):
        path = tuple(error.path)
        error.path.clear()
        yield path, schema_checks.message(error, schema).removeprefix("top level: ")


def _text(look: Lookup, corpus: str) -> Faults:
    """Yield a corpus without text."""
    if "pretokenized" in look.config["corpora"].get(corpus, {}):
        yield (), f"{corpus!r} is pretokenized; text is required"


def _sources(look: Lookup, path: str, exclude: Iterable[str] = ()) -> Faults:
    """Yield faults of a list of files to download."""
    try:
        sources.read(sources.resolve(path, look.root), exclude)
    except InputError as error:
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
        faults = list(_sources(look, corpus["sources"], corpus.get("exclude", ())))
        yield from ((("sources",), text) for _, text in faults)
        if faults:
            return
        path = sources.resolve(corpus["sources"], look.root)
        rows = sources.read(path, corpus.get("exclude", ()))
        if not rows:
            yield ("exclude",), f"nothing is left of {corpus['sources']}"
        if not all(row.reader for row in rows):
            yield ("sources",), f"{corpus['sources']} has no columns part and reader"
        readers = list(dict.fromkeys(row.reader for row in rows if row.reader))
        faults = [fault for reader in readers for fault in _module("readers", reader[:60])]
        yield from ((("reader",), text) for _, text in faults)
    for reader, options in corpus.get("options", {}).items():
        if reader not in readers:
            yield ("options",), f"no file of it has the reader {nearest(reader[:60], readers)}"
        else:
            taken = plugins.keywords(configuration.READERS, reader, "read")
            choices = plugins.literal(configuration.READERS, reader, "CHOICES")
            for path, text in schema_checks.faults(options, taken, choices):
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
    "text": _text,
    "tokens": _tokens,
    "unigrams_by_language": partial(_by_language, "unigrams"),
}
