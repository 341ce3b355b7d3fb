"""What a response is called, in observations and on the left of a formula."""

# Its unit is in its name; an amplitude is no time, and has a column of its own.
RESPONSES = ("time_ms", "amplitude_uv")
# What observations have in their place where a measure is an event (was the word skipped?): 0 or 1.
EVENT = "event"
