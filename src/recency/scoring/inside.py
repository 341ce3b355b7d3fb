"""Measures of what happens inside a network (docs/internals.md).

Predictions from a layer's states: the logit lens, and tuned lenses (Belrose et al. 2023).

p_l = softmax(W norm(A_l x_l + b_l)). A tuned lens is a safetensors file with A_l as `<l>.weight`
(width, width) and b_l as `<l>.bias` (width) for each layer l, where layer 0 is the embeddings.
Without a file, A_l is the identity and b_l is 0: the logit lens (nostalgebraist 2020).

Find the layers, attention modules, memories and mixers of a network.

Compute measures inside a network in the same pass as surprisal.

Hooks reduce a layer's output to one number per input (and head) as it is computed, by the functions
of recency.scoring.measures, so that the attention of only one layer is in memory.

Check on a short input that hooks return a network's own attention and states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel

from recency.attention.biased import attention_modules
from recency.attention.logit_lens import final_norm
from recency.errors import InputError
from recency.scoring import measures as sites
from recency.scoring.forward import Window, reads_on, window_of
from recency.scoring.inner_states import weights_enabled
from recency.scoring.measures import Measure, Shape, measure_of, memory_shape
from recency.scoring.output_layer import OutputLayer
from recency.scoring.word_measures import function_of


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


#: Attention weights that a measure gets at once (4 MB, which fit in a processor's cache).
WEIGHTS_AT_ONCE = 2**20
#: Relative tolerance of a measure's bounds, for rounding.
ROUNDING = 0.01


@dataclass(frozen=True)
class Wanted:
    """A requested measure: its layer, head (None: the mean over heads) and function."""

    name: str
    measure: Measure
    layer: int
    head: int | None
    function: Callable[..., torch.Tensor]


@dataclass
class Observed:
    """The output of a network's body for some windows, and the measures of each input."""

    hidden: torch.Tensor  # (batch, positions, width)
    state: Any = None  # final state of a recurrent network
    values: dict[str, torch.Tensor] = field(default_factory=dict)  # name → (batch, positions)
    states: dict[int, torch.Tensor] = field(default_factory=dict)  # layer → states, for a lens

    def __getitem__(self, number: int) -> torch.Tensor:
        """Return the last layer's states under 0, as outputs of transformers do."""
        return (self.hidden,)[number]


