"""Checkpoints that a training keeps on its way: each a whole model, its digest in training.csv.

training.csv is an output of the rule `train`, so that what it lists of a training is of that
training: a folder of another one, or one that was changed, is refused where it is asked for.
"""

import csv
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from recency.errors import InputError
from recency.files import atomic, sha256

WEIGHTS = "model.safetensors"


def folder(lm: Path, step: int) -> Path:
    """Return where the training whose folder is `lm` keeps its weights after a step."""
    return lm / "checkpoints" / f"step{step}"


def keep(write: Callable[[Path], None], lm: Path, step: int) -> str:
    """Have `write` fill the folder of a step, whole or not at all; return its weights' SHA-256."""
    whole = folder(lm, step)
    part = whole.with_name(f".{whole.name}.part")
    for old in (part, whole):
        shutil.rmtree(old, ignore_errors=True)
    part.mkdir(parents=True)
    write(part)
    part.rename(whole)
    return sha256(whole / WEIGHTS)


def resumed(lm: Path, kept: Mapping[int, str], state: Path) -> None:
    """Make sure that a training that goes on has what it kept, and drop what it did not keep.

    `kept` are steps and digests that its state names. Raises InputError where one is gone.
    """
    for step, known in kept.items():
        if not _is(folder(lm, step) / WEIGHTS, known):
            raise InputError(
                f"{folder(lm, step)} is not as the training kept it, which would go on after it; put it "
                f"back, or delete {state} to train from the start"
            )
    for path in (lm / "checkpoints").glob("*"):
        if path.name not in {f"step{step}" for step in kept}:
            shutil.rmtree(path)


def listed(losses: Path) -> dict[int, str]:
    """Return step → digest of the checkpoints that a training.csv names."""
    with losses.open(encoding="utf-8", newline="") as table:
        return {
            int(row["step"]): row["checkpoint"]
            for row in csv.DictReader(table)
            if row.get("checkpoint")
        }


def take(losses: str | Path, out: str | Path, *, lm: str, of: str, step: int) -> None:
    """Make the LM `lm` of what the training of `of` kept after `step`; `out` is its config.json.

    The weights are those that training.csv (`losses`) has the digest of; what else a model's folder
    holds is the trained one's. Raises InputError where the training kept no such step, or its
    folder is gone or is not as it was kept.
    """
    losses, out = Path(losses), Path(out)
    known, weights = listed(losses), folder(losses.parent, step) / WEIGHTS
    again = f"delete {losses} to train {of} anew"
    if step not in known:
        has = f"it kept {', '.join(map(str, known))}" if known else "it kept none"
        raise InputError(f"lms → {lm}: the training of {of} kept no step {step} ({has}); {again}")
    if not _is(weights, known[step]):
        what = "is not as the training kept it" if weights.exists() else "is gone"
        raise InputError(f"lms → {lm}: {weights} {what}; put it back, or {again}")
    # Copies: of files with several names, whoever dates one dates all, for Snakemake too.
    beside = [*losses.parent.glob("*.json"), *losses.parent.glob("passages-*.npy")]
    for file in [weights, *sorted(beside)]:
        with atomic(out.with_name(file.name)) as path:
            shutil.copyfile(file, path)


def _is(path: Path, known: str) -> bool:
    """Say whether a file is there and has a digest."""
    return path.is_file() and sha256(path) == known
