"""Expansion of `lms_from`, `replica` and networks with biases in `lm_groups` to entries of `lms`."""

import re
from pathlib import Path

from recency.errors import InputError
from recency.reading.formats import replica

_MISSING = ("", "NA", "NaN", "nan", "None", "null", ".")
#: Keys of an entry that are not those of `surprisals`.
OWN = ("columns", "keys", "value", "tags", "predictor")


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
            else:
                keys = {entry.get("value", "surprisal"): column, **entry.get("keys", {})}
                surprisals = shared | {"columns": keys}
            expanded[str(name)] = {"label": str(name), "surprisals": surprisals}
        for name, lm in expanded.items():
            if lms.get(name, lm) != lm:
                raise InputError(
                    f"{where}: an LM {name!r} already exists; give this one another name: "
                    f"`{key}: {{{name}_{group}: {columns[name]}, …}}`"
                )
        lms.update(expanded)
        groups.setdefault(group, list(expanded))


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
    from recency.reading.formats import anything

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
