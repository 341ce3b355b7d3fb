"""Find the layers, attention modules, memories and mixers of a network."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel

from recency.attention.biased import attention_modules
from recency.scoring.measure_sites import Shape, memory_shape
from recency.scoring.windows import reads_on

#: Mixers of selective state-space layers, as transformers names them.
MIXERS = ("MambaMixer", "FalconMambaMixer", "Mamba2Mixer")


@dataclass
class Parts:
    """A network's shape and modules; layers are numbered from 1.

    Attributes
    ----------
    shape : Shape
    layers : list of Module
        Layer l is `layers[l - 1]`; the last may be missing.
    attention, memories, mixers : dict of int to Module
        The layers' modules of attention, recurrent memories and state-space mixers.
    """

    shape: Shape
    layers: list[nn.Module]
    attention: dict[int, nn.Module] = field(default_factory=dict)
    memories: dict[int, nn.Module] = field(default_factory=dict)
    mixers: dict[int, nn.Module] = field(default_factory=dict)


def parts_of(model: PreTrainedModel) -> Parts:
    """Return the parts of a causal transformers network or a recurrent network of this project."""
    config = model.config.get_text_config()
    many = config.num_hidden_layers
    if reads_on(model):
        layers = list(model.base_model.layers)
        shape = memory_shape(config.memory, many, bool(config.feed_forward))
        return Parts(shape, layers, memories=dict(enumerate(layers, 1)))
    attention = _number_layers(attention_modules(model), many)
    mixers = [module for module in model.modules() if type(module).__name__ in MIXERS]
    mixers = _number_layers(mixers, many)
    shape = Shape(
        type(model).__name__,
        many,
        config.num_attention_heads if attention else 0,
        tuple(attention),
        gated=many,
        has_steps=len(mixers) == many,
    )
    lists = [module for module in model.base_model.modules() if isinstance(module, nn.ModuleList)]
    layers = next((list(modules) for modules in lists if len(modules) == many), [])
    return Parts(shape, layers, attention, mixers=mixers)


def _number_layers(modules: list[nn.Module], many: int) -> dict[int, nn.Module]:
    """Return layer → module, by the modules' own numbers, or in order if every layer has one."""
    numbers = [getattr(module, "layer_idx", None) for module in modules]
    if all(isinstance(number, int) for number in numbers) and len({*numbers}) == len(numbers):
        return {number + 1: module for number, module in sorted(zip(numbers, modules))}
    return dict(enumerate(modules, 1)) if len(modules) == many else {}


def step_source(mixer: nn.Module) -> tuple[nn.Module, Callable[[torch.Tensor], torch.Tensor]]:
    """Return the linear layer of a mixer's step sizes, and a function from its output to Δ.

    Δ (batch, time, units) is softplus(W x + b) (Gu & Dao 2023, algorithm 2); Mamba 2 has one per
    head, clipped to its limits.
    """
    if type(mixer).__name__ == "Mamba2Mixer":
        least, most = mixer.time_step_limit

        def of_heads(output: torch.Tensor) -> torch.Tensor:
            steps = output[..., -mixer.num_heads :].float() + mixer.dt_bias.float()
            return functional.softplus(steps).clamp(least, most)

        return mixer.in_proj, of_heads

    def of_units(output: torch.Tensor) -> torch.Tensor:
        low = output[..., : mixer.time_step_rank].float()
        if hasattr(mixer, "dt_layernorm"):  # FalconMamba's
            low = mixer.dt_layernorm(low)
        bias = mixer.dt_proj.bias
        return functional.softplus(
            functional.linear(
                low, mixer.dt_proj.weight.float(), None if bias is None else bias.float()
            )
        )

    return mixer.x_proj, of_units
