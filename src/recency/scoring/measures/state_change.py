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
    """Return the Euclidean norm of each change."""
    return (states - earlier).norm(dim=-1)
