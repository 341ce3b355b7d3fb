"""Checkpoints kept during a training: each a whole model, with its digest in training.csv.

training.csv is an output of the rule `train`, so its list belongs to that training: a folder of
another training, or one that was changed, is refused when it is used.
"""

import csv
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from readingtimes.files import atomic, sha256
from recency.errors import InputError

WEIGHTS = "model.safetensors"


def folder(lm: Path, step: int) -> Path:
    """Return the folder of a training's checkpoint after a step; `lm` is the training's folder."""
    return lm / "checkpoints" / f"step{step}"


def keep(write: Callable[[Path], None], lm: Path, step: int) -> str:
    """Have `write` fill the folder of a step atomically; return the SHA-256 of its weights."""
    whole = folder(lm, step)
    part = whole.with_name(f".{whole.name}.part")
    for old in (part, whole):
        shutil.rmtree(old, ignore_errors=True)
    part.mkdir(parents=True)
    write(part)
    part.rename(whole)
    return sha256(whole / WEIGHTS)


def check_kept(lm: Path, kept: Mapping[int, str], state: Path) -> None:
    """Check that a resumed training has the checkpoints of its state, and delete any others.

    `kept` maps steps to digests, from the state. Raises InputError if one is missing or changed.
    """
    for step, digest in kept.items():
        if not _has_digest(folder(lm, step) / WEIGHTS, digest):
            raise InputError(
                f"{folder(lm, step)} is not as the training kept it, which would go on after it; put it "
                f"back, or delete {state} to train from the start"
            )
    for path in (lm / "checkpoints").glob("*"):
        if path.name not in {f"step{step}" for step in kept}:
            shutil.rmtree(path)


def listed(losses: Path) -> dict[int, str]:
    """Return step → digest of the checkpoints listed in a training.csv."""
    with losses.open(encoding="utf-8", newline="") as table:
        return {
            int(row["step"]): row["checkpoint"]
            for row in csv.DictReader(table)
            if row.get("checkpoint")
        }


def copy_checkpoint(losses: str | Path, out: str | Path, *, lm: str, of: str, step: int) -> None:
    """Copy the checkpoint of the LM `of` after `step` as LM `lm`; `out` is its config.json.

    The weights must have the digest in training.csv (`losses`); the other files are those of the
    trained model. Raises InputError if the training kept no such step, or its folder is missing or
    changed.
    """
    losses, out = Path(losses), Path(out)
    digests, weights = listed(losses), folder(losses.parent, step) / WEIGHTS
    again = f"delete {losses} to train {of} again"
    if step not in digests:
        has = f"it kept {', '.join(map(str, digests))}" if digests else "it kept none"
        raise InputError(f"lms → {lm}: the training of {of} kept no step {step} ({has}); {again}")
    if not _has_digest(weights, digests[step]):
        what = "is not as the training kept it" if weights.exists() else "is gone"
        raise InputError(f"lms → {lm}: {weights} {what}; put it back, or {again}")
    # Copies, not links: a link's modification time, which Snakemake compares, is shared.
    others = [*losses.parent.glob("*.json"), *losses.parent.glob("passages-*.npy")]
    for file in [weights, *sorted(others)]:
        with atomic(out.with_name(file.name)) as path:
            shutil.copyfile(file, path)


def _has_digest(path: Path, digest: str) -> bool:
    """Return whether a file exists and has this digest."""
    return path.is_file() and sha256(path) == digest
