"""Check a pretokenized corpus, such as the pre-shuffled Pile (Biderman et al. 2023)."""

import json
import sys
from pathlib import Path

import numpy as np

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.text.tokens import END_OF_DOCUMENT

# Tokens per row: a context of 2,048 and the last token's successor.
ROW = 2049
CHUNK = 1 << 24


def main(
    tokens: str | Path,
    tokenizer: str | Path,
    out: str | Path,
    vocabulary: int | None = None,
    bytes: int | None = None,
    end_of_document: str = END_OF_DOCUMENT,
) -> None:
    """Check a uint16 file and write its description, as `tokenize_text` does, with its `rows` of 2,049.

    Every id must be below `vocabulary` (default: the tokenizer's) and the size must be `bytes`. The
    number of documents is null without an `end_of_document` token.
    """
    from tokenizers import Tokenizer

    path = Path(tokens)
    size = path.stat().st_size
    if size == 0 or size % 2:
        raise InputError(f"{path} has {size:,} bytes, which are not tokens of two bytes each")
    if bytes is not None and size != bytes:
        raise InputError(
            f"{path} has {size:,} bytes, not {bytes:,}: remove it and download it again"
        )
    encoder = Tokenizer.from_file(str(tokenizer))
    entries = max(encoder.get_vocab(with_added_tokens=True).values()) + 1
    vocabulary = entries if vocabulary is None else vocabulary
    end = encoder.token_to_id(end_of_document)
    count, ends = size // 2, 0
    line = progress(count / 1e6, f"check of {path.name}", "M tokens")
    # Read, not mapped: all pages of a map count as memory of the job.
    with path.open("rb") as file:
        for start in range(0, count, CHUNK):
            chunk = np.fromfile(file, np.dtype("<u2"), CHUNK)
            if chunk.max() >= vocabulary:
                at = int(np.argmax(chunk >= vocabulary))
                raise InputError(
                    f"{path}: token {start + at:,} is {chunk[at]}, but the vocabulary ends at "
                    f"{vocabulary - 1}; the file belongs to another tokenizer, or is not "
                    "little-endian uint16"
                )
            if end is not None:
                ends += int(np.count_nonzero(chunk == end))
            line.update((start + len(chunk)) / 1e6)
    facts = {
        "tokens": count,
        "documents": ends or None,
        "dtype": "uint16",
        "vocabulary": vocabulary,
        "end_of_document": end,
        "separators": ends,
        "rows": count // ROW,
    }
    print(facts, f"{count % ROW} tokens after the last row of {ROW}", file=sys.stderr)
    with atomic(out) as temporary:
        temporary.write_text(json.dumps(facts, indent=1) + "\n")