class Internals:
    """The body of a network, extended to compute measures of its inputs.

    Parameters
    ----------
    model : PreTrainedModel
        A causal network.
    names : sequence of str
        Measures whose `source` is one of `measure_sites.INSIDE`, as `measures.check` spells them.
    words : sequence of ndarray
        For each text, the number of each token's word.
    output_layer : OutputLayer
    tuned_lens : path, optional
        See recency.scoring.inside.

    Raises
    ------
    InputError
        If the network lacks a layer, head, attention, gate or step size that a measure needs.
    """

    reads_windows = True

    def __init__(
        self,
        model: PreTrainedModel,
        names: Sequence[str],
        words: Sequence[np.ndarray],
        output_layer: OutputLayer,
        tuned_lens: Any = None,
    ):
        self.model, self.names, self.words = model, tuple(names), words
        self.output_layer, self.parts = output_layer, parts_of(model)
        for problem in sites.problems(names, self.parts.shape):
            raise InputError(problem)
        self.wanted = [self._resolve(name) for name in names]
        looked_at = [wanted.layer for wanted in self.with_source("predictions")]
        self.lens = Lens(model, looked_at, tuned_lens)
        self.earlier: dict[int, torch.Tensor] = {}  # layer → last states of the previous piece
        verify(self)
        self.earlier = {}

    def _resolve(self, name: str) -> Wanted:
        measure = measure_of(name)
        layer, head = sites.parse_site(name) if measure.site else (None, None)
        layer = sites.last_layer(measure, self.parts.shape) if layer is None else layer
        return Wanted(name, measure, layer, head, function_of(name))

    def with_source(self, source: str) -> list[Wanted]:
        """Return the requested measures with one of `measure_sites.SOURCES`."""
        return [wanted for wanted in self.wanted if wanted.measure.source == source]

    def returning_weights(self):
        """Return a context with attention weights turned on, if a measure needs them."""
        return weights_enabled(self.model) if self.with_source("attention") else nullcontext()

    def __call__(self, input_ids: torch.Tensor, windows: list[Window], **settings) -> Observed:
        """Run the body on a batch of windows with measures; short contexts have none."""
        if windows[0].text >= len(self.words):
            return self.output_layer.body(input_ids=input_ids, **settings)
        words = torch.full_like(input_ids, -1)
        for row, window in enumerate(windows):
            places = np.arange(len(window.ids)) + window.start - 1  # inputs' numbers in the text
            inside = self.words[window.text][places[places >= 0]]
            words[row, len(window.ids) - len(inside) : len(window.ids)] = torch.from_numpy(
                inside.astype(np.int64)
            )
        if not windows[0].before:
            self.earlier = {}
        return self.observe(input_ids, words, **settings)

    def observe(self, input_ids: torch.Tensor, words: torch.Tensor, **settings) -> Observed:
        """Run the body with hooks."""
        observed = Observed(torch.empty(0))
        with self._hooks(observed, words):
            output = self.output_layer.body(input_ids=input_ids, **settings)
        observed.hidden, observed.state = output[0], getattr(output, "state", None)
        self._observe_states(self.parts.shape.layers, observed.hidden, observed)
        return observed

    @contextmanager
    def _hooks(self, observed: Observed, words: torch.Tensor) -> Iterator[None]:
        """Register the hooks of the measures for one pass."""
        with ExitStack() as stack:

            def hook(module: nn.Module, show: Callable, before: bool = False) -> None:
                def exactly(*given):
                    with torch.autocast(words.device.type, enabled=False):
                        return show(*given)

                if before:
                    handle = module.register_forward_pre_hook(exactly, with_kwargs=True)
                else:
                    handle = module.register_forward_hook(exactly)
                stack.callback(handle.remove)

            parts, layers = self.parts, {asked.layer for asked in self.wanted}
            for layer in {asked.layer for asked in self.with_source("attention")}:

                def attend(module, inputs, output, layer=layer):
                    return self._observe_attention(module, output, layer, words, observed)

                hook(parts.attention[layer], attend)
            of_states = [*self.with_source("states"), *self.with_source("predictions")]
            for layer in {asked.layer for asked in of_states} - {parts.shape.layers}:
                if layer == 0:

                    def enter(module, inputs, named):
                        given = inputs[0] if inputs else named["hidden_states"]
                        self._observe_states(0, given, observed)

                    hook(parts.layers[0], enter, before=True)
                    continue

                def leave(module, inputs, output, layer=layer):
                    given = output if isinstance(output, torch.Tensor) else output[0]
                    self._observe_states(layer, given, observed)

                hook(parts.layers[layer - 1], leave)
            for layer, memory in parts.memories.items():
                if layer in layers:

                    def remember(module, inputs, output, layer=layer):
                        self._observe_memory(module, inputs, output[0], layer, observed)

                    hook(memory, remember)
            for layer, mixer in parts.mixers.items():
                if wanted := [asked for asked in self.with_source("steps") if asked.layer == layer]:
                    linear, to_steps = step_source(mixer)

                    def step(module, inputs, output, wanted=wanted, to_steps=to_steps):
                        self._store(wanted, observed, to_steps(output))

                    hook(linear, step)
            yield

    def _observe_attention(self, module, output, layer: int, words, observed: Observed):
        """Reduce a layer's attention to its measures and drop the weights."""
        if not isinstance(output, tuple) or len(output) < 2 or output[1] is None:
            raise InputError(
                f"{type(module).__name__} gives no attention weights, so that measures of attention "
                f"are not for {type(self.model).__name__}"
            )
        weights = as_float32(output[1])
        here = [wanted for wanted in self.with_source("attention") if wanted.layer == layer]
        done: dict[str, torch.Tensor] = {}
        for wanted in here:
            stem = sites.strip_site(wanted.name, "head")
            same = [e for e in here if sites.strip_site(e.name, "head") == stem]
            if all(e.head is not None for e in same):
                of_head = weights[:, wanted.head - 1 : wanted.head]
                observed.values[wanted.name] = _reduce_weights(wanted, of_head, words)[:, 0]
                continue
            if stem not in done:
                done[stem] = _reduce_weights(wanted, weights, words)
            values = done[stem]
            value = values.mean(1) if wanted.head is None else values[:, wanted.head - 1]
            observed.values[wanted.name] = value
        return (output[0], None, *output[2:])

    def _observe_states(self, layer: int, states: torch.Tensor, observed: Observed) -> None:
        """Compute measures from a layer's output states (batch, positions, width)."""
        if any(asked.layer == layer for asked in self.with_source("predictions")):
            observed.states[layer] = states
        wanted = [asked for asked in self.with_source("states") if asked.layer == layer]
        if not wanted:
            return
        states = as_float32(states)
        first = self.earlier.get(layer)
        first = torch.full_like(states[:, 0], torch.nan) if first is None else first[: len(states)]
        self.earlier[layer] = states[:, -1].clone()
        self._store(wanted, observed, states, torch.cat([first[:, None], states[:, :-1]], 1))

    def _observe_memory(self, memory, inputs, given, layer: int, observed: Observed) -> None:
        """Compute measures from the gates and step sizes of a recurrent layer."""
        gated = [wanted for wanted in self.with_source("gates") if wanted.layer == layer]
        if gated:
            self._store(gated, observed, memory.gates(inputs[0], inputs[1], given))
        if stepping := [wanted for wanted in self.with_source("steps") if wanted.layer == layer]:
            self._store(stepping, observed, memory.step_sizes(inputs[0]))

    def _store(self, wanted: list[Wanted], observed: Observed, *given) -> None:
        for measure in wanted:
            observed.values[measure.name] = measure.function(*given)

    def measure_positions(
        self, observed: Observed, rows: np.ndarray, columns: np.ndarray, chosen: torch.Tensor
    ) -> torch.Tensor:
        """Return the measures at some positions: (measures, positions), float64, nats.

        `chosen` holds the token after each position. Raises InputError for an impossible value.
        """
        return torch.stack(
            [self._measure_one(wanted, observed, rows, columns, chosen) for wanted in self.wanted]
        )

    def _measure_one(
        self, wanted: Wanted, observed: Observed, rows, columns, chosen
    ) -> torch.Tensor:
        if wanted.measure.source == "predictions":
            states = self.lens(observed.states[wanted.layer][rows, columns], wanted.layer)
            values = wanted.function(self.output_layer.score(states, chosen)[0])
        elif wanted.name not in observed.values:
            raise InputError(
                f"measure {wanted.name!r}: {self.parts.shape.title} did not compute it"
            )
        else:
            values = observed.values[wanted.name][rows, columns]
        self._require_possible(wanted, values, columns)
        return values.double()

    def _require_possible(self, wanted: Wanted, values: torch.Tensor, columns: np.ndarray) -> None:
        """Raise InputError for a value out of bounds, or undefined after the first input."""
        if values.shape != columns.shape:
            raise InputError(
                f"measure {wanted.name!r}: {wanted.measure.source} returns the shape "
                f"{tuple(values.shape)} and not {columns.shape}"
            )
        has_context = torch.from_numpy(columns > 0).to(values.device)
        wrong = ~values.isfinite() & has_context
        least, most = wanted.measure.bounds
        if least is not None:
            wrong |= values < least - ROUNDING * max(1.0, abs(least))
        if most is not None:
            wrong |= values > most + ROUNDING * abs(most)
        if wrong.any():
            value = float(values[wrong][0])
            raise InputError(
                f"measure {wanted.name!r}: {self.parts.shape.title} gives {value}, outside the possible "
                f"values ({least} to {most}); its attention or states are not those the measure needs"
            )

    def token_values(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Return name → a value for each token, and NaN for the text's end.

        `values` (measures, tokens + 1) are indexed by predictions, so that measures of an input
        are one place late.
        """
        ahead = [wanted.measure.source == "predictions" for wanted in self.wanted]
        ends = np.full(1, np.nan)
        return {
            name: np.append(row[:-1] if before else row[1:], ends)
            for name, row, before in zip(self.names, values, ahead, strict=True)
        }


def as_float32(values: torch.Tensor) -> torch.Tensor:
    """Return values in float32 or a wider type."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def _reduce_weights(wanted: Wanted, weights: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """Reduce weights (batch, heads, queries, keys) to (batch, heads, queries), in blocks."""
    batch, heads, queries, keys = weights.shape
    at_once = max(1, WEIGHTS_AT_ONCE // (queries * keys))
    rows, width = max(1, at_once // heads), min(heads, at_once)
    values = torch.cat(
        [
            torch.cat(
                [
                    wanted.function(
                        weights[row : row + rows, head : head + width], words[row : row + rows]
                    )
                    for head in range(0, heads, width)
                ],
                1,
            )
            for row in range(0, batch, rows)
        ]
    )
    if values.shape != weights.shape[:3]:
        raise InputError(
            f"measure {wanted.name!r}: attention returns the shape {tuple(values.shape)} and not "
            f"{tuple(weights.shape[:3])}"
        )
    return values


#: Relative tolerance of rounding, in float32 and in half precision.
NEAR, NEAR_IN_HALF = 1e-3, 3e-2


@torch.inference_mode()
def verify(internals: Internals) -> None:
    """Raise InputError unless a network's hooks return the attention and states that measures need.

    Checks that returning attention weights leaves the states unchanged, that the weights are those
    of a causal softmax, that the states equal `output_hidden_states`, and, for a lens, that only
    the final norm lies between the last layer and the output layer.
    """
    model, kind = internals.model, type(internals.model).__name__
    vocabulary = len(model.get_input_embeddings().weight)
    ids = torch.arange(min(8, window_of(model, 8)), device=model.device)[None]
    ids = (ids + vocabulary // 2) % vocabulary
    plain = internals.output_layer.body(input_ids=ids, use_cache=False)[0]
    with internals.returning_weights():
        observed = internals.observe(ids, torch.zeros_like(ids), use_cache=False)
        for layer in {wanted.layer for wanted in internals.with_source("attention")}:
            _verify_attention(internals, layer, ids)
    if not _is_near(observed.hidden, plain):
        raise InputError(f"{kind} computes other states where it gives its attention weights")
    looked_at = {wanted.layer for wanted in internals.with_source("predictions")}
    layers = looked_at | {wanted.layer for wanted in internals.with_source("states")}
    if layers:
        _verify_states(internals, layers, ids, plain)
    if looked_at:
        _verify_lens(internals, looked_at, ids, plain)


def _verify_attention(internals: Internals, layer: int, ids: torch.Tensor) -> None:
    """Refuse attention weights that are not causal or do not sum to 1."""
    module, seen = internals.parts.attention[layer], []
    # A copy, so that the layer's weights are freed before the next layer runs.
    handle = module.register_forward_hook(lambda *given: seen.append(given[-1][1].clone()))
    try:
        internals.output_layer.body(input_ids=ids, use_cache=False)
    finally:
        handle.remove()
    weights, many = seen[0], ids.shape[1]
    shape = (1, internals.parts.shape.heads, many, many)
    is_causal = weights.shape == shape and not weights.triu(1).any()
    sums = weights.float().sum(-1).to(weights.dtype)
    sinks = getattr(module, "sinks", None) is not None  # which take a share of the weights
    is_one = bool((sums <= 1 + NEAR_IN_HALF).all()) if sinks else _is_near(sums, sums * 0 + 1)
    if not (is_causal and is_one):
        raise InputError(
            f"{type(module).__name__} gives attention weights, {tuple(weights.shape)}, that are not "
            "those of a causal softmax, so that measures of attention do not apply to "
            f"{type(internals.model).__name__}"
        )


def _verify_states(internals: Internals, layers: set[int], ids, plain: torch.Tensor) -> None:
    """Refuse layers whose hooks differ from `output_hidden_states`."""
    model = internals.model
    stated = model.base_model(input_ids=ids, use_cache=False, output_hidden_states=True)
    stated = stated.hidden_states
    # Mamba's list begins with the first layer's output, others' with its input.
    first = 0 if _is_near(_states_at(internals, 0, ids), stated[0]) else 1
    for layer in layers - {0} if first else layers:
        last = layer == internals.parts.shape.layers
        given = plain if last else _states_at(internals, layer, ids)
        if not _is_near(given, stated[-1 if last else layer - first]):
            raise InputError(f"{type(model).__name__} does not give the states of layer {layer}")


def _verify_lens(internals: Internals, layers: set[int], ids, plain: torch.Tensor) -> None:
    """Refuse a network that does more than a norm between its last layer and its output layer."""
    shape, title = internals.parts.shape, internals.parts.shape.title
    for layer in layers - {shape.layers}:
        width = _states_at(internals, layer, ids).shape[-1]
        if width != plain.shape[-1]:
            raise InputError(
                f"measure 'layer_surprisal_l{layer}': the states of layer {layer} are {width} wide, and "
                f"{title} predicts from {plain.shape[-1]}"
            )
        last = len(internals.parts.layers)
        norm = internals.lens.norm
        states = _states_at(internals, last, ids)
        if last == shape.layers and not _is_near(norm(states) if norm else states, plain):
            raise InputError(
                f"measure 'layer_surprisal_l{layer}': {title} has more than a norm between its last "
                "layer and its output layer, so that its layers predict nothing by themselves"
            )


def _states_at(internals: Internals, layer: int, ids: torch.Tensor) -> torch.Tensor:
    """Return a layer's output states on a short input; for layer 0, the first layer's input."""
    layers, seen = internals.parts.layers, []
    if not layers:
        title = internals.parts.shape.title
        raise InputError(f"{title} does not give the states of its layers")

    def enter(module, inputs, named):
        seen.append(inputs[0] if inputs else named["hidden_states"])

    def leave(module, inputs, output):
        seen.append(output if isinstance(output, torch.Tensor) else output[0])

    if layer == 0:
        handle = layers[0].register_forward_pre_hook(enter, with_kwargs=True)
    else:
        handle = layers[layer - 1].register_forward_hook(leave)
    try:
        internals.output_layer.body(input_ids=ids, use_cache=False)
    finally:
        handle.remove()
    return seen[0]


def _is_near(given: torch.Tensor, expected: torch.Tensor) -> bool:
    """Return whether values are equal up to rounding."""
    if given.shape != expected.shape:
        return False
    share = NEAR_IN_HALF if given.itemsize < 4 or expected.itemsize < 4 else NEAR
    difference = (given.float() - expected.float()).abs().max()
    return bool(difference <= share * expected.float().abs().max().clamp_min(1e-6))
