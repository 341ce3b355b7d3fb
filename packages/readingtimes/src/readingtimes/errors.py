"""The error of invalid input, and the warning of doubtful input."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class InputError(ValueError):
    """Invalid input; the message names file, row or column, value and the way out."""


class InputWarning(UserWarning):
    """Doubtful input that is read: what was corrected, left out or taken for something else."""


def warn(text: str) -> None:
    """Warn with `InputWarning` at the line that called these packages."""
    level, frame = 2, sys._getframe(1)
    packages = ("readingtimes", "recency", "crosslmm")
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in packages:
        level, frame = level + 1, frame.f_back  # `skip_file_prefixes` is Python 3.12's
    warnings.warn(text, InputWarning, stacklevel=level)


@contextmanager
def warnings_in_lines() -> Iterator[None]:
    """Show every `InputWarning` as one line on standard error, as commands and jobs do."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", InputWarning)
        shown = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **options: Any) -> None:
            if issubclass(category, InputWarning):
                print(message, file=sys.stderr)
            else:
                shown(message, category, *place, **options)

        warnings.showwarning = show
        yield


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """Give the text of every `InputWarning` that is shown meanwhile."""
    kept: list[str] = []
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def keep(message: Any, category: type[Warning], *place: Any, **options: Any) -> None:
            if issubclass(category, InputWarning):
                kept.append(str(message))
            shown(message, category, *place, **options)

        warnings.showwarning = keep
        yield kept


def first_line(error: object) -> str:
    """Return the first line of an error's text, with the second if the first announces it."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " ".join(map(str.strip, lines[: 1 + lines[0].endswith(":")])).rstrip(". ")
