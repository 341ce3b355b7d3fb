"""Random dependency trees, and treebanks of them."""

import numpy as np
import pandas as pd

RANDOM = np.random.default_rng(0)


def random_heads(size, random=RANDOM):
    """Draw a tree: each word but the first of a random order hangs on one before it."""
    order = random.permutation(size)
    heads = np.zeros(size, int)
    for place in range(1, size):
        heads[order[place]] = order[random.integers(place)] + 1
    return heads


def bank(sentences, relation="dep", upos="X"):
    rows = [
        (number, place + 1, head, relation, upos)
        for number, heads in enumerate(sentences, 1)
        for place, head in enumerate(heads)
    ]
    return pd.DataFrame(rows, columns=["sentence", "position", "head", "relation", "upos"])
