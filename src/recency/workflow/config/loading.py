"""Load the config of a study: config.yaml, overlays, included files and data/corpora/.

A corpus file has related entries of `corpora`, `tokenizers`, `datasets` and tables of evaluations
(`treebanks` …). Included files and corpus files are defaults: the config and its overlays add entries
or change single keys.

Expansion of `lms_from`, `replica` and networks with biases in `lm_groups` to entries of `lms`.

Old names of config keys, accepted for one version with a notice.

Datasets given by their name in pymovements: `datasets: {x: {pymovements: OneStop}}`.

Such an entry is expanded to one with a parser, files and measures: the entry of the same name in
`data/corpora/`, or one from the definition in the installed package, of which only YAML files are read.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from readingtimes.downloads.internet import endpoint
from readingtimes.formats import replica
from readingtimes.names import nearest
from recency.errors import InputError
from recency.evaluations import registry
from recency.workflow.config import strict_yaml

FOLDER = Path("data", "corpora")


def load(root: str | Path, *overlays: str | Path) -> dict:
    """Return the complete config of config.yaml and overlays (paths relative to `root`); the last wins."""
    config: dict = {}
    for name in ("config.yaml", *overlays):
        merge(config, strict_yaml.read(Path(root, name), name))
    complete(config, root)
    return config


def complete(config: dict, root: str | Path) -> list[str]:
    """Add included and corpus files to a config, and expand LM groups in experiments, in place.

    Keys of an experiment that an overlay sets to null are removed, old keys get their new names.
    Returns notices. A complete config is unchanged. Wrong types are left to the schema check.
    """
    for key, entries in include_files(config, root).items():
        given = config.setdefault(key, entries)
        if given is not entries and isinstance(given, dict) and isinstance(entries, dict):
            config[key] = {**given, **merge(entries, given)}  # the config's own entries come first
    for table, entries in entries_of(corpus_files(root)).items():
        given = config.get(table, {})
        if table == "datasets" and isinstance(given, dict):
            given = expanded(given, entries)
        if isinstance(given, dict):
            config[table] = merge(entries, given)
    renamed = rename(config, root)
    expand_hub(config)
    expand(config)
    expand_biased(config)
    expand_replica(config)
    groups, experiments = config.get("lm_groups"), config.get("experiments")
    if isinstance(groups, dict) and isinstance(experiments, dict):
        for experiment in experiments.values():
            if isinstance(experiment, dict):
                for key in [key for key, value in experiment.items() if value is None]:
                    del experiment[key]
                for part in (experiment, *experiment.values()):
                    if isinstance(part, dict) and "lms" in part:
                        part["lms"] = _written_out(part["lms"], groups)
    datasets = config.get("datasets")
    if isinstance(groups, dict) and isinstance(datasets, dict):
        for dataset in datasets.values():
            if isinstance(dataset, dict) and "scored_by" in dataset:
                dataset["scored_by"] = _written_out(dataset["scored_by"], groups)
    return renamed


def include_files(config: dict, root: str | Path) -> dict:
    """Return the tables of the files in `include`, and remove the key; paths are relative to `root`.

    Raises InputError if a file is missing or has a key that is not a table, or two files define an
    entry.
    """
    names = config.pop("include", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError("include: a list of YAML files is needed")
    files = {name: strict_yaml.read(Path(root, name), name) for name in names}
    for name, content in files.items():
        for key, value in content.items():
            if not isinstance(value, dict):
                raise InputError(
                    f"include: {name} sets {key}, which is not a table of entries; name the file after --configfile "
                    f"instead: ./run --configfile {name} (in a module's workflow: `configfile:`)"
                )
    return entries_of(files)


def merge(base: dict, overlay: dict) -> dict:
    """Merge `overlay` into `base` in place, as --configfile does: mappings merge, lists are replaced."""
    for key, value in overlay.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            value = merge(dict(base[key]), value)  # copy, because YAML anchors share mappings
        base[key] = value
    return base


def tables() -> list[str]:
    """Return the tables that a corpus file may have."""
    kinds = registry.data().values()
    return ["corpora", "tokenizers", "datasets", *(kind.table for kind in kinds)]


def corpus_files(root: str | Path) -> dict[str, dict[str, dict]]:
    """Return the corpus files: path relative to `root` → table → name → entry.

    Raises InputError, with file and line or key, if one is not YAML or has another table.
    """
    by_path, allowed = {}, tables()
    for path in sorted((Path(root) / FOLDER).glob("*.y*ml")):
        name = str(FOLDER / path.name)
        content = strict_yaml.read(path, name)
        for table, entries in content.items():
            if table not in allowed:
                raise InputError(f"{name}: unknown key {nearest(table, allowed)}")
            if not isinstance(entries, dict):
                raise InputError(f"{name}: {table} is not a table of names and their entries")
        by_path[name] = content
    return by_path


def entries_of(files: dict[str, dict[str, dict]]) -> dict[str, dict]:
    """Merge the corpus files to table → name → entry; InputError if two define an entry."""
    merged: dict[str, dict] = {}
    defined: dict[tuple[str, str], str] = {}
    for path, content in files.items():
        for table, entries in content.items():
            for name, entry in entries.items():
                other = defined.setdefault((table, name), path)
                if other != path:
                    raise InputError(f"{path}: {table} → {name} is in {other} already; rename one")
                merged.setdefault(table, {})[name] = entry
    return merged


def _written_out(lms: object, groups: dict) -> object:
    """Return a list of LMs with groups expanded, whose LMs are listed once.

    An LM that is itself named twice stays so, for the lint rule `twins`.
    """
    if not isinstance(lms, list) or not all(isinstance(name, str) for name in lms):
        return lms
    names: list[str] = []
    for name in lms:
        members = groups.get(name)
        listed = isinstance(members, list) and all(isinstance(lm, str) for lm in members)
        once = lms.count(name) == 1
        added = members if listed else [name]
        names += [lm for lm in dict.fromkeys(added) if lm not in names or not (listed or once)]
    return names


#: Keys of a file of a dataset on the Hugging Face Hub.
HUB = ("hub", "revision", "path")


def expand_hub(node: Any, where: str = "") -> None:
    """Replace `hub`, `revision` and `path` of a file by its `url`, at any depth, in place.

    Raises InputError for a name that is not owner/name, and without a revision or a path.
    """
    parts = node.items() if isinstance(node, dict) else enumerate(node)
    for key, part in [(key, part) for key, part in parts if isinstance(part, dict | list)]:
        expand_hub(part, f"{where} → {key}" if where else str(key))
    if not isinstance(node, dict) or not isinstance(node.get("hub"), str):
        return
    name, revision, path = (node.get(key) for key in HUB)
    if not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name):
        raise InputError(f"{where} → hub: {name!r} is no dataset on the Hub; write owner/name")
    for key, value in (("revision", revision), ("path", path)):
        if not isinstance(value, str) or not value:
            example = "a commit of the dataset" if key == "revision" else "a file in the dataset"
            raise InputError(f"{where}: `hub: {name}` needs `{key}`, {example}, as a string")
    if "url" in node:
        raise InputError(f"{where}: `hub` and `url` name two files; leave one of them out")
    for key in HUB:
        del node[key]
    at = f"{endpoint()}/datasets/{name}/resolve/{quote(revision, safe='')}"
    node["url"] = f"{at}/{quote(path)}"


_MISSING = ("", "NA", "NaN", "nan", "None", "null", ".")
#: Keys of an entry that are not those of `surprisals`.
OWN = ("columns", "keys", "value", "tags", "predictor", "accept", "by_dataset")


def expand(config: dict) -> None:
    """Replace `lms_from` by one entry of `lms` per column or tag, and a group with the entry's name.

    Raises InputError if an LM of the name exists, or a table for `columns: all` is missing.
    """
    lms, entries = config.get("lms"), config.get("lms_from")
    if not isinstance(entries, dict) or not isinstance(lms, dict):
        return
    groups = config.setdefault("lm_groups", {})
    for group, entry in entries.items():
        if not isinstance(entry, dict) or not entry.keys() & {"columns", "tags"}:
            continue  # left to the schema
        where = f"lms_from → {group}"
        key = "columns" if "columns" in entry else "tags"
        columns = _decimal(where, entry) if entry.get("columns") == "all" else entry[key]
        if not isinstance(columns, dict):
            continue
        shared = {name: value for name, value in entry.items() if name not in OWN}
        expanded = {}
        for name, column in columns.items():
            if key == "tags":
                of_store = {"tag": column, "predictor": entry.get("predictor", "surprisal")}
                surprisals = shared | {"replica": of_store, **replica.settings(of_store)}
                if "by_dataset" in entry:
                    surprisals["by_dataset"] = entry["by_dataset"]
            else:
                value = entry.get("value", "surprisal")
                surprisals = shared | {"columns": {value: column, **entry.get("keys", {})}}
                if own := _by_dataset(entry.get("by_dataset", {}), value, name):
                    surprisals["by_dataset"] = own
            expanded[str(name)] = {"label": str(name), "surprisals": surprisals}
            if "accept" in entry:
                expanded[str(name)]["accept"] = entry["accept"]
        for name, lm in expanded.items():
            if lms.get(name, lm) != lm:
                raise InputError(
                    f"{where}: an LM {name!r} already exists; give this one another name: "
                    f"`{key}: {{{name}_{group}: {columns[name]}, …}}`"
                )
        lms.update(expanded)
        groups.setdefault(group, list(expanded))


def _by_dataset(settings: Mapping, value: str, lm: str) -> dict:
    """Return the settings of `by_dataset` for one LM: its column and the keys are `columns`."""
    expanded = {}
    for dataset, own in settings.items():
        columns = {**own.get("keys", {})}
        if lm in own.get("columns", {}):
            columns[value] = own["columns"][lm]
        rest = {key: kept for key, kept in own.items() if key not in ("keys", "columns")}
        expanded[dataset] = rest | ({"columns": columns} if columns else {})
    return expanded


def expand_biased(config: dict) -> None:
    """Replace groups of `weights` and `biases` by their LMs, each network without and with each bias.

    The network `gpt2` with the bias `dVM` at inference is the LM `gpt2-dVM-I`.
    Raises InputError if another LM has such a name.
    """
    lms, groups = config.get("lms"), config.get("lm_groups")
    if not isinstance(lms, dict) or not isinstance(groups, dict):
        return
    for group, entry in groups.items():
        if not isinstance(entry, dict) or not all(
            isinstance(entry.get(key), list) for key in ("weights", "biases")
        ):
            continue  # left to the schema
        members = []
        for network in entry["weights"]:
            about = lms.get(network)
            label = about.get("label", network) if isinstance(about, dict) else network
            members.append(network)
            for bias in entry["biases"]:
                name = f"{network}-{bias}-I"
                lm = {"weights": network, "bias": bias, "applied": "inference"}
                lm["label"] = f"{label} + {bias}"
                if lms.setdefault(name, lm) != lm:
                    raise InputError(
                        f"lm_groups → {group}: an LM {name!r} already exists; list it in a separate "
                        "group, and remove it here"
                    )
                members.append(name)
        groups[group] = members


def expand_replica(config: dict) -> None:
    """Add columns, rows and unit of REPLICA's store to `surprisals` with `replica`, in place.

    Raises InputError if one of these is set.
    """
    lms = config.get("lms")
    for name, lm in (lms if isinstance(lms, dict) else {}).items():
        entry = lm.get("surprisals") if isinstance(lm, dict) else None
        if not isinstance(entry, dict) or not isinstance(entry.get("replica"), dict):
            continue
        for key, value in replica.settings(entry["replica"]).items():
            if entry.get(key, value) != value:
                raise InputError(
                    f"lms → {name} → surprisals → {key}: it cannot be combined with `replica`; remove one of them"
                )
            entry[key] = value


def _decimal(where: str, entry: dict) -> dict[str, str]:
    """Return LM → column for the columns of decimal numbers, in the table's order."""
    file = entry.get("table", {})
    path = Path(file.get("local", "")) if isinstance(file, dict) else Path("")
    if not path.is_file():
        raise InputError(
            f"{where} → columns: `all` reads the column names from a local table; "
            f"{str(path) or 'no local file'!r} is missing. List them: `columns: {{GPT-2: gpt2, …}}`"
        )
    from readingtimes.formats import anything

    table = anything.read(path, anything.Style())
    given = entry.get("keys", {}).values()
    keys = {name for column in given for name in ([column] if isinstance(column, str) else column)}
    columns = {}
    for column in table.frame.columns:
        values = table[column][~table[column].isin(_MISSING)].head(1000)
        number = values.str.fullmatch(r"-?\d*\.?\d+([eE][-+]?\d+)?")
        if (
            column not in keys
            and len(values)
            and number.all()
            and values.str.contains(r"[.eE]").any()
        ):
            columns[re.sub(r"[^A-Za-z0-9._-]+", "-", column).strip("-.")] = column
    if not columns:
        raise InputError(f"{where} → columns: {path} has no column of decimal numbers")
    return columns


