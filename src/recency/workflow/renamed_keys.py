"""Old names of config keys, accepted for one version with a notice."""

from collections.abc import Iterator
from pathlib import Path

#: Old key, new key, and keys of which one is in the same entry, unlike next to a name of the user's choice.
RENAMED = (
    ("placed", "supplied", {"local", "url", "stand_in", "checkpoint"}),
    ("beside", "without_part_of_speech", {"groups"}),
    ("places", "replacements", {"dataset"}),  # measured_memory
    ("least", "min_words", {"dataset"}),  # rank_metrics
    ("kept", "prompt", {"dataset"}),
    ("least", "min_judges", {"judgements"}),  # turing_test
    ("least", "min_count", {"of"}),  # recipes → vectors
    ("made", "compose", {"of"}),
)


#: Folder of files that the user supplies: old name, new name.
FOLDER = ("data/placed", "data/supplied")


def rename(config: dict, root: str | Path) -> list[str]:
    """Replace old keys in place; return a notice for each, and for the old folder if it exists.

    A config that has both names keeps the value of the old one, which is the overlay's: the project's
    own files have only new names.
    """
    old, new = FOLDER
    moved = [f"files that you supply are now in {new}: mv {old} {new}"]
    return [*_renamed(config, ""), *(moved if Path(root, old).is_dir() else [])]


def _renamed(entry: object, where: str) -> Iterator[str]:
    if isinstance(entry, list):
        for part in entry:
            yield from _renamed(part, where)
    if not isinstance(entry, dict):
        return
    for old, new, siblings in RENAMED:
        if old in entry and siblings & entry.keys():
            entry[new] = entry.pop(old)
            yield f"{where} → {old}: the key is now called `{new}`; the old name will be refused in the next version"
    for key, part in entry.items():
        yield from _renamed(part, f"{where} → {key}" if where else str(key))
