"""Rule export_replica: an LM's surprisals as files of REPLICA's predictor store."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.reading.formats import replica
from recency.reading.joins import engine
from recency.reading.strict_tables import warn

METHOD = "surprisal"
_MOST_MISSING = 0.05
"""Maximum share of a store's words without a matching word of the dataset."""


def main(
    words: Sequence[str | Path],
    surprisal: Sequence[str | Path],
    out: str | Path,
    *,
    lm: str,
    datasets: Sequence[Mapping],
    like: Sequence[str | Path] = (),
    texts_and_times: bool = False,
) -> None:
    """Write the folder `out`: `<dataset>.parquet` for each dataset, and `tags.parquet`.

    Each word has two rows: surprisal in bits and log_p_observed in nats. Words without surprisal
    have no value. The column `text_unit`, of the words, is empty unless `texts_and_times` asks for it:
    stimulus_id and unit_index identify a word in the store.

    Parameters
    ----------
    words, surprisal : sequence of path
        Contracts 1 and 3, dataset by dataset.
    out : path
        The folder.
    lm : str
        The LM's name, the beginning of its tags.
    datasets : sequence of mapping
        dataset; name in the store; optionally stimulus, the pattern of its texts' ids
        ("provo_{item}"), and `like`: whether the next file of `like` belongs to it.
    like : sequence of path
        Files of the store, whose texts and words are used and verified.
    texts_and_times : bool
        Whether the files hold the words of the texts.

    Raises
    ------
    InputError
        If the words of a file of the store do not match the dataset.
    """
    import pyarrow.parquet as pq

    out, files = Path(out), iter(like)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    index = []
    for entry, path, scored in zip(datasets, words, surprisal, strict=True):
        words_read = pd.read_parquet(path)
        bits = pd.read_parquet(scored, columns=["word_id", "surprisal_bits"])
        bits = bits.set_index("word_id").surprisal_bits.reindex(words_read.word_id).to_numpy(float)
        if entry.get("like"):
            grid = _grid(Path(next(files)), words_read, entry["name"])
        else:
            grid = _own_grid(words_read, entry.get("stimulus", "{item}"))
        value = np.where(grid.row >= 0, bits[grid.row], np.nan)
        grid = grid if texts_and_times else grid.drop(columns="text_unit")
        name, tag = entry["name"], f"{_slot(lm)}_{METHOD}_{entry['name']}"
        frames = [
            grid.assign(predictor=predictor, value=values, value_unit=unit)
            for predictor, values, unit in (
                ("log_p_observed", -value * np.log(2), "nats"),
                ("surprisal", value, "bits"),
            )
        ]
        rows = pd.concat(frames).assign(dataset=name, tag=tag)
        pq.write_table(_arrow(rows, replica.WORDS), out / f"{name}.parquet")
        same = {"tag": tag, "file": f"{name}.parquet", "dataset": name, "model": lm}
        same |= {"model_kind": "lm", "method": METHOD, "unit": "words"}
        same |= {"context_scope": "stimulus", "provenance": "recency"}
        for frame in frames:
            identity = {name: frame[name].iloc[0] for name in ("predictor", "value_unit")}
            index.append(
                same | identity | {"n_rows": len(frame), "n_stimuli": frame.stimulus_id.nunique()}
            )
    pq.write_table(_arrow(pd.DataFrame(index), replica.INDEX), out / "tags.parquet")


def _slot(lm: str) -> str:
    """Return an LM's name for tags: without slashes and colons."""
    return lm.replace("/", "_").replace(":", "_")


def _own_grid(words: pd.DataFrame, pattern: str) -> pd.DataFrame:
    """Return stimulus_id, unit_index, text_unit and row of each word, with text ids by a pattern."""
    if "{item}" not in pattern:
        raise InputError(
            f"export → replica → stimulus: {pattern!r} has no {{item}}, the placeholder of the text's label"
        )
    places = words.groupby("item", sort=False).cumcount()
    label = words["item"].astype(str).str.replace(r"^0+(?=\d)", "", regex=True)
    if label.nunique() < words["item"].nunique():
        label = words["item"].astype(str)
    ids = [pattern.replace("{item}", column) for column in label]
    grid = {
        "stimulus_id": ids,
        "unit_index": places,
        "text_unit": words.word,
        "row": range(len(words)),
    }
    return pd.DataFrame(grid)


def _grid(path: Path, words: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the grid of a file of the store, with each unit joined to a word of the dataset."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = ["dataset", "stimulus_id", "unit_index", "text_unit"]
    try:
        there = pq.read_schema(path).names
        if lacking := [column for column in columns if column not in there]:
            raise InputError(
                f"{path} has no column {lacking[0]}; it is not a word table of REPLICA's store"
            )
        frame = pq.read_table(path, columns=columns).to_pandas()
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} is not valid Parquet ({error}); download it again") from error
    units = frame[frame.dataset == name].drop(columns="dataset").drop_duplicates()
    if units.empty:
        names = ", ".join(sorted(frame.dataset.unique())[:8])
        raise InputError(f"{path} has no rows of the dataset {name!r}; it has: {names}")
    if units.text_unit.isna().any() or units.duplicated(["stimulus_id", "unit_index"]).any():
        raise InputError(
            f"{path}: a text_unit is missing, or a unit has two; without words nothing can be verified: use "
            "another file of the store, or export by `stimulus` patterns"
        )
    units = units.sort_values(["stimulus_id", "unit_index"], kind="stable").reset_index(drop=True)
    keys = {"item": units.stimulus_id.astype(str), "word": units.text_unit.astype(str)}
    keys |= {"position": units.unit_index.astype("int64")}
    joined = engine.join(words, pd.DataFrame(keys), path, partial=True)
    row = np.where((joined.row >= 0) & ~joined.misplaced, joined.row, -1)
    lost = float((row < 0).mean())
    if joined.verified != "words" or lost > _MOST_MISSING:
        raise InputError(
            f"{path}: {lost:.0%} of its words are not in the dataset; joined by {joined.report}"
        )
    warn(path, f"joined by {joined.report}")
    return units.assign(row=row)


def _arrow(frame: pd.DataFrame, columns: Mapping[str, str]):
    """Return a frame as an Arrow table with these columns, empty where the frame has none."""
    import pyarrow as pa

    schema = replica.schema(columns)
    arrays = []
    for field in schema:
        values = frame[field.name] if field.name in frame else pd.Series([None] * len(frame))
        arrays.append(pa.Array.from_pandas(values, type=field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
