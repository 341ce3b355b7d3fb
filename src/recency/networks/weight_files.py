"""The files with a checkpoint's weights, and the verification of their checksums."""

import json
from collections.abc import Mapping
from pathlib import Path

from readingtimes.files import sha256
from recency.errors import InputError, first_line
from recency.networks.hub import locate

SAFE = ("model.safetensors", "model.safetensors.index.json")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
#: Suffixes of files with weights.
_ENDINGS = (".safetensors", ".bin", ".gguf")


def verify(
    source: str | Path, expected: str | Mapping[str, str], allow_pickle: bool = False
) -> None:
    """Raise InputError for a checkpoint whose weights differ from the stated checksums.

    Parameters
    ----------
    source : str or Path
        The checkpoint, as for `recency.networks.hub.locate`; files of the Hub are downloaded.
    expected : str or Mapping
        SHA-256 of its single file of weights, or file → SHA-256 for several.
    allow_pickle : bool
        Whether the single file may be pytorch_model.bin.

    Raises
    ------
    InputError
        Names the file with both checksums, or a file that is missing or has no checksum.
    """
    name, within = locate(source)
    folder = Path(name)
    if isinstance(expected, str):
        file = within.get("gguf_file") or SAFE[0]
        if folder.is_dir() and file == SAFE[0] and not (folder / file).is_file() and allow_pickle:
            file = PICKLES[0]
        expected = {file: expected}
    elif folder.is_dir() and "gguf_file" not in within:
        weights = sorted(path.name for path in folder.iterdir() if path.suffix in _ENDINGS)
        if left := [file for file in weights if file not in expected]:
            raise InputError(
                f"checkpoint {str(source)!r}: sha256 names no checksum of {left[0]}; add it, or move the "
                "file out of the folder"
            )
    for file, stated in expected.items():
        path = folder / file if folder.is_dir() else _of_hub(source, file)
        if not path.is_file():
            raise InputError(
                f"checkpoint {str(source)!r}: there is no {file} for the sha256 {stated}; of weights in "
                "several files state one each (`sha256: {<file>: …}`)"
            )
        if (there := sha256(path)) != stated:
            raise InputError(
                f"checkpoint {str(source)!r}: {file} has the sha256 {there}, and {stated} is stated: another "
                "version, or a damaged file; download it again, or correct `sha256`"
            )


def local(source: str | Path, file: str) -> Path | None:
    """Return the path of a checkpoint's file on this machine, None if it is not there."""
    from transformers.utils import cached_file

    name, within = locate(source)
    if Path(name).is_dir():
        path = Path(name) / file
        return path if path.is_file() else None
    within.pop("gguf_file", None)
    try:
        return Path(cached_file(name, file, **within, local_files_only=True))
    except OSError:
        return None


def safetensors(source: str | Path) -> list[Path]:
    """Return a checkpoint's safetensors files on this machine, none for a pickle or GGUF.

    Raises InputError for an index that cannot be read, or a folder with its weights twice.
    """
    single, index = (local(source, name) for name in SAFE)
    if index is None:
        return [single] if single else []
    try:
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
        paths = [local(source, name) for name in names]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"checkpoint {str(source)!r}: {index.name} cannot be read: {first_line(error)}; "
            "download it again"
        ) from error
    parts = list({path.resolve(): path for path in paths if path is not None}.values())
    if single and parts:
        raise InputError(
            f"checkpoint {str(source)!r} has its weights twice, in {single.name} and in the files of "
            f"{index.name}, such as {parts[0].name}; keep the one that belongs to its config"
        )
    return [single] if single else parts


def _of_hub(source: str | Path, file: str) -> Path:
    """Return the local copy of a Hub file; raise InputError if it cannot be downloaded."""
    from transformers.utils import cached_file

    name, within = locate(source)
    within.pop("gguf_file", None)
    try:
        return Path(cached_file(name, file, **within))
    except OSError as error:
        raise InputError(
            f"checkpoint {str(source)!r}: {file}, whose sha256 is stated, could not be downloaded: "
            f"{first_line(error)}"
        ) from error
