"""Memories that are carried from word to word, one file per form: state and word → state.

A form's file holds `PARAMETERS`, the JSON schema of its parameters, and a class `Form`.
`start(batch)` returns the state before a text, a tuple of tensors whose first dimension is the
text. `forward(inputs, state, words)` takes `inputs` (batch, time, inputs) and the ids of their
words (batch, time), and returns outputs (batch, time, width) and the state after them. Reading a
text in pieces, with the state passed on, equals reading it at once. A file may also hold literals:
`GATES`, the names of its gates (`Memory.gates`), and `STEPS`, the parameters with which its step
sizes depend on the word (`step_sizes(inputs)`).
"""

import math

import torch
from torch import nn
from torch.nn import functional

from recency import plugins

State = tuple[torch.Tensor, ...]


class Memory(nn.Module):
    """Base class of all forms: widths of inputs and outputs, initial state, and weights."""

    #: Shapes of the state's tensors, each without its first dimension.
    shapes: tuple[tuple[int, ...], ...] = ()
    #: Number of trailing output units that are always 1, which give words their output bias.
    constant: int = 0
    #: Multidimensional parameters that are not matrices of a product, exempt from weight decay.
    undecayed: tuple[str, ...] = ()

    def __init__(self, inputs: int, width: int, vocabulary: int):
        super().__init__()
        self.inputs, self.width, self.vocabulary = inputs, width, vocabulary

    def start(self, batch: int) -> State:
        """Return the state before `batch` texts: zeros."""
        like = next(self.parameters())
        return tuple(like.new_zeros(batch, *shape) for shape in self.shapes)

    def forward(
        self, inputs: torch.Tensor, state: State, words: torch.Tensor
    ) -> tuple[torch.Tensor, State]:
        """Return the memory's output after each of `inputs`, and the state after the last."""
        raise TypeError(f"{type(self).__module__} defines no forward(inputs, state, words)")

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """Draw fresh weights: matrices as in Glorot & Bengio (2010), all others 0."""
        for parameter in self.parameters():
            if parameter.dim() < 2:
                nn.init.zeros_(parameter)
            else:
                nn.init.xavier_uniform_(parameter, generator=generator)

    def gates(
        self, inputs: torch.Tensor, state: State, given: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """Return the gates of each step: name → (batch, time, units), between 0 and 1.

        `inputs` and `state` are those of `forward`, `given` is its output for them. A form with
        gates names them in `GATES` of its file; other forms return none.
        """
        return {}

    def half_lives(self) -> torch.Tensor | None:
        """Return the half-life of each unit in words; None for forms without one."""
        return None


class Fading(Memory):
    """States P_t that decay unit by unit, read through H_t = relu(Σ_{i=1…n-1} V_i P_{t-i}).

    Oualil et al. (2016a): `window` is n - 1, the number of states read. A form defines P. With
    `biases` the sum has a bias, and the last of H is 1, so that words have one, too.
    """

    def __init__(self, inputs: int, width: int, vocabulary: int, window: int, biases: bool = False):
        super().__init__(inputs, width, vocabulary)
        self.window, self.constant = window, int(biases)
        self.shapes = ((inputs,), (window - 1, inputs))
        # V_i concatenated, latest last
        self.read = nn.Linear(window * inputs, width - self.constant, bias=biases)

    def states(
        self, inputs: torch.Tensor, before: torch.Tensor, words: torch.Tensor
    ) -> torch.Tensor:
        """Return P (batch, time, inputs); `before` (batch, inputs) precedes the first."""
        raise TypeError(f"{type(self).__module__} defines no states(inputs, before, words)")

    def forward(self, inputs, state, words):
        """Return H (batch, time, width), and the last P with those still in the window."""
        before, seen = state
        states = self.states(inputs, before, words)
        every = torch.cat([seen, states], 1)
        windows = every.unfold(1, self.window, 1).transpose(2, 3).flatten(2)
        hidden = self.read(windows).relu()
        if self.constant:
            hidden = torch.cat([hidden, torch.ones_like(hidden[..., :1])], -1)
        return hidden, (states[:, -1], every[:, every.shape[1] - self.window + 1 :])


class Cell(Memory):
    """A memory of PyTorch: one layer of nn.RNN, nn.GRU or nn.LSTM.

    `weights` are first drawn as PyTorch does (`uniform`), or each gate's matrices as in Glorot &
    Bengio (2010) and biases 0 (`glorot`).
    """

    kind: type[nn.RNNBase]

    def __init__(
        self,
        inputs: int,
        width: int,
        vocabulary: int,
        biases: bool = True,
        weights: str = "uniform",
    ):
        super().__init__(inputs, width, vocabulary)
        self.cell = self.kind(inputs, width, bias=biases, batch_first=True)
        self.weights = weights
        self.shapes = ((width,),) * (2 if self.kind is nn.LSTM else 1)

    def forward(self, inputs, state, words):
        """Return H (batch, time, width), and the cell's own state."""
        carried = tuple(tensor[None].contiguous() for tensor in state)
        with weight_precision(inputs.device):
            inputs = inputs.to(carried[0].dtype)
            states, carried = self.cell(inputs, carried if len(carried) > 1 else carried[0])
        carried = carried if isinstance(carried, tuple) else (carried,)
        return states, tuple(tensor[0] for tensor in carried)

    def gates(self, inputs, state, given):
        """Return σ(W x_t + b + U h_{t-1} + c) for the cell's gates, with h its output."""
        names = {nn.LSTM: ("input", "forget", "", "output"), nn.GRU: ("reset", "update", "")}
        before = torch.cat([state[0][:, None], given[:, :-1]], 1)
        with weight_precision(inputs.device):
            inputs, before = (
                tensor.to(self.cell.weight_ih_l0.dtype) for tensor in (inputs, before)
            )
            biases = [getattr(self.cell, f"bias_{name}_l0", None) for name in ("ih", "hh")]
            of_inputs = functional.linear(inputs, self.cell.weight_ih_l0, biases[0])
            of_state = functional.linear(before, self.cell.weight_hh_l0, biases[1])
            parts = (of_inputs + of_state).sigmoid().split(self.width, -1)
        return {name: gate for name, gate in zip(names.get(self.kind, ()), parts) if name}

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """Draw weights and biases from U(-1/√width, 1/√width), or as in Glorot & Bengio (2010)."""
        bound = 1 / math.sqrt(self.width)
        for parameter in self.parameters():
            if self.weights == "uniform":
                nn.init.uniform_(parameter, -bound, bound, generator=generator)
            elif parameter.dim() < 2:
                nn.init.zeros_(parameter)
            else:
                for gate in parameter.split(self.width):
                    nn.init.xavier_uniform_(gate, generator=generator)


def weight_precision(device: torch.device) -> torch.autocast:
    """Return a context in which recurrences have the weights' precision, not the recipe's.

    Under autocast PyTorch's cells sum gradients over steps in bfloat16: an RNN of the open study
    ended at a perplexity of 283, against 265 in float32.
    """
    return torch.autocast(device.type, enabled=False)


def tanh_states(
    inputs: torch.Tensor, start: torch.Tensor, matrix: torch.Tensor, training: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return H_t = tanh(u_t + V H_{t-1}) for all t, and the last.

    `inputs` u is (batch, time, units), `start` H_0 is (batch, units), `matrix` V (units, units);
    `training` says whether a GPU's kernel keeps what gradients need.
    """
    with weight_precision(inputs.device):
        inputs = inputs.to(start.dtype)
        # PyTorch's recurrence, with the identity as input matrix.
        enter = torch.eye(len(matrix), dtype=inputs.dtype, device=inputs.device)
        settings = (False, 1, 0.0, training, False, True)  # no biases, one layer, batch first
        states, last = torch.rnn_tanh(inputs, start[None].contiguous(), [enter, matrix], *settings)
    return states, last[0]


def build(spec: dict, inputs: int, width: int, vocabulary: int) -> Memory:
    """Build the memory of a config's `memories:` entry."""
    parameters = {key: value for key, value in spec.items() if key != "form"}
    module = plugins.load("recency.networks.memories", spec["form"])
    return module.Form(inputs, width, vocabulary, **parameters)
