"""Check that an opened network and its tokenizer allow the requested scores."""

from collections.abc import Sequence

from recency.errors import InputError


def check_precision(model, precision: str) -> None:
    """Refuse a network in half precision if float32 is requested."""
    for parameter in getattr(model.network, "parameters", tuple)():
        if model.weights != "float32":  # requested when the model was opened
            return
        if precision == "fp32" and parameter.is_floating_point() and parameter.itemsize < 4:
            kind = str(parameter.dtype).removeprefix("torch.")
            raise InputError(
                f"the network's weights are {kind}, and surprisal is taken in float32: open its folder "
                "with recency.load, or give network.float(); `precision: bf16` takes it as it is"
            )


def check_vocabulary(model, ids: Sequence[int]) -> None:
    """Refuse tokens without an embedding: the tokenizer belongs to another model."""
    if (network := model.network) is None:
        return
    rows = network.get_input_embeddings().weight.shape[0]
    if ids and (number := max(ids)) >= rows:
        raise InputError(
            f"the tokenizer has token {number} ({model.tokenizer.id_to_token(number)!r}) and the "
            f"network an embedding of {rows:,} rows; give the model's own tokenizer"
        )
