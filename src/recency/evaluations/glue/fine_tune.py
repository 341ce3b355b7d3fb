"""Rule fine_tune: fine-tune a masked LM on a task from several seeds, and score each epoch.

The vector of the first token → dense → tanh → output; all weights are trained by Adam with a linear
warm-up and linear decay to 0, as in the released configs of "Masked Language Model with ALiBi and
CLAP head".

Sentences or sentence pairs of a GLUE task with their labels, and their tokenization.

State of the seed that fine-tuning is at, so that a killed job continues within it, to the same scores.
"""

import copy
import json
import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn import functional

from readingtimes.files import atomic
from readingtimes.progress import progress
from readingtimes.strict_tables import tab_separated
from recency.errors import InputError
from recency.evaluations import job_state
from recency.evaluations.glue import runs
from recency.figures.paths import File
from recency.networks import stopping, training
from recency.scoring.forward import window_of
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import Model
from recency.text.utf8 import decoded_file

SENTENCES = ("sentence", "sentence1", "sentence2")


@dataclass
class Part:
    """Examples of one part of a task: `texts` of one or two sentences, `targets` (n,).

    A target is the index of a label, or a score as a share of the scale.
    """

    texts: list[tuple[str, ...]]
    targets: np.ndarray


@dataclass
class Encoded:
    """Tokenized examples: ids and segments of each, and the number that were cut."""

    ids: list[list[int]]
    segments: list[list[int]]
    targets: np.ndarray
    cut: int


def read_part(paths: Iterable[tuple[str, File]], task: Mapping) -> Part:
    """Return examples of a part's files, given with their roles (train, dev, dev_too), in order.

    Raises InputError, with file and line, for a missing column, an unknown label or an empty
    sentence, and if all examples have one class.
    """
    texts, targets, files = [], [], []
    for role, path in paths:
        header = role in task.get("header", (role,))
        for text, target in _rows(Path(path), task, header):
            texts.append(text)
            targets.append(target)
        files.append(str(path))
    where = " and ".join(files)
    if len(set(targets)) < 2:
        one = f"all of {len(targets):,} examples have one label or score" if targets else "no rows"
        raise InputError(f"{where}: {one}, so that nothing can be learned; supply the whole file")
    kind = np.float32 if "scale" in task else np.int64
    return Part(texts, np.array(targets, kind))


def _rows(path: Path, task: Mapping, header: bool):
    """Yield the sentences and the target of each line of a tab-separated file."""
    numbered = tab_separated(path, "".join(decoded_file(path)))
    names = next(numbered, (1, [""]))[1] if header else None
    places = {}
    for what, column in task["columns"].items():
        if isinstance(column, str) and column not in (names or ()):
            there = ", ".join(names or ()) or "none"
            raise InputError(
                f"{path}: no column {column!r}, only {there}; name the column of its {what} in the task's `columns`"
            )
        if isinstance(column, str) and names.count(column) > 1:
            raise InputError(
                f"{path}: {names.count(column)} columns are named {column!r}; number the task's `columns` from 0"
            )
        places[what] = names.index(column) if isinstance(column, str) else column
    sentences = [what for what in SENTENCES if what in places]
    for number, fields in numbered:
        if not any(field.strip() for field in fields):
            continue
        where = f"{path}, line {number}"
        for what, index in places.items():
            if index >= len(fields):
                raise InputError(
                    f"{where}: {len(fields)} columns, but its {what} should be column {index}, from 0; "
                    "correct the line or the task's `columns`"
                )
        texts = tuple(fields[places[what]].strip() for what in sentences)
        for what, text in zip(sentences, texts, strict=True):
            if not any(character.isprintable() and not character.isspace() for character in text):
                raise InputError(f"{where}: {what} is empty; complete or remove the line")
        yield texts, _target(fields[places["label"]].strip(), task, where)


def _target(written: str, task: Mapping, where: str) -> float:
    """Return the index of a label, or a score as a share of the scale."""
    if "labels" in task:
        if written not in task["labels"]:
            labels = ", ".join(task["labels"])
            raise InputError(f"{where}: the label {written!r} is not one of {labels} (`labels`)")
        return task["labels"].index(written)
    try:
        score = float(written)
    except ValueError:
        score = math.nan
    if not 0 <= score <= task["scale"]:
        raise InputError(f"{where}: the score {written!r} is not between 0 and {task['scale']:g}")
    return score / task["scale"]


def sample(part: Part, examples: int | None) -> Part:
    """Return a random sample of this size in the file's order, or all examples if None."""
    if examples is None or examples >= len(part.texts):
        return part
    kept = np.sort(np.random.default_rng(0).choice(len(part.texts), examples, replace=False))
    drawn = Part([part.texts[index] for index in kept], part.targets[kept])
    if len(np.unique(drawn.targets)) < 2:
        raise InputError(f"{examples} randomly drawn examples have one label; increase `examples`")
    return drawn


