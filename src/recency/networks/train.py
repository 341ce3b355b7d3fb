"""Rule train: train one language model on a token stream, resuming where a killed job was."""

import json
import math
import os
import shutil
import socket
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from recency import heap, history
from recency.errors import InputError
from recency.files import sha256
from recency.networks import states, stopping, stored_steps
from recency.progress import progress

LOOK_EVERY = 10.0  # seconds between looks at the losses, for which a GPU has to wait
TIME_TO_SAVE = 0.05  # of a job's time, at most …
SAVE_EVERY = 600.0  # … but no state is older than this many seconds and a step
EXPLODED = 10.0  # times the loss of guessing every word alike: a training that went astray …
ASTRAY, LONG = 1.5, 200  # … and so many times that loss as the mean of so many steps


@dataclass(frozen=True)
class Job:
    """What `main` was asked for; `device` is cpu or cuda."""

    tokens: Path
    info: Path
    tokenizer: Path
    out: Path
    lm: str
    architecture: dict
    bias: dict
    recipe: dict
    seed: int
    threads: int
    device: str
    code: dict[str, str]
    tensorboard: bool
    held_out: Path | None
    vectors: Path | None


def main(
    tokens: Path,
    info: Path,
    tokenizer: Path,
    out: Path,
    lm: str,
    architecture: dict,
    bias: dict,
    recipe: dict,
    seed: int,
    threads: int = 1,
    gpus: int = 1,
    code: Mapping[str, str] | None = None,
    tensorboard: bool = False,
    held_out: Path | None = None,
    vectors: Path | None = None,
) -> None:
    """Train `lm` and write a folder that `recency.load` opens, with the losses in `training.csv`.

    `out` is the folder's config.json. The state of a job is kept beside the folder, with the whole
    specification inside; that of an unfinished job of another specification is refused. Checkpoints
    at the recipe's steps are kept in `checkpoints/step<n>`, whole models, with their digests in
    `training.csv` (recency.networks.stored_steps). On several GPUs of this machine each step's sequences are
    shared. `code` is module → fingerprint of
    what trains, and part of the specification. The losses are written as they come, and with
    `tensorboard` as its files too, into the folder's `tensorboard/`. `held_out` are the tokens of the
    corpus that the recipe's `validation` names, if it names one; `vectors` those that its `vectors`
    names, which words begin with (recency.networks.start).
    """
    import torch

    paths = map(Path, (tokens, info, tokenizer, out))
    device = _device(recipe["device"], gpus)
    job = Job(
        *paths, lm, architecture, bias, recipe, seed, threads, device, dict(code or {}), tensorboard,
        held_out and Path(held_out), vectors and Path(vectors),
    )  # fmt: skip
    if gpus == 1:
        _train(0, 1, job)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    try:
        devices = torch.multiprocessing.spawn(_train, (gpus, job), nprocs=gpus, join=False)
        with stopping.passed_on(devices.processes):
            while not devices.join():
                pass
    except torch.multiprocessing.ProcessRaisedException as error:
        _, ours, message = str(error).partition("recency.errors.InputError: ")
        raise InputError(message.strip()) if ours else error from None


