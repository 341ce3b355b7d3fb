"""Checkpoints in GGUF, the format of llama.cpp: what a file holds, and its tokenizer.

transformers dequantises the weights. Of the tokenizer it takes vocabulary and merges, but not how text is
cut before them (`tokenizer.ggml.pre`); that is done here, by the name that the file states.
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
from recency.networks.hub import place

PACKAGES = ("gguf", "accelerate")
"""Packages that transformers needs to read the format."""
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_GPT2 = ("gpt-2", "mpt", "olmo", "jais", "trillion")
_DIGITS = ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b")
"""Pre-tokenizers that cut text as GPT-2's, and those that cut digits from all else before."""
_PATTERNS = {
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "dbrx", "smaug-bpe"), _WORDS % "{1,3}"),
    **dict.fromkeys(("qwen2", "stablelm2"), _WORDS % ""),
}
"""Regular expressions of the pieces of other pre-tokenizers; these are then written in bytes."""
SAMPLE = (
    "The old man, who didn't know that it was 1984, couldn't say: “It's 3.14 – or 42%?” (Naïve façade, "
    "in 5th Ave.) Wait... what?!"
)
"""Text that a tokenizer must give back."""


@dataclass(frozen=True)
class Contents:
    """What a GGUF file states of itself.

    Attributes
    ----------
    path
        The file; of the Hub, its copy here.
    architecture
        Type of network, such as llama.
    tokenizer
        Algorithm of its tokenizer: gpt2 (byte-level BPE), llama (SentencePiece) …
    pieces
        Name of the pre-tokenizer of a byte-level BPE.
    stored
        Number of tensors by type, as ``Q4_1 (210), F32 (61)``.
    numbers
        How many numbers all tensors have.
    """

    path: Path
    architecture: str
    tokenizer: str
    pieces: str
    stored: str
    numbers: int = 0


def read(source: str | Path) -> Contents:
    """Return what a GGUF file states of itself.

    Parameters
    ----------
    source
        The checkpoint as `recency.networks.hub.place` takes it.

    Raises
    ------
    InputError
        Where a package is missing, or the file cannot be read to its end.
    """
    require_packages(source)
    from transformers.utils import cached_file

    name, within = place(source)
    file = within.pop("gguf_file")
    try:
        path = Path(cached_file(name, file, **within))
    except OSError as error:
        raise InputError(
            f"checkpoint {str(source)!r} could not be had: {first_line(error)}"
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
    """Read a file's header once, as long as its size and the time of its last change stay the same."""
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
    """Raise an InputError that names the packages for GGUF that are not installed."""
    from importlib.util import find_spec

    if missing := [package for package in PACKAGES if find_spec(package) is None]:
        raise InputError(
            f"checkpoint {str(source)!r} is GGUF, for which {' and '.join(missing)} must be "
            "installed: pip install 'recency[gguf]'"
        )


def cut_as_stated(tokenizer: Any, contents: Contents, source: str | Path) -> None:
    """Have a byte-level tokenizer cut text as its file states, and give back what it read.

    Parameters
    ----------
    tokenizer
        A `tokenizers.Tokenizer` that transformers made of the file; changed in place.
    contents
        What `read` returned.
    source
        The checkpoint, for messages.

    Raises
    ------
    InputError
        Where the pre-tokenizer is unknown, or a sample of text is not given back.
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
