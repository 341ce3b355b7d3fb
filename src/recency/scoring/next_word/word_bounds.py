"""Entropy of the next word over a list of words, and bounds of it from a beam of prefixes."""

import numpy as np
import torch

from recency.errors import InputError
from recency.scoring.alignment import REST, SPACE, as_text
from recency.scoring.next_word.next_events import NextEvents
from recency.scoring.next_word.word_entropy_settings import NAME, WordEntropy

#: Prefixes that are expanded together.
NODES = 1024
#: Prefixes of a smaller probability are not expanded.
LEAST = 1e-9


class Enumeration:
    """Entropy over the words of a list.

    p(w) = Π p(token | context, earlier tokens) · s, where the first token's probability is conditional
    on its kind, and s is the probability that the word ends (recency.scoring.next_word.next_events).
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

    H = Σ_x p(x) h(x) over prefixes x (recency.scoring.next_word.word_sampling). The lower bound
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
