"""The one error that a user is meant to read."""


class InputError(ValueError):
    """The user's input is at fault: the message names file, row or key, value and the way out."""
