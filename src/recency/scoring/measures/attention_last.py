"""`attention_last_<k>`, attention to the k previous words, without the word itself."""

MEASURE = {
    "unit": 0,
    "masked": False,
    "site": "head",
    "tokens": "mean",
    "bounds": [0, 1],
    "parameter": {"name": "k", "type": "integer", "minimum": 1, "example": 4},
}


def attention(weights, words, k):
    """Return the sum of each row's weights on the tokens of the k previous words."""
    back = words[:, :, None] - words[:, None, :]  # words between a query and a key
    seen = (back >= 1) & (back <= k) & (words >= 0)[:, None, :]
    return (weights * seen[:, None]).sum(-1)
