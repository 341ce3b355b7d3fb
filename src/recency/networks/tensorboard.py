"""Writer of a training's losses for TensorBoard, in addition to training.csv."""

from collections.abc import Callable
from pathlib import Path

from recency.errors import InputError


def writer(folder: Path, done: int) -> Callable:
    """Return a function that adds the losses after step `done` to TensorBoard's files."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError(
            "`tensorboard: true` needs the package tensorboard: pip install tensorboard, or leave it "
            "out; training.csv has the same losses"
        ) from None
    events = SummaryWriter(folder / "tensorboard", purge_step=done + 1)
    written = done

    def write(curve, tokens_per_step: int) -> None:
        nonlocal written
        for step in range(written + 1, len(curve.losses) + 1):
            events.add_scalar("loss/training", curve.losses[step - 1], step)
            if step in curve.validation:
                events.add_scalar("loss/validation", curve.validation[step], step)
        written = len(curve.losses)
        events.flush()

    return write
