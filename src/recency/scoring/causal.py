"""Surprisal of every token of a text, and the mass of word-initial tokens, in sliding windows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

import numpy as np
import torch
from transformers import PreTrainedModel

from recency.errors import InputError
from recency.scoring import forward, one_pass
from recency.scoring.inside.internals import Internals
from recency.scoring.output_layer import OutputLayer
from recency.scoring.short_contexts import short_contexts
from recency.scoring.windows import batches, sees_length, window_of, windows

#: Positions whose logits are held at once.
POSITIONS_AT_ONCE = 1024


@dataclass
class Scores:
    """Per token of a text; nats; NaN where nothing comes before the token."""

    log_probability: np.ndarray  # log p(t_k | context)
    log_space: np.ndarray  # mass of tokens that begin with a space; one more entry for the end
    log_end: np.ndarray  # mass of tokens that end a text, likewise
    context: np.ndarray  # tokens that the model saw before t_k
    #: of measures.Asked.statistics: of the distribution before t_k, one more entry for the end; and of
    #: `Internals`: of t_k
    statistics: dict[str, np.ndarray] = field(default_factory=dict)
    #: words of context → log p(t_k | the last so many words and the word's tokens before)
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
    """Score texts (arrays of token ids), each by itself; return one `Scores` per text.

    `kind` says of each entry of the vocabulary whether it begins with a space (SPACE), ends a text
    (END) or neither; `bos` is a token put before each text, or None; `stride` the number of tokens
    that each further window adds (half a window by default), `window` its size (the model's own by
    default); a recurrent network reads each text once, and has neither. Memory is bounded: no more than `tokens_at_once` inputs are run together (a window at
    least; by default what `forward.tokens_at_once` says, and less where memory does not last), and
    no more than a block of logits is held, whatever the texts' lengths. `report` gets
    the number of windows done and of all. With `precision` bf16 matrix products are in bfloat16. An
    `output_layer` made before, with this `kind` and `precision`, saves making it. `statistics` are
    those of `measures.Asked`; `lengths` the numbers of words of context to score each word in too,
    for which `words` has the number of each token's word. `internals` are the measures of the network's
    inside, taken in the same pass.
    """
    if precision not in ("fp32", "bf16"):
        raise InputError(f"precision {precision!r} is neither fp32 nor bf16")
    one_pass.check(model, stride, window)
    size = window_of(model, window)
    stride = size // 2 if stride is None else stride
    if not 1 <= stride <= size:
        raise InputError(f"a stride of {stride} tokens is not within the window of {size}")
    cut = [w for number, ids in enumerate(texts) for w in windows(ids, number, size, stride, bos)]
    # All texts lie behind one another, each with one entry more, for its end; and so again for each
    # length of context.
    layers = list(texts) * (1 + len(lengths))
    begin = np.cumsum([0, *(len(ids) + 1 for ids in layers)])
    targets = np.concatenate([np.append(ids, 0) for ids in layers]) if texts else np.zeros(0, int)
    inside = len(internals.names) if internals else 0
    filled = np.full((3 + len(statistics) + inside, len(targets)), np.nan)
    context = np.zeros(len(targets), np.int32)
    padded = not sees_length(model)
    output_layer = output_layer or OutputLayer(model, kind, precision == "bf16")
    at_once = tokens_at_once or forward.tokens_at_once(model)
    total = len(cut) + len(lengths) * sum(len(np.unique(each)) for each in words)  # at least
    done = 0
    shorter = short_contexts(texts, words, lengths, size, stride, bos)  # a length at a time
    bf16, carried = precision == "bf16", ()
    if one_pass.reads_on(model):
        carried, cut = one_pass.run(model, cut, at_once, bf16, internals), []
    cut_up = chain.from_iterable(batches(part, at_once, padded) for part in chain([cut], shorter))
    in_windows = forward.run(model, cut_up, bf16, internals or output_layer.body)
    for batch, output in chain(carried, in_windows):
        hidden = output[0]
        rows, columns, places = [], [], []
        for row, each in enumerate(batch):
            counted = np.arange(each.fresh, len(each.ids))
            rows.append(np.full(len(counted), row))
            columns.append(counted)
            places.append(begin[each.text] + each.start + counted)
            context[places[-1]] = each.before + counted + 1
        rows, columns = np.concatenate(rows), np.concatenate(columns)
        places = np.concatenate(places)
        for start in range(0, len(places), POSITIONS_AT_ONCE):
            part = slice(start, start + POSITIONS_AT_ONCE)
            chosen = torch.from_numpy(targets[places[part]]).to(hidden.device)
            asked = statistics if batch[0].text < len(texts) else ()
            found = output_layer.score(hidden[rows[part], columns[part]], chosen, asked)
            filled[: len(found), places[part]] = torch.stack(found).cpu().numpy()
            if internals and batch[0].text < len(texts):
                values = internals.take(output, rows[part], columns[part], chosen)
                filled[-inside:, places[part]] = values.cpu().numpy()
        done += len(batch)
        report(done, max(done, total))
    if lengths:
        report(done, done)
    return [
        Scores(
            *(filled[0, a : b - 1], filled[1, a:b], filled[2, a:b], context[a : b - 1]),
            {name: filled[3 + row, a:b] for row, name in enumerate(statistics)}
            | (internals.of_tokens(filled[-inside:, a:b]) if internals else {}),
            {
                length: filled[0, a + layer * begin[len(texts)] :][: b - 1 - a]
                for layer, length in enumerate(lengths, 1)
            },
        )
        for a, b in pairwise(begin[: len(texts) + 1])
    ]
