"""What a response is called, in observations and on the left of a formula."""

from collections.abc import Collection

TIME = "time_ms"
"""A reading or reaction time."""
AMPLITUDE = "amplitude_uv"
"""An amplitude in microvolts: no time, and possibly negative."""
SCORE = "response"
"""A number without a unit: a rating, a cloze probability, 0 or 1."""
# Its unit is in its name; each kind has a column of its own, so that none is read as another.
RESPONSES = (TIME, AMPLITUDE, SCORE)
# What observations have in their place where a measure is an event (was the word skipped?): 0 or 1.
EVENT = "event"

SELF_PACED = ("SPR", "Maze")
"""Measures whose times are from one word's onset to the next one's."""
ONSET = "onset_ms"
"""The responses' column of when a word came up, from the beginning of its item or any other event."""


def has_onsets(measure: str, columns: Collection[str]) -> bool:
    """Return whether responses of a measure with these columns have onsets."""
    return ONSET in columns or measure in SELF_PACED
