"""Export the data frame that a regression was fitted to."""

from collections.abc import Mapping
from os import PathLike

import numpy as np
import pandas as pd

from crosslmm.recorded import scaled
from readingtimes.files import atomic
from recency.errors import InputError
from recency.regression import prediction
from recency.regression.inputs import Inputs
from recency.regression.predictors import Rows

RAW = "_raw"
"""Suffix of a predictor's name before centring and scaling."""


def main(
    regression: str | PathLike,
    inputs: Inputs,
    out: str | PathLike,
    out_csv: str | PathLike,
) -> None:
    """Write the rows that the model in the JSON file `regression` was fitted to."""
    record = prediction.read_fit(regression)
    rows = prediction.rows_for(record, inputs.fit, inputs.texts(record))
    if len(rows.y) != record["n"]["fit"]:
        raise InputError(
            f"{regression} was fitted to {record['n']['fit']:,} rows, and {inputs.fit} has {len(rows.y):,} of "
            "them now; fit it again"
        )
    frame = data_frame(record, rows)
    with atomic(out) as path:
        frame.to_parquet(path, compression="zstd", index=False)
    with atomic(out_csv) as path:
        frame.to_csv(path, index=False, lineterminator="\n")


def data_frame(record: Mapping, rows: Rows) -> pd.DataFrame:
    """Return the model's rows: word_id, groups, the response, scaled predictors, raw predictors.

    The columns are named as in the record's formula, so that lmer() accepts it with this table
    (read with check.names = FALSE in R); the logarithm of a time is called log_time_ms. With least
    squares on subject means a row is a word.
    """
    observed = prediction.observed(record)
    response = f"log_{observed}" if record["response"] == "log" else observed
    columns: dict[str, np.ndarray | pd.Categorical] = {"word_id": rows.word.astype(np.int32)}
    for name, group in rows.groups.items():
        columns[name] = pd.Categorical.from_codes(
            group.codes, [str(level) for level in group.names]
        )
    columns[response] = rows.y
    predictors = scaled(rows.predictors, record["scaling"])
    columns |= {name.strip("`"): values for name, values in predictors.items()}
    columns |= {name.strip("`") + RAW: rows.predictors[name] for name in predictors}
    return pd.DataFrame(columns)
