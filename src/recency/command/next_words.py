"""`recency next-words`: the most probable next words after texts, or the probability of one word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import recency
from recency.command import surprisal, table_files
from recency.errors import InputError


def run(
    files: Sequence[str],
    model: str,
    n: int = 20,
    word: str | None = None,
    bias: str | None = None,
    allow_pickle: bool = False,
    weights: str = "float32",
    lines: bool = False,
    out: str = table_files.STANDARD,
    tokenizations: int | None = None,
    **settings: Any,
) -> None:
    """Write the n most probable next words after each text, or the probability of `word` there.

    `tokenizations` are those of `recency.cloze`, `settings` those of `recency.next_words`.
    """
    import pandas as pd

    if word is None and tokenizations is not None:
        raise InputError("--tokenizations are those of one word; add --word WORD")
    table_files.check_ending(out)
    described = None if bias is None else surprisal.parse_bias(bias)
    words = surprisal.read_words(files or [table_files.STANDARD], lines)
    opening = {"allow_pickle": allow_pickle, "precision": weights}
    opened = surprisal.open_model(model, described, opening)
    if isinstance(opened, str):  # an n-gram model, which takes no bias
        settings["bias"] = described
    parts = []
    for item, context in words.groupby("item", sort=False)["word"]:
        if word is None:
            table = recency.next_words(opened, context.tolist(), n, **settings)
        else:
            given = settings | {"tokenizations": tokenizations}
            probability = recency.cloze(opened, context.tolist(), word, **given)
            table = pd.DataFrame({"word": [word], "probability": [probability]})
        table.insert(0, "item", item)
        parts.append(table)
    table_files.write(pd.concat(parts, ignore_index=True), out)
