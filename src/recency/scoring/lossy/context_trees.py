"""Score the ends of many token sequences in trees, so that a prefix that they share is read once.

Sequences are sorted, so that those with the same beginning are neighbours, and cut into trees of
about NODES tokens. A network with attention reads a tree in one pass, in which each node attends to
its ancestors at its position in the sequence; a recurrent network carries its states from level to
level. `Trees.fill` is exact: a node's state is that of the sequence up to it, read alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import torch

from recency.scoring import forward
from recency.scoring.next_word.prefix_states import (
    Branches,
    CarriedStates,
    NoBranchesError,
    last_states,
)

#: Tokens of a tree, after which the next sequence begins another one.
NODES = 512
#: Largest relative difference between a state in a tree and that of its sequence read alone.
CLOSE, CLOSE_BF16 = 1e-3, 1e-1


@dataclass
class Tree:
    """A tree of tokens; node 0 is the begin token, and parents precede their children.

    Attributes
    ----------
    tokens, parents, depths
        Token id, number of the parent (-1 for the root) and position of each node.
    wanted
        Pairs (node, entry): the entry of the targets that is predicted after the node.
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    wanted: list[tuple[int, int]] = field(default_factory=list)

    @property
    def visible(self) -> np.ndarray:
        """The ancestors of each node and itself, (nodes, nodes)."""
        seen = np.eye(len(self.tokens), dtype=bool)
        for node, parent in enumerate(self.parents[1:], 1):
            seen[node] |= seen[parent]
        return seen

    def line(self, node: int) -> list[int]:
        """Return the tokens from the root to a node."""
        tokens = []
        while node >= 0:
            tokens.append(self.tokens[node])
            node = self.parents[node]
        return tokens[::-1]


def grow_trees(paths: Sequence[tuple[list[int], int, int]]) -> Iterator[Tree]:
    """Yield trees of the paths.

    A path is its tokens, the first position after which targets are predicted, and the entry of the
    first target; the following positions predict the following entries.
    """
    tree, children = Tree(), {}
    for ids, first, entry in sorted(paths):
        at = -1
        for position, token in enumerate(ids):
            node = children.setdefault((at, token), len(tree.tokens))
            if node == len(tree.tokens):
                tree.tokens.append(token)
                tree.parents.append(at)
                tree.depths.append(position)
            if position >= first:
                tree.wanted.append((node, entry + position - first))
            at = node
        if len(tree.tokens) >= NODES:
            yield tree
            tree, children = Tree(), {}
    if tree.tokens:
        yield tree


class Trees:
    """Read sequences of tokens with a causal network, in trees.

    Attributes
    ----------
    usable : bool
        Whether the network's states can be computed in trees.
    """

    def __init__(self, network, layer, begin: int, bf16: bool):
        self.network, self.layer, self.begin, self.bf16 = network, layer, begin, bf16
        self.usable = not forward.sees_length(network)
        self.checked = 0  # length of the longest sequence whose state was compared

    def fill(
        self,
        paths: Sequence[tuple[list[int], int, int]],
        targets: np.ndarray,
        filled: np.ndarray,
    ) -> bool:
        """Fill in log p and the log masses of SPACE and END; return false if the network has no trees.

        Parameters
        ----------
        paths : sequence
            See `grow_trees`; each begins with the begin token.
        targets : ndarray (entries,)
            Token ids.
        filled : ndarray (3, entries)
            Changed in place, nats.
        """
        try:
            for tree in grow_trees(paths) if self.usable else ():
                self._fill_tree(tree, self._states(tree), targets, filled)
        except NoBranchesError:
            self.usable = False
        return self.usable

    def _fill_tree(self, tree: Tree, states: torch.Tensor, targets, filled) -> None:
        """Score the targets of a tree, with one pass of the output layer per node."""
        nodes, entries = np.array(sorted(tree.wanted)).T
        used, first, number = np.unique(nodes, return_index=True, return_inverse=True)
        ids = torch.from_numpy(targets[entries]).to(states.device)
        ends = states[torch.from_numpy(used).to(states.device)]
        scored = torch.stack(self.layer.score(ends, ids[first]))[:, number]
        if len(used) < len(nodes):  # further targets after the same node
            logits = self.layer.logits_of(ends[number].to(self.layer.exact.dtype), ids)
            scored[0] += logits - logits[first][number]
        filled[:, entries] = scored.cpu().numpy()

    def _states(self, tree: Tree) -> torch.Tensor:
        """Return the states of a tree's nodes (nodes, width)."""
        if forward.reads_on(self.network):
            return self._carried(tree)
        device = self.network.device
        branches = Branches(self.network, self._body)
        tokens, place = (torch.tensor(n, device=device) for n in (tree.tokens, tree.depths))
        states = branches.read_tree(tokens, place, torch.from_numpy(tree.visible).to(device))
        longest = int(np.argmax(tree.depths))
        if tree.depths[longest] > 1.25 * self.checked:
            self.checked = tree.depths[longest]
            at_once = forward.tokens_at_once(self.network)
            ids = [tree.line(longest)]
            alone = last_states(self.network, ids, self.layer.body, at_once, self.bf16)[0]
            off = (states[longest].float() - alone.float()).abs().max()
            if not off <= (CLOSE_BF16 if self.bf16 else CLOSE) * alone.float().abs().max():
                raise NoBranchesError
        return states

    def _body(self, **inputs):
        lower = torch.autocast(self.network.device.type, torch.bfloat16, enabled=self.bf16)
        with lower, forward.use_layouts(self.network, 0 if self.bf16 else forward.WORTH_A_LAYOUT):
            return self.layer.body(**inputs)

    def _carried(self, tree: Tree) -> torch.Tensor:
        """Return the states of a recurrent network, level by level."""
        carried = CarriedStates(self.network, self.bf16)
        states = torch.empty(0)
        number = np.zeros(len(tree.tokens), int)  # of each node in its level
        order = np.argsort(tree.depths, kind="stable").tolist()
        for depth, level in groupby(order, key=tree.depths.__getitem__):
            nodes = list(level)
            number[nodes] = np.arange(len(nodes))
            if depth == 0:
                hidden = carried.read_on([[self.begin]])
                states = hidden.new_empty(len(tree.tokens), hidden.shape[-1])
            else:
                parents = torch.from_numpy(number[[tree.parents[node] for node in nodes]])
                tokens = torch.tensor([tree.tokens[node] for node in nodes])
                hidden = carried.extend(parents, tokens, NODES)
            states[nodes] = hidden
        return states
