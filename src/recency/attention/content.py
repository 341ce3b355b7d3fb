"""Biases that depend on content: a key's penalty depends on its token as well as its distance.

Scores become a·s + b, where a and b are functions of head, query and key, and of the layer's input.
A form is a subclass of `ContentBias` in `recency.attention.biases`, one file like any other. A hook
records the input of each attention module, since attention functions of transformers do not get it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import nn
from transformers import PreTrainedModel

from recency.attention.biases import Affine, Bias
from recency.errors import InputError


@dataclass
class Layer:
    """A layer of attention, for a block of queries, as content-dependent forms use it.

    Attributes
    ----------
    inputs : Tensor (batch, keys, width)
        The input of the attention module, from which queries, keys and values are computed.
    query, key : Tensor (batch, heads, queries or keys, head width)
        Queries and keys as used in the scores, with rotary positions.
    first : int
        Position of the first query of the block.
    scores : Tensor (batch, heads, queries, keys), optional
        s, the scaled scores; None for `ContentBias.factors`.
    visible : Tensor of bool, broadcastable to the scores, optional
        The keys that each query sees; None for `ContentBias.factors`.
    """

    inputs: torch.Tensor
    query: torch.Tensor
    key: torch.Tensor
    first: int = 0
    scores: torch.Tensor | None = None
    visible: torch.Tensor | None = None


class ContentBias(Bias):
    """A bias whose a and b depend on the layer's input.

    A form defines `content`, or `factors` if b is a sum of a few products of query and key
    features, which is much cheaper. `forward(head, query, key, length)` may add a part without
    learned weights that depends only on positions. Causal networks only.

    Parameters
    ----------
    heads : int
        Attention heads of a layer.
    width : int
        Width of the layer's input.
    """

    uses_width = True

    def __init__(self, heads: int, width: int):
        super().__init__(heads)
        self.width = width

    @property
    def learned_by_position(self) -> bool:
        """Whether training changes the part that depends on positions: never."""
        return False

    def forward(self, head, query, key, length) -> Affine:
        """Return the part of a and b that depends only on positions: a = 1, b = 0."""
        return 1.0, 0.0

    def factors(self, layer: Layer) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Return u and w with b_ij = Σ_r u_ir w_jr, at least in float32; None for other forms.

        Returns
        -------
        tuple of Tensor (batch, heads, length, rank), or None
        """
        return None

    def content(self, layer: Layer) -> Affine:
        """Return the part of a and b that depends on content, for a block of queries.

        Returns
        -------
        tuple of float or Tensor, broadcastable to (batch, heads, queries, keys)
        """
        factors = self.factors(layer)
        if factors is None:
            raise TypeError(f"{type(self).__module__} defines neither factors nor content")
        left, right = factors
        queries = slice(layer.first, layer.first + layer.query.shape[2])
        return 1.0, left[:, :, queries] @ right.transpose(2, 3)

    def watch(self, model: PreTrainedModel, modules: list[nn.Module]) -> None:
        """Prepare for a network whose attention `modules` have this bias.

        A form that needs more than a layer's input registers its hooks here, and stores their
        handles in `self.handles`.
        """

    def check(self, model: PreTrainedModel) -> None:
        """Raise InputError for a network with loaded weights that does not suit the form."""

    def unwatch(self) -> None:
        """Remove the hooks that `watch` registered."""
        for handle in getattr(self, "handles", ()):
            handle.remove()
        self.handles: list = []


def watch(model: PreTrainedModel, modules: list[nn.Module]) -> None:
    """Register hooks that record the inputs of attention modules with content-dependent biases."""
    for module in modules:
        for handle in vars(module).pop("recency_handles", ()):
            handle.remove()
        if isinstance(module.recency_bias, ContentBias):
            module.recency_handles = [
                module.register_forward_pre_hook(_note_inputs, with_kwargs=True),
                module.register_forward_hook(_drop_inputs, always_call=True),
            ]
    for bias in {module.recency_bias for module in modules}:
        if isinstance(bias, ContentBias):
            bias.unwatch()
            bias.watch(model, modules)
            # A cache holds keys and values but not the inputs that they were computed from.
            for config in filter(None, (model.config, getattr(model, "generation_config", None))):
                config.use_cache = False


def unwatch(biases: Iterable[nn.Module | None]) -> None:
    """Remove the hooks of biases that are removed."""
    for bias in biases:
        if isinstance(bias, ContentBias):
            bias.unwatch()


def _note_inputs(module: nn.Module, arguments: tuple, settings: dict) -> None:
    """Record the input of an attention module with a content-dependent bias."""
    module.recency_inputs = states_among(arguments, settings)


def states_among(arguments: tuple, settings: dict) -> torch.Tensor | None:
    """Return the hidden states among a layer's arguments; None for other modules."""
    return settings.get("hidden_states", arguments[0] if arguments else None)


def _drop_inputs(module: nn.Module, arguments: tuple, output: object) -> None:
    """Release the recorded input."""
    module.recency_inputs = None


def layer_of(module: nn.Module, query: torch.Tensor, key: torch.Tensor) -> Layer:
    """Return an attention module's layer; raise InputError unless it gets the layer's states."""
    inputs = getattr(module, "recency_inputs", None)
    kind, width = type(module).__name__, module.recency_bias.width
    if not isinstance(inputs, torch.Tensor) or inputs.shape[-1:] != (width,):
        raise InputError(
            f"{kind} does not get the states of its layer ({width} wide), on which a content-dependent "
            "bias depends; take a form that depends on positions, such as linear or power_law"
        )
    if not inputs.shape[1] == query.shape[2] == key.shape[2]:
        raise InputError(
            f"{kind} attends from {query.shape[2]} tokens to {key.shape[2]}: a content-dependent bias "
            "needs the whole text in one pass; run the network with use_cache=False"
        )
    return Layer(inputs, query, key)


def select_queries(layer: Layer, first: int, end: int) -> Layer:
    """Return a layer with queries `first` to `end` (exclusive) and the keys before `end`."""
    return replace(
        layer,
        inputs=layer.inputs[:, :end],
        query=layer.query[:, :, first:end],
        key=layer.key[:, :, :end],
        first=first,
    )


def add(bias: ContentBias, layer: Layer, scores: torch.Tensor, a, b) -> torch.Tensor:
    """Return a·s + b; `a` and `b` (-inf where a key is hidden) are the positional part."""
    by_content = bias.content(replace(layer, scores=scores, visible=b > -torch.inf))
    return scores * (a * by_content[0]) + (b + by_content[1])


def widen(
    layer: Layer, factors: tuple[torch.Tensor, torch.Tensor], scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return queries and keys whose scaled product is s + b, with the factors as extra columns.

    They are in the factors' type, since b may be a small difference of large numbers.
    """
    left, right = factors
    shape = layer.query.shape[:3]
    left, right = (factor.expand(*shape, -1) for factor in (left, right))
    query = torch.cat([layer.query.to(left.dtype), left / scale], -1)
    return query, torch.cat([layer.key.to(right.dtype), right], -1)


def layer_around(model: PreTrainedModel, module: nn.Module) -> nn.Module:
    """Return the layer of a network that contains an attention module."""
    lists = [layers for layers in model.modules() if isinstance(layers, nn.ModuleList)]
    around = [layer for layers in lists for layer in layers if module in set(layer.modules())]
    if not around:
        raise InputError(
            f"{type(model).__name__} has no list of layers, whose input a content-dependent bias "
            "depends on; take a form that depends on positions, such as linear or power_law"
        )
    return around[0]
