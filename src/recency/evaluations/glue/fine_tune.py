"""Rule fine_tune: fine-tune a masked LM on a task from several seeds, and score each epoch.

The vector of the first token → dense → tanh → output; all weights are trained by Adam with a linear
warm-up and linear decay to 0, as in the released configs of "Masked Language Model with ALiBi and
CLAP head".
"""

import copy
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn import functional

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.evaluations import job_state
from recency.evaluations.glue import examples, scores
from recency.evaluations.glue.examples import Encoded
from recency.evaluations.glue.seed_state import Position, SeedState
from recency.networks import stopping
from recency.scoring.forward import window_of
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import Model

RECIPE_EPOCHS = 10  # number of epochs that a task's `updates` refer to
POOL = 16  # batches within which examples are grouped by length
TOKENS_AT_ONCE = 4096  # per batch of dev


class Classifier(nn.Module):
    """A network's encoder with a head on the first token's vector; `outputs` is 1 for a score."""

    def __init__(self, network: nn.Module, outputs: int, dropout: float):
        super().__init__()
        self.encoder = network.base_model
        width = network.config.hidden_size
        self.head = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, outputs))
        for module in self.encoder.modules():
            if isinstance(module, nn.Dropout):
                module.p = dropout
        self.segments = getattr(network.config, "type_vocab_size", 0) > 1

    def forward(self, ids, segments, seen) -> torch.Tensor:
        """Return outputs (n, outputs) from ids, segments and mask, each (n, tokens)."""
        more = {"token_type_ids": segments} if self.segments else {}
        states = self.encoder(input_ids=ids, attention_mask=seen, **more).last_hidden_state
        return self.head(states[:, 0])


def main(
    files: Mapping[str, str | Path],
    lm: LMSpec,
    out: str | Path,
    name: str,
    task: Mapping,
    settings: Mapping,
    code: Mapping[str, str] | None = None,
) -> None:
    """Write `scores.RUN`, one row per seed and epoch: losses, scores on dev, and sizes of the data.

    `files` are the task's files by role; `task` describes their format and training, `settings` is
    the config's `fine_tuning`. For labels, mse and pearson are empty; for scores, the others.
    `majority` and `majority_f1` are the scores of a constant prediction. Finished runs, and every ten
    minutes and at a signal the state of the one at work, are stored next to `out` until all are done, so
    that a killed job resumes.
    """
    opened = lm.open()
    if not opened.masked:
        raise InputError(
            f"{lm.name} is a causal LM; GLUE fine-tunes masked LMs; list only these in `lms`"
        )
    pad = opened.around.pad
    train, dev = parts(files, task, settings, opened, f"{name} under {lm.name}")
    state = job_state.path_for(out)
    specification = {
        "lm": job_state.lm_identity(lm),
        "files": {role: job_state.digest(path) for role, path in files.items()},
        "task": dict(task),
        "settings": {key: settings[key] for key in settings if key != "seeds"},
        "code": dict(code or {}),
    }
    done = job_state.read(state, specification, "runs")
    shown = progress(len(settings["seeds"]) * settings["epochs"], f"{name}: {lm.name}", "epochs")
    of_seed = state.with_suffix(".pt")
    with stopping.catch_signals() as stop:
        for number, seed in enumerate(settings["seeds"]):
            if str(seed) in done:
                continue
            about = f"{lm.name}, {name}, seed {seed}"
            within = SeedState(of_seed, specification | {"seed": seed})
            try:
                done[str(seed)] = run(
                    opened, train, dev, task, settings, seed, pad, about, within, stop,
                    lambda epoch, number=number: shown.update(number * settings["epochs"] + epoch),
                )  # fmt: skip
            except stopping.Stopped as by:
                raise InputError(
                    f"{about}: ended by {by}; its state is saved, and the same command resumes from there "
                    "(docs/faults.md)"
                ) from None
            job_state.write(state, specification, done)
            of_seed.unlink(missing_ok=True)
    table = pd.concat(
        [pd.DataFrame(done[str(seed)]).assign(seed=seed) for seed in settings["seeds"]]
    )
    table = table.assign(
        **scores.majority(dev.targets, "labels" in task),
        train=len(train.ids), dev=len(dev.ids), cut=train.cut + dev.cut,
    )  # fmt: skip
    with atomic(out) as path:
        table.reindex(columns=scores.RUN).to_csv(path, index=False, lineterminator="\n")
    state.unlink(missing_ok=True)
    of_seed.unlink(missing_ok=True)


def parts(
    files: Mapping[str, str | Path], task: Mapping, settings: Mapping, opened: Model, what: str
) -> tuple[Encoded, Encoded]:
    """Return train (or a sample of it) and dev as tokens."""
    room = min(settings["context"], window_of(opened.network, settings["context"]))
    read = examples.sample(examples.read([("train", files["train"])], task), settings["examples"])
    dev = examples.read([(role, path) for role, path in files.items() if role != "train"], task)
    return (
        examples.encode(read, opened.tokenizer, room, f"{what}, train"),
        examples.encode(dev, opened.tokenizer, room, f"{what}, dev"),
    )


