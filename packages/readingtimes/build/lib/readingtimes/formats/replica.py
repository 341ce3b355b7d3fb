"""Layout of REPLICA's predictor store: Parquet files of values by dataset, tag and predictor.

`<dataset>.parquet` has one row per predictor and word, `tokens/<dataset>.parquet` one per
token, `tags.parquet` one per tag, predictor and file. A tag is
`<model>_<method>_<dataset>`; `stimulus_id` is the text, `unit_index` the number of the word from 0, and
`text_unit` the word. Source: predictor_store/layout.py of replicaverse 0.0.1.
"""

from collections.abc import Mapping

#: Predictors that are surprisals → quantity and unit.
PREDICTORS = {"surprisal": ("surprisal", "bits"), "log_p_observed": ("logprob", "nats")}


def settings(replica: Mapping) -> dict:
    """Return the settings of `surprisals` for an entry `replica`.

    Parameters
    ----------
    replica : mapping
        `tag`, in which `{dataset}` is the dataset's name in the store; perhaps `predictor`, one of
        PREDICTORS, and `unit`: words or tokens.

    Returns
    -------
    dict
        columns, unit and rows.
    """
    tokens = replica.get("unit", "words") == "tokens"
    predictor = replica.get("predictor", "log_p_observed" if tokens else "surprisal")
    if predictor not in [*PREDICTORS]:  # left to the schema
        return {}
    value, unit = PREDICTORS[predictor]
    keys = {"dataset": "dataset", "item": "stimulus_id"}
    keys |= {"token": "token"} if tokens else {"position": "unit_index", "word": "text_unit"}
    rows = {"tag": replica.get("tag"), "predictor": predictor, "value_unit": unit}
    return {"columns": {value: "value", **keys}, "unit": unit, "rows": rows}
