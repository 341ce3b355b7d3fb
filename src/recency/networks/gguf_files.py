"""Checkpoints in GGUF, the format of llama.cpp: metadata of a file, and its tokenizer.

transformers dequantises the weights. It reads the tokenizer's vocabulary and merges but not its
pre-tokenizer (`tokenizer.ggml.pre`), which this module sets from the name in the file.
"""

import os
import struct
from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from recency.errors import InputError, first_line
from recency.networks.hub import locate

PACKAGES = ("gguf", "accelerate")
"""Packages that transformers needs to read the format."""
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_GPT2 = ("gpt-2", "mpt", "olmo", "jais", "trillion")
_DIGITS = ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b")
"""Pre-tokenizers that split text as GPT-2's does, and those that split off digits first."""
_PATTERNS = {
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "dbrx", "smaug-bpe"), _WORDS % "{1,3}"),
    **dict.fromkeys(("qwen2", "stablelm2"), _WORDS % ""),
}
"""Regular expressions for other pre-tokenizers, whose pieces are then encoded as bytes."""
SAMPLE = (
    "The old man, who didn't know that it was 1984, couldn't say: “It's 3.14 – or 42%?” (Naïve façade, "
    "in 5th Ave.) Wait... what?!"
)
"""Text that a tokenizer must decode unchanged."""


@dataclass(frozen=True)
class Contents:
    """The metadata of a GGUF file.

    Attributes
    ----------
    path
        The file; for the Hub, its local copy.
    architecture
        Type of network, such as llama.
    tokenizer
        Algorithm of its tokenizer: gpt2 (byte-level BPE), llama (SentencePiece) …
    pieces
        Name of the pre-tokenizer of a byte-level BPE.
    stored
        Number of tensors by type, such as ``Q4_1 (210), F32 (61)``.
    numbers
        Number of elements of all tensors.
    """

    path: Path
    architecture: str
    tokenizer: str
    pieces: str
    stored: str
    numbers: int = 0


def read(source: str | Path) -> Contents:
    """Read the metadata of a GGUF file.

    Parameters
    ----------
    source
        The checkpoint, as for `recency.networks.hub.locate`.

    Raises
    ------
    InputError
        If a package is missing, or the file cannot be read to its end.
    """
    require_packages(source)
    from transformers.utils import cached_file

    name, within = locate(source)
    file = within.pop("gguf_file")
    try:
        path = Path(cached_file(name, file, **within))
    except OSError as error:
        raise InputError(
            f"checkpoint {str(source)!r} could not be downloaded: {first_line(error)}"
        ) from error
    try:
        state = os.stat(path)
        return _contents(path, state.st_size, state.st_mtime_ns)
    except (
        ValueError,
        IndexError,
        KeyError,
        OSError,
        EOFError,
        OverflowError,
        struct.error,
    ) as error:
        raise InputError(
            f"checkpoint {str(source)!r} cannot be read as GGUF ({first_line(error)}): the file is "
            "damaged, or was not downloaded to its end; download it again"
        ) from error


@cache
def _contents(path: Path, size: int, changed: int) -> Contents:
    """Read a file's header, cached until its size or modification time changes."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    from transformers.integrations.gguf.reader import GgufHeader, read_gguf_metadata

    metadata, _ = read_gguf_metadata(str(path))
    header = GgufHeader.from_file(str(path))
    types, numbers, end = Counter(), 0, header.data_start
    for tensor in header.tensors:
        kind, count = GGMLQuantizationType(tensor.ggml_type), prod(tensor.shape)
        in_block, of_block = GGML_QUANT_SIZES[kind]
        types[kind.name] += 1
        numbers += count
        end = max(end, header.data_start + tensor.offset + count // in_block * of_block)
    if end > size:
        raise ValueError(f"it has {size:,} bytes, and its tensors end at {end:,}")
    counts = [f"{kind} ({number:,})" for kind, number in types.most_common()]
    keys = ("general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre")
    return Contents(path, *(str(metadata.get(key, "")) for key in keys), ", ".join(counts), numbers)


def require_packages(source: str | Path) -> None:
    """Raise an InputError that names missing packages for GGUF."""
    from importlib.util import find_spec

    if missing := [package for package in PACKAGES if find_spec(package) is None]:
        raise InputError(
            f"checkpoint {str(source)!r} is GGUF, for which {' and '.join(missing)} must be "
            "installed: pip install 'recency[gguf]'"
        )


def set_pre_tokenizer(tokenizer: Any, contents: Contents, source: str | Path) -> None:
    """Set a byte-level tokenizer's pre-tokenizer from its file, and check that it decodes text.

    Parameters
    ----------
    tokenizer
        A `tokenizers.Tokenizer` that transformers built from the file; changed in place.
    contents
        The result of `read`.
    source
        The checkpoint, for messages.

    Raises
    ------
    InputError
        If the pre-tokenizer is unknown, or a sample text is not decoded unchanged.
    """
    from tokenizers import Regex, pre_tokenizers

    if contents.tokenizer == "gpt2":
        in_bytes = {"add_prefix_space": False}
        if contents.pieces in _PATTERNS:
            split = pre_tokenizers.Split(Regex(_PATTERNS[contents.pieces]), "isolated")
            parts = [split, pre_tokenizers.ByteLevel(use_regex=False, **in_bytes)]
        elif contents.pieces in _DIGITS:
            parts = [pre_tokenizers.Digits(individual_digits=True)]
            parts.append(pre_tokenizers.ByteLevel(use_regex=True, **in_bytes))
        elif contents.pieces in _GPT2:
            parts = [pre_tokenizers.ByteLevel(use_regex=True, **in_bytes)]
        else:
            raise InputError(
                f"checkpoint {str(source)!r}: how its tokenizer cuts text "
                f"(tokenizer.ggml.pre {contents.pieces or 'not stated'!r}) is not known here; give the "
                "tokenizer of the model that it was made from (`tokenizer=` in Python), or name that model"
            )
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
    ids = tokenizer.encode(SAMPLE, add_special_tokens=False).ids
    if (text := tokenizer.decode(ids, skip_special_tokens=False)).strip() != SAMPLE:
        raise InputError(
            f"checkpoint {str(source)!r}: its tokenizer does not give back the text that it reads "
            f"({text[:40]!r} for {SAMPLE[:40]!r}); give the tokenizer of the model that it was made "
            "from (`tokenizer=` in Python), or name that model"
        )
