"""Checkpoints in GGUF, the format of llama.cpp: metadata of a file, and its tokenizer.

transformers dequantises the weights. It reads the tokenizer's vocabulary and merges but not its
pre-tokenizer (`tokenizer.ggml.pre`), which this module sets from the name in the file.
"""

import os
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

from recency.errors import InputError, first_line
from recency.networks import config_values, stored_tensors
from recency.networks.hub import locate
from recency.networks.stored_tensors import Stored

PACKAGES = ("gguf", "accelerate")
"""Packages that transformers needs to read the format."""
ROPE_FACTORS = "rope_freqs.weight"
"""Tensor with the factors of rotary frequencies."""
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
    tensors
        Name → tensor.
    more_layers
        Number of layers after the last that predict tokens after the next one.
    metadata
        Key → value; the length of a list of texts.
    """

    path: Path
    architecture: str
    tokenizer: str
    pieces: str
    stored: str
    numbers: int = 0
    tensors: Mapping[str, Stored] = field(default_factory=dict)
    more_layers: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)


def fetch(source: str | Path) -> Path:
    """Return the path of a GGUF file; one of the Hub is downloaded, or its local copy is current.

    Raises InputError if it cannot be downloaded.
    """
    from transformers.utils import cached_file

    name, within = locate(source)
    file = within.pop("gguf_file")
    try:
        return Path(cached_file(name, file, **within))
    except OSError as error:
        raise InputError(
            f"checkpoint {str(source)!r} could not be downloaded: {first_line(error)}"
        ) from error


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
    path = fetch(source)
    try:
        state = os.stat(path)
        inode = (state.st_dev, state.st_ino, state.st_mtime_ns, state.st_ctime_ns)
        contents = _contents(path, state.st_size, inode)
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
    config_values.check(source, path.name, contents.metadata)
    return contents


@cache
def _contents(path: Path, size: int, inode: tuple[int, ...]) -> Contents:
    """Read a file's header, cached until its size, inode or a time of it changes."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    from transformers.integrations.gguf.reader import GgufHeader, read_gguf_metadata

    metadata, _ = read_gguf_metadata(str(path))
    header = GgufHeader.from_file(str(path))
    types, ranges, tensors = Counter(), [], {}
    for tensor in header.tensors:
        kind, count = GGMLQuantizationType(tensor.ggml_type), prod(tensor.shape)
        in_block, of_block = GGML_QUANT_SIZES[kind]
        if not count or tensor.shape[-1] % in_block:
            raise ValueError(f"{tensor.name} of the type {kind.name} has the shape {tensor.shape}")
        if tensor.name in tensors:
            raise ValueError(f"it stores {tensor.name} twice")
        types[kind.name] += 1
        tensors[tensor.name] = Stored(path, kind.name, tensor.shape)
        begin = header.data_start + tensor.offset
        ranges.append((begin, begin + count // in_block * of_block, tensor.name))
    ranges.sort()
    for (_, end, name), (begin, _, other) in pairwise(ranges):
        if begin < end:
            raise ValueError(f"{name} and {other} share bytes")
    if ranges and (end := ranges[-1][1]) > size:
        raise ValueError(f"it has {size:,} bytes, and its tensors end at {end:,}")
    counts = [f"{kind} ({number:,})" for kind, number in types.most_common()]
    keys = ("general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre")
    architecture, *others = (str(metadata.get(key, "")) for key in keys)
    return Contents(
        path,
        architecture,
        *others,
        ", ".join(counts),
        sum(prod(tensor.shape) for tensor in tensors.values()),
        tensors,
        int(metadata.get(f"{architecture}.nextn_predict_layers", 0)),
        metadata,
    )


def require_scaling_read(source: str | Path, contents: Contents, rope: Mapping | None) -> None:
    """Raise InputError for a scaling of rotary positions that a config, `rope`, has not."""
    key = f"{contents.architecture}.rope.scaling"
    kind, factor = (contents.metadata.get(f"{key}.{name}") for name in ("type", "factor"))
    read = (rope or {}).get("rope_type", "default") != "default"
    if kind not in (None, "", "none") and factor not in (None, 1.0) and not read:
        raise InputError(
            f"checkpoint {str(source)!r}: {contents.path.name} scales rotary positions ({key}: {kind}, "
            f"factor {factor:g}), which transformers does not read; name the checkpoint that it was "
            "made from"
        )


def used(model: Any, contents: Contents) -> set[str]:
    """Return the names of a file's tensors that transformers reads into a network."""
    from transformers import modeling_gguf_pytorch_utils as legacy
    from transformers.integrations.gguf.utils import is_gguf_arch_supported

    if is_gguf_arch_supported(contents.architecture):  # its report has names without a place
        layers = model.config.get_text_config().num_hidden_layers
        return {name for name in contents.tensors if stored_tensors.layer_of(name) < layers}
    make = legacy.TENSOR_PROCESSORS.get(contents.architecture, legacy.TensorProcessor)
    return set(legacy.get_gguf_hf_weights_map(model, make(config=model.config.to_dict())))


def tensors_with_effect(contents: Contents) -> dict[str, Stored]:
    """Return a file's tensors without factors of rotary frequencies that are all 1.

    transformers does not read these factors.
    """
    tensors = dict(contents.tensors)
    if ROPE_FACTORS in tensors:
        from gguf import GGUFReader

        factors = next(t for t in GGUFReader(contents.path).tensors if t.name == ROPE_FACTORS)
        if (factors.data == 1).all():
            del tensors[ROPE_FACTORS]
    return tensors


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
