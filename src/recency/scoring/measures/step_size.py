"""Step size Δ of a selective state-space layer (Gu & Dao 2023): the mean over its units."""

MEASURE = {"unit": 0, "masked": False, "site": "layer", "tokens": "sum", "bounds": [0, None]}


def steps(steps):
    """Return the mean over the units; e^(ΔA) is what the state keeps, so that steps add up."""
    return steps.mean(-1)
