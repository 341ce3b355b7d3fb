"""States of a network after prefixes of words that continue a text.

There are three implementations: prefix_attention.Branches (attention; the text is read once),
`CarriedStates` (recurrent networks; the text's state is carried on) and `WholeTexts` (any causal
network; text and prefix are read together).

Attention of many continuations to their shared texts, without copying the texts' keys.

A text is read once, and the keys and values of each layer are stored. Continuations form a tree:
each token has a position in its text and a parent, and attends to the text before that position, to
the tokens of its branch and to itself. All tokens of a level run as one batch, with an attention
function in transformers' registry: the softmax of a·s + b over these three parts, with the layer's
bias, if any.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn import functional
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from recency.attention import biased
from recency.scoring import forward
from recency.scoring.forward import Window, batches, sees_length


class WholeTexts:
    """Any causal network: each prefix is read together with its text."""

    def __init__(self, model: PreTrainedModel, body: Callable, bf16: bool = False):
        self.model, self.body, self.bf16 = model, body, bf16

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
        return last_states(self.model, self.prefixes, self.body, at_once, self.bf16)


def last_states(
    model: PreTrainedModel,
    texts: list[list[int]],
    body: Callable,
    at_once: int,
    bf16: bool = False,
) -> torch.Tensor:
    """Return the states (texts, width) at the end of texts, which are read about `at_once` tokens at a time."""
    cut = [Window(n, ids, 0, len(ids) - 1) for n, ids in enumerate(texts)]
    states: list = [None] * len(cut)
    for batch, output in forward.run(
        model, batches(cut, at_once, not sees_length(model)), bf16, body
    ):
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


#: Names in the registry, without a bias and with one.
PLAIN, BIASED = "recency_branches", "recency_branches_biased"
#: Attention scores in memory at once (64 MB).
SCORES = 2**24
#: Arguments of attention functions that are not supported here.
WITHOUT_MEANING = ("softcap", "s_aux", "cu_seq_lens_q", "chunk_size", "attention_chunk_size")


class NoBranchesError(Exception):
    """The network's attention is not supported here; each continuation is read as a whole."""


@dataclass
class _Pass:
    """The state that attention reads while a batch runs."""

    keys: dict[
        nn.Module, tuple[torch.Tensor, torch.Tensor]
    ]  # texts' keys, values: (heads, tokens, width)
    text: torch.Tensor | None = None  # text of each key (tokens,)
    place: torch.Tensor | None = None  # position of each key in its text (tokens,)
    levels: dict[nn.Module, list] = field(default_factory=dict)  # keys and values of each level
    fresh: dict[nn.Module, list] = field(
        default_factory=dict
    )  # keys and values of the running level
    valid: torch.Tensor | None = None  # (rows, tokens) without padding, while texts are read
    of_text: torch.Tensor | None = None  # text of each query (queries,)
    length: torch.Tensor | None = None  # text tokens that each query sees (queries,)
    ancestors: torch.Tensor | None = None  # (queries, levels): numbers in each level
    #: (nodes, nodes): the ancestors of each node of a tree that is read as a whole, and the node
    visible: torch.Tensor | None = None


_RUNNING: list[_Pass] = []


def branch_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    **kwargs,
) -> tuple[torch.Tensor, None]:
    """Compute attention, with the interface of transformers; the batch's state is in `_RUNNING`."""
    running = _RUNNING[-1]
    if any(kwargs.get(name) is not None for name in WITHOUT_MEANING):
        raise NoBranchesError
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    if running.visible is not None:
        return _attend_to_ancestors(module, running, query, key, value, scaling, sliding_window)
    if running.valid is not None:
        valid = running.valid
        running.keys[module] = tuple(
            states.transpose(1, 2)[valid].transpose(0, 1).contiguous() for states in (key, value)
        )
        if getattr(module, "recency_bias", None) is not None:
            given = {"sliding_window": sliding_window, **kwargs}
            return biased.biased_attention(
                module, query, key, value, attention_mask, scaling, **given
            )
        output = functional.scaled_dot_product_attention(
            *(query, key, value, attention_mask),
            is_causal=attention_mask is None and query.shape[2] > 1,
            scale=scaling,
            enable_gqa=key.shape[1] != query.shape[1],
        )
        return output.transpose(1, 2).contiguous(), None
    if module not in running.keys:
        raise NoBranchesError
    running.fresh.setdefault(module, []).append((key[0], value[0]))
    parts = [
        _attend(module, running, query[0], key[0], value[0], scaling, sliding_window, part)
        for part in _parts(running, query.shape[1])
    ]
    return torch.cat(parts)[None], None


