"""Rule attention_heads: attention from head words to their dependents (Clark et al. 2025, 7.1).

The score of a dependency is the attention after softmax, averaged over the tokens of the head word
(queries) and of the dependent (keys). Attention decreases with distance anyway, so each dependency
has a control: the same shape (relative positions of queries and keys) at random positions in the
same text. Attention beyond the control is not due to recency. Under the null hypothesis a
dependency's position is exchangeable with all others, so the mean over dependencies is compared
with its distribution over many random positions.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from crosslmm.stats.multiple_tests import holm
from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.scoring.lm_spec import LMSpec

PLACEMENTS = 999  # random positions for each dependency
RESAMPLES = 1000  # of the bootstrap over sentences


@dataclass
class Shapes:
    """Dependencies of one window as pairs of tokens, indexed from the start of the window."""

    rows: np.ndarray  # the dependencies' numbers
    owner: np.ndarray  # for each pair of tokens, the index of its dependency in `rows`
    query: np.ndarray
    key: np.ndarray
    share: np.ndarray  # weight of a pair in its dependency's mean
    shifts: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), int))  # (rows, draws)


def shapes(
    rows: np.ndarray, heads: list[np.ndarray], dependents: list[np.ndarray], begin: int
) -> Shapes:
    """Return dependencies as pairs of the inputs that are their words' tokens."""
    parts = [
        (np.full(q.size * k.size, at), np.repeat(q, k.size), np.tile(k, q.size))
        for at, (q, k) in enumerate(zip(heads, dependents))
    ]
    owner, query, key = (
        np.concatenate([np.zeros(0, int), *(part[i] for part in parts)]) for i in range(3)
    )
    count = np.bincount(owner, minlength=len(rows))
    return Shapes(rows, owner, query - begin, key - begin, 1 / count[owner])


def draw(
    moved: Shapes, first: int, fresh: int, length: int, draws: int, random: np.random.Generator
) -> None:
    """Draw a random position in the window for each shape, among those possible for a dependency.

    The text has the inputs `first` to `length` − 1 of the window. Dependencies of a window end at
    `fresh` or later, since earlier ones belong to the previous window, and so do the moved:
    queries at a window's beginning distribute their attention over fewer tokens.
    """
    low = np.full(len(moved.rows), length)
    high = np.zeros(len(moved.rows), int)
    np.minimum.at(low, moved.owner, np.minimum(moved.key, moved.query))
    np.maximum.at(high, moved.owner, np.maximum(moved.key, moved.query))
    least = np.maximum(first - low, fresh - high)
    moved.shifts = random.integers(
        least[:, None], (length - high)[:, None], (len(moved.rows), draws)
    )


def gather(attention, shapes: Shapes) -> tuple[np.ndarray, np.ndarray]:
    """Return attention at the observed (heads, rows) and random positions (heads, rows, draws).

    `attention` is a tensor (heads, queries, keys).
    """
    import torch

    heads, length, _ = attention.shape
    flat = attention.reshape(heads, -1)
    index = torch.from_numpy(shapes.query * length + shapes.key).to(flat.device)
    share = torch.from_numpy(shapes.share).to(flat)
    owner = torch.from_numpy(shapes.owner).to(flat.device)
    here = torch.zeros(heads, len(shapes.rows), dtype=flat.dtype, device=flat.device)
    here.index_add_(1, owner, flat[:, index] * share)
    # One step down the diagonal is one row and one column further.
    moved = index[:, None] + torch.from_numpy(shapes.shifts).to(flat.device)[owner] * (length + 1)
    there = torch.zeros(heads, *shapes.shifts.shape, dtype=flat.dtype, device=flat.device)
    for head in range(heads):
        there[head].index_add_(0, owner, flat[head][moved] * share[:, None])
    return here.double().cpu().numpy(), there.double().cpu().numpy()


