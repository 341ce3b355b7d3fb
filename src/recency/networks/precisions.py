"""The precision in which a checkpoint's weights are opened, and their devices."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedConfig, PreTrainedModel

from readingtimes.names import nearest
from recency.errors import InputError

PRECISIONS = ("float32", "bf16", "int8", "as_stored")


def check(source: str | Path, precision: str, device_map: str | Mapping | None) -> None:
    """Raise InputError for an unknown precision or a package that is not installed.

    Parameters
    ----------
    source : str or Path
        The checkpoint, for messages.
    precision : str
        One of `PRECISIONS`.
    device_map : str or Mapping, optional
        "auto", or module → device as accelerate takes it.

    Raises
    ------
    InputError
        Names the missing package, and how to install it.
    """
    if precision not in PRECISIONS:
        raise InputError(f"precision {nearest(str(precision), PRECISIONS)}")
    if precision == "int8" and find_spec("torchao") is None:
        raise InputError(
            f"checkpoint {str(source)!r}: `precision: int8` needs torchao, which is not installed: "
            "pip install torchao; or take bf16"
        )
    if device_map is not None and find_spec("accelerate") is None:
        raise InputError(
            f"checkpoint {str(source)!r}: `device_map` needs accelerate, which is not installed: "
            "pip install accelerate; or leave it out"
        )


def settings(
    source: str | Path,
    config: PreTrainedConfig,
    precision: str,
    device_map: str | Mapping | None = None,
    gguf: bool = False,
) -> dict[str, Any]:
    """Return the arguments of `from_pretrained` for a precision and a device map.

    Raises InputError if the stored weights do not allow the precision.
    """
    what = f"checkpoint {str(source)!r}"
    quantised = getattr(config, "quantization_config", None) is not None
    if quantised and precision != "as_stored":
        raise InputError(
            f"{what} is quantised, and `precision: {precision}` is of full weights; take `precision: "
            "as_stored`, or name the checkpoint that it was made from"
        )
    if gguf and precision in ("int8", "as_stored"):
        raise InputError(
            f"{what} is GGUF, whose weights transformers dequantises: `precision: {precision}` cannot keep "
            "them; take float32 or bf16"
        )
    options: dict[str, Any] = {"dtype": torch.float32}
    if precision == "bf16":
        options["dtype"] = torch.bfloat16
    elif precision == "as_stored":
        options["dtype"] = "auto"
    elif precision == "int8":
        from torchao.quantization import Int8WeightOnlyConfig
        from transformers import TorchAoConfig

        # Weights only: a scale of the inputs could depend on later tokens.
        options["quantization_config"] = TorchAoConfig(Int8WeightOnlyConfig())
    if device_map is not None:
        options["device_map"] = device_map
    return options


def check_opened(source: str | Path, model: PreTrainedModel, precision: str) -> None:
    """Raise InputError if a network lacks the requested precision or a readable vocabulary."""
    embedding, output = model.get_input_embeddings(), model.get_output_embeddings()
    if model.device.type == "meta":
        raise InputError(
            f"checkpoint {str(source)!r}: `device_map` leaves no room for the embedding on a device that "
            "computes; take a smaller precision or a larger GPU"
        )
    if precision == "int8":
        _check_reached(source, model, [embedding, output])
    for layer in (embedding, output):
        weight = getattr(layer, "weight", None)
        if weight is not None and not weight.is_floating_point():
            raise InputError(
                f"checkpoint {str(source)!r}: its output layer is quantised too, and exact sums over the "
                "vocabulary need its numbers; name a checkpoint whose embeddings are not quantised"
            )


def _check_reached(source: str | Path, model: PreTrainedModel, kept: list) -> None:
    """Raise InputError if int8 leaves most of a network's weights as they are."""
    in_vocabulary = {id(getattr(layer, "weight", None)) for layer in kept}
    counts = {True: 0, False: 0}  # by whether a weight is a tensor of torchao
    for weight in model.parameters():
        if id(weight) not in in_vocabulary:
            counts[type(weight.data) is not torch.Tensor] += weight.numel()
    if counts[True] < counts[False]:
        share = counts[True] / sum(counts.values())
        raise InputError(
            f"checkpoint {str(source)!r}: int8 reaches {share:.0%} of the weights of {type(model).__name__}, "
            "whose other layers are not PyTorch's linear ones (GPT-2's, experts); take `precision: bf16`"
        )
