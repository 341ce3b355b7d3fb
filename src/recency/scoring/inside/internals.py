"""Compute measures inside a network in the same pass as surprisal.

Hooks reduce a layer's output to one number per input (and head) as it is computed, by the functions
of recency.scoring.measures, so that the attention of only one layer is in memory.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel

from recency.errors import InputError
from recency.scoring import measure_sites as sites
from recency.scoring.attention_weights import weights_enabled
from recency.scoring.inside import internal_checks
from recency.scoring.inside.lens import Lens
from recency.scoring.inside.network_parts import parts_of, step_source
from recency.scoring.measures import Measure, measure_of
from recency.scoring.output_layer import OutputLayer
from recency.scoring.windows import Window
from recency.scoring.word_measures import function_of

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
        See recency.scoring.inside.lens.

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
        internal_checks.verify(self)
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