def run(
    opened: Model,
    train: Encoded,
    dev: Encoded,
    task: Mapping,
    settings: Mapping,
    seed: int,
    pad: int,
    what: str,
    state: SeedState,
    stop: stopping.Stop,
    report=lambda epoch: None,
) -> list[dict]:
    """Fine-tune a copy of the network from a seed; return one row per epoch.

    It continues from `state`, where that has one. Raises Stopped after a signal, with the state saved,
    and InputError if the loss is not finite.
    """
    torch.manual_seed(seed)
    outputs = len(task.get("labels", [0]))
    classifier = Classifier(copy.deepcopy(opened.network), outputs, settings["dropout"])
    device = opened.network.device
    classifier.to(device).train()
    optimizer = torch.optim.AdamW(
        (weight for weight in classifier.parameters() if weight.requires_grad),
        lr=task["learning_rate"], betas=tuple(settings["betas"]), eps=settings["epsilon"],
        weight_decay=settings["weight_decay"],
    )  # fmt: skip
    rate = Rate(task, settings, math.ceil(len(train.ids) / task["batch"]))
    order = np.random.default_rng(seed)
    at = state.restore(classifier, optimizer, order)

    def update(batch: np.ndarray) -> None:
        for group in optimizer.param_groups:
            group["lr"] = rate(at.update)
        given = classifier(*(tensor.to(device) for tensor in padded(train, batch, pad)))
        value = loss(given, torch.from_numpy(train.targets[batch]).to(device))
        if not torch.isfinite(value):
            raise InputError(
                f"{what}: the loss is not finite after {at.update:,} updates; lower "
                "the task's `learning_rate`"
            )
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        optimizer.step()
        at.update += 1
        at.batch += 1
        at.total += value.item() * len(batch)

    while at.epoch <= settings["epochs"]:
        begun = order.bit_generator.state
        for batch in batches(train, task["batch"], order)[at.batch :]:
            if stop.by or state.is_old():
                state.save(classifier, optimizer, begun, at)
            stop.check()
            update(batch)
        measured = measure(classifier, dev, pad)
        row = {"epoch": at.epoch, "train_loss": at.total / len(train.ids), **measured}
        at = Position(at.epoch + 1, 0, at.update, 0.0, [*at.rows, row])
        print(f"{what}: {_written(row)}", file=sys.stderr)
        report(row["epoch"])
    return at.rows


class Rate:
    """The learning rate of each update: linear warm-up, then linear decay to 0.

    A task's `updates` refer to ten epochs of the full training data; with fewer epochs or examples,
    updates and warm-up are reduced in proportion.
    """

    def __init__(self, task: Mapping, settings: Mapping, each_epoch: int):
        whole = task["updates"] if settings["examples"] is None else RECIPE_EPOCHS * each_epoch
        share = settings["epochs"] / RECIPE_EPOCHS
        self.highest = task["learning_rate"]
        self.last = max(1.0, whole * share)
        self.warm = self.last * task["warmup_updates"] / task["updates"]

    def __call__(self, update: int) -> float:
        """Return the learning rate of update number `update`, from 0."""
        if update < self.warm:
            return self.highest * (update + 1) / (self.warm + 1)
        return self.highest * max(0.0, (self.last - update) / (self.last - self.warm))


def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy (nats) for labels, or the mean squared error for scores."""
    if outputs.shape[1] == 1:
        return functional.mse_loss(outputs[:, 0], targets)
    return functional.cross_entropy(outputs, targets)


def batches(data: Encoded, size: int, order: np.random.Generator) -> list[np.ndarray]:
    """Return random batches of example indices, grouped by length within each POOL batches."""
    drawn, groups = order.permutation(len(data.ids)), []
    lengths = np.array([len(ids) for ids in data.ids])
    for begin in range(0, len(drawn), POOL * size):
        pool = drawn[begin : begin + POOL * size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        groups += [pool[k : k + size] for k in range(0, len(pool), size)]
    return [groups[index] for index in order.permutation(len(groups))]


def padded(data: Encoded, places: Sequence[int], pad: int) -> tuple[torch.Tensor, ...]:
    """Return ids, segments and the mask of real tokens of some examples, (n, longest) each."""
    longest = max(len(data.ids[example]) for example in places)
    ids = torch.full((len(places), longest), pad)
    segments, seen = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, example in enumerate(places):
        size = len(data.ids[example])
        ids[row, :size] = torch.tensor(data.ids[example])
        segments[row, :size] = torch.tensor(data.segments[example])
        seen[row, :size] = 1
    return ids, segments, seen


@torch.inference_mode()
def measure(classifier: Classifier, dev: Encoded, pad: int) -> dict:
    """Return the scores of the classifier's predictions on dev: `scores.COLUMNS`."""
    classifier.eval()
    order = np.argsort([-len(ids) for ids in dev.ids], kind="stable")
    parts, begin, device = [], 0, next(classifier.parameters()).device
    while begin < len(order):
        size = max(1, TOKENS_AT_ONCE // len(dev.ids[order[begin]]))
        inputs = padded(dev, order[begin : begin + size], pad)
        parts.append(classifier(*(tensor.to(device) for tensor in inputs)).float().cpu().numpy())
        begin += size
    classifier.train()
    outputs = np.empty((len(order), parts[0].shape[1]), np.float32)
    outputs[order] = np.concatenate(parts)
    if outputs.shape[1] == 1:
        return scores.score_numbers(outputs[:, 0], dev.targets)
    return scores.score_labels(outputs.argmax(1), dev.targets)


def _written(row: dict) -> str:
    return ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in row.items()
    )
