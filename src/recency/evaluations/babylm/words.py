"""Rule babylm_words: surprisal of the challenge's child-directed words in their contexts."""

import json
from pathlib import Path

import pandas as pd

from readingtimes.files import atomic
from recency.errors import InputError
from recency.evaluations.babylm import parts
from recency.evaluations.babylm.score import log_probabilities
from recency.scoring.lm_spec import LMSpec


def main(lm: LMSpec, contexts: str | Path, out: str | Path) -> None:
    """Write word, context and surprisal_nats; `contexts` is the challenge's `cdi_childes.json`."""
    rows = read(contexts)
    opened = lm.open()
    texts = [f"{context.strip()} {word.strip()}" for word, context in rows]
    ends = [len(text) - len(word.strip()) for text, (word, _) in zip(texts, rows, strict=True)]
    values = log_probabilities(opened, list(zip(texts, ends, strict=True)), lm.bos)
    with atomic(out) as part:
        table = pd.DataFrame(rows, columns=["word", "context"]).assign(surprisal_nats=-values)
        table.to_csv(part, index=False, lineterminator="\n")


def read(path: str | Path) -> list[tuple[str, str]]:
    """Return every word of more than one letter with each of its contexts; reject other layouts."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        rows = [
            (word, use["context"]) for word, uses in data.items() for use in uses if len(word) > 1
        ]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"{path}: expected word → list of contexts, as in the challenge's file ({error}); see {parts.ADDRESS}"
        ) from None
    if not rows:
        raise InputError(f"{path} has no words; supply the whole file")
    return rows
