"""How many bytes a network needs, computed before its weights are read, and how many there are."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import PreTrainedConfig, PreTrainedModel

from recency import processor
from recency.errors import InputError
from recency.networks import sizes, weight_files

GIGABYTE = 1e9
#: So many bytes are taken to be there.
SURE = 2**28
#: Tokens of the window whose memory is counted; a longer one is refused where it does not fit.
WINDOW = 2048
#: Positions whose logits a GPU holds at once.
POSITIONS = 1024
#: Bytes of a weight that takes part in products, and of any other.
BYTES = {"float32": (4, 4), "bf16": (2, 2), "int8": (1, 4)}


class TooLarge(InputError):
    """A network that does not fit the memory."""


@dataclass(frozen=True)
class Footprint:
    """Bytes that a network needs.

    Attributes
    ----------
    numbers
        How many numbers its weights are.
    weights, output, window
        Bytes of the weights, of the output layer's copy in float32, and of a window's states and logits.
    """

    numbers: int
    weights: float
    output: float
    window: float

    @property
    def total(self) -> float:
        """Bytes of all."""
        return self.weights + self.output + self.window


def check(
    source: str | Path,
    network: type[PreTrainedModel],
    config: PreTrainedConfig,
    precision: str,
    spread: bool = False,
    numbers: int | None = None,
) -> None:
    """Refuse a checkpoint that does not fit the memory, before its weights are read.

    Parameters
    ----------
    source : str or Path
        The checkpoint.
    network : type
        Its class.
    config : PreTrainedConfig
        Its config.
    precision : str
        One of `recency.networks.precisions.PRECISIONS`.
    spread : bool
        Whether it may lie on several devices (`device_map`).
    numbers : int, optional
        How many numbers the weights are, where the files' header says so.

    Raises
    ------
    TooLarge
        With the bytes needed and there, and the precisions that fit.
    """
    numbers = numbers or _numbers(source, network, config)
    if not numbers:
        return
    stored = _stored(source, config, numbers)
    needed = of(config, numbers, precision, stored)
    places = available(spread)
    if needed.total <= SURE or needed.total <= sum(places.values()):
        return
    there = " and ".join(
        f"{size / GIGABYTE:,.1f} GB are free on {name}" for name, size in places.items()
    )
    smaller = [
        f"`precision: {each}` needs {size / GIGABYTE:,.1f} GB"
        for each in ("bf16", "int8")
        if (size := of(config, numbers, each, stored).total) < needed.total
    ]
    if not spread and torch.cuda.is_available():
        smaller.append("`device_map: auto` spreads it over all GPUs and the processor's memory")
    raise TooLarge(
        f"checkpoint {str(source)!r} needs {needed.total / GIGABYTE:,.1f} GB in the precision {precision} "
        f"({numbers:,} weights: {needed.weights / GIGABYTE:,.1f} GB; output layer: "
        f"{needed.output / GIGABYTE:,.1f} GB; a window: {needed.window / GIGABYTE:,.1f} GB), and {there}; "
        + (", ".join(smaller) or "take a machine with more memory, or a smaller checkpoint")
    )


def of(config: PreTrainedConfig, numbers: int, precision: str, stored: float) -> Footprint:
    """Return what a network of so many numbers needs; `stored` are the bytes that its files hold."""
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
    """Return about how many bytes a layer holds at once for so many inputs.

    With `scores` it holds those of a plain softmax, and of a bias the bias and what is made of it.
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
    """Return the free bytes, by the name of the place, where a network will lie."""
    memory = {"the processor": processor.available()}
    if not torch.cuda.is_available():
        return memory
    devices = range(torch.cuda.device_count()) if spread else [torch.cuda.current_device()]
    gpus = {f"GPU {number}": float(torch.cuda.mem_get_info(number)[0]) for number in devices}
    return gpus | memory if spread else gpus


def _numbers(
    source: str | Path, network: type[PreTrainedModel], config: PreTrainedConfig
) -> int | None:
    """Return how many numbers a checkpoint's weights are: by their header, or the network's shape."""
    headers = [sizes.header(file) for file in _weights(Path(source))]
    if headers and not hasattr(config, "quantization_config"):
        return sum(math.prod(each["shape"]) for header in headers for each in header.values())
    try:
        with torch.device("meta"):
            return sum(each.numel() for each in network(config).parameters())
    except (RuntimeError, ValueError, TypeError, AttributeError):
        return None  # opening it will say why


def _weights(folder: Path) -> list[Path]:
    """Return the files of safetensors in a folder; none of another place."""
    single = folder / weight_files.SAFE[0]
    return [single] if single.is_file() else sorted(folder.glob("model-*.safetensors"))


def _stored(source: str | Path, config: PreTrainedConfig, numbers: int) -> float:
    """Return the bytes of a checkpoint's weights as they are stored, or what its config says of them."""
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
