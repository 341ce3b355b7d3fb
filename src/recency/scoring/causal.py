"""Score every token of texts with a causal network, in sliding windows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

import numpy as np
import torch
from transformers import PreTrainedModel

from recency.errors import InputError
from recency.scoring import forward
from recency.scoring.finite import require_finite
from recency.scoring.forward import batches, sees_length, short_contexts, window_of, windows
from recency.scoring.inside import Internals
from recency.scoring.output_layer import OutputLayer

#: Positions whose logits are in memory at once.
POSITIONS_AT_ONCE = 1024


@dataclass
class Scores:
    """Scores of a text's tokens, nats; NaN for a token without context."""

    log_probability: np.ndarray  # log p(t_k | context)
    log_space: np.ndarray  # log mass of SPACE tokens before t_k; one more entry for the text's end
    log_end: np.ndarray  # log mass of END tokens, in the same way
    context: np.ndarray  # number of tokens that the model saw before t_k
    #: name → statistic of the distribution before t_k, with an entry for the text's end, or a
    #: measure of `Internals` at t_k
    statistics: dict[str, np.ndarray] = field(default_factory=dict)
    #: number of context words → log p(t_k | those words and the word's earlier tokens)
    short: dict[int, np.ndarray] = field(default_factory=dict)


@torch.inference_mode()
def score(
    model: PreTrainedModel,
    texts: list[np.ndarray],
    kind: np.ndarray,
    bos: int | None,
    stride: int | None = None,
    tokens_at_once: int | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
    window: int | None = None,
    precision: str = "fp32",
    output_layer: OutputLayer | None = None,
    statistics: Sequence[str] = (),
    lengths: Sequence[int] = (),
    words: Sequence[np.ndarray] = (),
    internals: Internals | None = None,
) -> list[Scores]:
    """Score texts independently of each other.

    Memory is bounded whatever the texts' lengths: at most `tokens_at_once` inputs run together (at
    least one window), and the logits of at most POSITIONS_AT_ONCE positions exist at a time.

    Parameters
    ----------
    model : PreTrainedModel
        A causal network. A recurrent one reads each text in one pass, without windows.
    texts : list of ndarray
        Token ids of each text.
    kind : ndarray (vocabulary,)
        SPACE, END or REST for each token (`alignment.kinds`).
    bos : int or None
        Begin token before each text.
    stride : int, optional
        Tokens that each further window adds; by default half a window.
    tokens_at_once : int, optional
        Inputs that run together; by default `forward.tokens_at_once`.
    report : callable
        Called with the numbers of finished and of all windows.
    window : int, optional
        Window size in tokens; by default the model's.
    precision : {"fp32", "bf16"}
        Precision of matrix products.
    output_layer : OutputLayer, optional
        An output layer built earlier with this `kind` and `precision`.
    statistics : sequence of str
        Statistics of the next-token distribution (`MeasureRequest.statistics`).
    lengths : sequence of int
        Numbers of context words to score each word with as well.
    words : sequence of ndarray
        The number of each token's word, for `lengths`.
    internals : Internals, optional
        Measures inside the network, taken in the same pass.

    Returns
    -------
    list of Scores
        One per text.
    """
    if precision not in ("fp32", "bf16"):
        raise InputError(f"precision {precision!r} is neither fp32 nor bf16")
    forward.check_reads_on(model, stride, window)
    size = window_of(model, window)
    stride = size // 2 if stride is None else stride
    if not 1 <= stride <= size:
        raise InputError(f"a stride of {stride} tokens is not within the window of {size}")
    cut = [w for number, ids in enumerate(texts) for w in windows(ids, number, size, stride, bos)]
    # All texts are concatenated, each with an extra entry for its end, once per context length.
    layers = list(texts) * (1 + len(lengths))
    begin = np.cumsum([0, *(len(ids) + 1 for ids in layers)])
    targets = np.concatenate([np.append(ids, 0) for ids in layers]) if texts else np.zeros(0, int)
    ends = np.zeros(len(targets), bool)  # entries after a text's last token, which are no token
    ends[begin[1:] - 1] = True
    inside = len(internals.names) if internals else 0
    filled = np.full((3 + len(statistics) + inside, len(targets)), np.nan)
    context = np.zeros(len(targets), np.int32)
    padded = not sees_length(model)
    output_layer = output_layer or OutputLayer(model, kind, precision == "bf16")
    at_once = tokens_at_once or forward.tokens_at_once(model)
    total = len(cut) + len(lengths) * sum(len(np.unique(numbers)) for numbers in words)  # at least
    done = 0
    shorter = short_contexts(texts, words, lengths, size, stride, bos)  # a length at a time
    bf16, carried = precision == "bf16", ()
    if forward.reads_on(model):
        carried, cut = forward.run_on(model, cut, at_once, bf16, internals), []
    cut_up = chain.from_iterable(batches(part, at_once, padded) for part in chain([cut], shorter))
    in_windows = forward.run(model, cut_up, bf16, internals or output_layer.body)
    for batch, output in chain(carried, in_windows):
        hidden = output[0].to(output_layer.row.device)
        rows, columns, places = [], [], []
        for row, piece in enumerate(batch):
            counted = np.arange(piece.fresh, len(piece.ids))
            rows.append(np.full(len(counted), row))
            columns.append(counted)
            places.append(begin[piece.text] + piece.start + counted)
            context[places[-1]] = piece.before + counted + 1
        rows, columns = np.concatenate(rows), np.concatenate(columns)
        places = np.concatenate(places)
        for start in range(0, len(places), POSITIONS_AT_ONCE):
            part = slice(start, start + POSITIONS_AT_ONCE)
            chosen = torch.from_numpy(targets[places[part]]).to(hidden.device)
            asked = statistics if batch[0].text < len(texts) else ()
            scored = output_layer.score(hidden[rows[part], columns[part]], chosen, asked)
            filled[: len(scored), places[part]] = torch.stack(scored).cpu().numpy()
            counted = places[part][~ends[places[part]]]
            require_finite(filled[0, counted], type(model).__name__)
            if internals and batch[0].text < len(texts):
                values = internals.measure_positions(output, rows[part], columns[part], chosen)
                filled[-inside:, places[part]] = values.cpu().numpy()
        done += len(batch)
        report(done, max(done, total))
    if lengths:
        report(done, done)
    return [
        Scores(
            *(filled[0, a : b - 1], filled[1, a:b], filled[2, a:b], context[a : b - 1]),
            {name: filled[3 + row, a:b] for row, name in enumerate(statistics)}
            | (internals.token_values(filled[-inside:, a:b]) if internals else {}),
            {
                length: filled[0, a + layer * begin[len(texts)] :][: b - 1 - a]
                for layer, length in enumerate(lengths, 1)
            },
        )
        for a, b in pairwise(begin[: len(texts) + 1])
    ]
