"""Distributions over the events after a prefix of a word: its end, or a token that continues it.

Tokens are of three kinds: those that begin a word (SPACE), those that end a text (END), and the
others (REST). After a prefix, the word ends with probability s = Σ_SPACE p + Σ_END p, or continues
with a REST token. The entropy of this event is

    h = −s log s − Σ_REST p log p.

The entropy of a word's first token, of kind F with P = Σ_F p, is log P − (Σ_F p log p) / P.

Entropy of the next word over a list of words, and bounds of it from a beam of prefixes.

Entropy of the next word from sampled words, with its standard error.

The entropy of a word is a sum over prefixes, H = Σ_x p(x) h(x), where h(x) is the entropy of the
event after the prefix x; the empty prefix is one of them.
`stepwise` estimates this sum: prefixes of probability 2/samples or more are included exactly. Their
less probable children form one stratum per length, from which prefixes are sampled in proportion to
probability, one per 2/samples of mass; h is then summed along one sampled word. Each h is exact, so
only its variation over rare words causes sampling error. `plain` is the mean of −log p of sampled
words (Clark et al. 2025). Both estimators and their variances are unbiased.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import pairwise

import numpy as np
import torch

from recency.errors import InputError
from recency.scoring.alignment import END, REST, SPACE, as_text
from recency.scoring.next_word.word_entropy_settings import NAME, WordEntropy
from recency.scoring.output_layer import LOG2_E, OutputLayer

#: The order of the kinds in the rows of an output layer.
ORDER = (SPACE, END, REST)
#: Most logits in memory at once for a group of prefixes (128 MB).
KEPT = 2**25
#: Number of tokens that are probed for a large logit to subtract where logits are far from 0.
PROBES = 64


@dataclass
class Events:
    """Distributions after n prefixes, float64, nats.

    Attributes
    ----------
    mass : dict of int to Tensor (n,)
        Kind → the probability of its tokens.
    information : dict of int to Tensor (n,)
        Kind → Σ p log p of its tokens.
    total : Tensor (n,)
        log Σ exp of all logits, less the shift of `logits`.
    logits : Tensor (n, tokens of the stored kind)
        Shifted logits: log p = logits − total.
    """

    mass: dict[int, torch.Tensor]
    information: dict[int, torch.Tensor]
    total: torch.Tensor
    logits: torch.Tensor

    @property
    def stop(self) -> torch.Tensor:
        """The probability that the word ends (n,)."""
        return self.mass[SPACE] + self.mass[END]

    def entropy_of_next(self) -> torch.Tensor:
        """Return the entropy of the next event: the word's end, or a token that continues it."""
        return (torch.special.entr(self.stop) - self.information[REST]).clamp(min=0)

    def first_mass(self, kind: int, with_end: bool) -> torch.Tensor:
        """Return the probability of a kind of first token, `with_end` plus the text's end."""
        return self.mass[kind] + self.mass[END] if with_end else self.mass[kind]

    def entropy_of_first(self, kind: int, with_end: bool) -> torch.Tensor:
        """Return the entropy of a word's first token among those of a kind."""
        mass = self.first_mass(kind, with_end)
        information = self.information[kind]
        if with_end:
            information = information - torch.special.entr(self.mass[END])
        return (mass.log() - information / mass).clamp(min=0)

    def probabilities(self, rows: torch.Tensor | slice) -> torch.Tensor:
        """Return p of the tokens of the stored kind, (rows, tokens), float64."""
        return (self.logits[rows].double() - self.total[rows, None]).exp_()


