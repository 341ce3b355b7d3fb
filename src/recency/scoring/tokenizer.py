"""A checkpoint's tokenizer, as it stands in its files."""

from __future__ import annotations

from pathlib import Path


def load(model: str | Path, file: str | Path | None = None):
    """Return the `tokenizers.Tokenizer` of a tokenizer.json, or of a folder or Hub name."""
    from tokenizers import Tokenizer

    if file is not None:
        tokenizer = Tokenizer.from_file(str(file))
    else:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(model).backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
