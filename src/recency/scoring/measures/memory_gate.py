"""`memory_gate_<gate>`, a gate of a recurrent memory, between 0 and 1: the mean over units."""

MEASURE = {
    "unit": 0,
    "masked": False,
    "site": "layer",
    "tokens": "mean",
    "bounds": [0, 1],
    "parameter": {"name": "gate", "type": "word", "example": "forget"},
}


def gates(gates, gate):
    """Return the mean over units of the named gate."""
    return gates[gate].mean(-1)
