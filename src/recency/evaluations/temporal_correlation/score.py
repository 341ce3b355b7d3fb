"""Correlation of states by distance: c_d = 1/(N − d) Σ_t cos(H_t, H_{t+d}) of the states of each layer.

Of a dataset's texts, or of a corpus that is read as one text, as in the thesis's Figure 4.3, which
however divides by N, counting d pairs that do not exist. The same measure for words in random order
is the floor: only the correlation above it is due to the text.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.scoring.lm_spec import LMSpec

COLUMNS = ["layer", "state", "distance", "correlation", "shuffled", "pairs"]
#: A layer's own state and, of an LSRC, the state of its short memory.
OUTPUT, LOCAL = "output", "local"


def correlations(
    states: np.ndarray, lengths: Sequence[int], reach: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return c_d and its number of pairs of words, (distances,) each, for d = 1 … reach.

    `states` (words, width) are of consecutive texts with these lengths; pairs lie within one text.
    The sums of all distances are computed together, as autocorrelations of each dimension (FFT).
    """
    reach = min(reach, max(lengths) - 1)
    states = states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-30)
    total, pairs = np.zeros(reach), np.zeros(reach)
    for text in np.split(states, np.cumsum(lengths)[:-1]):
        size = len(text)
        spectrum = np.fft.rfft(text.astype(float), n=2 * size, axis=0)
        sums = np.fft.irfft((np.abs(spectrum) ** 2).sum(1), n=2 * size)[1:size]
        seen = min(reach, size - 1)
        total[:seen] += sums[:seen]
        pairs[:seen] += size - np.arange(1, seen + 1)
    return total / pairs, pairs


def shuffled(words: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the words of all texts in random order, in texts with the same lengths."""
    order = np.random.default_rng(seed).permutation(len(words))
    return words.assign(word=words["word"].to_numpy()[order])


def main(
    words: str | Path,
    lm: LMSpec,
    out: str | Path,
    reach: int,
    seed: int,
) -> None:
    """Write COLUMNS to a CSV; distances are in words.

    Layer l is the output of layer l, averaged over a word's tokens; `shuffled` is the same for the
    words in random order.
    """
    from recency.scoring import inner_states
    from recency.scoring.tokenizer import begin_token

    table = pd.read_parquet(words)
    opened = lm.open()
    start = None if opened.masked else begin_token(opened, lm.bos)
    layers = list(range(1, inner_states.count_layers(opened.network) + 1))
    measured = []
    for number, version in enumerate((table, shuffled(table, seed))):
        texts = list(opened.texts(version).values())
        shown = progress(1, f"states of {lm.name}{', words shuffled' if number else ''}", "windows")

        def report(done: int, total: int, shown=shown) -> None:
            shown.total = total
            shown.update(done)

        states = inner_states.word_states(
            opened.network, texts, layers, start, lm.stride, report=report
        )
        lengths = [text.words for text in texts]
        if max(lengths) < 2:
            raise InputError(f"{words}: no text has two words, so that there are no distances")
        measured.append(
            {
                (layer, OUTPUT): correlations(state, lengths, reach)
                for layer, state in zip(layers, states, strict=True)
            }
        )
    write(out, *measured)


def write(out: str | Path, text: dict, random: dict) -> None:
    """Write the correlations of a text and of its words in random order: (layer, state) → values."""
    rows = pd.concat(
        pd.DataFrame(
            {
                "layer": layer,
                "state": state,
                "distance": np.arange(1, len(plain) + 1),
                "correlation": plain,
                "shuffled": random[layer, state][0],
                "pairs": pairs.astype(int),
            }
        )
        for (layer, state), (plain, pairs) in text.items()
    )
    with atomic(out) as part:
        rows[COLUMNS].to_csv(part, index=False, lineterminator="\n")


PIECE = 2000  # words that a network reads at once


def correlate_corpus(
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
