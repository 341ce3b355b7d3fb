"""Readers of training text: one module per format, selected by name.

A reader module has `read(paths, **options)`, which takes all files of a part of the corpus and yields
(name, text) for each document in order; names are unique within the part. The literal `CHOICES` has the
permitted values of options.
"""

from collections.abc import Callable, Iterator

from recency import plugins

Reader = Callable[..., Iterator[tuple[str, str]]]


def readers() -> list[str]:
    """Return the names of the readers."""
    return plugins.names("recency.text.readers")


def reader(name: str) -> Reader:
    """Return the `read` function of a reader."""
    return plugins.load("recency.text.readers", name).read