#: Old key, new key, and keys of which one is in the same entry, unlike next to a name of the user's choice.
RENAMED = (
    ("placed", "supplied", {"local", "url", "stand_in", "checkpoint"}),
    ("beside", "without_part_of_speech", {"groups"}),
    ("places", "replacements", {"dataset"}),  # measured_memory
    ("least", "min_words", {"dataset"}),  # rank_metrics
    ("kept", "prompt", {"dataset"}),
    ("least", "min_judges", {"judgements"}),  # turing_test
    ("least", "min_count", {"of"}),  # recipes → vectors
    ("made", "compose", {"of"}),
)


#: Folder of files that the user supplies: old name, new name.
OLD_FOLDER = ("data/placed", "data/supplied")


def rename(config: dict, root: str | Path) -> list[str]:
    """Replace old keys in place; return a notice for each, and for the old folder if it exists.

    A config that has both names keeps the value of the old one, which is the overlay's: the project's
    own files have only new names.
    """
    old, new = OLD_FOLDER
    moved = [f"files that you supply are now in {new}: mv {old} {new}"]
    return [*_renamed_keys(config, ""), *(moved if Path(root, old).is_dir() else [])]


def _renamed_keys(entry: object, where: str) -> Iterator[str]:
    if isinstance(entry, list):
        for part in entry:
            yield from _renamed_keys(part, where)
    if not isinstance(entry, dict):
        return
    for old, new, siblings in RENAMED:
        if old in entry and siblings & entry.keys():
            entry[new] = entry.pop(old)
            yield f"{where} → {old}: the key is now called `{new}`; the old name will be refused in the next version"
    for key, part in entry.items():
        yield from _renamed_keys(part, f"{where} → {key}" if where else str(key))


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
    return {name: _expand_entry(name, entry, ready) for name, entry in given.items()}


def _expand_entry(name: str, entry: object, ready: Mapping) -> object:
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
