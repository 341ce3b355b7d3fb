"""Step size Δ of a selective state-space layer (Gu & Dao 2023): the mean over units."""

MEASURE = {"unit": 0, "masked": False, "site": "layer", "tokens": "sum", "bounds": [0, None]}


def steps(steps):
    """Return the mean over units; the state decays by e^(ΔA), so steps of tokens add up."""
    return steps.mean(-1)
