"""Where a job's network stands: trained by the workflow, or a checkpoint from elsewhere."""

from collections.abc import Sequence
from pathlib import Path


def opened_from(
    trained: Sequence[str], checkpoint: str | None, allow_pickle: bool = False
) -> dict[str, str | Path | bool | None]:
    """Return the `model` and `tokenizer` that a job opens, and whether a pickle will do.

    `trained` are the files of a network that the workflow trained, whose folder has its tokenizer;
    where there are none, `checkpoint` is a folder or a Hub name.
    """
    if not trained:
        return {"model": checkpoint, "tokenizer": None, "allow_pickle": allow_pickle}
    folder = Path(trained[0]).parent
    return {"model": folder, "tokenizer": folder / "tokenizer.json", "allow_pickle": False}
