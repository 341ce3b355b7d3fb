"""Compare the sizes in a checkpoint's config.json with its weights before a network is built.

transformers builds a network module by module before it reads the weights: a damaged config with a
billion layers would take hours, one with a billion positions would allocate their tables. Every
layer has at least one tensor, and every learned position at least one number, so that the weights'
header, which is quick to read, bounds both.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from recency.errors import InputError

#: Layers or experts that are always allowed, since ALBERT's layers share weights.
MOST_MODULES = 1_000
#: Positions that are always allowed: rotary positions have no weights.
MOST_POSITIONS = 2**24
#: Largest safetensors header in bytes, the library's own limit.
LONGEST_HEADER = 100_000_000
_MODULES = re.compile(
    r"^(n_layers?|(num_)?(hidden_|encoder_|decoder_)?(layers|blocks)|.*experts|num_hidden_groups"
    r"|inner_group_num)$"
)
_POSITIONS = re.compile(
    r"^(n_positions|n_ctx|max_position_embeddings|max_seq_len|max_sequence_length)$"
)


def check(source: str | Path, settings: Mapping) -> None:
    """Raise InputError for a config with more layers or positions than its weights can have.

    Parameters
    ----------
    source : str or Path
        A folder with `config.json` and weights, or a Hub name, to which only absolute limits apply.
    settings : Mapping
        The config as a dictionary.

    Raises
    ------
    InputError
        Names the setting, its value and the limit.
    """
    tensors, numbers = _bounds(Path(source))
    most = {_MODULES: max(tensors, MOST_MODULES), _POSITIONS: max(numbers, MOST_POSITIONS)}
    for where, value in _sizes(settings):
        for pattern, limit in most.items():
            if pattern.search(where.rpartition(".")[2]) and not 0 <= value <= limit:
                raise InputError(
                    f"checkpoint {str(source)!r}: config.json has {where}: {value:,}, which its weights "
                    f"({tensors:,} tensors) cannot have; config.json or the weights are damaged"
                )


def _sizes(settings: Mapping, within: str = "") -> Iterator[tuple[str, int]]:
    """Yield the path and value of every integer in a config."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _sizes(value, f"{within}{key}.")
        elif isinstance(value, int) and not isinstance(value, bool):
            yield f"{within}{key}", value


def _bounds(folder: Path) -> tuple[int, int]:
    """Return the number of tensors in a folder's weights, and an upper bound of their elements."""
    headers = [header(file) for file in folder.glob("*.safetensors")] if folder.is_dir() else []
    return sum(map(len, headers)), sum(
        max((tensor["data_offsets"][1] for tensor in header.values()), default=0)
        for header in headers
    )


def header(file: Path) -> dict:
    """Return the tensors that a safetensors file lists; none if its header is damaged."""
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 0 < length <= min(LONGEST_HEADER, os.path.getsize(file)):
            return {}
        try:
            listed = json.loads(stream.read(length))
            return {name: listed[name] for name in listed if name != "__metadata__"}
        except (ValueError, RecursionError):  # from_pretrained reports the file
            return {}
