"""Load the config of a study: config.yaml, overlays, included files and data/corpora/.

A corpus file has related entries of `corpora`, `tokenizers`, `datasets` and tables of evaluations
(`treebanks` …). Included files and corpus files are defaults: the config and its overlays add entries
or change single keys.
"""

from pathlib import Path

from recency.errors import InputError
from recency.evaluations import registry
from recency.names import nearest
from recency.workflow import lm_tables, pymovements_datasets, renamed_keys, strict_yaml

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
    for key, entries in included(config, root).items():
        given = config.setdefault(key, entries)
        if given is not entries and isinstance(given, dict) and isinstance(entries, dict):
            config[key] = {**given, **merge(entries, given)}  # the config's own entries come first
    for table, entries in entries_of(corpus_files(root)).items():
        given = config.get(table, {})
        if table == "datasets" and isinstance(given, dict):
            given = pymovements_datasets.expanded(given, entries)
        if isinstance(given, dict):
            config[table] = merge(entries, given)
    renamed = renamed_keys.rename(config, root)
    lm_tables.expand(config)
    lm_tables.expand_biased(config)
    lm_tables.expand_replica(config)
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


def included(config: dict, root: str | Path) -> dict:
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
