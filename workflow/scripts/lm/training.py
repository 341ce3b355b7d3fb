"""One optimiser step of the paper's recipe, and the state that lets a killed job go on."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from job import InputError, whole
from torch.nn import functional
from transformers import PreTrainedModel

from lm.schedule import learning_rate
from lm.stream import TokenStream

#: Tokens whose logits are held at once; so many stay in a processor's cache.
TOKENS_AT_ONCE = 256


def optimizer(model: PreTrainedModel, recipe: dict) -> torch.optim.AdamW:
    """AdamW; no weight decay on biases, LayerNorms and learned weights of an attention bias."""
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": decayed, "weight_decay": recipe["weight_decay"]},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups, lr=0.0, betas=tuple(recipe["betas"]), eps=recipe["epsilon"], fused=True
    )


def loss_sum(model: PreTrainedModel, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the summed cross-entropy in nats of targets (batch, length)."""
    hidden = model.base_model(input_ids=inputs, use_cache=False).last_hidden_state
    weight = model.get_output_embeddings().weight
    if torch.is_autocast_enabled(hidden.device.type):
        dtype = torch.get_autocast_dtype(hidden.device.type)
        hidden, weight = hidden.to(dtype), weight.to(dtype)
    chunk = TOKENS_AT_ONCE if hidden.device.type == "cpu" else None  # None: PyTorch chooses
    return functional.linear_cross_entropy(
        hidden.flatten(0, 1),
        weight,
        targets.flatten(),
        reduction="sum",
        options=torch.nn.LinearCrossEntropyOptions(batch_chunk_size=chunk),
    )


def step(
    model: PreTrainedModel,
    optimizer: torch.optim.Optimizer,
    stream: TokenStream,
    number: int,
    recipe: dict,
    device: str,
) -> torch.Tensor:
    """Do step `number` (from 1) and return its mean loss in nats, left on the device."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(number, recipe)
    sequences, at_once = recipe["batch_sequences"], recipe["micro_batch"]
    first = (number - 1) * sequences
    total = torch.zeros((), device=device)
    bf16 = torch.autocast(device, torch.bfloat16, enabled=recipe["precision"] == "bf16")
    for start in range(0, sequences, at_once):
        inputs, targets = stream.batch(first + start, min(at_once, sequences - start))
        inputs, targets = inputs.to(device), targets.to(device)
        with bf16:
            loss = loss_sum(model, inputs, targets) / (sequences * recipe["sequence_length"])
        loss.backward()
        total += loss.detach()
    torch.nn.utils.clip_grad_norm_(model.parameters(), recipe["clip"])
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return total


def save(
    path: Path,
    specification: dict,
    model: PreTrainedModel,
    optimizer: torch.optim.Optimizer,
    done: int,
    losses: list[float],
) -> None:
    """Write the state whole; the one before stays until then. The last needs no optimiser."""
    finished = done == specification["recipe"]["steps"]
    with whole(path) as temporary:
        torch.save(
            {
                "specification": json.dumps(specification, sort_keys=True),
                "model": model.state_dict(),
                "optimizer": None if finished else optimizer.state_dict(),
                "done": done,
                "losses": losses,
            },
            temporary,
        )


def resume(
    path: Path, specification: dict, model: PreTrainedModel, optimizer: torch.optim.Optimizer
) -> tuple[int, list[float]]:
    """Load a state if there is one; return the steps done and their losses.

    A finished training keeps its state, for a job whose outputs were lost after it; of another
    specification it is passed over. An unfinished one of another specification raises InputError
    with the difference.
    """
    if not path.exists():
        return 0, []
    state = torch.load(path, weights_only=True)
    made_for = json.loads(state["specification"])
    if made_for != specification:
        if state["done"] == made_for["recipe"]["steps"]:
            return 0, []
        raise InputError(
            f"{path} is the state of a training run of another specification:\n"
            + "\n".join(_difference(made_for, specification))
            + "\nDelete the file to train from the start, or set the config back to go on."
        )
    model.load_state_dict(state["model"])
    if state["optimizer"] is not None:
        optimizer.load_state_dict(state["optimizer"])
    return state["done"], state["losses"]


def _difference(old: object, new: object, where: str = "") -> list[str]:
    """List `key: old -> new` for every leaf that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        lines = []
        for key in sorted(old.keys() | new.keys()):
            lines += _difference(old.get(key), new.get(key), f"{where}.{key}".lstrip("."))
        return lines
    return [] if old == new else [f"  {where}: {old!r} in the state, {new!r} now"]
