"""Datasets given by their name in pymovements: `datasets: {x: {pymovements: OneStop}}`.

Such an entry is expanded to one with a parser, files and measures: the entry of the same name in
`data/corpora/`, or one from the definition in the installed package, of which only YAML files are read.
"""

import copy
import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import yaml

from recency.errors import InputError
from recency.names import nearest

PACKAGE = "pymovements"
INSTALL = "pip install 'recency[corpora]'"
#: Measure → its name in pymovements, and columns of the tables of reading measures.
MEASURES = {"FFD": "FFD", "FP": "FPRT", "GP": "RPD_inc", "TFT": "TFT"}
COLUMNS = {"subject": "subject_id", "position": "word_index", "word": "word"}
_FILTERS = {
    "fixated": "time_ms > 0",
    "edges": "not sentence_first and not sentence_last",
    "saccade": "words_since_fixation <= 4",
}
_SHOWN = 20


class _Loader(yaml.SafeLoader):
    """YAML loader that ignores the type tags of definitions (`!polars.Utf8`)."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


def expanded(given: Mapping, ready: Mapping) -> dict:
    """Return the config's datasets with pymovements names expanded to complete entries.

    Parameters
    ----------
    given : mapping
        The config's table `datasets`.
    ready : mapping
        The datasets of `data/corpora/`.

    Raises
    ------
    InputError
        If pymovements has no such dataset, or the dataset has neither reading measures nor fixations,
        or has several languages.
    """
    return {name: _expanded(name, entry, ready) for name, entry in given.items()}


def _expanded(name: str, entry: object, ready: Mapping) -> object:
    """Return one entry, expanded if it names a dataset of pymovements and no parser."""
    if not isinstance(entry, dict) or "pymovements" not in entry or "parser" in entry:
        return entry
    where, wanted = f"datasets → {name} → pymovements", entry["pymovements"]
    if not isinstance(wanted, str):
        raise InputError(f"{where}: {wanted!r} is not the name of a dataset")
    stated = {n: e["pymovements"] for n, e in ready.items() if "pymovements" in e}
    if name in ready:
        if stated.get(name) != wanted:
            what = f"as pymovements' {stated[name]}" if name in stated else "of its own"
            raise InputError(
                f"{where}: {wanted}, but data/corpora/ has a dataset {name} {what}; give yours "
                "another name"
            )
        return entry
    same = [n for n, other in stated.items() if other == wanted]
    if not same:
        return _laid_over(_of_definition(where, wanted, stated.values()), entry)
    if "language" in entry:
        spoken = {n: ready[n].get("language", "en") for n in same}
        same = [n for n in same if spoken[n] == entry["language"]]
        if not same:
            codes = ", ".join(sorted(set(spoken.values())))
            raise InputError(f"{where}: {wanted} has no {entry['language']!r}; it has: {codes}")
    if len(same) > 1:
        listed = ", ".join(same[:_SHOWN]) + (", …" if len(same) > _SHOWN else "")
        raise InputError(
            f"{where}: {wanted} has several languages or samples, and a dataset has one; add "
            f"`language:`, or use one of data/corpora/: {listed}"
        )
    return _laid_over(copy.deepcopy(ready[same[0]]), entry)


def _laid_over(base: dict, overlay: Mapping) -> dict:
    """Return an entry updated by another; mappings merge."""
    for key, value in overlay.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict) and key != "measures":
            value = _laid_over(dict(base[key]), value)
        base[key] = value
    return base


def folder() -> Path | None:
    """Return the folder of the installed package's definitions, None without the package."""
    spec = find_spec(PACKAGE)
    return Path(spec.origin).parent / "datasets" if spec and spec.origin else None


@cache
def definitions(folder: Path) -> dict[str, dict]:
    """Return name → definition for a folder of definitions."""
    by_name = {}
    for path in sorted(folder.glob("*.yaml")):
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
        if isinstance(content, dict) and "name" in content:
            by_name[content["name"]] = content
    return by_name


def _of_definition(where: str, wanted: str, ready: object) -> dict:
    """Return the entry of a dataset without a corpus file, from its definition."""
    there = folder()
    if there is None:
        names = sorted(set(ready))
        raise InputError(
            f"{where}: datasets without a file in data/corpora/ require the package's "
            f"definitions: {INSTALL}; no corpus file has {nearest(wanted, names)}"
        )
    names = definitions(there)
    if wanted not in names:
        raise InputError(f"{where}: no dataset is called {nearest(wanted, names)}")
    definition = names[wanted]
    resources = {resource["content"]: resource for resource in definition.get("resources", ())}
    for content, parser in (
        ("precomputed_reading_measures", "table"),
        ("precomputed_events", "fixations"),
    ):
        if content in resources:
            return _entry(wanted, definition, resources[content], parser)
    contents = ", ".join(resources) or "nothing"
    raise InputError(
        f"{where}: {wanted} has neither reading measures nor fixations, so reading times cannot be "
        f"computed (it has: {contents})"
    )


def _entry(name: str, definition: Mapping, resource: Mapping, parser: str) -> dict:
    """Return an entry for one resource of a definition."""
    source, loading = resource["source"], resource.get("load_kwargs") or {}
    reading = loading.get("read_csv_kwargs") or {}
    file = {key: source[key] for key in ("url", "md5") if source.get(key)}
    options: dict = {"sentences": "punctuation"}
    pattern = resource.get("filename_pattern", "")
    if str(source.get("filename", "")).endswith(".zip"):
        options["members"] = members(pattern)
    trial = loading.get("trial_columns") or ["text_id" if "{text_id" in pattern else "item"]
    columns = {"item": trial if len(trial) > 1 else trial[0], "subject": COLUMNS["subject"]}
    options["columns"] = columns | {n: c for n, c in COLUMNS.items() if n not in columns}
    if isinstance(reading.get("separator"), str):
        options["separator"] = reading["separator"]
    if str(reading.get("encoding", "")).startswith("latin"):
        options["encoding"] = reading["encoding"]
    if reading.get("null_values"):
        nulls = reading["null_values"]
        options["missing"] = [nulls] if isinstance(nulls, str) else list(nulls)
    if parser == "table":
        options["columns"] |= MEASURES
        options |= {"skipped": True, "eye_tracking": True}
    else:
        options["columns"]["duration"] = "duration"
    steps = [*_FILTERS]
    measures = {measure: {"filters": steps} for measure in MEASURES}
    skip = {"of": "FP", "event": "time_ms == 0", "filters": ["edges"]}
    return {
        "label": name,
        "parser": parser,
        "licence": "pymovements states none; see the publication",
        "cite": definition.get("long_name") or name,
        "task": "eye_tracking",
        "words": {"data": dict(file)},
        "responses": {"data": dict(file)},
        "options": options,
        "measures": measures | {"skip": skip},
        "filters": dict(_FILTERS),
    }


def members(pattern: str) -> str:
    """Convert the file name pattern of a definition to the syntax of the option `members`.

    Examples
    --------
    >>> members("(?:CERVINO/)?data/{text_id}/lett{subject_id:d}/(?P<unit>word|char).csv")
    'data/{text_id}/lett{subject_id}/{unit}.csv'
    """
    plain = re.sub(r"\(\?:[^)]*\)\?", "", pattern)
    plain = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"{\1}", plain)
    return re.sub(r"\{(\w+):\w+\}", r"{\1}", plain)
