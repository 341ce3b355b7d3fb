"""Estimate a network's memory before its weights are read, and compare it with free memory."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import PreTrainedConfig, PreTrainedModel

from readingtimes import parquet_bounds
from recency.errors import InputError
from recency.networks import sizes, weight_files

GIGABYTE = 1e9
#: Networks up to this number of bytes are not checked.
SURE = 2**28
#: Window length that is counted; longer windows raise an error later if they do not fit.
WINDOW = 2048
#: Positions whose logits a GPU holds at the same time.
POSITIONS = 1024
#: Bytes of a weight of a matrix product, and of any other weight.
BYTES = {"float32": (4, 4), "bf16": (2, 2), "int8": (1, 4)}


class TooLarge(InputError):
    """A network that does not fit into memory."""


@dataclass(frozen=True)
class Footprint:
    """Bytes that a network needs.

    Attributes
    ----------
    numbers
        Number of elements of its weights.
    weights, output, window
        Bytes of the weights, of the output layer's float32 copy, and of a window's states and
        logits.
    """

    numbers: int
    weights: float
    output: float
    window: float

    @property
    def total(self) -> float:
        """Total number of bytes."""
        return self.weights + self.output + self.window


def check(
    source: str | Path,
    network: type[PreTrainedModel],
    config: PreTrainedConfig,
    precision: str,
    spread: bool = False,
    numbers: int | None = None,
) -> None:
    """Raise TooLarge for a checkpoint that does not fit into memory, before its weights are read.

    Parameters
    ----------
    source : str or Path
        The checkpoint.
    network : type
        Its class in transformers.
    config : PreTrainedConfig
        Its config.
    precision : str
        One of `recency.networks.precisions.PRECISIONS`.
    spread : bool
        Whether it may be spread over several devices (`device_map`).
    numbers : int, optional
        Number of elements of the weights, if a file header gives it.

    Raises
    ------
    TooLarge
        With the bytes needed and available, and the precisions that fit.
    """
    numbers = numbers or _numbers(source, network, config)
    if not numbers:
        return
    stored = _stored_bytes(source, config, numbers)
    needed = estimate(config, numbers, precision, stored)
    places = available(spread)
    if needed.total <= SURE or needed.total <= sum(places.values()):
        return
    there = " and ".join(
        f"{size / GIGABYTE:,.1f} GB are free on {name}" for name, size in places.items()
    )
    smaller = [
        f"`precision: {other}` needs {size / GIGABYTE:,.1f} GB"
        for other in ("bf16", "int8")
        if (size := estimate(config, numbers, other, stored).total) < needed.total
    ]
    if not spread and torch.cuda.is_available():
        smaller.append("`device_map: auto` spreads it over all GPUs and the processor's memory")
    raise TooLarge(
        f"checkpoint {str(source)!r} needs {needed.total / GIGABYTE:,.1f} GB in the precision {precision} "
        f"({numbers:,} weights: {needed.weights / GIGABYTE:,.1f} GB; output layer: "
        f"{needed.output / GIGABYTE:,.1f} GB; a window: {needed.window / GIGABYTE:,.1f} GB), and {there}; "
        + (", ".join(smaller) or "take a machine with more memory, or a smaller checkpoint")
    )


def estimate(config: PreTrainedConfig, numbers: int, precision: str, stored: float) -> Footprint:
    """Return the memory of a network with `numbers` weights, whose files have `stored` bytes."""
    config = config.get_text_config()
    vocabulary, width = getattr(config, "vocab_size", 0), getattr(config, "hidden_size", 0) or 0
    embeddings = vocabulary * width * (1 if getattr(config, "tie_word_embeddings", True) else 2)
    if precision == "as_stored":
        weights = stored
    else:
        in_products, other = BYTES[precision]
        embeddings = min(embeddings, numbers)
        weights = (numbers - embeddings) * in_products + embeddings * other
    length = min(getattr(config, "max_position_embeddings", None) or WINDOW, WINDOW)
    logits = POSITIONS * vocabulary * 4 if torch.cuda.is_available() else 0
    return Footprint(
        numbers, weights, 4 * vocabulary * width, activations(config, 1, length) + logits
    )


def activations(config: PreTrainedConfig, rows: int, length: int, scores: bool = False) -> int:
    """Return about how many bytes a layer needs for `rows` inputs of a `length`.

    With `scores` this includes the attention scores of an explicit softmax and of a bias.
    """
    config = config.get_text_config()
    width = getattr(config, "hidden_size", 0)
    inner = (getattr(config, name, None) for name in ("intermediate_size", "n_inner", "ffn_dim"))
    inner = next((size for size in inner if isinstance(size, int)), 4 * width)
    held = rows * length * (8 * width + 3 * inner)
    if scores:
        held += 2 * rows * length**2 * getattr(config, "num_attention_heads", 0)
    return 4 * held


def available(spread: bool = False) -> dict[str, float]:
    """Return the free bytes, by name, of the devices that a network will use."""
    free = {"the processor": parquet_bounds.available()}
    if not torch.cuda.is_available():
        return free
    devices = range(torch.cuda.device_count()) if spread else [torch.cuda.current_device()]
    gpus = {f"GPU {number}": float(torch.cuda.mem_get_info(number)[0]) for number in devices}
    return gpus | free if spread else gpus


def _numbers(
    source: str | Path, network: type[PreTrainedModel], config: PreTrainedConfig
) -> int | None:
    """Return the number of elements of a checkpoint's weights, from file headers or the network."""
    headers = [sizes.header(file) for file in _weights(Path(source))]
    if headers and not hasattr(config, "quantization_config"):
        return sum(math.prod(tensor["shape"]) for header in headers for tensor in header.values())
    try:
        with torch.device("meta"):
            return sum(tensor.numel() for tensor in network(config).parameters())
    except (RuntimeError, ValueError, TypeError, AttributeError):
        return None  # opening it reports the problem


def _weights(folder: Path) -> list[Path]:
    """Return the safetensors files in a folder; none for a Hub name."""
    single = folder / weight_files.SAFE[0]
    return [single] if single.is_file() else sorted(folder.glob("model-*.safetensors"))


def _stored_bytes(source: str | Path, config: PreTrainedConfig, numbers: int) -> float:
    """Return the bytes of a checkpoint's weights as stored, from its files or its config."""
    if files := _weights(Path(source)):
        return sum(file.stat().st_size for file in files)
    quantised = getattr(config, "quantization_config", None) or {}
    settings = quantised if isinstance(quantised, Mapping) else quantised.to_dict()
    bits = settings.get("bits") or (4 if settings.get("load_in_4bit") else None)
    bits = bits or (8 if settings.get("load_in_8bit") else None)
    if bits is None:
        kind = getattr(config, "dtype", None)
        bits = 8 * (kind.itemsize if isinstance(kind, torch.dtype) else 4)
    return numbers * bits / 8
