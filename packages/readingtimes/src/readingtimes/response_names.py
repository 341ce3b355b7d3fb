"""Names of responses, in observations and on the left side of a formula."""

TIME = "time_ms"
"""A reading or reaction time."""
AMPLITUDE = "amplitude_uv"
"""An amplitude in microvolts, possibly negative."""
SCORE = "response"
"""A number without a unit: a rating, a cloze probability, 0 or 1."""
# Each kind has a separate column with its unit in the name.
RESPONSES = (TIME, AMPLITUDE, SCORE)
# The column of a measure that is an event (such as skipping): 0 or 1.
EVENT = "event"
