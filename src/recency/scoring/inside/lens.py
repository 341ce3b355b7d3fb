"""Predictions from a layer's states: the logit lens, and tuned lenses (Belrose et al. 2023).

p_l = softmax(W norm(A_l x_l + b_l)). A tuned lens is a safetensors file with A_l as `<l>.weight`
(width, width) and b_l as `<l>.bias` (width) for each layer l, where layer 0 is the embeddings.
Without a file, A_l is the identity and b_l is 0: the logit lens (nostalgebraist 2020).
"""

import re
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import PreTrainedModel

from recency.attention.logit_lens import final_norm
from recency.errors import InputError


class Lens:
    """Map a layer's states to inputs of the output layer.

    Parameters
    ----------
    model : PreTrainedModel
    layers : iterable of int
        The layers to read, from 0 (the embeddings) to the number of layers.
    path : path, optional
        File of a tuned lens.

    Raises
    ------
    InputError
        If the file is unreadable, or lacks the map of one of these layers (except the last), or has
        one of another size.
    """

    def __init__(
        self, model: PreTrainedModel, layers: Iterable[int], path: str | Path | None = None
    ):
        config = model.config.get_text_config()
        self.last: int = config.num_hidden_layers
        self.norm: nn.Module | None = final_norm(model)
        self.maps: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        if path is not None:
            self.maps = _read_maps(
                Path(path), [layer for layer in layers if layer < self.last], model
            )

    def __call__(self, states: torch.Tensor, layer: int) -> torch.Tensor:
        """Return the inputs of the output layer for a layer's states (n, width)."""
        if layer == self.last:
            return states
        if layer in self.maps:
            weight, bias = self.maps[layer]
            states = nn.functional.linear(states.to(weight.dtype), weight, bias)
        return states if self.norm is None else self.norm(states.to(_dtype(self.norm)))


def _dtype(module: nn.Module) -> torch.dtype:
    return next((parameter.dtype for parameter in module.parameters()), torch.float32)


def _read_maps(path: Path, layers: list[int], model: PreTrainedModel):
    """Read the affine maps of layers: layer → (weight, bias)."""
    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise InputError(f"tuned_lens: {path} is no file of safetensors ({error})") from None
    if strange := [name for name in tensors if not re.fullmatch(r"\d+\.(weight|bias)", name)]:
        raise InputError(
            f"tuned_lens: {path} has {strange[0]!r}; it may only hold <layer>.weight and <layer>.bias"
        )
    width = model.get_output_embeddings().weight.shape[1]
    maps = {}
    for layer in layers:
        for name, size in ((f"{layer}.weight", (width, width)), (f"{layer}.bias", (width,))):
            if name not in tensors:
                raise InputError(f"tuned_lens: {path} has no {name}, of layer {layer}")
            if (shape := tuple(tensors[name].shape)) != size:
                raise InputError(f"tuned_lens: {path}: {name} is {shape}, and not {size}")
            if not tensors[name].isfinite().all():
                raise InputError(f"tuned_lens: {path}: {name} has values that are not finite")
        pair = (tensors[f"{layer}.weight"], tensors[f"{layer}.bias"])
        maps[layer] = tuple(tensor.float().to(model.device) for tensor in pair)
    return maps
