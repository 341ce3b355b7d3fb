"""Checks that stop an analysis, and their overrides by name (`accept`)."""

from collections.abc import Collection

from readingtimes.errors import InputError, warn

#: Check of a dataset's words and times → statement of its override.
OF_DATASET = {
    "shifted": "times may follow a neighbouring word's length",
    "no_context": "nearly every text is a single word, scored without context",
    "language": "the words may be in another language than stated, or than the LMs or the unigram model",
    "mixed_languages": "the texts may be of several languages",
    "units": "times may be in another unit than ms",
    "duplicates": "two subjects may be the same reader",
    "conditions": "some subjects read an item in several conditions, most in one",
}


def refuse(
    check: str, name: str, problem: str, way_out: str, where: str, accept: Collection[str]
) -> None:
    """Raise an InputError for a failed check, or warn if the config accepts it.

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
        warn(f"{name}: {problem}. The config permits this (accept: [{check}])")
        return
    end = "" if problem.endswith("?") else "."
    raise InputError(
        f"{name}: {problem}{end} {way_out}; or, if this is intended, set `accept: [{check}]` under "
        f"{where}"
    )