class NextEvents:
    """Compute the distributions after prefixes with a network's output layer."""

    def __init__(self, layer: OutputLayer):
        self.layer = layer
        self.order = order = torch.argsort(layer.row)  # row → token id
        self.bounds = dict(zip(ORDER, pairwise(layer.cuts), strict=True))
        self.tokens = {kind: order[slice(*bounds)] for kind, bounds in self.bounds.items()}
        #: Token id → its number among the tokens of its kind.
        self.number = torch.empty_like(layer.row)
        for tokens in self.tokens.values():
            self.number[tokens] = torch.arange(len(tokens), device=tokens.device)

    def size(self, kind: int) -> int:
        """Return how many tokens of a kind the vocabulary has."""
        return len(self.tokens[kind])

    def parts(self, states: torch.Tensor, kind: int) -> Iterator[tuple[slice, Events]]:
        """Yield slices of the states and the events after them, small enough for float64."""
        step = max(1, KEPT // 4 // max(1, self.size(kind)))
        for start in range(0, len(states), step):
            part = slice(start, min(start + step, len(states)))
            yield part, self.after(states[part], kind)

    def after(self, states: torch.Tensor, kept: int) -> Events:
        """Return the events after states (n, width), with the logits of the kind `kept`."""
        states = states.to(self.layer.exact.dtype)
        first, last = self.bounds[kept]
        logits = states.new_empty(len(states), last - first)
        products = torch.zeros(3, len(states), dtype=torch.float64, device=states.device)
        done = 0

        def add(block: torch.Tensor, _: object) -> torch.Tensor:
            nonlocal done
            begin, done = done, done + block.shape[1]
            kind = next(n for n, name in enumerate(ORDER) if begin < self.bounds[name][1])
            if ORDER[kind] == kept:
                logits[:, begin - first : done - first] = block
            exps = (block * LOG2_E).exp2_()
            mass = exps.sum(-1).double()
            products[kind] += block.mul_(exps).sum(-1).double()
            return mass

        masses = self.layer.masses(states, add, torch.add, self._shift(states))
        sums = masses.sum(0)
        # float32 sums that under- or overflow are recomputed in float64.
        if not bool(torch.isfinite(sums).all() and (sums > 1e-25).all()) or not bool(
            torch.isfinite(products).all()
        ):
            return self._exactly(states, kept)
        total = sums.log()
        information = (products - total * masses) / sums
        return Events(
            {kind: masses[n] / sums for n, kind in enumerate(ORDER)},
            {kind: information[n] for n, kind in enumerate(ORDER)},
            total,
            logits,
        )

    def _exactly(self, states: torch.Tensor, kept: int) -> Events:
        """Compute the result of `after` in float64, from whole distributions."""
        logs = torch.cat([self.layer.log_probabilities(part) for part in states.split(64)])
        mass, information = {}, {}
        for kind, tokens in self.tokens.items():
            chosen = logs[:, tokens]
            mass[kind] = chosen.exp().sum(-1)
            information[kind] = -torch.special.entr(chosen.exp()).sum(-1)
        return Events(mass, information, logs.new_zeros(len(logs)), logs[:, self.tokens[kept]])

    def _shift(self, states: torch.Tensor) -> torch.Tensor | None:
        """Return a shift (n, 1) to subtract from logits that are far from 0."""
        if not self.layer.far:
            return None
        rows = torch.linspace(0, len(self.layer.row) - 1, PROBES, device=states.device).long()
        weight = self.layer.own[self.order[rows]].to(states.dtype)
        return self.layer.finish(states @ weight.T, rows).amax(-1, keepdim=True)


#: Prefixes that are expanded together.
NODES = 1024
#: Prefixes of a smaller probability are not expanded.
LEAST = 1e-9


class Enumeration:
    """Entropy over the words of a list.

    p(w) = Π p(token | context, earlier tokens) · s, where the first token's probability is conditional
    on its kind, and s is the probability that the word ends.
    With M = Σ_w p(w), the entropy is −Σ_w p(w)/M log p(w)/M, and the mass outside the list is 1 − M.
    """

    def __init__(self, events: NextEvents, settings: WordEntropy, tokenizer, kind: np.ndarray):
        self.events, self.settings = events, settings
        self.lists = {}
        for first, space in ((SPACE, " "), (REST, "")):
            spelled = [(w, as_text(tokenizer, space + w).ids) for w in settings.words]
            self.lists[first] = _parts(spelled, first, kind, settings.longest)
        largest = max(part.nodes for parts in self.lists.values() for part in parts)
        self.nodes = max(1, largest)

    def run(self, group) -> dict[str, np.ndarray]:
        """Return the columns of a group (next_words.Group), nats."""
        count = len(group.keys)
        self.mass, self.information = np.zeros(count), np.zeros(count)
        for part in self.lists[group.kind]:
            group.restart()
            self._add(group, part)
        share = np.maximum(self.mass, np.finfo(float).tiny)
        value = np.maximum(np.log(share) - self.information / share, 0)
        value[self.mass == 0] = np.nan
        return {NAME: value, f"{NAME}_outside": 1 - self.mass}

    def _add(self, group, part: "_Part") -> None:
        """Add the words of a part of the list."""
        count, device = len(group.keys), self.events.layer.row.device
        logs = []
        for some, after in self.events.parts(group.states, group.kind):
            mass = after.first_mass(group.kind, self.settings.end_of_text).log()
            number = self.events.number[torch.as_tensor(part.tokens[0], device=device)]
            logs.append(after.logits[:, number].double() - (after.total + mass)[:, None])
        so_far = torch.cat(logs).reshape(-1)  # (roots, prefixes), row by row
        size = len(part.tokens[0])
        parents = np.repeat(np.arange(count), size)
        for level, tokens in enumerate(part.tokens):
            ids = torch.as_tensor(np.tile(tokens, count), device=device)
            states = group.extend(torch.as_tensor(parents, device=device), ids)
            further = part.parents[level + 1] if level + 1 < len(part.tokens) else np.zeros(0, int)
            number = part.tokens[level + 1] if len(further) else further
            number = self.events.number[torch.as_tensor(number, device=device).long()]
            root = np.repeat(np.arange(count), len(tokens))
            is_word = np.flatnonzero(np.tile(part.is_word[level], count))
            # Row in this level of each prefix's parent.
            offset = np.repeat(np.arange(count) * len(tokens), len(further))
            parents = np.tile(further, count) + offset
            following = torch.as_tensor(parents, device=device)
            grown = torch.zeros(len(parents), dtype=torch.float64, device=device)
            for some, after in self.events.parts(states, REST):
                rows = is_word[(is_word >= some.start) & (is_word < some.stop)]
                log = (so_far[rows] + after.stop[rows - some.start].log()).cpu().numpy()
                p = np.exp(log)
                self.mass += np.bincount(root[rows], p, count)
                self.information += np.bincount(root[rows], p * np.where(p > 0, log, 0), count)
                inside = (following >= some.start) & (following < some.stop)
                row = following[inside] - some.start
                chosen = number.repeat(count)[inside]
                step = after.logits[row, chosen].double() - after.total[row]
                grown[inside] = so_far[following[inside]] + step
            so_far = grown


class _Part:
    """Part of a list of words as a tree of tokens: parents, tokens and word ends of each level."""

    def __init__(self, spelled: list[tuple[int, ...]]):
        levels: dict[int, dict[tuple, int]] = {}
        for tokens in spelled:
            for end in range(1, len(tokens) + 1):
                level = levels.setdefault(end, {})
                level.setdefault(tokens[:end], len(level))
        words = set(spelled)
        prefixes = [list(levels[length]) for length in sorted(levels)]
        self.tokens = [np.array([p[-1] for p in level]) for level in prefixes]
        self.is_word = [np.array([p in words for p in level]) for level in prefixes]
        self.parents = [
            np.array([levels[len(p) - 1][p[:-1]] if len(p) > 1 else 0 for p in level])
            for level in prefixes
        ]
        self.nodes = max(map(len, self.tokens))


def _parts(spelled, first: int, kind: np.ndarray, longest: int) -> list[_Part]:
    """Check the tokens of words, and cut the list into parts of at most NODES // 2 words."""
    for word, tokens in spelled:
        kinds = kind[tokens] if len(tokens) else np.zeros(0)
        starts = len(tokens) and kinds[0] == first
        # A tokenizer may also add a space before a text's first word.
        if first == REST and len(tokens) and kinds[0] == SPACE:
            starts = True
        if not starts or (kinds[1:] != REST).any():
            raise InputError(
                f"{NAME}: the word {word!r} of `words` is not a token that begins a word and "
                "tokens that continue it; leave it out"
            )
        if len(tokens) > longest:
            raise InputError(
                f"{NAME}: the word {word!r} of `words` has {len(tokens)} tokens, and `longest` is "
                f"{longest}; raise it or leave the word out"
            )
    unique = sorted({tuple(map(int, tokens)) for _, tokens in spelled})
    unique = [tokens for tokens in unique if kind[tokens[0]] == first]
    step = NODES // 2
    return [_Part(unique[start : start + step]) for start in range(0, len(unique), step)]


class Beam:
    """Bounds of the entropy from the most probable prefixes of each length.

    H = Σ_x p(x) h(x) over prefixes x. The lower bound
    sums the expanded prefixes. A prefix of n tokens that is not expanded adds at most its
    probability times (longest − n) log(R + 1), where R is the number of REST tokens.
    """

    def __init__(self, events: NextEvents, settings: WordEntropy):
        self.events, self.settings = events, settings
        self.nodes = settings.beam

    def run(self, group) -> dict[str, np.ndarray]:
        """Return the bounds of a group (next_words.Group), nats, as columns."""
        count, longest = len(group.keys), self.settings.longest
        most = np.log(self.events.size(REST) + 1)
        lower, extra, left = np.zeros((3, count))
        root, parent, token, weight, there = self._first(group, lower)
        for level in range(1, longest + 1):
            missed = np.maximum(there - np.bincount(root, weight, count), 0)
            if level < longest:
                left += missed
                extra += missed * (longest - level) * most
            if level == longest or not len(root):
                break
            device = self.events.layer.row.device
            states = group.extend(
                torch.as_tensor(parent, device=device), torch.as_tensor(token, device=device)
            )
            children, there = [], np.zeros(count)
            for part, after in self.events.parts(states, REST):
                mine, mass = root[part], weight[part]
                lower += np.bincount(mine, mass * after.entropy_of_next().cpu().numpy(), count)
                going = mass * (1 - after.stop.cpu().numpy())
                there += np.bincount(mine, going, count)
                shares = after.probabilities(slice(None))
                best = shares.topk(min(self.settings.beam, shares.shape[1]))
                values = best.values.cpu().numpy() * mass[:, None]
                row, column = np.nonzero(values >= LEAST)
                number = self.events.tokens[REST][best.indices].cpu().numpy()[row, column]
                children.append((mine[row], row + part.start, number, values[row, column]))
            columns = [np.concatenate(parts) for parts in zip(*children, strict=True)]
            root, parent, token, weight = self._best(*columns)
        upper = lower + extra
        return {
            NAME: lower,
            f"{NAME}_lower": lower,
            f"{NAME}_upper": upper,
            f"{NAME}_left": left,
        }

    def _first(self, group, lower: np.ndarray) -> tuple:
        """Return the most probable first tokens, and the mass of all first tokens."""
        kind, with_end = group.kind, self.settings.end_of_text
        children, there = [], np.zeros(len(lower))
        for part, after in self.events.parts(group.states, kind):
            mass = after.first_mass(kind, with_end)
            lower[part] += after.entropy_of_first(kind, with_end).cpu().numpy()
            there[part] = (after.mass[kind] / mass).cpu().numpy()
            shares = after.probabilities(slice(None)) / mass[:, None]
            best = shares.topk(min(self.settings.beam, shares.shape[1]))
            values = best.values.cpu().numpy()
            row, column = np.nonzero(values >= LEAST)
            number = self.events.tokens[kind][best.indices].cpu().numpy()[row, column]
            roots = row + part.start
            children.append((roots, roots, number, values[row, column]))
        columns = [np.concatenate(parts) for parts in zip(*children, strict=True)]
        return (*columns, there)

    def _best(self, root, parent, token, weight) -> tuple:
        """Keep the most probable prefixes of each root."""
        order = np.lexsort((-weight, root))
        root = root[order]
        rank = np.arange(len(root)) - np.searchsorted(root, root)
        order = order[rank < self.settings.beam]
        return root[rank < self.settings.beam], parent[order], token[order], weight[order]


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
