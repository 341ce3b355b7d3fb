"""Readers of training text: one module per kind of source file, chosen by its name.

A reader module has `read(paths, **options)`, which takes all files of a part of the corpus and
yields (name, text) for each document in order; names are unique within the part. A literal `CHOICES`
has the values of options that take one of a few.
"""

from collections.abc import Callable, Iterator

from recency import plugins

Reader = Callable[..., Iterator[tuple[str, str]]]


def readers() -> list[str]:
    """Name the readers there are."""
    return plugins.names("recency.text.readers")


def reader(name: str) -> Reader:
    """Give the `read` function of a reader."""
    return plugins.load("recency.text.readers", name).read
