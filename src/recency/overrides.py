"""Checks that stop an analysis, and their overrides in the config.

The names are those of `accept` under an entry of `datasets` or `lms`, next to those of lint rules
(recency.workflow.lint). The config's schema, the messages and the lines in summary, verdict and
report derive from these tables.
"""

import sys
from collections.abc import Collection, Iterable, Mapping

from recency.errors import InputError

#: Check of a dataset's words and times → statement of its override.
OF_DATASET = {
    "shifted": "times may follow a neighbouring word's length",
    "no_context": "nearly every text is a single word, scored without context",
    "language": "the words may be in another language than stated, or than the LMs or the unigram model",
    "mixed_languages": "the texts may be of several languages",
    "units": "times may be in another unit than ms",
    "duplicates": "two subjects may be the same reader",
}
#: Check of an LM's surprisal → statement of its override.
OF_LM = {
    "surprisal": "its surprisal may be implausible, shifted or in another unit",
    "trained_on": "it may have been trained on a dataset's texts",
}
#: Table of the config → checks that `accept` of its entries may name, next to lint rules.
CHECKS = {"datasets": OF_DATASET, "lms": OF_LM}


def schema(table: str) -> dict:
    """Return the schema of `accept` in the entries of a table, or at the top level ("")."""
    rules = "rules of the linter whose findings are accepted; docs/lint.md"
    named = ", ".join(CHECKS.get(table, ()))
    data = f"checks of its data that may fail ({named}; docs/corpora.md), and " if named else ""
    return {
        "type": "array",
        "items": {"type": "string"},
        "uniqueItems": True,
        "x-check": f"accept_{table}" if table else "accept",
        "description": f"{data}{rules}; listed in summary and report",
    }


def checks(entry: Mapping, table: str) -> list[str]:
    """Return the checks of data, not lint rules, in `accept` of a table's entry."""
    return [name for name in entry.get("accept", ()) if name in CHECKS[table]]


def refuse(
    check: str, name: str, problem: str, way_out: str, where: str, accept: Collection[str]
) -> None:
    """Raise an InputError for a failed check, or warn on stderr if the config accepts it.

    Parameters
    ----------
    check : str
        The check's name.
    name : str
        Name of the data: <dataset>.<measure>, or an LM and a dataset.
    problem, way_out : str
        The finding, with its numbers; how to fix it.
    where : str
        The config's entry that may have the override: "datasets → mine".
    accept : collection of str
        Names of the checks that may fail.
    """
    if check in accept:
        print(f"{name}: {problem}. The config permits this (accept: [{check}])", file=sys.stderr)
        return
    end = "" if problem.endswith("?") else "."
    raise InputError(
        f"{name}: {problem}{end} {way_out}; or, if this is intended, set `accept: [{check}]` under "
        f"{where}"
    )


def lines(
    datasets: Iterable[tuple[str, Collection[str]]], lms: Iterable[tuple[str, Collection[str]]]
) -> list[str]:
    """Return a sentence for each override of some datasets and LMs.

    Parameters
    ----------
    datasets, lms : iterable of (str, collection of str)
        Label and `accept` of each.
    """
    kinds = (("Corpus", OF_DATASET, datasets), ("LM", OF_LM, lms))
    values = {
        f"{kind} {label!r}: {table[check]} (accepted: {check})."
        for kind, table, entries in kinds
        for label, accept in entries
        for check in accept
        if check in table
    }
    return sorted(values)
