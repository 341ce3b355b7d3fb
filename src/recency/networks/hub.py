"""How a checkpoint is named: a local folder, or one of the Hub, with its revision and folder there."""

import re
from pathlib import Path

from recency.errors import InputError

#: owner/name or name; maybe a folder within; maybe a revision: a branch, a tag or a commit.
_NAME = re.compile(r"(\w[\w.-]*(?:/\w[\w.-]*)?)((?:/[\w.-]+)*)(?:@([\w./-]+))?")


def place(source: str | Path) -> tuple[str, dict[str, str]]:
    """Return where transformers finds a checkpoint, and the `revision` and `subfolder` there.

    A folder that is there is itself. A name on the Hub may be followed by a folder within it, and
    by @ with a revision. Raises InputError for what is neither a folder nor such a name.

    >>> from recency.networks.hub import place
    >>> place("EleutherAI/pythia-70m@step1000")
    ('EleutherAI/pythia-70m', {'revision': 'step1000'})
    >>> place("someone/models/small")
    ('someone/models', {'subfolder': 'small'})
    """
    name = str(source)
    if Path(name).is_dir():
        return name, {}
    if Path(name).is_file():
        kind = (
            "GGUF, which is quantised, or made for another program" if is_gguf(name) else "a file"
        )
        raise InputError(
            f"checkpoint {name!r} is {kind}; name the folder of the checkpoint that it belongs to or "
            "was made from (config.json, model.safetensors and its tokenizer)"
        )
    found = _NAME.fullmatch(name)
    if found is None:
        raise InputError(
            f"checkpoint {name!r} is no folder that is there, and no name on the Hub "
            "(owner/name, owner/name@revision or owner/name/folder)"
        )
    name, folder, revision = found.groups()
    options = {"revision": revision, "subfolder": folder.strip("/")}
    return name, {key: value for key, value in options.items() if value}


def is_gguf(path: str | Path) -> bool:
    """Say whether a file is llama.cpp's."""
    return str(path).endswith(".gguf")
