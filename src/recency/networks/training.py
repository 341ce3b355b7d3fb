"""One optimiser step of the paper's recipe, and the state from which a killed job resumes."""

import contextlib
import csv
import functools
import json
import math
import os
import pickle
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import distributed
from transformers import PreTrainedModel

from readingtimes.files import atomic
from recency.attention import biased, blocks
from recency.errors import InputError, first_line
from recency.networks import linear, states
from recency.networks.loss import cross_entropy_sum
from recency.networks.schedule import is_finished, learning_rate
from recency.networks.stream import TokenStream

# cuBLAS reads it when a process first multiplies, and needs it for sums of a fixed order.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def in_fixed_order(method: Callable) -> Callable:
    """Decorate a method of a `Training`: on a GPU, kernels whose sums have a fixed order.

    So that a training that was interrupted can end with the bits of one that was not, as on a CPU. Where PyTorch
    takes another kernel it warns, and names the operation: attention's backward pass is one.
    """

    @functools.wraps(method)
    def run(self, *arguments):
        if self.device == "cpu":
            return method(self, *arguments)
        settings = torch.utils.deterministic
        fill, before = settings.fill_uninitialized_memory, torch.get_deterministic_debug_mode()
        torch.use_deterministic_algorithms(True, warn_only=True)
        settings.fill_uninitialized_memory = False
        try:
            return method(self, *arguments)
        finally:
            torch.set_deterministic_debug_mode(before)
            settings.fill_uninitialized_memory = fill

    return run


@dataclass
class Curve:
    """Mean training losses in nats by step, and validation losses by step.

    `kept` maps the steps with checkpoints to their digests.
    """

    losses: list[float] = field(default_factory=list)
    validation: dict[int, float] = field(default_factory=dict)
    kept: dict[int, str] = field(default_factory=dict)

    def write(self, path: Path, tokens_per_step: int) -> None:
        """Write step, tokens, loss_nats, the validation's nats and perplexity, and checkpoint.

        Cells without a value are empty.
        """
        columns = ["step", "tokens", "loss_nats", "validation_nats", "validation_perplexity"]
        with atomic(path) as part, part.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow([*columns, "checkpoint"])
            for step, loss in enumerate(self.losses, 1):
                held_out = ["", ""]
                if step in self.validation:
                    nats = self.validation[step]
                    held_out = [repr(nats), repr(math.exp(min(nats, 700.0)))]
                kept = self.kept.get(step, "")
                table.writerow([step, step * tokens_per_step, repr(loss), *held_out, kept])


def optimizer(model: PreTrainedModel, recipe: dict) -> torch.optim.Optimizer:
    """Return AdamW or SGD, with weight decay on matrices, or on `all` by the recipe's `decayed`.

    Biases, LayerNorms, learned weights of an attention bias and decay parameters of a memory
    (`undecayed` of its form) do not count as matrices.
    """
    everything = recipe.get("decayed") == "all"
    left_out = {
        id(getattr(module, name))
        for module in model.modules()
        for name in getattr(module, "undecayed", ())
    }
    groups = [{"params": [], "weight_decay": decay} for decay in (recipe["weight_decay"], 0.0)]
    for parameter in model.parameters():
        matrix = parameter.dim() >= 2 and id(parameter) not in left_out
        groups[0 if matrix or everything else 1]["params"].append(parameter)
    if recipe.get("optimizer") == "sgd":
        return torch.optim.SGD(groups, lr=0.0, momentum=recipe["momentum"], fused=True)
    return torch.optim.AdamW(
        groups, lr=0.0, betas=tuple(recipe["betas"]), eps=recipe["epsilon"], fused=True
    )


