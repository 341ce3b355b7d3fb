"""Rule train: train a language model on a token stream, resuming after a killed job."""

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
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from readingtimes.files import sha256
from readingtimes.progress import progress
from recency import heap, history
from recency.errors import InputError
from recency.networks import states, stopping, stored_steps, tensorboard

LOOK_EVERY = 10.0  # seconds between reads of the losses, which block a GPU
TIME_TO_SAVE = 0.05  # largest share of a job's time that is spent saving …
SAVE_EVERY = 600.0  # … unless the last state is older than this many seconds and a step
EXPLODED = 10.0  # a loss that exceeds uniform guessing by this factor has diverged …
DIVERGED, LONG = 1.5, 200  # … and so has the mean of 200 steps at 1.5 times uniform guessing


@dataclass(frozen=True)
class Job:
    """The arguments of `main`; `device` is cpu or cuda."""

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
    passages: dict[str, Path | None]


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
    passages: Path | None = None,
    held_out_passages: Path | None = None,
) -> None:
    """Train `lm` and write a folder that `recency.load` opens, with the losses in `training.csv`.

    `out` is the folder's config.json. A job's state is kept next to the folder, with the whole
    specification; an unfinished state of another specification is refused. Checkpoints at the
    recipe's steps are kept in `checkpoints/step<n>` as whole models, with their digests in
    `training.csv` (recency.networks.stored_steps). Several GPUs of this machine share each step's
    sequences. `code` maps the modules used in training to fingerprints, and is part of the
    specification. The losses are written during training, with `tensorboard` also into the folder's
    `tensorboard/`. `held_out` are the tokens of the corpus that the recipe's `validation` names,
    and `vectors` the weights that its `vectors` names, for initial word vectors
    (recency.networks.start). `passages` and `held_out_passages` are the files of both texts' passages
    (recency.passages); without them they are computed, once per text.
    """
    import torch

    paths = map(Path, (tokens, info, tokenizer, out))
    device = _device(recipe["device"], gpus)
    job = Job(
        *paths, lm, architecture, bias, recipe, seed, threads, device, dict(code or {}), tensorboard,
        held_out and Path(held_out), vectors and Path(vectors),
        {"tokens": passages, "held_out": held_out_passages},
    )  # fmt: skip
    if gpus == 1:
        _train(0, 1, job)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    try:
        devices = torch.multiprocessing.spawn(_train, (gpus, job), nprocs=gpus, join=False)
        with stopping.forward_signals(devices.processes):
            while not devices.join():
                pass
    except torch.multiprocessing.ProcessRaisedException as error:
        _, ours, message = str(error).partition(f"{InputError.__module__}.InputError: ")
        raise InputError(message.strip()) if ours else error from None


