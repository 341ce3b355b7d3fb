"""Rule length_perplexity: nats of the same masked tokens, read in segments of several lengths.

The first tokens of each document are used, as many as fit into the longest segment. A share of them
is drawn at random and masked, the same tokens at every length; then they are read in consecutive
segments of each length, the last one shifted back to be complete. Lengths thus differ only in the
amount of visible context around a masked token.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.scoring.finite import require_finite
from recency.scoring.lm_spec import LMSpec

COLUMNS = ["document", "place", "length", "nats"]


def score_as_named(
    text: str | Path,
    lm: LMSpec,
    out: str | Path,
    lengths: str,
    documents: str,
    share: str,
    seed: int,
) -> None:
    """Write `main`'s table by the settings in its file's name: `20-40`, `all` or a number, `0_15`."""
    main(
        text,
        lm,
        out,
        lengths=[int(length) for length in lengths.split("-")],
        documents=None if documents == "all" else int(documents),
        share=float(share.replace("_", ".")),
        seed=seed,
    )


def main(
    text: str | Path,
    lm: LMSpec,
    out: str | Path,
    lengths: Sequence[int],
    documents: int | None,
    share: float,
    seed: int,
) -> None:
    """Write COLUMNS: each masked token (document, position) at each length, in nats.

    Lengths beyond a table of learned positions have no value, which is logged.
    """
    opened = lm.open()
    if not opened.masked:
        raise InputError(
            f"{lm.name} is a causal LM; `length` requires masked LMs; list only these in `lms`"
        )
    around = opened.around
    room = max(lengths) - len(around.before) - len(around.after)
    if min(lengths) - max(lengths) + room < 1:
        raise InputError(
            f"a length of {min(lengths)} tokens leaves no room for text; use greater lengths"
        )
    kept = long_enough(text, opened.tokenizer, room, documents)
    places = drawn(len(kept), room, share, seed)
    learned = reach(opened.network)
    shown = progress(len(lengths) * len(kept), f"perplexity by length under {lm.name}", "documents")
    tables = []
    for number, length in enumerate(sorted(lengths)):
        if length > learned:
            print(f"{lm.name}: {length} tokens are more than its {learned} learned positions; no value",
                  file=sys.stderr)  # fmt: skip
            nats = [np.full(len(part), np.nan) for part in places]
        else:
            nats = [
                read(opened.network, around, ids, where, length)
                for ids, where in _report_each(kept, places, shown.update, number)
            ]
        for document, (where, values) in enumerate(zip(places, nats, strict=True)):
            columns = {"document": document, "place": where, "length": length, "nats": values}
            tables.append(pd.DataFrame(columns))
    table = pd.concat(tables, ignore_index=True).astype({"document": "int32", "length": "int32"})
    with atomic(out) as path:
        table[COLUMNS].to_parquet(path, index=False, compression="zstd")


def _report_each(kept, places, report: Callable[[int], None], number: int) -> Iterator:
    for done, pair in enumerate(zip(kept, places, strict=True), 1):
        yield pair
        report(number * len(kept) + done)


def long_enough(text: str | Path, tokenizer, room: int, documents: int | None) -> list[np.ndarray]:
    """Return the first `room` tokens of the first `documents` documents that are long enough."""
    import pyarrow.parquet as pq

    texts, longest = [], 0
    for batch in pq.ParquetFile(text).iter_batches(columns=["text"], batch_size=64):
        for encoding in tokenizer.encode_batch(
            batch.column("text").to_pylist(), add_special_tokens=False
        ):
            longest = max(longest, len(encoding.ids))
            if len(encoding.ids) >= room and (documents is None or len(texts) < documents):
                texts.append(np.array(encoding.ids[:room], dtype=np.int64))
        if documents is not None and len(texts) == documents:
            break
    if len(texts) < 2:
        raise InputError(
            f"{text}: {len(texts)} documents have at least {room:,} tokens (the longest length), and two are "
            f"needed (the longest document has {longest:,}); use shorter `lengths` or another `corpus`"
        )
    return texts


def drawn(documents: int, room: int, share: float, seed: int) -> list[np.ndarray]:
    """Return masked positions of each document, drawn from the seed and the document's number."""
    count = max(1, round(share * room))
    return [
        np.sort(np.random.default_rng([seed, number]).choice(room, count, replace=False))
        for number in range(documents)
    ]


def reach(network) -> float:
    """Return the number of learned positions of a network, infinity without any."""
    from torch import nn

    from recency.scoring.forward import window_of

    tables = (
        isinstance(module, nn.Embedding) and name.endswith("position_embeddings")
        for name, module in network.named_modules()
    )
    return window_of(network) if any(tables) else float("inf")


def read(network, around, ids: np.ndarray, places: np.ndarray, length: int) -> np.ndarray:
    """Return the nats of a document's masked tokens, read in segments of `length` inputs."""
    import torch

    from recency.scoring import forward, masked

    size = length - len(around.before) - len(around.after)
    covered = ids.copy()
    covered[places] = around.mask
    nats = np.full(len(places), np.nan)
    cut = list(masked.cut_pieces(len(ids), size))
    many = max(1, forward.tokens_at_once(network) // length)
    with torch.inference_mode(), masked.output_at(network) as wanted:
        for first in range(0, len(cut), many):
            batch = cut[first : first + many]
            rows = np.stack(
                [
                    np.concatenate([around.before, covered[a : a + size], around.after])
                    for a, _ in batch
                ]
            ).astype(np.int64)
            new_places = [np.flatnonzero((places >= new) & (places < a + size)) for a, new in batch]
            at = np.concatenate(new_places)
            if not len(at):
                continue
            row = np.repeat(np.arange(len(batch)), [len(array) for array in new_places])
            begins = np.repeat([a for a, _ in batch], [len(array) for array in new_places])
            column = places[at] - begins + len(around.before)
            wanted[:] = [torch.from_numpy(array).to(network.device) for array in (row, column)]
            inputs = torch.from_numpy(rows).to(network.device)
            logits = network(input_ids=inputs, attention_mask=torch.ones_like(inputs))[0]
            logits = (logits[wanted[0], wanted[1]] if logits.dim() == 3 else logits).float()
            targets = torch.from_numpy(ids[places[at]]).to(logits.device)
            chosen = logits.gather(1, targets[:, None])[:, 0]
            nats[at] = (logits.logsumexp(-1) - chosen).double().cpu().numpy()
            require_finite(nats[at], type(network).__name__)
    return nats
