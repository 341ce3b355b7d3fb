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
TASKS = ("self_paced", "maze")
"""Tasks whose times are from one word's onset to the next one's; a dataset need not state its own."""
SELF_PACED = ("SPR", "Maze")
"""Measures of these tasks."""
ONSET = "onset_ms"
"""The responses' column of when a word came up, from the beginning of its item or any other event."""


def has_onsets(measure: str, columns: Collection[str], task: str | None = None) -> bool:
    """Return whether responses of a measure with these columns have onsets, of a dataset's task."""
    is_self_paced = measure in SELF_PACED if task is None else task in TASKS
    return ONSET in columns or is_self_paced
