"""Find the words of a dataset of the project, for `recency describe --words DATASET`."""

import os
from pathlib import Path

import pandas as pd

from readingtimes import parsers
from readingtimes.contracts import check_words
from readingtimes.downloads import addresses
from recency import config as configuration
from recency.workflow.config import loading


def find(root: Path, name: str) -> pd.DataFrame | None:
    """Return a dataset's words (contract 1), None if its files are missing.

    They are read from the newest `results/**/datasets/<name>/words.parquet`, else from the dataset's
    own files, local or in the folders of $RECENCY_MIRROR.
    """
    paths = sorted(root.glob(f"results/*/*/datasets/{name}/words.parquet"), key=os.path.getmtime)
    if paths:
        return pd.read_parquet(paths[-1])
    config = loading.load(root)
    if name not in config["datasets"]:
        return None
    owner = config["datasets"][configuration.owner_of_words(config, name)]
    files = {role: _place(root, file) for role, file in owner["words"].items()}
    if None in files.values():
        return None
    module = parsers.parser(owner["parser"])
    options = parsers.accepted(module, module.words, owner.get("options", {}))
    return check_words(module.words(files, **options), name)


def _place(root: Path, file: dict) -> Path | None:
    """Return the path of a file: local, downloaded, or in a mirror; gzipped or not."""
    names = [file["local"]] if "local" in file else []
    if "url" in file:
        parts = addresses.split_url(file["url"])
        names.append(f"{parts.hostname}{parts.path}")
    if "stand_in" in file:
        names.append(file["stand_in"]["path"])
    folders = [root, root / "data" / "downloads"]
    folders += [
        Path(mirror) for mirror in os.environ.get("RECENCY_MIRROR", "").split(":") if mirror
    ]
    places = [folder / (name + end) for folder in folders for name in names for end in ("", ".gz")]
    return next((path for path in places if path.is_file()), None)
