"""The tensors in a checkpoint's files: each is stored once, is whole, and is used by the network.

transformers drops tensors without a word where the config states fewer layers than a GGUF file
stores, and where a class lists names to ignore. Here names and numbers are compared with the opened
network, and only the tensors of `WITHOUT_EFFECT` may be left over.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import PreTrainedModel

from recency.errors import InputError, first_line

#: Stored weights that do not affect logits: pattern of the name → reason.
WITHOUT_EFFECT = {
    r"(^|\.)pooler\.": "reads the first token, for tasks of whole texts",
    r"(^|\.)cls\.seq_relationship\.": "predicts the next sentence",
    r"(^|\.)mask_predictions\.": "is the head of a discriminator",
    r"(^|\.)mtp\.": "predicts tokens after the next one",
    r"\.(attn|attention)\.(masked_)?bias$": "is the causal mask, which the config implies",
    r"(^|\.)position_ids$": "numbers the positions",
    r"rotary_emb\.inv_freq$": "has the frequencies that the config implies",
}
_WITHOUT_EFFECT = re.compile("|".join(WITHOUT_EFFECT))
_MASK = re.compile(r"\.(attn|attention)\.bias$")
_FREQUENCIES = re.compile(r"rotary_emb\.inv_freq$")
#: A layer after the last, which predicts tokens after the next one (DeepSeek, GLM).
_LAYER = re.compile(r"(?:^|\.)(?:layers|blk)\.(\d+)\.")
#: Data types of numbers that no weight has unless it is quantised.
_WHOLE = re.compile(r"^([IU]\d+|BOOL)$")


@dataclass(frozen=True)
class Stored:
    """A tensor in a file of weights: its file, its data type as the file names it, its shape."""

    file: Path
    kind: str
    shape: tuple[int, ...]


def read(source: str | Path, files: Iterable[Path]) -> dict[str, Stored]:
    """Read the headers of safetensors files: name → tensor.

    Parameters
    ----------
    source
        The checkpoint, for messages.
    files
        Its files, none twice.

    Raises
    ------
    InputError
        If two tensors of a file share bytes, a range is not that of the tensor's shape and type, or
        two files store one tensor.
    """
    tensors: dict[str, Stored] = {}
    for path in files:
        try:
            with safe_open(path, "pt") as file:
                slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
                here = {
                    name: Stored(path, part.get_dtype(), tuple(part.get_shape()))
                    for name, part in slices.items()
                }
        except (SafetensorError, OSError) as error:
            raise InputError(
                f"checkpoint {str(source)!r} cannot be opened: {path.name}: {first_line(error)}; "
                "a tensor may have bytes of its own only, and a file no others: download it again"
            ) from error
        for name in here.keys() & tensors.keys():
            raise InputError(
                f"checkpoint {str(source)!r} stores {name} twice, in {tensors[name].file.name} and in "
                f"{path.name}; keep the file of one `save_pretrained`"
            )
        tensors |= here
    return tensors


def layer_of(name: str) -> int:
    """Return the number of a tensor's layer, -1 if its name has none."""
    layer = _LAYER.search(name)
    return int(layer[1]) if layer else -1


def left_over(
    model: PreTrainedModel,
    tensors: Mapping[str, Stored],
    reported: Iterable[str] = (),
    used: Callable[[], Iterable[str]] = tuple,
    more_layers: int = 0,
) -> list[str]:
    """Return the names of stored tensors that have an effect and that a network does not use.

    Parameters
    ----------
    model
        The opened network.
    tensors
        The tensors of its files; empty if they are not known.
    reported
        Names that transformers found no place for.
    used
        Returns the names of tensors that are read under other names.
    more_layers
        Number of layers after the last that predict tokens after the next one.

    Returns
    -------
    list of str
        Sorted; without those of `WITHOUT_EFFECT`, whose shape and numbers are checked.
    """

    def has_effect(name: str) -> bool:
        return not _is_without_effect(name, tensors.get(name), model, more_layers)

    reported = sorted(filter(has_effect, reported))
    kept = {name: tensors[name] for name in filter(has_effect, tensors)}
    own = dict(model.named_parameters(remove_duplicate=False))
    own |= {name: buffer for name, buffer in model.named_buffers() if name in model.state_dict()}
    prefix = f"{model.base_model_prefix}."
    names = own.keys() | {f"{prefix}{name}" for name in own}
    others = kept.keys() - names - {name.removeprefix(prefix) for name in own}
    # Weights that are read under other names, such as experts: the numbers must add up.
    if reported or not others or _is_balanced(own, kept):
        return reported
    if under_others := set(used()):
        return sorted(others - under_others) or sorted(others)
    lacking = Counter(
        tuple(tensor.shape)
        for name, tensor in own.items()
        if not {name, f"{prefix}{name}", name.removeprefix(prefix)} & kept.keys()
    )
    unlike = []  # those that have no weight of their shape under another name
    for name in sorted(others):
        lacking[kept[name].shape] -= 1
        unlike += [name] * (lacking[kept[name].shape] < 0)
    return unlike or sorted(others)


def _is_balanced(own: Mapping[str, torch.Tensor], tensors: Mapping[str, Stored]) -> bool:
    """Return whether files store as many numbers as a network has; tied weights may be stored twice."""
    groups: dict[int, list[str]] = {}
    for name, tensor in own.items():
        groups.setdefault(id(tensor), []).append(name)
    needed = sum(
        own[same[0]].numel() * max(sum(name in tensors for name in same), 1)
        for same in groups.values()
    )
    return needed == sum(math.prod(tensor.shape) for tensor in tensors.values())


def _is_without_effect(
    name: str, tensor: Stored | None, model: PreTrainedModel, more_layers: int
) -> bool:
    """Return whether a stored tensor has no effect on logits, by its name, shape and numbers."""
    last = getattr(model.config.get_text_config(), "num_hidden_layers", 0)
    if last <= layer_of(name) < last + more_layers:
        return True
    if _WITHOUT_EFFECT.search(name) is None:
        return False
    if tensor is not None and _MASK.search(name):  # a bias of a layer has one dimension
        return len(tensor.shape) == 4
    if tensor is not None and _FREQUENCIES.search(name):
        return _has_frequencies(model, name, tensor)
    return True


def _has_frequencies(model: nn.Module, name: str, tensor: Stored) -> bool:
    """Return whether stored rotary frequencies are those that a network computes with."""
    with safe_open(tensor.file, "pt") as file:
        stored = file.get_tensor(name).float().flatten()
    there = [b for key, b in model.named_buffers() if key.endswith("inv_freq")]
    same = [b.float().cpu().flatten() for b in there if b.numel() == stored.numel()]
    return not there or any(torch.allclose(stored, b, rtol=2e-2, atol=1e-6) for b in same)


def require_floats(
    source: str | Path, model: PreTrainedModel, tensors: Mapping[str, Stored]
) -> None:
    """Raise InputError for a weight that a file stores as whole numbers."""
    weights = {name for name, weight in model.named_parameters() if weight.is_floating_point()}
    for name in sorted(weights & tensors.keys()):
        if _WHOLE.match(tensors[name].kind):
            raise InputError(
                f"checkpoint {str(source)!r}: {tensors[name].file.name} has {tensors[name].kind} as "
                f"the type of {name}, and weights are no whole numbers; download the file again, or "
                "save the network with `save_pretrained`"
            )
