"""Entropy of the next word from sampled words, with its standard error.

The entropy of a word is a sum over prefixes, H = Σ_x p(x) h(x), where h(x) is the entropy of the
event after the prefix x (recency.scoring.next_word.next_events), including the empty prefix.
`stepwise` estimates this sum: prefixes of probability 2/samples or more are included exactly. Their
less probable children form one stratum per length, from which prefixes are sampled in proportion to
probability, one per 2/samples of mass; h is then summed along one sampled word. Each h is exact, so
only its variation over rare words causes sampling error. `plain` is the mean of −log p of sampled
words (Clark et al. 2025). Both estimators and their variances are unbiased.
"""

from dataclasses import dataclass, field, fields

import numpy as np
import torch

from recency.scoring.alignment import REST
from recency.scoring.next_word.next_events import KEPT, Events, NextEvents
from recency.scoring.next_word.word_entropy_settings import NAME, WordEntropy

#: Fewest samples of a stratum, for its variance.
FEWEST = 2
#: Samples per evaluated prefix in `stepwise`: exact sums need fewer (docs/surprisal.md).
STANDS_FOR = 2
#: Smaller probability masses are rounding errors.
NOTHING = 1e-9
#: Rows whose cumulative probabilities are in memory at once.
ROWS = 128


@dataclass
class _Paths:
    """Sampled words: the root, stratum, sum so far, and next token of each."""

    root: np.ndarray
    stratum: np.ndarray
    value: np.ndarray
    node: np.ndarray  # the prefix before `token`; -1 if the word has ended
    token: np.ndarray

    def chosen(self, which: np.ndarray) -> "_Paths":
        """Return some of the paths."""
        return _Paths(*(getattr(self, n.name)[which] for n in fields(self)))

    def joined(self, other: "_Paths") -> "_Paths":
        """Return these paths followed by others."""
        return _Paths(
            *(np.append(getattr(self, n.name), getattr(other, n.name)) for n in fields(self))
        )


@dataclass
class _Strata:
    """The strata: the root and the probability of each."""

    root: list[int] = field(default_factory=list)
    mass: list[float] = field(default_factory=list)


