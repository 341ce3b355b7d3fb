"""Rule continuations: LMs' continuations, shuffled with the originals, for human judges.

In chapter 7 of the thesis, people judged whether a person or a machine wrote a continuation (3
clearly a person … 0 clearly a machine); the ratio of 3s to 0s is an LM's score.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.figures.paths import File, Files, write_csv

ORIGINAL = "original"


def main(
    continuations: Files, out_blind: File, out_key: File, lms: Sequence[Mapping], seed: int
) -> None:
    """Write the judges' sheet (id, context, continuation, rating) and its key (id, text, lm, complete).

    `continuations` are files …/{lm}/….csv of rule rank_metrics. Unfinished continuations end in
    "…".
    """
    paths = {Path(path).parent.name: path for path in continuations}
    parts = []
    for lm in (entry["lm"] for entry in lms if entry["lm"] in paths):
        rows = pd.read_csv(paths[lm], keep_default_na=False)
        if not parts:
            first = rows.assign(lm=ORIGINAL, continuation=rows.original, complete=True)
            parts.append(first)
        elif list(rows.context) != list(parts[0].context):
            raise InputError(
                f"{paths[lm]} has other sentences than the other LMs' files; delete it, so that it is computed again"
            )
        if not (rows.note != "").any():
            parts.append(rows.assign(lm=lm, complete=rows.complete.astype(str) == "True"))
    rows = pd.concat(parts, ignore_index=True)
    rows = rows.iloc[np.random.default_rng(seed).permutation(len(rows))].reset_index(drop=True)
    rows["id"] = rows.index + 1
    rows["rating"] = ""
    rows["continuation"] += np.where(rows.complete, "", " …")
    for path, columns in (
        (out_blind, ["id", "context", "continuation", "rating"]),
        (out_key, ["id", "text", "lm", "complete"]),
    ):
        write_csv(path, rows[columns])
