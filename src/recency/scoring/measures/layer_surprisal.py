"""`layer_surprisal_l<layer>`, surprisal predicted from a layer's states: the logit lens."""

MEASURE = {
    "unit": 1,
    "masked": False,
    "site": "layer",
    "layers": "named",
    "lowest": 0,
    "tokens": "sum",
    "bounds": [-1e-3, None],
}


def predictions(log_probability):
    """Return −log p of the observed tokens, nats."""
    return -log_probability
