"""Checks that stop an analysis, and how the config overrides each of them by name.

The names are those of `accept` under an entry of `datasets` or `lms`. The config's schema, the
messages and the lines in summary, verdict and report derive from these tables.
"""

import sys
from collections.abc import Collection, Iterable

from recency.errors import InputError

#: Checks of a dataset's words and times: what the override states.
OF_DATASET = {
    "shifted": "times may follow a neighbouring word's length",
    "no_context": "nearly every text is a single word, which an LM reads without context",
    "language": "the words may be of another language than stated, or than an LM or the unigram model",
    "mixed_languages": "the texts may be of several languages",
    "units": "times may be in another unit than ms",
    "duplicates": "two subjects may be the same reader",
}
#: Checks of an LM's surprisal: what the override states.
OF_LM = {
    "surprisal": "its surprisal may be implausible, shifted or in another unit",
    "trained_on": "it may have been trained on a dataset's texts",
}


def schema(names: Iterable[str], what: str) -> dict:
    """Return the schema of `accept`.

    Parameters
    ----------
    names : iterable of str
        `OF_DATASET` or `OF_LM`.
    what : str
        What may fail the checks, for the description.
    """
    return {
        "type": "array",
        "items": {"enum": list(names)},
        "uniqueItems": True,
        "description": f"checks that the {what} may fail: what each finds is then a warning, and "
        "summary, verdict and report list it; docs/corpora.md",
    }


def refuse(
    check: str, name: str, problem: str, way_out: str, where: str, accept: Collection[str]
) -> None:
    """Raise an InputError for a failed check, or warn on stderr if the config accepts it.

    Parameters
    ----------
    check : str
        The check's name.
    name : str
        What the data are called: <dataset>.<measure>, or an LM and a dataset.
    problem, way_out : str
        What was found, with its numbers; how to mend it.
    where : str
        The config's entry that may have the override: "datasets → mine".
    accept : collection of str
        Names of the checks that may fail.
    """
    if check in accept:
        print(f"{name}: {problem}. The config accepts this (accept: [{check}])", file=sys.stderr)
        return
    end = "" if problem.endswith("?") else "."
    raise InputError(
        f"{name}: {problem}{end} {way_out}; or, if this is meant, state `accept: [{check}]` under "
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
    found = {
        f"{kind} {label!r}: {table[check]} (accepted: {check})."
        for kind, table, entries in kinds
        for label, accept in entries
        for check in accept
    }
    return sorted(found)
