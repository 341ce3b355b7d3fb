"""The error of invalid input."""


class InputError(ValueError):
    """Invalid input; the message names file, row or column, value and the way out."""


def first_line(error: object) -> str:
    """Return the first line of an error's text, with the second if the first announces it."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " ".join(map(str.strip, lines[: 1 + lines[0].endswith(":")])).rstrip(". ")
