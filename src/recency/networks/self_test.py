"""Test a network when it is opened: its weights and outputs are numbers, and its texts independent.

Two random texts that share their first half are run together, and the first of them alone. Every
weight and logit must be finite, the first text's logits the same in both runs, and, of a causal
network, those of the first half the same in both texts. What passed is recorded with the
checkpoint's digest (`recency.networks.tested`), so that a checkpoint is tested once.
"""

from pathlib import Path

import torch
from transformers import PreTrainedModel

from recency.attention.short_texts import (
    ROUNDING,
    ROUNDING_OTHERS,
    TOKENS,
    distance,
    draw_texts,
    evaluation_mode,
)
from recency.errors import REFUSALS, InputError, first_line

_AGAIN = "name a checkpoint that was saved whole, or download it again"


def test(model: PreTrainedModel, causal: bool = True, source: str | Path | None = None) -> None:
    """Raise InputError unless a network's outputs on a short text are those of a language model.

    Parameters
    ----------
    model
        A network with a language-model head; its state is unchanged.
    causal
        Whether no token may change an earlier token's logits.
    source
        The checkpoint, for messages.

    Raises
    ------
    InputError
        Names the first weight that is not finite, or the property that the outputs lack.
    """
    kind = type(model).__name__
    what = kind if source is None else f"checkpoint {str(source)!r} ({kind})"
    for name, weight in model.named_parameters():
        if not _is_finite(weight):
            raise InputError(f"{what}: the weight {name} has NaN or infinite numbers; {_AGAIN}")
    for name, buffer in model.named_buffers():  # a mask may be infinite
        if name.endswith("inv_freq") and not _is_finite(buffer):
            raise InputError(
                f"{what}: {name}, the frequencies of rotary positions, are NaN or infinite; correct "
                "the config's rope parameters"
            )
    ids = draw_texts(model, TOKENS)
    with evaluation_mode(model):
        together, only = (_logits(model, texts, causal, what) for texts in (ids, ids[:1]))
    if not (together.isfinite().all() and only.isfinite().all()):
        raise InputError(
            f"{what}: its logits on a short text are NaN or infinite; check its config, or {_AGAIN}"
        )
    rounding = ROUNDING.get(model.dtype, ROUNDING_OTHERS)
    first, other = together[:, : ids.shape[1] // 2]
    later = float((first - other).abs().max() / first.abs().max().clamp(min=1e-30))
    if causal and later > rounding / 10:
        raise InputError(
            f"{what} is not causal: later tokens change its output at a token (by {later:.2g} of its "
            "size); open a masked LM with recency.load(…, masked=True)"
        )
    # Rounding may send a token to other experts, which changes its output by a step.
    routed = rounding > ROUNDING_OTHERS and _has_experts(model)
    if (apart := distance(together[:1], only)) > rounding and not routed:
        raise InputError(
            f"{what} gives a text other outputs alone than next to another text (they differ by "
            f"{apart:.2g} of their size), so its surprisal would depend on the batch; {_AGAIN}"
        )


def _is_finite(weight: torch.Tensor) -> bool:
    """Return whether all numbers of a weight on a device are finite; quantised ones are not read."""
    if weight.device.type == "meta" or type(weight.data) is not torch.Tensor:
        return True
    if not weight.is_floating_point() or not weight.numel():
        return True
    low, high = torch.aminmax(weight.detach())  # both are NaN if a number is
    return bool(low.isfinite() & high.isfinite())


def _has_experts(model: PreTrainedModel) -> bool:
    return any("experts" in name for name, _ in model.named_parameters())


def _logits(model: PreTrainedModel, ids: torch.Tensor, causal: bool, what: str) -> torch.Tensor:
    """Return logits in float64, centred since softmax ignores a constant shift."""
    try:
        settings = {"use_cache": False} if causal else {}
        logits = model(input_ids=ids, **settings).logits.double()
    except REFUSALS:
        raise
    except Exception as error:
        raise InputError(
            f"{what} cannot be run on a short text ({type(error).__name__}: {first_line(error)}); "
            f"check its config, or {_AGAIN}"
        ) from error
    return logits - logits.mean(-1, keepdim=True)