def _train(rank: int, world: int, job: Job) -> None:
    """Train on one device of `world`; only the first one saves and prints."""
    import torch

    from recency.networks import architectures, start, training
    from recency.networks.schedule import is_finished

    device = _prepare(rank, world, job)
    folder, recipe = job.out.parent, job.recipe
    kind, read = _objective(recipe)
    stream = read(job, recipe)
    recipe = _with_steps(recipe, stream.rows)
    held_out = recipe.get("validation", {})
    specification = _specification(job, recipe)
    model = architectures.new(job.architecture, job.bias, stream.vocabulary, job.seed)
    if job.vectors:
        summary = start.initialise_vectors(
            model, job.vectors, job.tokenizer, _tokens(job), recipe["vectors"]
        )
        print(summary, file=sys.stderr)
    run = kind(model, stream, recipe, device, rank, world)
    state, named = states.state_path(folder), _special_tokens(job)
    done, curve = training.resume(state, specification, run)
    run.validation = curve.validation
    if rank == 0:
        stored_steps.check_kept(folder, curve.kept, state)
        setattr(
            model.config, history.KEY, _history(job, specification, states.changes(state, done))
        )
    steps, tokens_per_step = recipe["steps"], recipe["batch_sequences"] * recipe["sequence_length"]
    shown = progress(steps * tokens_per_step, f"train {job.lm}", "tokens")
    _expect(shown, recipe, curve, tokens_per_step)
    shown.update(done * tokens_per_step)
    if rank == 0:
        _date(job, f"resumes after step {done:,}" if done else "begins")
    events = tensorboard.writer(folder, done) if job.tensorboard and rank == 0 else None
    saved = looked = time.monotonic()
    cost = 0.0  # seconds to save the last state
    unread = []  # losses on the device, since reading one blocks it
    ended = is_finished(recipe, done, curve.validation)

    def read(step: int) -> None:
        """Read the losses up to `step` from the device, and write them."""
        nonlocal unread
        curve.losses += torch.stack(unread).tolist() if unread else []
        unread = []
        if problem := _divergence(curve.losses, math.log(stream.vocabulary), state, done):
            raise InputError(f"train {job.lm}: {problem}")
        if rank == 0:
            curve.write(folder / "training.csv", tokens_per_step)
            if events:
                events(curve, tokens_per_step)

    with stopping.catch_signals(rank) as stop:
        for step in range(done + 1, steps + 1):
            if ended:
                break

            def report(sequences: int, before: int = (step - 1) * tokens_per_step) -> None:
                stop.check()
                if device == "cpu" and rank == 0:  # a GPU runs asynchronously
                    shown.update(before + sequences * recipe["sequence_length"])

            try:
                unread.append(run.step(step, report))
            except stopping.Stopped as signal:
                read(step - 1)
                training.save(state, specification, run, step - 1, curve)
                raise InputError(
                    f"train {job.lm}: ended by {signal} after step {step - 1} of {steps}; its state is saved, "
                    "and the same command resumes from there (docs/faults.md)"
                ) from None
            keeps = step in recipe["checkpoints"]
            if held_out and (keeps or step % held_out["every"] == 0 or step == steps):
                curve.validation[step] = run.validation_loss()
                run.restore_if_worse(curve.validation)
                _expect(shown, recipe, curve, tokens_per_step)
            if keeps and rank == 0:  # before the state that lists it
                save = partial(_save_model, model, job, named)
                curve.kept[step] = stored_steps.keep(save, folder, step)
            ended = is_finished(recipe, step, curve.validation)
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
        _date(job, f"ends after step {len(curve.losses):,}")


def _date(job: Job, event: str) -> None:
    """Write when a training begins and ends to the job's log; its other files are the same whenever made."""
    now = datetime.now(UTC).isoformat(" ", "seconds").removesuffix("+00:00")
    print(f"train {job.lm} {event}, {now} UTC", file=sys.stderr)


def _expect(shown: progress, recipe: dict, curve, tokens_per_step: int) -> None:
    """Set the progress total to the training's last step, as far as it is known."""
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
    """Return everything that the weights depend on, except the device."""
    from recency.networks.schedule import learning_rate

    recipe = {key: value for key, value in recipe.items() if key != "device"}
    if recipe["schedule"] == "as_run":  # networks trained with this name before had 1/w of the peak
        recipe["first_learning_rate"] = learning_rate(1, recipe)
    return {
        "architecture": job.architecture,
        "bias": job.bias,
        "recipe": recipe,
        "seed": job.seed,
        # tokens of the same number need not be the same tokens
        "tokens": json.loads(job.info.read_text()) | {"sha256": sha256(job.tokens)},
        **{name: sha256(file) for name in ("held_out", "vectors") if (file := getattr(job, name))},
        "code": job.code,
    }


def _history(job: Job, specification: dict, changes: dict) -> dict:
    """Return the provenance of the network."""
    files = job.out.parent, job.tokens, job.info
    return history.of_training(
        *files, specification, changes, job.held_out, job.vectors, job.passages
    )


def _tokens(job: Job):
    """Return the training text's tokens."""
    import numpy as np

    return np.memmap(job.tokens, json.loads(job.info.read_text())["dtype"], mode="r")


