"""One optimiser step of the paper's recipe, and the state that lets a killed job go on."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import torch
from job import InputError, whole
from torch import distributed
from transformers import PreTrainedModel

from lm import attention
from lm.loss import cross_entropy_sum
from lm.schedule import learning_rate
from lm.stream import TokenStream


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


class Training:
    """A model, its optimiser and its token stream, on one device of `world` that share each step.

    On a GPU the network is compiled and nothing in a step waits for the device.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        stream: TokenStream,
        recipe: dict,
        device: str = "cpu",
        rank: int = 0,
        world: int = 1,
    ):
        self.model, self.stream, self.recipe, self.device = model.to(device), stream, recipe, device
        self.rank, self.world = rank, world
        self.optimizer = optimizer(model, recipe)
        self.network = model.base_model
        if device != "cpu":
            if not any(hasattr(m, "recency_bias") for m in model.modules()):
                attention.attach(model, {"form": "none"})  # its causal mask is free when compiled
            self.network = torch.compile(model.base_model, dynamic=False)

    def step(self, number: int) -> torch.Tensor:
        """Do step `number` (from 1) and return its mean loss in nats, left on the device.

        The step's sequences are dealt out to the devices a micro-batch at a time; gradients are
        summed over all of them, so that their number changes a result by rounding alone.
        """
        self.model.train()
        self._seed_dropout(number)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(number, self.recipe)
        sequences, at_once = self.recipe["batch_sequences"], self.recipe["micro_batch"]
        first, targets_in_step = (
            (number - 1) * sequences,
            sequences * self.recipe["sequence_length"],
        )
        total = torch.zeros((), device=self.device)
        for start in range(self.rank * at_once, sequences, self.world * at_once):
            batch = self.stream.batch(first + start, min(at_once, sequences - start))
            inputs, targets = (self._sent(tokens) for tokens in batch)
            loss = self.loss_sum(inputs, targets) / targets_in_step
            loss.backward()
            total += loss.detach()
        if self.world > 1:
            for gradient in self._gradients():
                distributed.all_reduce(gradient)
            distributed.all_reduce(total)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe["clip"])
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def loss_sum(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the summed cross-entropy in nats of targets (batch, length)."""
        kind = torch.device(self.device).type
        bf16 = self.recipe["precision"] == "bf16"
        with torch.autocast(kind, torch.bfloat16) if bf16 else contextlib.nullcontext():
            hidden = self.network(input_ids=inputs, use_cache=False).last_hidden_state
            hidden = hidden.to(torch.bfloat16) if bf16 else hidden
            return cross_entropy_sum(hidden, self.model.get_output_embeddings().weight, targets)

    def _sent(self, tokens: torch.Tensor) -> torch.Tensor:
        """Send tokens to the device without waiting for it."""
        if self.device == "cpu":
            return tokens
        return tokens.pin_memory().to(self.device, non_blocking=True)

    def _seed_dropout(self, number: int) -> None:
        """Seed what a step draws, so that it draws the same after a resume."""
        numbers = torch.Generator().manual_seed(self.stream.seed)
        offset = torch.randint(2**40, (1,), generator=numbers).item()
        torch.manual_seed(offset + number * self.world + self.rank)

    def _gradients(self) -> list[torch.Tensor]:
        """Return every parameter's gradient; a device without sequences of its own has zeros."""
        for parameter in self.model.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [parameter.grad for parameter in self.model.parameters()]


def save(
    path: Path,
    specification: dict,
    run: Training,
    done: int,
    losses: list[float],
) -> None:
    """Write the state whole; the one before stays until then. The last needs no optimiser."""
    finished = done == specification["recipe"]["steps"]
    # Into an open file: given a path, torch does not say that the disk is full.
    with whole(path) as temporary, temporary.open("wb") as file:
        torch.save(
            {
                "specification": json.dumps(specification, sort_keys=True),
                "model": run.model.state_dict(),
                "optimizer": None if finished else run.optimizer.state_dict(),
                "done": done,
                "losses": losses,
            },
            file,
        )


def resume(path: Path, specification: dict, run: Training) -> tuple[int, list[float]]:
    """Load a state if there is one; return the steps done and their losses.

    A finished training keeps its state, for a job whose outputs were lost after it; of another
    specification it is passed over. An unfinished one of another specification raises InputError
    with the difference.
    """
    if not path.exists():
        return 0, []
    state = torch.load(path, weights_only=True, map_location=run.device)
    made_for = json.loads(state["specification"])
    if made_for != specification:
        if state["done"] == made_for["recipe"]["steps"]:
            return 0, []
        raise InputError(
            f"{path} is the state of a training run of another specification:\n"
            + "\n".join(_difference(made_for, specification))
            + "\nDelete the file to train from the start, or set the config back to go on."
        )
    run.model.load_state_dict(state["model"])
    if state["optimizer"] is not None:
        run.optimizer.load_state_dict(state["optimizer"])
    return state["done"], state["losses"]


def _difference(old: object, new: object, where: str = "") -> list[str]:
    """List `key: old -> new` for every leaf that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        lines = []
        for key in sorted(old.keys() | new.keys()):
            lines += _difference(old.get(key), new.get(key), f"{where}.{key}".lstrip("."))
        return lines
    return [] if old == new else [f"  {where}: {old!r} in the state, {new!r} now"]
