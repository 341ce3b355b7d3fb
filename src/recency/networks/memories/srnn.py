"""Decay with a tanh, SRNN: P_t = tanh(u_t + C ⊙ P_{t-1}), C diagonal (Oualil et al. 2016a).

C is a fixed number (WI-SRNN*), a learned vector (WI-SRNN) or a learned vector per word (WD-SRNN).
"""

import math

import torch
from torch import nn

from recency.networks.memories import Fading
from recency.networks.recurrences import tanh_recurrence

PARAMETERS = {
    "context": {
        "description": "C: a number for all units; `vector`, learned; `word`, learned per word",
        "anyOf": [
            {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
            {"enum": ["vector", "word"]},
        ],
        "default": "vector",
    },
    "start": {
        "description": "first C of `context: word`: one random vector, `shared` by all words, or "
        "`separate` ones",
        "enum": ["shared", "separate"],
        "default": "shared",
        "x-stated-with": {"context": "word"},
    },
    "biases": {
        "description": "whether H has a bias, and words have one (the last of H is 1, so that "
        "`width` is one more)",
        "type": "boolean",
        "default": False,
    },
    "window": {
        "description": "n - 1: number of states read",
        "type": "integer",
        "minimum": 1,
        "default": 1,
    },
}
RULES = {
    "allOf": [
        {
            "if": {"required": ["start"]},
            "then": {"required": ["context"], "properties": {"context": {"const": "word"}}},
            "x-at": "start",
            "x-message": "only `context: word` has a C for each word; remove it",
        },
    ]
}


class Form(Fading):
    """Every unit keeps a share of itself; learned shares start from U(0, 1).

    A C for each word starts from one vector that all words share, as in the toolkit of the paper's
    first author (TF-NNLM-TK): rare words, which are hardly trained, would keep a C of their own as
    noise. C is exempt from weight decay, since rare words have few gradients and their C would go to 0.
    """

    undecayed = ("context",)

    def __init__(
        self,
        inputs: int,
        width: int,
        vocabulary: int,
        context: float | str = "vector",
        window: int = 1,
        start: str = "shared",
        biases: bool = False,
    ):
        super().__init__(inputs, width, vocabulary, window, biases)
        self.first = start
        self.fixed = None if isinstance(context, str) else float(context)
        rows = {"vector": 1, "word": vocabulary}.get(context)
        self.context = nn.Parameter(torch.empty(rows, inputs)) if rows else None

    def states(self, inputs, before, words):
        """Return P_t = tanh(u_t + C ⊙ P_{t-1}), with the C of the word being read."""
        if self.context is None:
            context = inputs.new_full((1, 1, 1), self.fixed)
        elif len(self.context) == 1:
            context = self.context[None]
        else:
            context = nn.functional.embedding(words, self.context)
        return tanh_recurrence(context, inputs, before)

    @torch.no_grad()
    def draw(self, generator):
        """Draw V, and C from U(0, 1)."""
        super().draw(generator)
        if self.context is not None:
            drawn = self.context[:1] if self.first == "shared" else self.context
            nn.init.uniform_(drawn, 0, 1, generator=generator)
            self.context.copy_(drawn.expand_as(self.context))

    def half_lives(self):
        """Return ln 2 / -ln |C|, which the tanh shortens; units with |C| ≥ 1 do not decay."""
        kept = torch.tensor([self.fixed]) if self.context is None else self.context.detach().abs()
        return math.log(2) / -kept[kept < 1].log()