def _train(rank: int, world: int, job: Job) -> None:
    """Train on one device of `world`; the first one alone saves and speaks."""
    import torch

    from recency.networks import architectures, start, training
    from recency.networks.schedule import finished

    device = _prepare(rank, world, job)
    folder, recipe = job.out.parent, job.recipe
    kind, read = _objective(recipe)
    stream = read(job, recipe)
    recipe = _with_steps(recipe, stream.rows)
    held_out = recipe.get("validation", {})
    specification = _specification(job, recipe)
    model = architectures.new(job.architecture, job.bias, stream.vocabulary, job.seed)
    if job.vectors:
        said = start.put(model, job.vectors, job.tokenizer, _tokens(job), recipe["vectors"])
        print(said, file=sys.stderr)
    run = kind(model, stream, recipe, device, rank, world)
    state, named = states.place(folder), _named(job)
    done, curve = training.resume(state, specification, run)
    run.validation = curve.validation
    if rank == 0:
        stored_steps.resumed(folder, curve.kept, state)
        setattr(
            model.config, history.KEY, _history(job, specification, states.changes(state, done))
        )
    steps, tokens_per_step = recipe["steps"], recipe["batch_sequences"] * recipe["sequence_length"]
    shown = progress(steps * tokens_per_step, f"train {job.lm}", "tokens")
    _expect(shown, recipe, curve, tokens_per_step)
    shown.update(done * tokens_per_step)
    events = _events(folder, done) if job.tensorboard and rank == 0 else None
    saved = looked = time.monotonic()
    cost = 0.0  # of the last state, seconds
    unread = []  # reading a loss waits for the device
    ended = finished(recipe, done, curve.validation)

    def read(step: int) -> None:
        """Read the losses up to `step` off the device, and write them."""
        nonlocal unread
        curve.losses += torch.stack(unread).tolist() if unread else []
        unread = []
        if said := _astray(curve.losses, math.log(stream.vocabulary), state, done):
            raise InputError(f"train {job.lm}: {said}")
        if rank == 0:
            curve.write(folder / "training.csv", tokens_per_step)
            if events:
                events(curve, tokens_per_step)

    with stopping.asked(rank) as stop:
        for step in range(done + 1, steps + 1):
            if ended:
                break

            def report(sequences: int, before: int = (step - 1) * tokens_per_step) -> None:
                stop.check()
                if device == "cpu" and rank == 0:  # on a GPU what is begun is not what is done
                    shown.update(before + sequences * recipe["sequence_length"])

            try:
                unread.append(run.step(step, report))
            except stopping.Stopped as signal:
                read(step - 1)
                training.save(state, specification, run, step - 1, curve)
                raise InputError(
                    f"train {job.lm}: ended by {signal} after step {step - 1} of {steps}; its state is saved, "
                    "and the same command goes on from there"
                ) from None
            keeps = step in recipe["checkpoints"]
            if held_out and (keeps or step % held_out["every"] == 0 or step == steps):
                curve.validation[step] = run.validation_loss()
                _expect(shown, recipe, curve, tokens_per_step)
            if keeps and rank == 0:  # before the state that says so
                save = partial(_save_model, model, job, named)
                curve.kept[step] = stored_steps.keep(save, folder, step)
            ended = finished(recipe, step, curve.validation)
            if time.monotonic() - looked >= LOOK_EVERY or ended:
                read(step)
                if rank == 0:
                    shown.update(step * tokens_per_step, f"loss {curve.losses[-1]:.3f}")
                    waited = time.monotonic() - saved
                    if waited >= min(cost / TIME_TO_SAVE, SAVE_EVERY) or ended:
                        before = time.monotonic()
                        training.save(state, specification, run, step, curve)
                        saved, done = time.monotonic(), step
                        cost = saved - before
                looked = time.monotonic()
    if world > 1:
        torch.distributed.destroy_process_group()
    if rank == 0:
        curve.write(folder / "training.csv", tokens_per_step)
        _save_model(model, job, named, folder)


def _expect(shown: progress, recipe: dict, curve, tokens_per_step: int) -> None:
    """Have the progress count to the end that a training has, as far as its validation tells."""
    from recency.networks.schedule import last_step

    last, shown.at_most = last_step(recipe, curve.validation)
    shown.total = last * tokens_per_step


def _prepare(rank: int, world: int, job: Job) -> str:
    """Set PyTorch up for a device of `world`, and return the device's name."""
    import torch

    from recency import processor

    if world > 1:
        torch.distributed.init_process_group(
            "gloo" if job.device == "cpu" else "nccl", rank=rank, world_size=world
        )
    if job.device == "cpu":
        processor.use(job.threads)
        heap.keep_freed(large=True)
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False
        return "cpu"
    torch.cuda.set_device(rank)
    return f"cuda:{rank}"


def _specification(job: Job, recipe: dict) -> dict:
    """Return all that the weights depend on, but for the device."""
    return {
        "architecture": job.architecture,
        "bias": job.bias,
        "recipe": {key: value for key, value in recipe.items() if key != "device"},
        "seed": job.seed,
        # tokens of the same number need not be the same tokens
        "tokens": json.loads(job.info.read_text()) | {"sha256": sha256(job.tokens)},
        **{name: sha256(file) for name in ("held_out", "vectors") if (file := getattr(job, name))},
        "code": job.code,
    }


def _history(job: Job, specification: dict, changes: dict) -> dict:
    """Return what the network is made from."""
    files = job.out.parent, job.tokens, job.info
    return history.of_training(*files, specification, changes, job.held_out, job.vectors)


def _tokens(job: Job):
    """Return the training text's tokens."""
    import numpy as np

    return np.memmap(job.tokens, json.loads(job.info.read_text())["dtype"], mode="r")