def _attend_to_ancestors(module, running, query, key, value, scaling, window):
    """Return the attention output of a tree's nodes (1, nodes, heads, width), and no weights."""
    heads, place, hidden = query.shape[1], running.place, ~running.visible
    if key.shape[1] != heads:
        groups = heads // key.shape[1]
        key, value = (tensor.repeat_interleave(groups, 1) for tensor in (key, value))
    if isinstance(window, int):
        hidden = hidden | (place[:, None] - place >= window)
    bias = getattr(module, "recency_bias", None)
    a, b = 1.0, torch.zeros((), dtype=query.dtype, device=query.device)
    if bias is not None:
        if bias.uses_length or bias.uses_width:
            raise NoBranchesError
        head = torch.arange(heads, device=query.device)[:, None, None]
        a, b = bias(head, place[:, None], place, 0)
        b = torch.as_tensor(b, dtype=query.dtype, device=query.device)
    b = b.expand(heads, *hidden.shape).masked_fill(hidden, float("-inf"))
    if not isinstance(a, float):
        exact = torch.promote_types(query.dtype, torch.float32)
        scores = torch.matmul(query, key.transpose(2, 3)) * scaling * a + b
        scores = scores.masked_fill(hidden, float("-inf")).softmax(-1, dtype=exact)
        output = torch.matmul(scores.to(value.dtype), value)
    else:
        output = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=b[None], scale=scaling * a
        )
    return output.transpose(1, 2).contiguous(), None


