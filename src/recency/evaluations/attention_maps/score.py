"""Rule attention_map: the attention of every head of every layer over one sentence."""

from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from recency.errors import InputError
from recency.scoring.lm_spec import LMSpec


def main(
    text: str,
    lm: LMSpec,
    out: str | Path,
) -> None:
    """Write layer, head (both from 1), query, key, query_token, key_token and attention.

    Queries and keys are indices of inputs from 0, including a begin token or the special tokens of
    a masked LM. Attention is after softmax: it sums to 1 over the visible keys of a query, and
    hidden keys have no row. The sentence must fit into one window.
    """
    from recency.scoring import alignment
    from recency.scoring import inner_states as network
    from recency.scoring.tokenizer import begin_token

    opened = lm.open()
    network.enable_weights(opened.network)
    start = None if opened.masked else begin_token(opened, lm.bos)
    aligned = alignment.align(text.split(), opened.tokenizer, kind=opened.kind)
    windows = network.cut_windows(aligned, opened.network, start, None, opened.around)
    if len(windows) > 1:
        raise InputError(
            f"sentences: {text[:40]!r} has {len(aligned.ids)} tokens, more than {lm.name} reads at once"
        )
    maps: dict[int, np.ndarray] = {}
    network.visit_layers(
        opened.network, windows[0].ids, lambda layer, seen: maps.update({layer: seen.cpu().numpy()})
    )
    attention = np.stack([maps[layer] for layer in sorted(maps)])
    layer, head, query, key = (axis.ravel() for axis in np.indices(attention.shape))
    names = np.array([_name(opened.tokenizer, number) for number in windows[0].ids], dtype=object)
    table = pd.DataFrame(
        {
            "layer": layer + 1,
            "head": head + 1,
            "query": query,
            "key": key,
            "query_token": names[query],
            "key_token": names[key],
            "attention": attention.ravel(),
        }
    )
    seen = table if opened.masked else table[table.key <= table["query"]]
    with atomic(out) as path:
        seen.to_parquet(path, compression="zstd", index=False)


def _name(tokenizer, number: int) -> str:
    """Return a token as text; a bare space or part of a character as the vocabulary writes it."""
    text = tokenizer.decode([number], skip_special_tokens=False).strip()
    return text if text and "\ufffd" not in text else tokenizer.id_to_token(number)
