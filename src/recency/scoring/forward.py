"""Run a network over windows of text, in batches that fit in memory."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn
from transformers import PreTrainedModel

from recency import memory
from recency.errors import InputError
from recency.networks import footprint, products
from recency.scoring.windows import Window

#: Inputs run together on a CPU; more are no faster.
TOKENS_AT_ONCE = 2048
#: Most inputs run together on a GPU, which these saturate.
MOST_TOKENS_AT_ONCE = 16_384
#: Weights are laid out for at least so many inputs (the cost of a layout is regained after about
#: 1,000), in networks of at most so many bytes (268 million parameters), since a layout is a copy.
WORTH_A_LAYOUT, LARGEST_LAYOUT = 1024, 2**30
#: Feed-forward modules: the first linear layer, and the activation that can be fused with it.
FUSED = {"GPT2MLP": ("c_fc", "act"), "GPTNeoXMLP": ("dense_h_to_4h", "act")}
#: PyTorch's messages for exhausted CPU memory, a plain RuntimeError.
NO_MEMORY = ("can't allocate memory", "not enough memory")


def tokens_at_once(model: PreTrainedModel) -> int:
    """Return how many inputs to run together; on a GPU, a quarter of the free memory's worth."""
    if model.device.type != "cuda":
        return TOKENS_AT_ONCE
    free, _ = torch.cuda.mem_get_info(model.device)
    room = free // 4 // _estimate_bytes(model, 1, 1)
    return max(TOKENS_AT_ONCE, min(MOST_TOKENS_AT_ONCE, room))


def run(
    model: PreTrainedModel,
    batches: Iterable[list[Window]],
    bf16: bool = False,
    body: Callable | None = None,
    **settings: Any,
) -> Iterator[tuple[list[Window], Any]]:
    """Yield batches of windows with the outputs of the network's body (its base model).

    A batch's first window is its longest. Padding is at the end, after every scored position. The
    body gets `settings`, and the windows if it has `reads_windows`. With `bf16`, matrix products
    are in bfloat16. A batch that exceeds memory is halved. Raises InputError if a single window
    does not fit in memory.
    """
    lower = torch.autocast(model.device.type, torch.bfloat16, enabled=bf16)
    inputs = 0
    for batch in batches:
        inputs += len(batch) * len(batch[0].ids)
        todo = [batch]
        while todo:
            part = todo.pop()
            output = None
            if _fits(model, part):
                layout = nullcontext() if bf16 else use_layouts(model, inputs)
                with lower, layout:
                    output = _run_batch(model, body or model.base_model, part, settings)
            if output is not None:
                yield part, output
            elif len(part) == 1:
                raise InputError(_too_long(model, part[0]))
            else:
                half = len(part) // 2
                todo += [part[half:], part[:half]]


def _run_batch(model: PreTrainedModel, body: Callable, batch: list[Window], settings: dict) -> Any:
    """Run one batch; return None if it exceeds memory."""
    ids = torch.zeros(len(batch), len(batch[0].ids), dtype=torch.long)
    for row, window in enumerate(batch):
        ids[row, : len(window.ids)] = torch.tensor(window.ids)
    if getattr(body, "reads_windows", False):
        settings = settings | {"windows": batch}
    try:
        return body(input_ids=ids.to(model.device), use_cache=False, **settings)
    except torch.OutOfMemoryError:
        pass
    except RuntimeError as error:
        if not any(words in str(error) for words in NO_MEMORY):
            raise
    # Outside the except clauses, in which the error still references the batch's tensors.
    if model.device.type == "cuda":
        torch.cuda.empty_cache()
    return None


def _fits(model: PreTrainedModel, batch: list[Window]) -> bool:
    """Return whether a batch fits in a CPU's memory; a GPU raises an error that can be handled."""
    if model.device.type != "cpu":
        return True
    needed = _estimate_bytes(model, len(batch), len(batch[0].ids))
    return needed < footprint.SURE or needed < memory.available()


