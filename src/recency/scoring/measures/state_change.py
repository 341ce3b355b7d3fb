"""Change of a layer's state by a token: ‖h_t − h_{t−1}‖, Euclidean."""

MEASURE = {
    "unit": 0,
    "masked": False,
    "site": "layer",
    "lowest": 0,
    "tokens": "sum",
    "bounds": [0, None],
}


def states(states, earlier):
    """Return the length of each step."""
    return (states - earlier).norm(dim=-1)
