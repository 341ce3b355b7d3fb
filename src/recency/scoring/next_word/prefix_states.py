"""States of a network after prefixes of words, each of which goes on from a place in a text.

Three ways, of one interface (`read`, `begin`, `extend`): transformers' attention, whose text is read
once (prefix_attention.Branches); recurrent networks, whose state goes on from the text's
(`CarriedStates`); and any causal network, which reads text and prefix as a whole (`WholeTexts`).
"""

from collections.abc import Callable

import torch
from transformers import PreTrainedModel

from recency.scoring import forward
from recency.scoring.windows import Window, batches, sees_length


class WholeTexts:
    """Any causal network: text and prefix are read together, for each prefix."""

    def __init__(self, model: PreTrainedModel, body: Callable, bf16: bool = False):
        self.model, self.body, self.bf16 = model, body, bf16
        self.padded = not sees_length(model)

    def read(self, texts: list[list[int]]) -> list[None]:
        """Keep the texts; states are those of `begin`."""
        self.texts = texts
        return [None] * len(texts)

    def begin(self, text: torch.Tensor, length: torch.Tensor) -> None:
        """Begin a tree of which root n goes on from the first `length[n]` tokens of `text[n]`."""
        pairs = zip(text.tolist(), length.tolist(), strict=True)
        self.prefixes = [self.texts[number][:tokens] for number, tokens in pairs]

    def roots(self) -> torch.Tensor:
        """Return the states (roots, width) that the texts leave."""
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
    """A recurrent network of this project: the state of a text goes on into each prefix."""

    def __init__(self, model: PreTrainedModel, bf16: bool = False):
        self.model, self.bf16 = model, bf16
        self.state = model.base_model.start(1)

    def read_on(self, pieces: list[list[int]]) -> torch.Tensor:
        """Read on in the text, piece by piece; return the states after each (pieces, width).

        The pieces' ends are the roots of the next tree.
        """
        outputs, carried = [], []
        for piece in pieces:
            if piece:
                hidden, self.state = self._run(torch.tensor([piece]), self.state)
                last = hidden[:, -1]
            outputs.append(last)
            carried.append(self.state)
        self.level = _joined(carried)
        return torch.cat(outputs)

    def extend(self, parents: torch.Tensor, tokens: torch.Tensor, at_once: int) -> torch.Tensor:
        """Add a token after each of `parents`; return their states (tokens, width)."""
        hidden, carried = [], []
        for start in range(0, len(tokens), at_once):
            part = slice(start, start + at_once)
            state = tuple(tuple(each[parents[part]] for each in layer) for layer in self.level)
            output, state = self._run(tokens[part, None], state)
            hidden.append(output[:, -1])
            carried.append(state)
        self.level = _joined(carried)
        return torch.cat(hidden)

    def _run(self, ids: torch.Tensor, state: tuple) -> tuple[torch.Tensor, tuple]:
        device = self.model.device
        with torch.autocast(device.type, torch.bfloat16, enabled=self.bf16):
            output = self.model.base_model(input_ids=ids.to(device), state=state)
        return output.last_hidden_state, output.state


def _joined(states: list[tuple]) -> tuple:
    """Join states of several batches to those of one."""
    return tuple(
        tuple(torch.cat(each) for each in zip(*layers, strict=True))
        for layers in zip(*states, strict=True)
    )
