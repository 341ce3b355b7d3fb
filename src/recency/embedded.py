"""Small networks in the package, for examples in real English without a download.

`small-english` has no bias; `small-english-alibi` was trained with ALiBi's mixed slopes. The model
card is README.md in the network's folder.
"""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "networks" / "embedded"
NOTE = (
    "{name} is a small network (2.5 M parameters, trained on 41 M tokens) for examples; "
    "use a larger one for research"
)


def names() -> list[str]:
    """Return the names of the embedded networks."""
    return sorted(path.parent.name for path in FOLDER.glob("*/config.json"))


def is_embedded(source: str | Path) -> bool:
    """Return whether a checkpoint is an embedded network; a folder of that name comes first."""
    return str(source) in names() and not Path(source).is_dir()


def folder(source: str | Path) -> str | Path:
    """Return the folder of an embedded network; any other source as it is."""
    return FOLDER / str(source) if is_embedded(source) else source
