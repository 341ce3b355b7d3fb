"""Diagonal state-space model: h_t = e^(ΔA) h_{t-1} + ΔB u_t, y_t = C h_t + D u_t.

Like S4D (Gu et al. 2022) with real A. With `selective`, Δ, B and C depend on the word, as in Mamba
(Gu & Dao 2023), so that forgetting depends on content. The input is first scaled to a mean square
of 1, and a gate multiplies the output.
"""

import math

import torch
from torch import nn
from torch.nn import functional

from recency.networks.memories import Memory
from recency.networks.recurrences import scan

PARAMETERS = {
    "states": {
        "description": "numbers per unit of the state",
        "type": "integer",
        "minimum": 1,
        "maximum": 256,
        "default": 4,
    },
    "selective": {
        "description": "whether Δ, B and C depend on the word",
        "type": "boolean",
        "default": False,
    },
}
#: The parameters with which Δ depends on the word.
STEPS = {"selective": True}
#: Initial Δ, log-uniform: with A = -1, half-lives of 7 to 700 words.
SHORTEST, LONGEST = 0.001, 0.1


class Form(Memory):
    """`width` units of `states` numbers each; rates have no weight decay, as in S4 and Mamba."""

    undecayed = ("log_rate",)

    def __init__(
        self, inputs: int, width: int, vocabulary: int, states: int = 4, selective: bool = False
    ):
        super().__init__(inputs, width, vocabulary)
        self.number, self.selective = states, selective
        self.shapes = ((width, states),)
        self.enter = nn.Linear(inputs, 2 * width, bias=False)  # u, and its gate
        self.leave = nn.Linear(width, width, bias=False)
        self.log_rate = nn.Parameter(torch.empty(width, states))  # log -A
        self.step = nn.Parameter(torch.empty(width))  # Δ before its softplus
        self.direct = nn.Parameter(torch.empty(width))  # D
        if selective:
            self.choose = nn.Linear(width, width + 2 * states, bias=False)  # of Δ, B and C
        else:
            self.into, self.out_of = (nn.Parameter(torch.empty(width, states)) for _ in range(2))

    def forward(self, inputs, state, words):
        """Return C h + D u, gated, (batch, time, width), and the last h (batch, width, states)."""
        inputs = functional.rms_norm(inputs, (self.inputs,))
        u, gate = self.enter(inputs).to(state[0].dtype).chunk(2, -1)
        rate = -self.log_rate.exp()
        if self.selective:
            sizes = [self.width, self.number, self.number]
            chosen, into, out_of = self.choose(u).to(u.dtype).split(sizes, -1)
            step = functional.softplus(chosen + self.step)[..., None]
            into, out_of = into[..., None, :], out_of[..., None, :]
        else:
            step = functional.softplus(self.step)[None, None, :, None]
            into, out_of = self.into, self.out_of
        states = scan((step * rate).exp(), (step * into) * u[..., None], state[0])
        given = (states * out_of).sum(-1) + self.direct * u
        return self.leave(given * functional.silu(gate)), (states[:, -1],)

    def step_sizes(self, inputs):
        """Return Δ of each step, (batch, time, width), if it depends on the word."""
        inputs = functional.rms_norm(inputs, (self.inputs,))
        u = self.enter(inputs).to(self.step.dtype).chunk(2, -1)[0]
        chosen = self.choose(u)[..., : self.width].to(self.step.dtype)
        return functional.softplus(chosen + self.step)

    @torch.no_grad()
    def draw(self, generator):
        """Draw matrices as Glorot & Bengio, Δ log-uniform, C normal; A = -1, -2 …, B = 1, D = 1."""
        super().draw(generator)
        self.log_rate.copy_(torch.arange(1, self.number + 1.0).log().expand_as(self.log_rate))
        bounds = math.log(SHORTEST), math.log(LONGEST)
        step = torch.empty(self.width, dtype=torch.float64).uniform_(*bounds, generator=generator)
        self.step.copy_(step.exp().expm1().log())  # the inverse softplus of Δ
        nn.init.ones_(self.direct)
        if not self.selective:
            nn.init.ones_(self.into)
            nn.init.normal_(self.out_of, std=1 / math.sqrt(self.number), generator=generator)