class Sampling:
    """Estimate the entropies of groups of roots (positions where a word begins)."""

    def __init__(self, events: NextEvents, settings: WordEntropy):
        self.events, self.settings = events, settings
        self.plain = settings.estimator == "plain"
        #: Probability per sampled prefix.
        self.share = (1 if self.plain else STANDS_FOR) / settings.samples
        #: Approximate number of prefixes of a root that are expanded together.
        self.nodes = FEWEST + int(1 / self.share)

    def run(self, group) -> dict[str, np.ndarray]:
        """Return the estimates of a group (next_words.Group), nats, as columns."""
        self.random = [np.random.default_rng((self.settings.seed, *key)) for key in group.keys]
        self.sum = np.zeros(len(group.keys))
        self.cut = np.zeros(len(group.keys))
        self.strata = _Strata()
        certain, paths = self._first(group)
        level = 1
        while len(certain[0]) or (paths.node >= 0).any():
            parents, tokens, certain, nodes = self._nodes(certain, paths)
            if level == self.settings.longest:
                self._cut(certain, paths)
                break
            certain, paths = self._level(group.extend(parents, tokens), certain, paths, nodes)
            level += 1
        return self._estimates(paths)

    def _first(self, group) -> tuple[tuple, _Paths]:
        """Select the exact first tokens, and sample from the others."""
        kind, with_end = group.kind, self.settings.end_of_text
        certain, paths = [], _empty_paths()
        for part, after in self.events.parts(group.states, kind):
            roots = np.arange(len(self.sum))[part]
            mass = after.first_mass(kind, with_end)
            share = after.probabilities(slice(None)) / mass[:, None]
            ended = 1 - (after.mass[kind] / mass).cpu().numpy()
            limit = torch.full_like(mass, np.inf if self.plain else self.share)
            if not self.plain:
                self.sum[roots] += after.entropy_of_first(kind, with_end).cpu().numpy()
            row, number = (share >= limit[:, None]).nonzero(as_tuple=True)
            weight = share[row, number].cpu().numpy()
            row, number = row.cpu().numpy(), number.cpu().numpy()
            certain.append((roots[row], roots[row], number, weight))
            left = 1 - ended - np.bincount(row, weight, len(roots))
            drawn = self._begin(roots, np.where(self.plain, 1.0, left))
            at = drawn.root - roots[0] if len(roots) else drawn.root
            uniform = self._uniform(drawn.root)
            ends = np.zeros(len(at), bool)
            if self.plain:
                ends = uniform >= 1 - ended[at]
                uniform = np.where(ends, 0, uniform / np.maximum(1 - ended[at], NOTHING))
            token, logs = self._draw(share, at, uniform, limit)
            if self.plain:
                drawn.value -= np.where(ends, np.log(np.where(ends, ended[at], 1.0)), logs)
            drawn.node = np.where(ends, -1, drawn.root)
            drawn.token = token
            paths = paths.joined(drawn)
        tokens = self.events.tokens[kind].cpu().numpy()
        root, parent, number, weight = (np.concatenate(column) for column in zip(*certain))
        paths.token = tokens[paths.token]
        return (root, parent, tokens[number], weight), paths

    def _nodes(self, certain, paths) -> tuple:
        """Return the distinct prefixes of a level, numbered with the exact ones first."""
        root, parent, token, weight = certain
        going = np.flatnonzero(paths.node >= 0)
        pairs = np.stack([paths.node[going], paths.token[going]], 1)
        unique, inverse = np.unique(pairs, axis=0, return_inverse=True)
        nodes = np.full(len(paths.node), -1)
        nodes[going] = len(token) + inverse.reshape(-1)
        device = self.events.layer.row.device
        parents = torch.as_tensor(np.append(parent, unique[:, 0]), device=device)
        tokens = torch.as_tensor(np.append(token, unique[:, 1]), device=device)
        return parents.long(), tokens.long(), (root, weight), nodes

    def _level(self, states: torch.Tensor, certain, paths, nodes) -> tuple[tuple, _Paths]:
        """Apply `_next` to groups of roots whose logits fit in memory."""
        most = max(1, KEPT // max(1, self.events.size(REST)))
        going = nodes >= 0
        owner = np.zeros(len(states), int)
        owner[: len(certain[0])], owner[nodes[going]] = certain[0], paths.root[going]
        part_of = (np.cumsum(np.bincount(owner, minlength=len(self.sum))) - 1) // most
        further, followed = [], _empty_paths()
        for part in np.unique(part_of[owner]):
            mine = np.flatnonzero(part_of[owner] == part)  # the exact ones first
            local = np.full(len(states) + 1, -1)
            local[mine] = np.arange(len(mine))
            its, some = part_of[certain[0]] == part, part_of[paths.root] == part
            after = self.events.after(states[torch.as_tensor(mine, device=states.device)], REST)
            ahead, here = self._next(
                after,
                tuple(column[its] for column in certain),
                paths.chosen(some),
                local[nodes[some]],
            )
            here.node = np.where(here.node < 0, -1, mine[here.node])
            further.append((ahead[0], mine[ahead[1]], *ahead[2:]))
            followed = followed.joined(here)
            paths, nodes = paths.chosen(~some), nodes[~some]
        return tuple(map(np.concatenate, zip(*further, strict=True))), followed.joined(paths)

    def _next(self, after: Events, certain, paths, nodes) -> tuple[tuple, _Paths]:
        """Add a level's entropies, and select or sample the next prefixes."""
        root, weight = certain
        entropy, stop = after.entropy_of_next().cpu().numpy(), after.stop.cpu().numpy()
        share, tokens = self.share, self.events.tokens[REST].cpu().numpy()
        count, device = len(root), after.total.device
        self.sum += np.bincount(root, weight * entropy[:count], len(self.sum))
        # Children of exact prefixes: exact if probable enough, otherwise in a stratum.
        going = weight * (1 - stop[:count])
        some = torch.as_tensor(np.flatnonzero(going >= share), device=device)
        bounds = torch.full_like(after.total, np.inf)
        bounds[:count] = torch.as_tensor(share / np.maximum(weight, NOTHING), device=device)
        chosen = after.probabilities(some)
        row, number = (chosen >= bounds[some, None]).nonzero(as_tuple=True)
        at = some[row].cpu().numpy()
        heavy = weight[at] * chosen[row, number].cpu().numpy()
        further = (root[at], at, tokens[number.cpu().numpy()], heavy)
        left = np.maximum(going - np.bincount(at, heavy, count), 0) if count else going
        masses = np.bincount(root, left, len(self.sum))
        drawn = self._begin(np.arange(len(self.sum)), masses)
        from_node = self._choose(drawn.root, root, left)
        # Sampled prefixes: each ends, or continues with one token.
        active = np.flatnonzero(nodes >= 0)
        here = nodes[active]
        if not self.plain:
            paths.value[active] += entropy[here]
        ends = self._uniform(paths.root[active]) < stop[here]
        if self.plain:
            paths.value[active[ends]] -= np.log(stop[here[ends]])
        stay = active[~ends]
        paths.node = np.full(len(nodes), -1)
        paths.node[stay] = nodes[stay]
        drawn.node = from_node
        both = np.append(paths.node[stay], from_node)
        roots = np.append(paths.root[stay], drawn.root)
        number, logs = self._draw(after, both, self._uniform(roots), bounds)
        paths.token = np.zeros(len(nodes), int)
        paths.token[stay] = tokens[number[: len(stay)]] if len(stay) else 0
        if self.plain:
            paths.value[stay] -= logs[: len(stay)]
        drawn.token = tokens[number[len(stay) :]] if len(from_node) else from_node
        return further, paths.joined(drawn)

    def _begin(self, roots: np.ndarray, masses: np.ndarray) -> _Paths:
        """Start a stratum for each root with mass left, with samples in proportion to the mass."""
        there = masses > NOTHING
        roots, masses = roots[there], masses[there]
        first = len(self.strata.root)
        self.strata.root += roots.tolist()
        self.strata.mass += masses.tolist()
        counts = np.maximum(FEWEST, np.ceil(masses / self.share - 1e-9)).astype(int)
        return _empty_paths(
            np.repeat(roots, counts), np.repeat(first + np.arange(len(roots)), counts)
        )

    def _uniform(self, roots: np.ndarray) -> np.ndarray:
        """Return a uniform random number for each entry, from its root's generator."""
        drawn = np.empty(len(roots))
        for root in np.unique(roots):
            where = roots == root
            drawn[where] = self.random[root].random(int(where.sum()))
        return drawn

    def _choose(self, roots: np.ndarray, owner: np.ndarray, left: np.ndarray) -> np.ndarray:
        """Choose one of the root's prefixes for each entry, in proportion to `left`."""
        chosen = np.zeros(len(roots), int)
        for root in np.unique(roots):
            mine, where = np.flatnonzero(owner == root), roots == root
            sums = np.cumsum(left[mine])
            uniform = self.random[root].random(int(where.sum())) * sums[-1]
            last = np.searchsorted(sums, sums[-1])
            chosen[where] = mine[np.minimum(np.searchsorted(sums, uniform, side="right"), last)]
        return chosen

    def _draw(self, of, rows, uniform, bounds) -> tuple[np.ndarray, np.ndarray]:
        """Draw a token below the row's bound for each of `rows`; return the tokens and their log p.

        `of` is a level's `Events` or a tensor of probabilities.
        """
        tokens, logs = np.zeros(len(rows), int), np.zeros(len(rows))
        unique, row_of, counts = np.unique(rows, return_inverse=True, return_counts=True)
        order = np.argsort(row_of, kind="stable")
        column_of = np.empty(len(rows), int)  # number of a draw within its row
        column_of[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        device = bounds.device
        for start in range(0, len(unique), ROWS):
            at = torch.as_tensor(unique[start : start + ROWS], device=device)
            here = np.flatnonzero((row_of >= start) & (row_of < start + ROWS))
            row, column = row_of[here] - start, column_of[here]
            shares = of.probabilities(at) if isinstance(of, Events) else of[at]
            sums = torch.where(shares >= bounds[at, None], 0.0, shares).cumsum(-1)
            sought = torch.zeros(len(at), column.max() + 1, dtype=sums.dtype, device=device)
            sought[row, column] = torch.as_tensor(uniform[here], device=device)
            last = torch.searchsorted(sums, sums[:, -1:].contiguous())
            number = torch.searchsorted(sums, sought * sums[:, -1:], right=True).minimum(last)
            logs[here] = shares.gather(1, number)[row, column].log().cpu().numpy()
            tokens[here] = number[row, column].cpu().numpy()
        return tokens, logs

    def _cut(self, certain, paths) -> None:
        """Add up the probability of words longer than `longest` tokens."""
        root, weight = certain
        counts = np.bincount(paths.stratum, minlength=len(self.strata.mass))
        going = paths.node >= 0
        share = (np.array(self.strata.mass) / np.maximum(counts, 1))[paths.stratum[going]]
        self.cut += np.bincount(root, weight, len(self.cut))
        self.cut += np.bincount(paths.root[going], share, len(self.cut))

    def _estimates(self, paths: _Paths) -> dict[str, np.ndarray]:
        """Combine the strata: Σ mass · mean, and the variance Σ mass² · variance / samples."""
        root, mass = np.array(self.strata.root, int), np.array(self.strata.mass)
        count = np.bincount(paths.stratum, minlength=len(mass))
        mean = np.bincount(paths.stratum, paths.value, len(mass)) / np.maximum(count, 1)
        squares = (paths.value - mean[paths.stratum]) ** 2
        spread = np.bincount(paths.stratum, squares, len(mass)) / np.maximum(count - 1, 1)
        value = self.sum + np.bincount(root, mass * mean, len(self.sum))
        variance = np.bincount(root, mass**2 * spread / np.maximum(count, 1), len(self.sum))
        return {NAME: value, f"{NAME}_se": np.sqrt(variance), "cut": self.cut}


def _empty_paths(root=(), stratum=()) -> _Paths:
    """Return paths without samples."""
    whole = (np.array(root, int), np.array(stratum, int))
    numbers = np.zeros(len(root), int)
    return _Paths(*whole, np.zeros(len(root)), numbers, numbers.copy())
