"""Checks that stop an analysis, and their overrides in the config.

The names are those of `accept` under an entry of `datasets` or `lms`, next to those of lint rules
(recency.workflow.lint). The config's schema, the messages and the lines in summary, verdict and
report derive from these tables.
"""

from collections.abc import Collection, Iterable, Mapping

from readingtimes.overrides import OF_DATASET, refuse

__all__ = ["OF_DATASET", "OF_LM", "refuse"]

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
