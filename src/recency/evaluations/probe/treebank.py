"""Rule treebank: the splits of a treebank in one table."""

from collections.abc import Mapping

import pandas as pd

from readingtimes.files import atomic
from readingtimes.formats import conllu
from recency.figures.paths import File


def main(files: Mapping[str, File], out: File) -> None:
    """Write split, sentence, position, word, head, relation, upos and space_after of each word.

    `files` is split → path; sentences count from 1 within a split. See `conllu.read`.
    """
    parts = [conllu.read(path).assign(split=split) for split, path in files.items()]
    table = pd.concat(parts, ignore_index=True)
    with atomic(out) as path:
        table[["split", *table.columns.drop("split")]].to_parquet(
            path, compression="zstd", index=False
        )
