"""Layout of REPLICA's predictor store: Parquet files of values by dataset, tag and predictor.

`<dataset>.parquet` has one row per predictor and word (`WORDS`), `tokens/<dataset>.parquet` one per
token (`TOKENS`), `tags.parquet` one per tag, predictor and file (`INDEX`). A tag is
`<model>_<method>_<dataset>`; `stimulus_id` is the text, `unit_index` the number of the word from 0, and
`text_unit` the word. Source: predictor_store/layout.py of replicaverse 0.0.1.
"""

from collections.abc import Mapping

_IDENTITY = {"dataset": "string", "tag": "string", "predictor": "string", "stimulus_id": "string"}
_VALUE = {"value": "double", "value_unit": "string"}
#: Columns of words, in order: name → Arrow type.
WORDS = _IDENTITY | {"unit_index": "int32", "text_unit": "string"} | _VALUE
WORDS |= {"layer": "int32", "storage_class": "string", "unit_rule": "string"}
#: Columns of tokens.
TOKENS = _IDENTITY | {"token_index": "int32", "span_start": "int32", "span_end": "int32"}
TOKENS |= {"token_id": "int64", "token": "string"} | _VALUE
#: Columns of the index.
INDEX = dict.fromkeys(
    ("tag", "file", "dataset", "model", "model_kind", "method", "predictor"), "string"
)
INDEX |= {"value_unit": "string", "n_stimuli": "int32", "n_rows": "int64", "alpha": "double"}
INDEX |= dict.fromkeys(("n_samples", "max_tokens", "beam_width", "max_words", "seed"), "int32")
INDEX |= {"provenance": "string", "chunk_size": "int32"}
INDEX |= dict.fromkeys(
    ("device", "cuda", "torch", "transformers", "python", "replica", "code_commit"), "string"
)
INDEX |= {"code_dirty": "bool"}
INDEX |= dict.fromkeys(("source_sha256", "model_revision", "computed_at"), "string")
INDEX |= {"layer": "int32"}
INDEX |= dict.fromkeys(
    ("study", "storage_class", "unit", "unit_rule", "context_scope", "derivation_source", "wave"),
    "string",
)
INDEX |= {"verification": "string", "verification_file": "string"}
#: Predictors that are surprisals → quantity and unit.
PREDICTORS = {"surprisal": ("surprisal", "bits"), "log_p_observed": ("logprob", "nats")}


def schema(columns: Mapping[str, str]):
    """Return columns (`WORDS`, `TOKENS`, `INDEX`) as an Arrow schema."""
    import pyarrow as pa

    types = {"double": pa.float64(), "bool": pa.bool_()}
    types |= {name: getattr(pa, name)() for name in ("string", "int32", "int64")}
    return pa.schema([(name, types[kind]) for name, kind in columns.items()])


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