def _parts(running: _Pass, heads: int) -> Iterator[slice]:
    """Cut the queries into slices of at most SCORES attention scores."""
    keys = max(1, len(running.place))
    step = max(1, SCORES // (heads * keys))
    for start in range(0, len(running.length), step):
        yield slice(start, start + step)


def _attend(module, running, query, key, value, scaling, window, part) -> torch.Tensor:
    """Return the attention output of some queries (queries, heads, width)."""
    heads, width = query.shape[0], query.shape[-1]
    query = query[:, part]
    queries, groups = query.shape[1], heads // key.shape[0]
    length, of_text = running.length[part, None], running.of_text[part, None]
    ancestors = running.ancestors[part]
    levels = ancestors.shape[1]
    context_keys, context_values = running.keys[module]
    hidden = (running.text != of_text) | (running.place >= length)
    seen = (~hidden).any(0).nonzero()[:, 0]
    first, last = (int(seen[0]), int(seen[-1]) + 1) if len(seen) else (0, 0)
    span = slice(first, last)
    by_key = query.reshape(key.shape[0], groups * queries, width)
    scores = torch.matmul(by_key, context_keys[:, span].transpose(1, 2)) * scaling
    scores = scores.view(heads, queries, last - first)
    # The branch: ancestors, then the token itself.
    cached = [
        (level_keys[:, ancestors[:, n]], level_values[:, ancestors[:, n]])
        for n, (level_keys, level_values) in enumerate(running.levels.get(module, []))
    ]
    cached.append((key[:, part], value[:, part]))
    branch_keys, branch_values = (
        torch.stack(tensors, 2).repeat_interleave(groups, 0)
        for tensors in zip(*cached, strict=True)
    )  # (heads, queries, levels + 1, width)
    branch = torch.matmul(branch_keys, query[..., None])[..., 0] * scaling
    position = length + levels  # query's position in its text
    places = length + torch.arange(levels + 1, device=query.device)
    key_place = running.place[span]
    bias = getattr(module, "recency_bias", None)
    if bias is not None:
        if bias.uses_length or bias.uses_width:
            raise NoBranchesError
        head = torch.arange(heads, device=query.device)[:, None, None]
        a, b = bias(head, position, key_place, 0)
        scores = scores * a + b
        a, b = bias(head, position, places, 0)
        branch = branch * a + b
    hidden = hidden[:, span]
    if isinstance(window, int):
        hidden = hidden | (position - key_place >= window)
        branch = branch.masked_fill(position - places >= window, float("-inf"))
    exact = torch.promote_types(query.dtype, torch.float32)
    scores = scores.to(exact).masked_fill_(hidden, float("-inf"))
    branch = branch.to(exact)
    most = branch.amax(-1, keepdim=True)
    if last > first:
        most = torch.maximum(most, scores.amax(-1, keepdim=True))
    scores, branch = scores.sub_(most).exp_(), branch.sub_(most).exp_()
    total = scores.sum(-1, keepdim=True) + branch.sum(-1, keepdim=True)
    weights = scores.to(value.dtype).view(key.shape[0], groups * queries, last - first)
    output = torch.matmul(weights, context_values[:, span]).view(heads, queries, width)
    output = output + torch.matmul(branch.to(value.dtype)[..., None, :], branch_values)[..., 0, :]
    return (output / total.to(output.dtype)).transpose(0, 1)


AttentionInterface.register(PLAIN, branch_attention)
AttentionInterface.register(BIASED, branch_attention)
AttentionMaskInterface.register(PLAIN, sdpa_mask)
AttentionMaskInterface.register(BIASED, biased._mask)


class Branches:
    """Stored texts, and a tree of their continuations.

    Parameters
    ----------
    model, body
        A network, and the part of it whose first output is the tokens' states.
    """

    def __init__(self, model: PreTrainedModel, body: Callable):
        self.model, self.body = model, body
        biases = any(hasattr(module, "recency_bias") for module in model.modules())
        self.name = BIASED if biases else PLAIN

    @contextmanager
    def _run(self, running: _Pass) -> Iterator[None]:
        before = self.model.config._attn_implementation
        self.model.config._attn_implementation = self.name
        _RUNNING.append(running)
        try:
            yield
        except (TypeError, ValueError, KeyError) as error:  # arguments that the network refuses
            raise NoBranchesError from error
        finally:
            _RUNNING.pop()
            self.model.config._attn_implementation = before

    def read(self, texts: list[list[int]]) -> list[torch.Tensor]:
        """Read texts (token ids) together; return the states (tokens, width) of each."""
        if hasattr(self.model, "read_before"):  # an encoder-decoder, which attends to two texts
            raise NoBranchesError
        longest = max(map(len, texts))
        ids = torch.zeros(len(texts), longest, dtype=torch.long)
        valid = torch.zeros(len(texts), longest, dtype=torch.bool)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = torch.tensor(text)
            valid[row, : len(text)] = True
        device = self.model.device
        self.running = _Pass({}, valid=valid.to(device))
        with self._run(self.running):
            states = self.body(input_ids=ids.to(device), use_cache=False)[0]
        if not self.running.keys:
            raise NoBranchesError
        row, column = valid.nonzero(as_tuple=True)
        self.running.text, self.running.place = row.to(device), column.to(device)
        self.running.valid = None
        return [states[row, : len(text)] for row, text in enumerate(texts)]

    def read_tree(
        self, tokens: torch.Tensor, place: torch.Tensor, visible: torch.Tensor
    ) -> torch.Tensor:
        """Read a tree of tokens (nodes,) in one pass; return their states (nodes, width).

        `place` (nodes,) is the position of each in its branch, and `visible` (nodes, nodes) is true
        for its ancestors and itself.
        """
        with self._run(_Pass({}, place=place, visible=visible)):
            return self.body(input_ids=tokens[None], position_ids=place[None], use_cache=False)[0][
                0
            ]

    @property
    def bytes(self) -> int:
        """The size of a token's keys and values in all layers, bytes."""
        pairs = self.running.keys.values()
        return sum(
            tensor[:, 0].numel() * tensor.element_size() for pair in pairs for tensor in pair
        )

    def begin(self, text: torch.Tensor, length: torch.Tensor) -> None:
        """Start a tree whose root n continues the first `length[n]` tokens of `text[n]`."""
        self.roots = (text, length)
        self.of_root: list[torch.Tensor] = []  # the root of each token, level by level
        self.parents: list[torch.Tensor] = []
        self.running.levels = {}

    def extend(self, parents: torch.Tensor, tokens: torch.Tensor, at_once: int) -> torch.Tensor:
        """Add a level: a token after each of `parents` (numbers in the last level, or of roots).

        Returns
        -------
        Tensor (tokens, width)
            Their states.
        """
        if self.parents:  # drop tokens of the last level without a continuation
            used, parents = torch.unique(parents, return_inverse=True)
            self.parents[-1] = self.parents[-1][used]
            self.of_root[-1] = self.of_root[-1][used]
            for levels in self.running.levels.values():
                levels[-1] = tuple(tensor[:, used] for tensor in levels[-1])
        root = self.of_root[-1][parents] if self.of_root else parents
        ancestors = []
        if self.parents:  # from the last level back to the first
            at = parents
            for level in range(len(self.parents) - 1, -1, -1):
                ancestors.insert(0, at)
                at = self.parents[level][at]
        levels = len(ancestors)
        lines = torch.stack(ancestors, 1) if ancestors else parents.new_zeros(len(parents), 0)
        of_text, length = self.roots[0][root], self.roots[1][root]
        running, states = self.running, []
        running.fresh = {}
        for start in range(0, len(tokens), at_once):
            part = slice(start, start + at_once)
            running.of_text, running.length = of_text[part], length[part]
            running.ancestors = lines[part]
            with self._run(running):
                output = self.body(
                    input_ids=tokens[None, part],
                    position_ids=(length[part] + levels)[None],
                    use_cache=False,
                )
            states.append(output[0][0])
        for module, parts in running.fresh.items():
            whole = tuple(torch.cat(tensor, 1) for tensor in zip(*parts, strict=True))
            running.levels.setdefault(module, []).append(whole)
        running.fresh = {}
        self.parents.append(parents)
        self.of_root.append(root)
        return torch.cat(states)