def _events(folder: Path, done: int) -> Callable:
    """Return what adds the losses after step `done` to TensorBoard's files."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError(
            "`tensorboard: true` needs the package tensorboard: pip install tensorboard, or leave it "
            "out; training.csv has the same losses"
        ) from None
    writer = SummaryWriter(folder / "tensorboard", purge_step=done + 1)
    written = done

    def write(curve, tokens_per_step: int) -> None:
        nonlocal written
        for step in range(written + 1, len(curve.losses) + 1):
            writer.add_scalar("loss/training", curve.losses[step - 1], step)
            if step in curve.validation:
                writer.add_scalar("loss/validation", curve.validation[step], step)
        written = len(curve.losses)
        writer.flush()

    return write


def _save_model(model, job: Job, named: Mapping[str, str], folder: Path) -> None:
    """Write the network and its tokenizer as a folder that transformers knows."""
    from transformers import PreTrainedTokenizerFast

    model.save_pretrained(folder)
    history.copy_passages(job.out.parent, folder)
    PreTrainedTokenizerFast(tokenizer_file=str(job.tokenizer), **named).save_pretrained(folder)
    shutil.copyfile(job.tokenizer, folder / "tokenizer.json")


def _named(job: Job) -> dict[str, str]:
    """Return the tokenizer's names of the token that ends a text, and begins the next.

    Of a masked LM they are RoBERTa's.
    """
    from tokenizers import Tokenizer

    if job.recipe.get("objective") == "masked":
        names = {
            "<s>": ("bos", "cls"),
            "</s>": ("eos", "sep"),
            "<pad>": ("pad",),
            "<unk>": ("unk",),
        }
        names["<mask>"] = ("mask",)
        return {f"{role}_token": name for name, roles in names.items() for role in roles}
    number = json.loads(job.info.read_text())["end_of_document"]
    end = None if number is None else Tokenizer.from_file(str(job.tokenizer)).id_to_token(number)
    return dict.fromkeys(("bos_token", "eos_token"), end or "<|endoftext|>")


def _with_steps(recipe: dict, rows: int) -> dict:
    """Turn `epochs` into steps; the last step of the last epoch may begin another."""
    epoch = math.ceil(rows / recipe["batch_sequences"])
    if recipe.get("validation", {}).get("every") == "epoch":
        recipe = recipe | {"validation": recipe["validation"] | {"every": epoch}}
    if "epochs" not in recipe:
        return recipe
    rest = {key: value for key, value in recipe.items() if key != "epochs"}
    return rest | {"steps": math.ceil(recipe["epochs"] * rows / recipe["batch_sequences"])}


def _objective(recipe: dict) -> tuple[type, Callable]:
    """Return what trains by a recipe, and what reads the text for it."""
    from recency.networks import (
        carried,
        lossy_rows,
        lossy_training,
        masked_rows,
        masked_training,
        training,
    )

    if recipe.get("objective") == "masked":
        return masked_training.MaskedTraining, masked_rows.rows
    if recipe["order"] == "streams":
        return carried.CarriedTraining, carried.streams
    if "lossy" in recipe:
        return lossy_training.LossyTraining, lossy_rows.rows
    return training.Training, _rows


def _rows(job: Job, recipe: dict):
    """Return the rows of tokens that a network of attention is trained on."""
    from recency.networks.stream import TokenStream

    wanted = recipe.get("validation", {}).get("tokens", 0)
    length, order = recipe["sequence_length"], recipe["order"]
    return TokenStream(job.tokens, job.info, length, order, job.seed, wanted, job.held_out)


def _astray(losses: list[float], guessing: float, state: Path, saved: int) -> str:
    """Say where a loss ceased to be a number, or grew beyond all sense, and what is left.

    `guessing` is the loss of guessing every entry of the vocabulary alike, which a training begins with.
    """
    bad = next((n for n, loss in enumerate(losses, 1) if not loss <= EXPLODED * guessing), 0)
    if bad:
        return (
            f"the loss is {losses[bad - 1]:.4g} at step {bad}; last good state: "
            f"{f'step {saved}' if saved else 'none'} ({state}). Lower the recipe's `learning_rate` or "
            "use `precision: fp32`"
        )
    mean = math.fsum(losses[-LONG:]) / LONG if len(losses) >= LONG else 0.0
    if mean > ASTRAY * guessing:
        return (
            f"the loss is {mean:.4g} in the mean of steps {len(losses) - LONG + 1} to {len(losses)}, where "
            f"guessing every word alike has {guessing:.4g}. Lower the recipe's `learning_rate`"
        )
    return ""


def _device(wanted: str, gpus: int) -> str:
    """Return the device a job trains on: `auto` is a GPU where there is one."""
    import torch

    found = torch.cuda.device_count()
    if wanted == "cuda" and found < gpus:
        raise InputError(
            f"the recipe has `device: cuda` and asks for {gpus} GPU(s), but PyTorch sees "
            f"{found or 'no GPU'} here; run on a machine that has them, or choose a scale made for a CPU"
        )
    device = ("cuda" if found >= gpus else "cpu") if wanted == "auto" else wanted
    headers = Path(sysconfig.get_path("include"), "Python.h")
    if device == "cuda" and not headers.exists():
        raise InputError(
            f"on a GPU the network is compiled, which needs Python's headers, and {headers} is not "
            "here; `make setup` as root (or with sudo) installs them, Python from conda has them"
        )
    return device