def main(
    words: str | Path,
    dependencies: str | Path,
    lm: LMSpec,
    out: str | Path,
    summary: str | Path,
    seed: int,
) -> None:
    """Write each dependency's attention by layer and head (Parquet), and the means (CSV).

    `out` has type, item, head, dependent (word_ids), distance (tokens), layer, head_number,
    attention and control (the mean over its random positions). `summary`: see `means`. A dependency
    whose words are in no common window, or include a word without tokens, is excluded and counted.
    """
    from recency.scoring import inner_states as network
    from recency.scoring.tokenizer import begin_token

    table, pairs = pd.read_parquet(words), pd.read_parquet(dependencies)
    opened = lm.open()
    if opened.masked:
        raise InputError(f"{lm.name} is a masked LM; attention heads are compared for causal LMs")
    network.enable_weights(opened.network)
    start = begin_token(opened, lm.bos)
    shift = int(start is not None)
    heads, kinds = network.list_heads(opened.network), list(dict.fromkeys(pairs.type))
    layers = heads[-1].layer
    width = len(heads) // layers
    weights = np.full((2, layers, width, len(pairs)), np.nan)  # attention, control
    drawn = np.zeros((layers, width, len(kinds), PLACEMENTS))  # sums over dependencies
    kind_of = pairs.type.map({kind: number for number, kind in enumerate(kinds)}).to_numpy()
    distance = np.full(len(pairs), np.nan)
    chosen = table[table["item"].isin(pairs["item"])]
    items, texts = chosen.groupby("item", sort=False), opened.texts(chosen)
    shown, cuts = progress(len(items), f"attention heads of {lm.name}", "texts"), 0
    for number, (item, rows) in enumerate(items):
        text = texts[item]
        places = list(network.word_tokens(text, shift))
        mine = np.flatnonzero((pairs["item"] == item).to_numpy())
        first = int(rows.word_id.iloc[0])
        head = [places[word_id - first] for word_id in pairs["head"].to_numpy()[mine]]
        dependent = [places[word_id - first] for word_id in pairs.dependent.to_numpy()[mine]]
        windows = network.cut_windows(text, opened.network, start, lm.stride)
        cuts += len(windows)
        for index, window in enumerate(windows):
            chosen = [
                at
                for at, (q, k) in enumerate(zip(head, dependent))
                if q.size and k.size and k[0] >= window.begin
                and window.begin + window.fresh <= q[-1] < window.begin + len(window.ids)
            ]  # fmt: skip
            if not chosen:
                continue
            q, k = [head[at] for at in chosen], [dependent[at] for at in chosen]
            pair_shapes = shapes(mine[chosen], q, k, window.begin)
            distance[pair_shapes.rows] = [b.mean() - a.mean() for a, b in zip(k, q)]
            random = np.random.default_rng([seed, number, index])
            offset = shift if window.begin == 0 else 0  # the begin token belongs to no word
            draw(pair_shapes, offset, window.fresh, len(window.ids), PLACEMENTS, random)

            def see(layer: int, attention, pair_shapes=pair_shapes) -> None:
                here, there = gather(attention, pair_shapes)
                weights[0, layer][:, pair_shapes.rows] = here
                weights[1, layer][:, pair_shapes.rows] = there.mean(axis=2)
                for kind in range(len(kinds)):
                    drawn[layer, :, kind] += there[:, kind_of[pair_shapes.rows] == kind].sum(axis=1)

            network.visit_layers(opened.network, window.ids, see)
        shown.update(number + 1)
    pairs = pairs.assign(distance=distance)
    _write(pairs, weights, out)
    rows = means(pairs, weights, drawn, kinds, seed)
    rows = rows.assign(slope=[heads[i].slope for i in rows["head"] - 1 + (rows.layer - 1) * width])
    rows = rows.assign(texts=len(items), windows=cuts)
    with atomic(summary) as path:
        rows.to_csv(path, index=False, lineterminator="\n")


def means(
    pairs: pd.DataFrame, attended: np.ndarray, drawn: np.ndarray, kinds: list[str], seed: int
) -> pd.DataFrame:
    """Return means by type, layer and head over the dependencies with a value.

    Columns: type, layer, head, dependencies, left_out, distance (mean, tokens), attention, control,
    difference, low and high (95 % interval by bootstrap over sentences), p (two-sided, by random
    positions), p_holm (over types, layers and heads).
    """
    rows = []
    seen = ~np.isnan(attended[0, 0, 0])
    for number, kind in enumerate(kinds):
        ours = (pairs.type == kind).to_numpy() & seen
        lost = int((pairs.type == kind).sum() - ours.sum())
        if not ours.any():
            continue
        sentences = pd.factorize(pairs.sentence[ours])[0]
        resampled = np.random.default_rng([seed, number]).multinomial(
            sentences.max() + 1, np.full(sentences.max() + 1, 1 / (sentences.max() + 1)), RESAMPLES
        )[:, sentences]
        for layer, head in np.ndindex(attended.shape[1:3]):
            attention, control = attended[:, layer, head, ours]
            boot = resampled @ (attention - control) / resampled.sum(axis=1)
            draws = drawn[layer, head, number] / ours.sum()
            # The observed position is one of the possible positions, so it counts among the draws.
            centre = (draws.sum() + attention.mean()) / (len(draws) + 1)
            beyond = np.abs(draws - centre) >= abs(attention.mean() - centre) * (1 - 1e-12)
            rows.append(
                {
                    "type": kind,
                    "layer": layer + 1,
                    "head": head + 1,
                    "dependencies": int(ours.sum()),
                    "left_out": lost,
                    "distance": pairs.distance[ours].mean(),
                    "attention": attention.mean(),
                    "control": control.mean(),
                    "difference": (attention - control).mean(),
                    "low": np.quantile(boot, 0.025),
                    "high": np.quantile(boot, 0.975),
                    "p": (1 + beyond.sum()) / (len(draws) + 1),
                }
            )
    if not rows:
        raise InputError("no dependency has both of its words in one window")
    return pd.DataFrame(rows).assign(p_holm=lambda table: holm(list(table.p)))


def _write(pairs: pd.DataFrame, mass: np.ndarray, out: str | Path) -> None:
    """Write the table of all dependencies, layers and heads."""
    layers, width, count = mass.shape[1:]
    layer, head, row = (axis.ravel() for axis in np.indices((layers, width, count)))
    kept = pairs.iloc[row].reset_index(drop=True)
    table = kept.assign(
        layer=layer + 1, head_number=head + 1, attention=mass[0].ravel(), control=mass[1].ravel()
    )
    with atomic(out) as path:
        table.to_parquet(path, compression="zstd", index=False)
