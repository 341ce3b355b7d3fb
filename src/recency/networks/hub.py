"""How a checkpoint is named: a local folder or GGUF file, or one of the Hub with its revision."""

import re
from pathlib import Path

from recency.errors import InputError

#: owner/name or name; maybe a folder within; maybe a revision: a branch, a tag or a commit.
_NAME = re.compile(r"(\w[\w.-]*(?:/\w[\w.-]*)?)((?:/[\w.-]+)*)(?:@([\w./-]+))?")


def place(source: str | Path) -> tuple[str, dict[str, str]]:
    """Return where transformers finds a checkpoint, and its options there.

    A folder that is there is itself. A name on the Hub may be followed by a folder within it, or a
    GGUF file, and by @ with a revision. The options are `revision`, `subfolder` and `gguf_file`.
    Raises InputError for what is none of these.

    >>> from recency.networks.hub import place
    >>> place("EleutherAI/pythia-70m@step1000")
    ('EleutherAI/pythia-70m', {'revision': 'step1000'})
    >>> place("someone/models/small")
    ('someone/models', {'subfolder': 'small'})
    >>> place("someone/models/small.Q8_0.gguf")
    ('someone/models', {'gguf_file': 'small.Q8_0.gguf'})
    """
    name = str(source)
    if Path(name).is_dir():
        return name, {}
    if Path(name).is_file() and is_gguf(name):
        return str(Path(name).parent), {"gguf_file": Path(name).name}
    if Path(name).is_file():
        raise InputError(
            f"checkpoint {name!r} is a file; name the folder of the checkpoint that it belongs to or "
            "was made from (config.json, model.safetensors and its tokenizer)"
        )
    found = _NAME.fullmatch(name)
    if found is None:
        raise InputError(
            f"checkpoint {name!r} is no folder that is there, and no name on the Hub "
            "(owner/name, owner/name@revision, owner/name/folder or owner/name/file.gguf)"
        )
    name, folder, revision = found.groups()
    folder, file = folder.strip("/"), None
    if is_gguf(folder):
        folder, _, file = folder.rpartition("/")
    options = {"revision": revision, "subfolder": folder, "gguf_file": file}
    return name, {key: value for key, value in options.items() if value}


def is_gguf(path: str | Path) -> bool:
    """Say whether a file is llama.cpp's."""
    return str(path).endswith(".gguf")