def encode(part: Part, tokenizer, room: int, what: str) -> Encoded:
    """Return the examples as token ids, with the tokenizer's special tokens.

    An example of more than `room` tokens is cut at its end, a pair at the end of its longer
    sentence; the number of cuts is reported. Raises InputError for a tokenizer that adds no initial
    token.
    """
    tokenizer.enable_truncation(room, strategy="longest_first")
    pairs = len(part.texts[0]) == 2
    texts = part.texts if pairs else [text for (text,) in part.texts]
    encodings = tokenizer.encode_batch(texts, add_special_tokens=True)
    tokenizer.no_truncation()
    special = encodings[0].special_tokens_mask
    if not special[0] or sum(special) < (3 if pairs else 1):
        raise InputError(
            "the tokenizer adds no initial token, or no separator between two sentences, but GLUE's labels are "
            "predicted from the vector of the first token; use the model's own tokenizer"
        )
    cut = sum(bool(encoding.overflowing) for encoding in encodings)
    if cut:
        longer = " (of a pair the longer sentence)" if pairs else ""
        print(f"{what}: {cut:,} of {len(encodings):,} examples were longer than {room} tokens and "
              f"were cut{longer}", file=sys.stderr)  # fmt: skip
    return Encoded([e.ids for e in encodings], [e.type_ids for e in encodings], part.targets, cut)


SAVE_EVERY = 600.0
"""Seconds between states."""


@dataclass
class Position:
    """How far a seed is.

    Attributes
    ----------
    epoch, batch
        The epoch, from 1, and how many of its batches are done.
    update
        Updates of all epochs.
    total
        Sum of the losses of the epoch's examples.
    rows
        What was measured after each complete epoch.
    """

    epoch: int = 1
    batch: int = 0
    update: int = 0
    total: float = 0.0
    rows: list[dict] = field(default_factory=list)


class SeedState:
    """The file that has a seed's weights, optimiser, random numbers and position.

    Parameters
    ----------
    path
        Its file.
    specification
        All that the scores depend on; a state of another one is not used.
    """

    def __init__(self, path: Path, specification: dict):
        self.path = path
        self.specification = json.loads(json.dumps(specification))
        self.saved = time.monotonic()

    def restore(
        self, classifier: nn.Module, optimizer: torch.optim.Optimizer, order: np.random.Generator
    ) -> Position:
        """Set all of them to the saved state, if there is one; return its position.

        Raises InputError for a damaged file.
        """
        if not self.path.exists():
            return Position()
        device = next(classifier.parameters()).device
        state, made_for = training.read_state(self.path, device)
        if made_for != self.specification:
            print(f"{self.path} has another specification and is not used", file=sys.stderr)
            return Position()
        classifier.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        order.bit_generator.state = json.loads(state["order"])
        torch.set_rng_state(state["random"].cpu())
        if state["random_gpu"] is not None:
            torch.cuda.set_rng_state(state["random_gpu"].cpu(), device)
        position = Position(**json.loads(state["position"]))
        print(f"continued after {position.update:,} updates", file=sys.stderr)
        return position

    def save(
        self,
        classifier: nn.Module,
        optimizer: torch.optim.Optimizer,
        order: dict,
        position: Position,
    ) -> None:
        """Write the state; `order` is the generator's at the beginning of the epoch."""
        device = next(classifier.parameters()).device
        on_gpu = device.type == "cuda"
        # Into an open file: given a path, torch does not report a full disk.
        with atomic(self.path) as temporary, temporary.open("wb") as file:
            torch.save(
                {
                    "specification": json.dumps(self.specification),
                    "model": classifier.state_dict(),
                    "optimizer": optimizer.state_dict(),
                    "order": json.dumps(order),
                    "random": torch.get_rng_state(),
                    "random_gpu": torch.cuda.get_rng_state(device) if on_gpu else None,
                    "position": json.dumps(asdict(position)),
                },
                file,
            )
        self.saved = time.monotonic()

    def is_old(self) -> bool:
        """Return whether the last state is older than SAVE_EVERY."""
        return time.monotonic() - self.saved >= SAVE_EVERY


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
        **runs.majority(dev.targets, "labels" in task),
        train=len(train.ids), dev=len(dev.ids), cut=train.cut + dev.cut,
    )  # fmt: skip
    with atomic(out) as path:
        table.reindex(columns=runs.RUN).to_csv(path, index=False, lineterminator="\n")
    state.unlink(missing_ok=True)
    of_seed.unlink(missing_ok=True)


def parts(
    files: Mapping[str, str | Path], task: Mapping, settings: Mapping, opened: Model, what: str
) -> tuple[Encoded, Encoded]:
    """Return train (or a sample of it) and dev as tokens."""
    room = min(settings["context"], window_of(opened.network, settings["context"]))
    read = sample(read_part([("train", files["train"])], task), settings["examples"])
    dev = read_part([(role, path) for role, path in files.items() if role != "train"], task)
    return (
        encode(read, opened.tokenizer, room, f"{what}, train"),
        encode(dev, opened.tokenizer, room, f"{what}, dev"),
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
        print(f"{what}: {_write_row(row)}", file=sys.stderr)
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
        return runs.score_numbers(outputs[:, 0], dev.targets)
    return runs.score_labels(outputs.argmax(1), dev.targets)


def _write_row(row: dict) -> str:
    return ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in row.items()
    )
