"""Rule train: train one language model on a token stream, resuming where a killed job was."""

import hashlib
import json
import math
import os
import shutil
import socket
import sysconfig
import time
from collections.abc import Mapping
from pathlib import Path

from recency.errors import InputError
from recency.files import atomic
from recency.progress import progress

CHECK_EVERY_STEPS = 20  # the losses are looked at, and the state is saved if that is cheap enough
TIME_TO_SAVE = 0.05  # of a job's time


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
) -> None:
    """Train `lm` and write a folder that `recency.load` opens, with the loss in `training.csv`.

    `out` is the folder's config.json. The state of a job is kept beside the folder, with the whole
    specification inside; that of an unfinished job of another specification is refused. Checkpoints
    at the recipe's steps are kept in `checkpoints/step<n>` and are not outputs of the rule. On
    several GPUs of this machine each step's sequences are shared. `code` is module → fingerprint of
    what trains, and part of the specification.
    """
    import torch

    device = _device(recipe["device"], gpus)
    job = (
        tokens,
        info,
        tokenizer,
        out,
        lm,
        architecture,
        bias,
        recipe,
        seed,
        threads,
        device,
        code,
    )
    if gpus == 1:
        _train(0, 1, *job)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    try:
        torch.multiprocessing.spawn(_train, (gpus, *job), nprocs=gpus)
    except torch.multiprocessing.ProcessRaisedException as error:
        _, ours, message = str(error).partition("recency.errors.InputError: ")
        raise InputError(message.strip()) if ours else error from None


def _train(
    rank: int,
    world: int,
    tokens: Path,
    info: Path,
    tokenizer: Path,
    out: Path,
    lm: str,
    architecture: dict,
    bias: dict,
    recipe: dict,
    seed: int,
    threads: int,
    device: str,
    code: Mapping[str, str] | None,
) -> None:
    """Train on one device of `world`; the first one alone saves and speaks."""
    import torch
    from transformers import PreTrainedTokenizerFast

    from recency.networks import architectures, training
    from recency.networks.stream import TokenStream

    if world > 1:
        torch.distributed.init_process_group(
            "gloo" if device == "cpu" else "nccl", rank=rank, world_size=world
        )
    if device == "cpu":
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False
    else:
        device = f"cuda:{rank}"
        torch.cuda.set_device(device)
    folder = Path(out).parent
    stream = TokenStream(tokens, info, recipe["sequence_length"], recipe["order"], seed)
    recipe = _with_steps(recipe, stream.rows)
    specification = {
        "architecture": architecture,
        "bias": bias,
        "recipe": {key: value for key, value in recipe.items() if key != "device"},
        "seed": seed,
        "tokens": json.loads(Path(info).read_text()) | {"sha256": _digest(tokens)},
        "code": dict(code or {}),
    }
    model = architectures.new(architecture, bias, stream.vocabulary, seed)
    run = training.Training(model, stream, recipe, device, rank, world)
    state = folder.with_name(f".{folder.name}.state.pt")
    done, losses = training.resume(state, specification, run)
    steps, tokens_per_step = recipe["steps"], recipe["batch_sequences"] * recipe["sequence_length"]
    shown = progress(steps * tokens_per_step, f"train {lm}", "tokens")
    shown.update(done * tokens_per_step)
    started, saving = time.monotonic(), 0.0
    unread = []  # reading a loss waits for the device
    for step in range(done + 1, steps + 1):
        unread.append(run.step(step))
        if step % CHECK_EVERY_STEPS == 0 or step == steps:
            losses += torch.stack(unread).tolist()
            unread = []
            if not all(map(math.isfinite, losses)):
                raise InputError(_no_number(lm, losses, state, done))
            if rank == 0:
                shown.update(step * tokens_per_step, f"loss {losses[-1]:.3f}")
                if saving <= TIME_TO_SAVE * (time.monotonic() - started) or step == steps:
                    before = time.monotonic()
                    training.save(state, specification, run, step, losses)
                    saving += time.monotonic() - before
                    done = step
        if rank == 0 and step in recipe["checkpoints"]:
            model.save_pretrained(folder / "checkpoints" / f"step{step}")
    if world > 1:
        torch.distributed.destroy_process_group()
    if rank > 0:
        return
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_file=str(tokenizer), bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    ).save_pretrained(folder)
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    with atomic(folder / "training.csv") as path:
        lines = [f"{n},{n * tokens_per_step},{loss!r}\n" for n, loss in enumerate(losses, 1)]
        path.write_text("step,tokens,loss_nats\n" + "".join(lines))


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file: tokens of the same number need not be the same tokens."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _with_steps(recipe: dict, rows: int) -> dict:
    """Turn `epochs` into steps; the last step of the last epoch may begin another."""
    if "epochs" not in recipe:
        return recipe
    rest = {key: value for key, value in recipe.items() if key != "epochs"}
    return rest | {"steps": math.ceil(recipe["epochs"] * rows / recipe["batch_sequences"])}


def _no_number(lm: str, losses: list[float], state: Path, saved: int) -> str:
    """Say where a loss ceased to be a number, and what is left."""
    bad = next(n for n, loss in enumerate(losses, 1) if not math.isfinite(loss))
    return (
        f"train {lm}: the loss is {losses[bad - 1]} at step {bad}; last good state: "
        f"{f'step {saved}' if saved else 'none'} ({state}). Lower the recipe's `learning_rate` or "
        "use `precision: fp32`"
    )


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
