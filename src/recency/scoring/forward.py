"""Run a network over windows of text: in batches that fit memory, as fast as its processor is."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn
from transformers import PreTrainedModel

from recency import processor
from recency.errors import InputError
from recency.networks import footprint, products
from recency.scoring.windows import Window

#: Inputs run together on a CPU; more gains nothing there.
TOKENS_AT_ONCE = 2048
#: The most on a GPU, which is busy with these.
MOST_TOKENS_AT_ONCE = 16_384
#: From as many inputs on, weights are laid out, which costs what a thousand inputs gain by it; of a
#: network of at most so many bytes (268 million parameters), for the layouts are held beside it.
WORTH_A_LAYOUT, LARGEST_LAYOUT = 1024, 2**30
#: Feed-forward modules: the first product and the activation that can follow within it.
FUSED = {"GPT2MLP": ("c_fc", "act"), "GPTNeoXMLP": ("dense_h_to_4h", "act")}
#: What PyTorch says where a CPU's memory is not enough, an error of no class of its own.
NO_MEMORY = ("can't allocate memory", "not enough memory")


def tokens_at_once(model: PreTrainedModel) -> int:
    """Return how many inputs to run together: on a GPU what a quarter of its free memory holds."""
    if model.device.type != "cuda":
        return TOKENS_AT_ONCE
    free, _ = torch.cuda.mem_get_info(model.device)
    room = free // 4 // _bytes(model, 1, 1)
    return max(TOKENS_AT_ONCE, min(MOST_TOKENS_AT_ONCE, room))


def run(
    model: PreTrainedModel,
    batches: Iterable[list[Window]],
    bf16: bool = False,
    body: Callable | None = None,
    **settings: Any,
) -> Iterator[tuple[list[Window], Any]]:
    """Yield windows and what the network's body (its base model) makes of them, a batch at a time.

    A batch's first window is its longest. Padding stands at the end, where a causal network never
    looks from a counted position. `settings` go to the body, and the windows to a body with
    `reads_windows`; with `bf16` matrix products are in bfloat16. A batch that does not fit memory is
    run in halves. Raises InputError where a single window does not fit.
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
                layout = nullcontext() if bf16 else laid_out(model, inputs)
                with lower, layout:
                    output = _try(model, body or model.base_model, part, settings)
            if output is not None:
                yield part, output
            elif len(part) == 1:
                raise InputError(_too_long(model, part[0]))
            else:
                half = len(part) // 2
                todo += [part[half:], part[:half]]


def _try(model: PreTrainedModel, body: Callable, batch: list[Window], settings: dict) -> Any:
    """Run one batch; return None where memory does not last."""
    ids = torch.zeros(len(batch), len(batch[0].ids), dtype=torch.long)
    for row, each in enumerate(batch):
        ids[row, : len(each.ids)] = torch.tensor(each.ids)
    if getattr(body, "reads_windows", False):
        settings = settings | {"windows": batch}
    try:
        return body(input_ids=ids.to(model.device), use_cache=False, **settings)
    except torch.OutOfMemoryError:
        pass
    except RuntimeError as error:
        if not any(words in str(error) for words in NO_MEMORY):
            raise
    # Behind the except clauses: there, the error would still hold what the batch had allocated.
    if model.device.type == "cuda":
        torch.cuda.empty_cache()
    return None


def _fits(model: PreTrainedModel, batch: list[Window]) -> bool:
    """Say whether a CPU has the memory for a batch; a GPU says so itself, and nothing is lost."""
    if model.device.type != "cpu":
        return True
    needed = _bytes(model, len(batch), len(batch[0].ids))
    return needed < footprint.SURE or needed < processor.available()


def _bytes(model: PreTrainedModel, rows: int, length: int) -> int:
    """Return about how many bytes a layer holds at once for so many inputs."""
    scores = model.config._attn_implementation not in ("sdpa", "flash_attention_2")
    return footprint.activations(model.config, rows, length, scores)


def _too_long(model: PreTrainedModel, window: Window) -> str:
    inputs = len(window.ids)
    return (
        f"{type(model).__name__} does not fit the memory of the {model.device.type} with a window "
        f"of {inputs:,} tokens: set `window` to fewer"
    )


#: Linear layer → the state of its weights, the weights (so that no others take their place in memory
#: unseen), and their product.
_LAYOUTS: WeakKeyDictionary[nn.Module, tuple[list, list, Callable]] = WeakKeyDictionary()


@contextmanager
def laid_out(model: PreTrainedModel, inputs: int) -> Iterator[None]:
    """Let the body's linear layers take weights that are laid out once (recency.networks.products).

    The same sums, in another order of addition. The layouts are kept as long as the modules, and
    made anew where a weight was changed. Nothing is done for few `inputs`, where gradients are
    wanted, on a GPU, or for a network whose layouts would take more than a gibibyte.
    """
    changed: list[nn.Module] = []
    body = model.base_model
    held = sum(each.numel() * each.element_size() for each in body.parameters())
    worth = inputs >= WORTH_A_LAYOUT and held <= LARGEST_LAYOUT
    if worth and model.device.type == "cpu" and not torch.is_grad_enabled():
        fused = dict(_fused(body))
        for module in body.modules():
            if not _is_linear(module):
                continue
            activation, gelu = fused.get(module, (None, None))
            module.forward = _layout(module, gelu)
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
    """Say whether a module is a plain linear layer that can be laid out."""
    plain = type(module) is nn.Linear or type(module).__name__ == "Conv1D"
    if not plain or "forward" in vars(module) or module.weight.is_inference():
        return False  # of tensors made under inference mode nothing tells when they are changed
    return products.can_lay_out(module.weight)


def _fused(body: nn.Module) -> Iterator[tuple[nn.Module, tuple[nn.Module, str]]]:
    """Yield linear layers that a GELU follows, with it and its approximation."""
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


def _layout(module: nn.Module, gelu: str | None) -> Callable:
    """Return the product of a linear layer, made once for the weights that it has now."""
    held = [each.detach() for each in (module.weight, module.bias) if each is not None]
    state = [(each.data_ptr(), each._version) for each in held]
    state.append(gelu)
    known = _LAYOUTS.get(module)
    if known is None or known[0] != state:
        # transformers' Conv1D holds its weight as (inputs, outputs).
        weight = held[0] if isinstance(module, nn.Linear) else held[0].T
        made = products.product(weight, held[1] if len(held) > 1 else None, gelu)
        _LAYOUTS[module] = known = (state, held, made)
    return known[-1]
