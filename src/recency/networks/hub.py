"""Names of checkpoints: a local folder or GGUF file, or a Hub name with a revision.

The workflow fetches those of the Hub (recency.networks.hub_download), so that its jobs open local files only.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

from recency import embedded, lineage
from recency.errors import InputError

SUFFIX = lineage.HUB
"""Ending of the list of a fetched checkpoint's files, next to their folder."""
FOLDER = "RECENCY_HUB"
"""Environment variable of jobs: the folder of the fetched checkpoints."""
MAIN = "main"
#: owner/name or name; optionally a folder within; optionally a revision (branch, tag or commit).
_NAME = re.compile(r"(\w[\w.-]*(?:/\w[\w.-]*)?)((?:/[\w.-]+)*)(?:@([\w./-]+))?")


def locate(source: str | Path) -> tuple[str, dict[str, str]]:
    """Return the name under which transformers finds a checkpoint, and its options.

    An existing folder is returned as it is, the folder of an embedded network for its name. A Hub
    name may be followed by a folder within it, or a GGUF file, and by @ with a revision. The
    options are `revision`, `subfolder` and `gguf_file`. Raises InputError for anything else.

    >>> from recency.networks.hub import locate
    >>> locate("EleutherAI/pythia-70m@step1000")
    ('EleutherAI/pythia-70m', {'revision': 'step1000'})
    >>> locate("someone/models/small")
    ('someone/models', {'subfolder': 'small'})
    >>> locate("someone/models/small.Q8_0.gguf")
    ('someone/models', {'gguf_file': 'small.Q8_0.gguf'})
    """
    name = str(embedded.folder(source))
    if Path(name).is_dir():
        return name, {}
    if Path(name).is_file() and is_gguf(name):
        return str(Path(name).parent), {"gguf_file": Path(name).name}
    if Path(name).is_file():
        raise InputError(
            f"checkpoint {name!r} is a file; name the folder of the checkpoint that it belongs to or "
            "was made from (config.json, model.safetensors and its tokenizer)"
        )
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(
            f"checkpoint {name!r} is no folder that is there, and no name on the Hub "
            "(owner/name, owner/name@revision, owner/name/folder or owner/name/file.gguf)"
        )
    name, folder, revision = match.groups()
    folder, file = folder.strip("/"), None
    if is_gguf(folder):
        folder, _, file = folder.rpartition("/")
    options = {"revision": revision, "subfolder": folder, "gguf_file": file}
    return name, {key: value for key, value in options.items() if value}


def is_gguf(path: str | Path) -> bool:
    """Return whether a file is in GGUF, llama.cpp's format."""
    return str(path).endswith(".gguf")


def is_of_hub(checkpoint: str) -> bool:
    """Return whether a checkpoint is one of the Hub: no folder, file or embedded network.

    A path below a folder that is here names a file that the user has yet to supply.
    """
    is_local = os.path.exists(checkpoint) or os.path.isdir(checkpoint.partition("/")[0] or "/")
    return not is_local and not embedded.is_embedded(checkpoint)


def key(checkpoint: str) -> str:
    """Return the folder of a fetched checkpoint, below that of all: owner/name@revision/folder.

    >>> from recency.networks.hub import key
    >>> key("EleutherAI/pythia-70m@step1000"), key("gpt2"), key("someone/models/small")
    ('EleutherAI/pythia-70m@step1000', 'gpt2@main', 'someone/models@main/small')
    """
    name, within = locate(checkpoint)
    parts = [f"{name}@{within.get('revision', MAIN).replace('/', '--')}"]
    return "/".join([*parts, *filter(None, map(within.get, ("subfolder", "gguf_file")))])


def files(manifest: str | Path) -> dict[str, Any]:
    """Return the list of a fetched checkpoint: checkpoint, commit, and `files` by name."""
    return json.loads(Path(manifest).read_text(encoding="utf-8"))


def fetched(manifest: str | Path) -> str:
    """Return the folder of a fetched checkpoint, or its GGUF file.

    Raises
    ------
    InputError
        If a file of the list is missing or has another size: one line with the command that
        fetches it again.
    """
    folder = Path(str(manifest).removesuffix(SUFFIX))
    listed = files(manifest)["files"] if os.path.exists(manifest) else {}  # not yet, in a plan
    for name, about in listed.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != about["bytes"]:
            wrong = "another size than listed in" if path.is_file() else "missing, though listed in"
            raise InputError(
                f"{path}: {wrong} {manifest}; to fetch it again: rm '{manifest}', and repeat the command"
            )
    return str(folder / folder.name) if is_gguf(folder) else str(folder)
