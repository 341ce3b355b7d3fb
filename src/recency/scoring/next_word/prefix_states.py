"""States of a network after prefixes of words that continue a text.

There are three implementations: prefix_attention.Branches (attention; the text is read once),
`CarriedStates` (recurrent networks; the text's state is carried on) and `WholeTexts` (any causal
network; text and prefix are read together).
"""

from collections.abc import Callable

import torch
from transformers import PreTrainedModel

from recency.scoring import forward
from recency.scoring.windows import Window, batches, sees_length


class WholeTexts:
    """Any causal network: each prefix is read together with its text."""

    def __init__(self, model: PreTrainedModel, body: Callable, bf16: bool = False):
        self.model, self.body, self.bf16 = model, body, bf16
        self.padded = not sees_length(model)

    def read(self, texts: list[list[int]]) -> list[None]:
        """Store the texts; `begin` computes states."""
        self.texts = texts
        return [None] * len(texts)

    def begin(self, text: torch.Tensor, length: torch.Tensor) -> None:
        """Start a tree whose root n continues the first `length[n]` tokens of `text[n]`."""
        pairs = zip(text.tolist(), length.tolist(), strict=True)
        self.prefixes = [self.texts[number][:tokens] for number, tokens in pairs]

    def roots(self) -> torch.Tensor:
        """Return the states (roots, width) at the end of the texts."""
        return self._states(forward.tokens_at_once(self.model))

    def extend(self, parents: torch.Tensor, tokens: torch.Tensor, at_once: int) -> torch.Tensor:
        """Add a token after each of `parents`; return their states (tokens, width)."""
        pairs = zip(parents.tolist(), tokens.tolist(), strict=True)
        self.prefixes = [[*self.prefixes[parent], token] for parent, token in pairs]
        return self._states(at_once)

    def _states(self, at_once: int) -> torch.Tensor:
        cut = [Window(n, ids, 0, len(ids) - 1) for n, ids in enumerate(self.prefixes)]
        states: list = [None] * len(cut)
        cut_up = batches(cut, at_once, self.padded)
        for batch, output in forward.run(self.model, cut_up, self.bf16, self.body):
            for row, window in enumerate(batch):
                states[window.text] = output[0][row, window.fresh].clone()
        return torch.stack(states)


class CarriedStates:
    """A recurrent network of this project: each prefix continues from the text's state."""

    def __init__(self, model: PreTrainedModel, bf16: bool = False):
        self.model, self.bf16 = model, bf16
        self.state = model.base_model.start(1)

    def read_on(self, pieces: list[list[int]]) -> torch.Tensor:
        """Read further pieces of the text; return the states after each (pieces, width).

        The ends of the pieces are the roots of the next tree.
        """
        outputs, carried = [], []
        for piece in pieces:
            if piece:
                hidden, self.state = self._run(torch.tensor([piece]), self.state)
                last = hidden[:, -1]
            outputs.append(last)
            carried.append(self.state)
        self.level = _concatenate(carried)
        return torch.cat(outputs)

    def extend(self, parents: torch.Tensor, tokens: torch.Tensor, at_once: int) -> torch.Tensor:
        """Add a token after each of `parents`; return their states (tokens, width)."""
        hidden, carried = [], []
        for start in range(0, len(tokens), at_once):
            part = slice(start, start + at_once)
            state = tuple(tuple(tensor[parents[part]] for tensor in layer) for layer in self.level)
            output, state = self._run(tokens[part, None], state)
            hidden.append(output[:, -1])
            carried.append(state)
        self.level = _concatenate(carried)
        return torch.cat(hidden)

    def _run(self, ids: torch.Tensor, state: tuple) -> tuple[torch.Tensor, tuple]:
        device = self.model.device
        with torch.autocast(device.type, torch.bfloat16, enabled=self.bf16):
            output = self.model.base_model(input_ids=ids.to(device), state=state)
        return output.last_hidden_state, output.state


def _concatenate(states: list[tuple]) -> tuple:
    """Concatenate the states of several batches."""
    return tuple(
        tuple(torch.cat(tensors) for tensors in zip(*layers, strict=True))
        for layers in zip(*states, strict=True)
    )
