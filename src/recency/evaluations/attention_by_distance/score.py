"""Rule attention_by_distance: the attention of each head by distance, and its entropy.

Attention by distance, compared with the unbiased network, shows whether a bias has an effect; for
an inference-only bias, so does the total variation between the two.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.scoring.lm_spec import LMSpec

#: Names of `Totals.sums`, in order.
SUMS = ("entropy", "relative_entropy", "own", "first", "ahead", "total_variation")


class Totals:
    """Sums over the queries of all windows, for each layer and head.

    Distances are from the key to the query: 0 is the token itself; negative distances are tokens
    `ahead` of the query, which bidirectional networks see.
    """

    def __init__(self, layers: int, heads: int, length: int, ahead: bool = False):
        self.ahead = ahead
        self.distances = np.arange(1 - length if ahead else 0, length)
        self.mass = np.zeros((layers, heads, len(self.distances)))  # by distance
        self.sums = np.zeros((len(SUMS), layers, heads))
        self.uniform = np.zeros(
            len(self.distances)
        )  # mass under uniform attention to the visible tokens
        self.queries = 0
        self.later = 0  # queries with a preceding token

    def count(self, length: int, fresh: int) -> None:
        """Count the queries of a window from `fresh` on."""
        query = np.arange(fresh, length)
        self.queries += len(query)
        self.later += int((query > 0).sum())
        # A query that sees n tokens gives each of their distances the mass 1/n.
        zero = -self.distances[0]  # index of distance 0
        nearest = query - length + 1 if self.ahead else np.zeros_like(query)
        share = 1 / (query - nearest + 1)
        shares = np.zeros(len(self.distances) + 1)
        np.add.at(shares, zero + nearest, share)
        np.add.at(shares, zero + query + 1, -share)
        self.uniform += np.cumsum(shares)[:-1]

    def add(self, layer: int, attention, fresh: int, unbiased=None) -> None:
        """Add a layer's attention (heads, queries, keys) for the queries from `fresh` on."""
        import torch

        heads, length, _ = attention.shape
        rows = attention[:, fresh:].double()
        places = torch.arange(length, device=rows.device)
        back = places[fresh:, None] - places
        ahead = (rows * (back < 0)).sum(2)
        if not self.ahead:
            back = back.clamp(min=0)  # following tokens get no attention
        mass = torch.zeros(heads, len(self.distances), dtype=rows.dtype, device=rows.device)
        mass.index_add_(1, (back - int(self.distances[0])).reshape(-1), rows.reshape(heads, -1))
        self.mass[layer] += mass.cpu().numpy()
        entropy = -(rows * rows.clamp(min=1e-300).log2()).sum(2)
        later = places[fresh:] > 0
        seen = torch.full_like(places[fresh:], length) if self.ahead else places[fresh:] + 1
        most = torch.log2(seen.double()).clamp(min=1e-300)
        diagonal = rows.diagonal(offset=fresh, dim1=1, dim2=2)
        per_query = [entropy, (entropy / most)[:, later], diagonal, rows[:, later, 0], ahead]
        if unbiased is not None:
            per_query.append((rows - unbiased[:, fresh:].double()).abs().sum(2) / 2)
        for number, values in enumerate(per_query):
            self.sums[number, layer] += values.sum(1).cpu().numpy()


def main(
    words: str | Path,
    lm: LMSpec,
    out: str | Path,
    summary: str | Path,
) -> None:
    """Write attention by distance (Parquet) and summaries by head (CSV).

    `out`: layer, head, distance (tokens back; 0 is the token itself, negative distances are
    following tokens of masked LMs), mass (mean over queries; sums to 1 per head) and uniform (mass
    under uniform attention to the visible tokens). `summary`: layer, head, slope (of a linear
    bias), queries, windows, entropy_bits, relative_entropy (relative to its maximum, over queries
    that see two tokens or more), own (mass on the token itself), first (mass on the first input of
    the text or window, over later queries), ahead (mass on following tokens; 0 for causal LMs),
    mean_distance (tokens, in either direction) and total_variation to the same network without the
    inference-only bias (0 same, 1 disjoint).
    """
    from recency.scoring import inner_states as network
    from recency.scoring.forward import window_of
    from recency.scoring.tokenizer import begin_token

    table = pd.read_parquet(words)
    opened = lm.open()
    unbiased = None if lm.bias is None else lm.open(biased=False).network
    for weights in filter(None, (opened.network, unbiased)):
        network.enable_weights(weights)
    start = None if opened.masked else begin_token(opened, lm.bos)
    heads = network.list_heads(opened.network)
    layers = heads[-1].layer
    width = len(heads) // layers
    texts = opened.texts(table).values()
    windows = [
        window
        for text in texts
        for window in network.cut_windows(text, opened.network, start, lm.stride, opened.around)
    ]
    longest = max(len(window.ids) for window in windows)
    totals = Totals(layers, width, min(longest, window_of(opened.network)), opened.masked)
    shown = progress(len(windows), f"attention by distance of {lm.name}", "windows")
    for number, window in enumerate(windows, 1):
        plain = {}
        if unbiased is not None:
            network.visit_layers(unbiased, window.ids, plain.__setitem__)
        totals.count(len(window.ids), window.fresh)

        def see(layer: int, attention, window=window, plain=plain) -> None:
            totals.add(layer, attention, window.fresh, plain.pop(layer, None))

        network.visit_layers(opened.network, window.ids, see)
        shown.update(number)
    rows = _summary(totals, heads, unbiased is not None).assign(windows=len(windows))
    with atomic(summary) as path:
        rows.to_csv(path, index=False, lineterminator="\n")
    layer, head, distance = (axis.ravel() for axis in np.indices(totals.mass.shape))
    by_distance = pd.DataFrame({"layer": layer + 1, "head": head + 1})
    by_distance["distance"] = totals.distances[distance]
    by_distance["mass"] = totals.mass.ravel() / totals.queries
    by_distance["uniform"] = np.tile(totals.uniform / totals.queries, layers * width)
    with atomic(out) as path:
        by_distance.to_parquet(path, compression="zstd", index=False)


def _summary(totals: Totals, heads: list, compared: bool) -> pd.DataFrame:
    """Return means from the sums, one row per head."""
    denominators = {name: totals.queries for name in SUMS}
    denominators |= {name: max(totals.later, 1) for name in ("relative_entropy", "first")}
    table = pd.DataFrame(
        {
            "layer": [head.layer for head in heads],
            "head": [head.head for head in heads],
            "slope": [head.slope for head in heads],
            "queries": totals.queries,
        }
    )
    for name, sums in zip(SUMS, totals.sums):
        table[name] = sums.ravel() / denominators[name]
    table["mean_distance"] = (totals.mass @ np.abs(totals.distances)).ravel() / totals.queries
    if not compared:
        table["total_variation"] = np.nan
    return table.rename(columns={"entropy": "entropy_bits"})
