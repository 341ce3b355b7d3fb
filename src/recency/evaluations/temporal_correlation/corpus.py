"""Rule corpus_temporal_correlation: the same of a corpus that is read as one text, as in Figure 4.3."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from readingtimes.progress import progress
from recency.errors import InputError
from recency.evaluations.temporal_correlation.score import LOCAL, OUTPUT, correlations, write
from recency.scoring.lm_spec import LMSpec

PIECE = 2000  # words that a network reads at once


def main(
    tokens: str | Path,
    info: str | Path,
    lm: LMSpec,
    out: str | Path,
    reach: int,
    seed: int,
    reset: str = "never",
) -> None:
    """Write COLUMNS of a recurrent network that reads a corpus as one text, ends of documents included.

    `tokens` and `info` are the corpus's token stream; with `reset` document the state ends with each
    document. Raises InputError for another network, or if nothing ends the documents.
    """
    facts = json.loads(Path(info).read_text())
    ids, end = np.fromfile(tokens, facts["dtype"]).astype(np.int64), facts["end_of_document"]
    if end is None:
        raise InputError(f"{tokens}: no token ends its documents, which the begin token must be")
    network = lm.open().network
    if network.config.model_type != "recency_recurrent":
        raise InputError(
            f"{lm.name} has no state that is carried through a corpus; name a dataset instead of `corpus`"
        )
    order, measured = np.random.default_rng(seed).permutation(len(ids)), []
    for number, text in enumerate((ids, ids[order])):
        shown = progress(
            len(ids), f"states of {lm.name}{', words shuffled' if number else ''}", "words"
        )
        states = carried_states(network, text, end, reset == "document", shown.update)
        measured.append({key: correlations(of, [len(ids)], reach) for key, of in states.items()})
    write(out, *measured)


def carried_states(
    network, ids: np.ndarray, end: int, resets: bool, report: Callable[[int], None]
) -> dict[tuple[int, str], np.ndarray]:
    """Return (layer from 1, state) → states (words, units) after each of `ids`, read after `end`."""
    import torch

    body, parts = network.model.eval(), {}
    state = body.start(1)
    with torch.inference_mode():
        read = torch.from_numpy(np.concatenate([[end], ids]))[None]
        for first in range(0, read.shape[1], PIECE):
            piece = read[:, first : first + PIECE]
            begins = piece == end if resets else None
            given = body(piece, state=state, resets=begins, output_hidden_states=True)
            for number, hidden in enumerate(given.hidden_states[1:], 1):
                parts.setdefault((number, OUTPUT), []).append(hidden[0].float().numpy())
            for number, layer in enumerate(body.layers):
                if not resets and hasattr(layer, "local_states"):
                    local, _ = layer.local_states(given.hidden_states[number], state[number])
                    parts.setdefault((number + 1, LOCAL), []).append(local[0].float().numpy())
            state = given.state
            report(min(first + PIECE, len(ids)))
    return {key: np.concatenate(pieces)[1:] for key, pieces in parts.items()}