def _save_model(model, job: Job, named: Mapping[str, str], folder: Path) -> None:
    """Write the network and its tokenizer as a transformers folder."""
    from transformers import PreTrainedTokenizerFast

    model.save_pretrained(folder)
    history.copy_passages(job.out.parent, folder)
    PreTrainedTokenizerFast(tokenizer_file=str(job.tokenizer), **named).save_pretrained(folder)
    shutil.copyfile(job.tokenizer, folder / "tokenizer.json")


def _special_tokens(job: Job) -> dict[str, str]:
    """Return the special tokens of the tokenizer: the one that ends a text and begins the next.

    For a masked LM they are RoBERTa's.
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
    """Convert `epochs` to steps; the last step of the last epoch may reach into another."""
    epoch = math.ceil(rows / recipe["batch_sequences"])
    if recipe.get("validation", {}).get("every") == "epoch":
        recipe = recipe | {"validation": recipe["validation"] | {"every": epoch}}
    if "epochs" not in recipe:
        return recipe
    rest = {key: value for key, value in recipe.items() if key != "epochs"}
    return rest | {"steps": math.ceil(recipe["epochs"] * rows / recipe["batch_sequences"])}


def _objective(recipe: dict) -> tuple[type, Callable]:
    """Return a recipe's training class, and the function that reads its text."""
    from recency.networks import carried, lossy_training, masked_training, training

    if recipe.get("objective") == "masked":
        return masked_training.MaskedTraining, masked_training.rows
    if recipe["order"] == "streams":
        return carried.CarriedTraining, carried.streams
    if "lossy" in recipe:
        return lossy_training.LossyTraining, lossy_training.rows
    return training.Training, _rows


def _rows(job: Job, recipe: dict):
    """Return the rows of tokens for a causal attention network."""
    from recency.networks.stream import TokenStream

    wanted = recipe.get("validation", {}).get("tokens", 0)
    length, order = recipe["sequence_length"], recipe["order"]
    return TokenStream(job.tokens, job.info, length, order, job.seed, wanted, job.held_out)


def _divergence(losses: list[float], guessing: float, state: Path, saved: int) -> str:
    """Return a message if a loss is not finite or has diverged; else "".

    `guessing` is the loss of a uniform distribution over the vocabulary, at which training starts.
    """
    bad = next((n for n, loss in enumerate(losses, 1) if not loss <= EXPLODED * guessing), 0)
    if bad:
        return (
            f"the loss is {losses[bad - 1]:.4g} at step {bad}; last good state: "
            f"{f'step {saved}' if saved else 'none'} ({state}). Lower the recipe's `learning_rate` or "
            "use `precision: fp32`"
        )
    mean = math.fsum(losses[-LONG:]) / LONG if len(losses) >= LONG else 0.0
    if mean > DIVERGED * guessing:
        return (
            f"the loss is {mean:.4g} in the mean of steps {len(losses) - LONG + 1} to {len(losses)}, where "
            f"guessing uniformly has {guessing:.4g}. Lower the recipe's `learning_rate`"
        )
    return ""


def _device(wanted: str, gpus: int) -> str:
    """Return the device that a job trains on: `auto` is a GPU if there are enough."""
    import torch

    available = torch.cuda.device_count()
    if wanted == "cuda" and available < gpus:
        raise InputError(
            f"the recipe has `device: cuda` and asks for {gpus} GPU(s), but PyTorch sees "
            f"{available or 'no GPU'} here; run on a machine that has them, or choose a scale made for a CPU"
        )
    device = ("cuda" if available >= gpus else "cpu") if wanted == "auto" else wanted
    headers = Path(sysconfig.get_path("include"), "Python.h")
    if device == "cuda" and not headers.exists():
        raise InputError(
            f"on a GPU the network is compiled, which needs Python's headers, and {headers} is not "
            "here; `make setup` as root (or with sudo) installs them, Python from conda has them"
        )
    return device
