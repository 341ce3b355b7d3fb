"""Training of the structural probe: squared distances under B that approximate tree distances.

Hewitt & Manning (2019), equation 1 and section 3.2; details that the paper omits (the optimiser
restarts at each lower rate, the minimum decrease that counts) follow their code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from recency.errors import InputError
from recency.evaluations.probe.trees import Trees, by_length

DECAY = 0.1  # factor of the learning rate after an epoch without a lower loss on dev
LEAST_FALL = 1e-4  # minimum decrease of the loss on dev
START = 0.05  # B is initialised uniformly between minus and plus this value


@dataclass
class Batch:
    """A padded batch of sentences."""

    states: torch.Tensor  # float32 (words, width)
    place: torch.Tensor  # (s, n), index of each word in `states`; padding has the first word's
    real: torch.Tensor  # bool (s, n): False for padding
    gold: torch.Tensor  # float32 (s, n, n); arbitrary for padding


@dataclass
class Sentences:
    """A layer's states of one split, and its trees; all lengths and distances are in words."""

    states: torch.Tensor  # float32 (words, width)
    gold: torch.Tensor  # int16 (Σ length²,), sentence after sentence
    begin: np.ndarray  # (sentences + 1,), index of the first word
    square: np.ndarray  # (sentences,), index of a sentence's first distance

    @classmethod
    def of(cls, states: np.ndarray, trees: Trees, device: str | torch.device = "cpu") -> Sentences:
        """Put states (words, width) and the distances of `trees` on a device."""
        gold = np.concatenate([matrix.ravel() for matrix in trees.distances])
        square = np.append(0, np.cumsum(trees.lengths.astype(np.int64) ** 2))[:-1]
        states = torch.from_numpy(np.ascontiguousarray(states, np.float32)).to(device)
        return cls(states, torch.from_numpy(gold).to(device), trees.begin, square)

    def batch(self, chosen: np.ndarray) -> Batch:
        """Return sentences `chosen` (s,) as a batch, padded to the longest with n words."""
        lengths = self.begin[chosen + 1] - self.begin[chosen]
        places = np.arange(int(lengths.max()))
        real = places < lengths[:, None]
        words = (self.begin[chosen][:, None] + places)[real]
        index = np.where(real, np.cumsum(real).reshape(real.shape) - 1, 0)
        inside = places[:, None] * lengths[:, None, None] + places
        pairs = np.where(
            real[:, :, None] & real[:, None], self.square[chosen][:, None, None] + inside, 0
        )
        words, index, pairs, real = (
            torch.from_numpy(array).to(self.states.device) for array in (words, index, pairs, real)
        )
        return Batch(self.states[words], index, real, self.gold[pairs].float())


def scaled(states: np.ndarray, begin: np.ndarray) -> tuple[np.ndarray, float]:
    """Return a layer's centre (width,) and the scale by which its states are divided.

    Distances do not depend on the centre, and B could absorb the scale; removing both lets one
    learning rate suit all layers. After scaling, the median neighbours of a sentence differ by 1 in
    each dimension, root mean square; the median is robust to single words that are far from the
    rest.
    """
    some = states[:: max(1, len(states) // 10_000)]
    first = np.setdiff1d(np.arange(1, len(states)), begin)
    first = first[:: max(1, len(first) // 10_000)]
    apart = ((states[first] - states[first - 1]).astype(np.float64) ** 2).mean(1)
    number = float(np.sqrt(np.median(apart))) if len(apart) else 1.0
    return np.median(some, axis=0), number or 1.0


def distances(batch: Batch, probe: torch.Tensor) -> torch.Tensor:
    """Return ‖B(h_i - h_j)‖² (s, n, n) for all pairs of words of a sentence under B (rank, width)."""
    turned = (batch.states @ probe.T)[batch.place]
    length = (turned * turned).sum(-1)
    product = torch.bmm(turned, turned.mT)
    return (length[:, :, None] + length[:, None] - 2 * product).clamp(min=0)


def losses(batch: Batch, probe: torch.Tensor) -> torch.Tensor:
    """Return each sentence's Σ |d_tree - d| over all pairs, divided by its squared length (s,)."""
    pairs = batch.real[:, :, None] & batch.real[:, None]
    off = torch.where(pairs, (batch.gold - distances(batch, probe)).abs(), 0.0)
    return off.sum((1, 2)) / batch.real.sum(1).square()


@torch.no_grad()
def mean_loss(probe: torch.Tensor, data: Sentences, at_once: int = 64) -> float:
    """Return the mean of the sentences' losses."""
    lengths = np.diff(data.begin)
    total = torch.zeros((), dtype=torch.float64, device=probe.device)
    for chosen in by_length(lengths, at_once):
        total += losses(data.batch(chosen), probe).sum()
    return float(total) / len(lengths)


def train(
    data: Sentences,
    dev: Sentences,
    rank: int,
    epochs: int,
    batch: int,
    learning_rate: float,
    patience: int,
    seed: int,
    report: Callable[[int, float, float], None] = lambda epoch, rate, loss: None,
) -> tuple[torch.Tensor, float, int]:
    """Return B (rank, width) with the lowest loss on dev, that loss, and the number of epochs.

    Adam starts at `learning_rate`, which falls tenfold after each epoch without a lower loss on
    dev; training ends after `patience` such epochs in a row or after `epochs`. `report` receives
    each epoch's number, rate and loss on dev.
    """
    random = np.random.default_rng(seed)
    width = data.states.shape[1]
    start = random.uniform(-START, START, (rank, width)).astype(np.float32)
    probe = torch.from_numpy(start).to(data.states.device).requires_grad_()
    optimizer = torch.optim.Adam([probe], lr=learning_rate)
    usable = np.flatnonzero(np.diff(data.begin) > 1)  # one word has no distances
    best, least, waited, epoch = probe.detach().clone(), mean_loss(probe, dev), 0, 0
    for epoch in range(1, epochs + 1):
        order = random.permutation(usable)
        for first in range(0, len(order), batch):
            optimizer.zero_grad(set_to_none=True)
            losses(data.batch(order[first : first + batch]), probe).mean().backward()
            optimizer.step()
        loss = mean_loss(probe, dev)
        report(epoch, learning_rate, loss)
        if not np.isfinite(loss):
            raise InputError(
                f"the probe's loss on dev is {loss} in epoch {epoch}; lower `probe: learning_rate`"
            )
        if loss < least - LEAST_FALL:
            best, least, waited = probe.detach().clone(), loss, 0
            continue
        waited += 1
        if waited == patience:
            break
        learning_rate *= DECAY
        optimizer = torch.optim.Adam([probe], lr=learning_rate)
    return best, least, epoch


def predictor(probe: torch.Tensor, data: Sentences) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from sentence indices (s,) to padded distances, float64 (s, n, n)."""

    @torch.no_grad()
    def predict(chosen: np.ndarray) -> np.ndarray:
        return distances(data.batch(chosen), probe).double().cpu().numpy()

    return predict
