"""N-gram models of a job: stored once estimated, whatever fails afterwards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recency import history, stored_parts
from recency.scoring import estimate_ngrams
from recency.stored_parts import Part


def main(
    text: str | Path,
    out: str | Path,
    passages: str | Path | None = None,
    code: Mapping[str, str] | None = None,
    **settings: Any,
) -> None:
    """Estimate an n-gram model, or restore it, and write its history next to it.

    Snakemake deletes the outputs of a job that fails. The model is therefore stored when it is complete
    (recency.stored_parts), under a key of its text, `settings` and `code`.
    """
    text, out = Path(text), Path(out)
    key = stored_parts.key({"text": text}, settings, code or {})
    part = Part(out.name, (out,), key)
    if stored_parts.missing([part]):
        stored_parts.make(part, lambda: estimate_ngrams.estimate(text, out, **settings))
    history.of_ngrams(text, out, made=passages)