class Training:
    """A model, its optimiser and its token stream, on one of `world` devices that share each step.

    On a GPU the network is compiled, and a step does not wait for the device. The first step checks
    that the compiled network equals the plain one.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        stream: TokenStream,
        recipe: dict,
        device: str = "cpu",
        rank: int = 0,
        world: int = 1,
        compiled: bool | None = None,
    ):
        self.model, self.stream, self.recipe, self.device = model.to(device), stream, recipe, device
        self.rank, self.world = rank, world
        self.optimizer = optimizer(model, recipe)
        self.validation: dict[int, float] = {}  # step → nats, on which a schedule may depend
        self.carried = None  # a recurrent network's state between steps
        self.earlier: list = []  # its states before earlier steps, where gradients go back to them
        self.best: dict | None = None  # the last weights that were not worse than those before
        self.network = model.base_model
        self.unchecked = compiled = device != "cpu" if compiled is None else compiled
        modules = [module for module in biased.attention_modules(model) if module.is_causal]
        plain = modules and not any(hasattr(m, "recency_bias") for m in model.modules())
        # The mask of this bias is free when compiled; on a CPU it selects attention by blocks.
        if plain and (compiled or _by_blocks(model, recipe["sequence_length"])):
            biased.attach(model, {"form": "none"})
        if device == "cpu" and not compiled:
            linear.by_onednn(model)
        if compiled:
            length = recipe["sequence_length"]
            for module in modules:  # built before compiling
                biased.visible_blocks(module.recency_bias.reach, length, length, model.device)
            # float32 products stay exact: `precision` is what chooses faster ones
            warnings.filterwarnings("ignore", message="TensorFloat32 tensor cores")
            self.network = torch.compile(model.base_model, dynamic=False)

    @in_fixed_order
    def step(self, number: int, report: Callable[[int], None] = lambda done: None) -> torch.Tensor:
        """Do step `number` (from 1) and return its mean loss in nats, left on the device.

        The step's sequences are distributed over the devices by micro-batches, and gradients are
        summed, so that the number of devices changes results only by rounding. `report` gets the
        number of sequences begun before each micro-batch.
        """
        self.model.train()
        self._seed_dropout(number)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(number, self.recipe, self.validation)
        sequences, at_once = self.recipe["batch_sequences"], self.recipe["micro_batch"]
        first = (number - 1) * sequences
        targets_in_step = self.targets_in(first, sequences)
        total = torch.zeros((), device=self.device)
        for start in range(self.rank * at_once, sequences, self.world * at_once):
            report(start)
            batch = self.stream.batch(first + start, min(at_once, sequences - start))
            batch = [self._send_tokens(tokens) for tokens in batch]
            if self.unchecked:
                self._check_compiled(batch[0])
            loss = self.loss_sum(*batch) / targets_in_step
            loss.backward()
            total += loss.detach()
        if self.world > 1:
            for gradient in self._gradients():
                distributed.all_reduce(gradient)
            distributed.all_reduce(total)
        self._update()
        return total

    @in_fixed_order
    @torch.no_grad()
    def validation_loss(self) -> float:
        """Return the mean loss in nats on the stream's validation rows, without dropout."""
        self.model.eval()
        at_once, rows = self.recipe["micro_batch"], len(self.stream.validation)
        total = torch.zeros(2, dtype=torch.float64, device=self.device)
        for start in range(self.rank * at_once, rows, self.world * at_once):
            batch = [
                self._send_tokens(tokens) for tokens in self.stream.validation_batch(start, at_once)
            ]
            total[0] += self.loss_sum(*batch)
            total[1] += batch[-1].numel()
        if self.world > 1:
            distributed.all_reduce(total)
        self.model.train()
        return (total[0] / total[1]).item()

    @torch.no_grad()
    def restore_if_worse(self, validation: dict[int, float]) -> None:
        """Restore the last weights that were not worse, if the last validation was.

        As in the RNNLM toolkit, with the recipe's `halving: {restore: true}`: a validation is worse
        if its loss is above that of the one before.
        """
        if not self.recipe.get("halving", {}).get("restore"):
            return
        *before, last = (validation[step] for step in sorted(validation))
        if before and last > before[-1] and self.best is not None:
            self.model.load_state_dict(self.best)
            if self.rank == 0:
                print(f"step {max(validation):,}: worse, weights restored", file=sys.stderr)
        else:
            weights = self.model.state_dict()
            self.best = {name: weight.detach().clone() for name, weight in weights.items()}

    def _update(self) -> None:
        """Clip the gradients, if the recipe says so, and take the optimiser's step."""
        if self.recipe["clip"] is not None:
            self._clip(self.recipe["clip"])
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _clip(self, most: float) -> None:
        """Scale the gradients to a norm of at most `most`; a CPU skips this below it."""
        parameters = [
            parameter for parameter in self.model.parameters() if parameter.grad is not None
        ]
        norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in parameters])
        if self.device != "cpu" or not norm + 1e-6 <= most:  # 1e-6 as in PyTorch
            torch.nn.utils.clip_grads_with_norm_(parameters, most, norm)

    def targets_in(self, first: int, sequences: int) -> int:
        """Return how many tokens are predicted in the rows from `first` on."""
        return sequences * self.recipe["sequence_length"]

    def loss_sum(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the summed cross-entropy in nats of targets (batch, length)."""
        with self._autocast():
            hidden = self.network(input_ids=inputs, use_cache=False).last_hidden_state
            hidden = hidden.to(torch.bfloat16) if self.recipe["precision"] == "bf16" else hidden
            return cross_entropy_sum(hidden, self.model.get_output_embeddings().weight, targets)

    def _autocast(self) -> contextlib.AbstractContextManager:
        """Return the context of the recipe's precision."""
        bf16 = self.recipe["precision"] == "bf16"
        kind = torch.device(self.device).type
        return torch.autocast(kind, torch.bfloat16) if bf16 else contextlib.nullcontext()

    def _check_compiled(self, inputs: torch.Tensor) -> None:
        """Raise RuntimeError if the compiled network's states differ from the plain one's.

        For a learned bias its gradients, which the kernel computes, are compared as well.
        """
        self.unchecked = False
        config, chosen = self.model.config, self.model.config._attn_implementation
        drops = any(isinstance(m, torch.nn.Dropout) and m.p > 0 for m in self.model.modules())
        self.model.train(not drops)  # dropout would be drawn differently
        learned = [w for name, w in self.model.named_parameters() if "recency_bias" in name]

        def run(network) -> list[torch.Tensor]:
            with self._autocast(), torch.set_grad_enabled(network is self.network or bool(learned)):
                states = network(input_ids=inputs, use_cache=False).last_hidden_state
            gradients = (
                torch.autograd.grad(states.float().square().mean(), learned) if learned else ()
            )
            return [states.detach(), *gradients]

        got = run(self.network)
        if chosen == biased.NAME:
            config._attn_implementation = biased.WITHOUT_FLEX
        plain = run(self.model.base_model)
        config._attn_implementation = chosen
        self.model.train()
        pairs = zip(got, plain, strict=True)
        errors = [((a - b).norm() / b.norm().clamp(min=1e-30)).item() for a, b in pairs]
        # In bfloat16 small gradients are coarse; a wrong one differs by its full magnitude.
        for number, error in enumerate(errors):
            part, most = ("gradients", 0.3) if number else ("states", 0.03)
            if not error < most:
                raise RuntimeError(
                    f"the compiled network differs from the plain one by {error:.0%} of its {part}: "
                    "a fault of this version of PyTorch on this device; train with `device: cpu` or "
                    "another version"
                )

    def _send_tokens(self, tokens: torch.Tensor | None) -> torch.Tensor | None:
        """Send tokens to the device without waiting for it."""
        if self.device == "cpu" or tokens is None:
            return tokens
        return tokens.pin_memory().to(self.device, non_blocking=True)

    def _seed_dropout(self, number: int) -> None:
        """Seed a step's dropout, so that it is the same after a resume."""
        numbers = torch.Generator().manual_seed(self.stream.seed)
        offset = torch.randint(2**40, (1,), generator=numbers).item()
        torch.manual_seed(offset + number * self.world + self.rank)

    def _gradients(self) -> list[torch.Tensor]:
        """Return every parameter's gradient; a device without sequences has zeros."""
        for parameter in self.model.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [parameter.grad for parameter in self.model.parameters()]


def _by_blocks(model: PreTrainedModel, length: int) -> bool:
    """Return whether recency.attention.blocks computes unbiased causal attention on a CPU.

    It is faster than PyTorch's own, by a fifth of a step in bf16, but has no dropout.
    """
    dropout = getattr(model.config, "attn_pdrop", getattr(model.config, "attention_dropout", 0.0))
    return length > blocks.QUERIES_AT_ONCE and not dropout


def save(
    path: Path,
    specification: dict,
    run: Training,
    done: int,
    curve: Curve,
) -> None:
    """Write the state atomically; the final one needs no optimiser."""
    ended = is_finished(specification["recipe"], done, curve.validation)
    # Into an open file: given a path, torch does not report a full disk.
    with atomic(path) as temporary, temporary.open("wb") as file:
        torch.save(
            {
                "specification": json.dumps(specification, sort_keys=True),
                "model": run.model.state_dict(),
                "optimizer": None if ended else run.optimizer.state_dict(),
                "carried": run.carried,
                "earlier": run.earlier,
                "best": None if ended else run.best,
                "done": done,
                "losses": curve.losses,
                "validation": curve.validation,
                "kept": curve.kept,
            },
            file,
        )


def resume(path: Path, specification: dict, run: Training) -> tuple[int, Curve]:
    """Load a state if there is one; return the number of steps done and their losses.

    A finished training keeps its state for a job whose outputs were lost; it is ignored if its
    specification differs. An unfinished state of another specification raises InputError with the
    difference, unless only code differs and the change was declared to have no effect
    (recency.networks.states).
    """
    if not path.exists():
        return 0, Curve()
    state, made_for = read_state(path, run.device)
    if made_for != specification:
        if state["optimizer"] is None:
            return 0, Curve()
        lines = states.difference(made_for, specification)
        codes = made_for.get("code", {}), specification["code"]
        if not (states.differ_in_code_only(lines) and states.is_declared(path, *codes)):
            raise InputError(
                f"{path} is the state of a training run of another specification:\n"
                + "\n".join(f"  {line}" for line in lines)
                + "\nDelete the file to train from the start, or set the config back to go on."
            )
        print(
            f"{path}: resumes with changed code, as declared:", *lines, sep="\n  ", file=sys.stderr
        )
    try:
        run.model.load_state_dict(state["model"])
        if state["optimizer"] is not None:
            run.optimizer.load_state_dict(state["optimizer"])
        run.carried, run.earlier = state.get("carried"), state.get("earlier", [])
        run.best = state.get("best")
        return state["done"], Curve(state["losses"], state["validation"], state["kept"])
    except (KeyError, ValueError, RuntimeError, TypeError, AttributeError) as error:
        raise _damage_of(path, error) from error


def read_state(path: Path, device) -> tuple[dict, dict]:
    """Return a training's state and specification; raise InputError for a damaged file."""
    try:
        state = torch.load(path, weights_only=True, map_location=device)
        _ = state["optimizer"]
        return state, dict(json.loads(state["specification"]))
    except torch.OutOfMemoryError:
        raise
    except (
        OSError, RuntimeError, EOFError, ValueError, KeyError, TypeError, IndexError, AttributeError,
        pickle.UnpicklingError,
    ) as error:  # fmt: skip
        raise _damage_of(path, error) from error


def _damage_of(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path}, the state of a training, cannot be read, as if cut or damaged ({type(error).__name__}: "
        f"{first_line(error)}); put a copy of it back, or delete it to train from the start"
    )
