"""State of the seed that fine-tuning is at, so that a killed job continues within it, to the same scores."""

import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn

from readingtimes.files import atomic
from recency.networks import training

SAVE_EVERY = 600.0
"""Seconds between states."""


@dataclass
class Position:
    """How far a seed is.

    Attributes
    ----------
    epoch, batch
        The epoch, from 1, and how many of its batches are done.
    update
        Updates of all epochs.
    total
        Sum of the losses of the epoch's examples.
    rows
        What was measured after each complete epoch.
    """

    epoch: int = 1
    batch: int = 0
    update: int = 0
    total: float = 0.0
    rows: list[dict] = field(default_factory=list)


class SeedState:
    """The file that has a seed's weights, optimiser, random numbers and position.

    Parameters
    ----------
    path
        Its file.
    specification
        All that the scores depend on; a state of another one is not used.
    """

    def __init__(self, path: Path, specification: dict):
        self.path = path
        self.specification = json.loads(json.dumps(specification))
        self.saved = time.monotonic()

    def restore(
        self, classifier: nn.Module, optimizer: torch.optim.Optimizer, order: np.random.Generator
    ) -> Position:
        """Set all of them to the saved state, if there is one; return its position.

        Raises InputError for a damaged file.
        """
        if not self.path.exists():
            return Position()
        device = next(classifier.parameters()).device
        state, made_for = training.read_state(self.path, device)
        if made_for != self.specification:
            print(f"{self.path} has another specification and is not used", file=sys.stderr)
            return Position()
        classifier.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        order.bit_generator.state = json.loads(state["order"])
        torch.set_rng_state(state["random"].cpu())
        if state["random_gpu"] is not None:
            torch.cuda.set_rng_state(state["random_gpu"].cpu(), device)
        position = Position(**json.loads(state["position"]))
        print(f"continued after {position.update:,} updates", file=sys.stderr)
        return position

    def save(
        self,
        classifier: nn.Module,
        optimizer: torch.optim.Optimizer,
        order: dict,
        position: Position,
    ) -> None:
        """Write the state; `order` is the generator's at the beginning of the epoch."""
        device = next(classifier.parameters()).device
        on_gpu = device.type == "cuda"
        # Into an open file: given a path, torch does not report a full disk.
        with atomic(self.path) as temporary, temporary.open("wb") as file:
            torch.save(
                {
                    "specification": json.dumps(self.specification),
                    "model": classifier.state_dict(),
                    "optimizer": optimizer.state_dict(),
                    "order": json.dumps(order),
                    "random": torch.get_rng_state(),
                    "random_gpu": torch.cuda.get_rng_state(device) if on_gpu else None,
                    "position": json.dumps(asdict(position)),
                },
                file,
            )
        self.saved = time.monotonic()

    def is_old(self) -> bool:
        """Return whether the last state is older than SAVE_EVERY."""
        return time.monotonic() - self.saved >= SAVE_EVERY
