"""Names of checkpoints: a local folder or GGUF file, or a Hub name with a revision."""

import re
from pathlib import Path

from recency import embedded
from recency.errors import InputError

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