def _estimate_bytes(model: PreTrainedModel, rows: int, length: int) -> int:
    """Return the approximate peak memory of one layer, in bytes."""
    scores = model.config._attn_implementation not in ("sdpa", "flash_attention_2")
    return footprint.activations(model.config, rows, length, scores)


def _too_long(model: PreTrainedModel, window: Window) -> str:
    inputs = len(window.ids)
    return (
        f"{type(model).__name__} does not fit the memory of the {model.device.type} with a window "
        f"of {inputs:,} tokens: set `window` to fewer"
    )


#: Linear layer → version of its weights, the weights (kept alive so that their address is not
#: reused), and their product.
_LAYOUTS: WeakKeyDictionary[nn.Module, tuple[list, list, Callable]] = WeakKeyDictionary()


@contextmanager
def use_layouts(model: PreTrainedModel, inputs: int) -> Iterator[None]:
    """Let the body's linear layers use a faster memory layout (recency.networks.products).

    Results differ only by the order of additions. Layouts live as long as their modules and are
    rebuilt after a weight changes. Does nothing for few `inputs`, with gradients, on a GPU, or for
    a network of more than LARGEST_LAYOUT bytes.
    """
    changed: list[nn.Module] = []
    body = model.base_model
    held = sum(parameter.numel() * parameter.element_size() for parameter in body.parameters())
    worth = inputs >= WORTH_A_LAYOUT and held <= LARGEST_LAYOUT
    if worth and model.device.type == "cpu" and not torch.is_grad_enabled():
        fused = dict(_find_fused(body))
        for module in body.modules():
            if not _is_linear(module):
                continue
            activation, gelu = fused.get(module, (None, None))
            module.forward = _build_layout(module, gelu)
            changed.append(module)
            if activation is not None:
                activation.forward = _unchanged
                changed.append(activation)
    try:
        yield
    finally:
        for module in changed:
            module.__dict__.pop("forward", None)


def _unchanged(inputs: torch.Tensor) -> torch.Tensor:
    return inputs


def _is_linear(module: nn.Module) -> bool:
    """Return whether a module is a plain linear layer that can be laid out."""
    plain = type(module) is nn.Linear or type(module).__name__ == "Conv1D"
    if not plain or "forward" in vars(module) or module.weight.is_inference():
        return False  # inference-mode tensors have no version counter to detect changes
    return products.can_lay_out(module.weight)


def _find_fused(body: nn.Module) -> Iterator[tuple[nn.Module, tuple[nn.Module, str]]]:
    """Yield each linear layer that a GELU follows, with the GELU and its approximation."""
    for module in body.modules():
        names = FUSED.get(type(module).__name__)
        if names is None:
            continue
        linear, activation = (getattr(module, name) for name in names)
        hooked = activation._forward_hooks or activation._forward_pre_hooks or linear._forward_hooks
        if hooked or not _is_linear(linear) or "forward" in vars(activation):
            continue
        if type(activation) is nn.GELU:
            yield linear, (activation, activation.approximate)
        elif type(activation).__name__ == "GELUActivation":
            yield linear, (activation, "none")


def _build_layout(module: nn.Module, gelu: str | None) -> Callable:
    """Return the laid-out product of a linear layer, rebuilt if its weights have changed."""
    held = [tensor.detach() for tensor in (module.weight, module.bias) if tensor is not None]
    state = [(tensor.data_ptr(), tensor._version) for tensor in held]
    state.append(gelu)
    stored = _LAYOUTS.get(module)
    if stored is None or stored[0] != state:
        # transformers' Conv1D holds its weight as (inputs, outputs).
        weight = held[0] if isinstance(module, nn.Linear) else held[0].T
        product = products.product(weight, held[1] if len(held) > 1 else None, gelu)
        _LAYOUTS[module] = stored = (state, held, product)
    return stored[-1]
