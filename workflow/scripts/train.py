"""Rule train: train one language model on a token stream, resuming where a killed job was."""

import json
import math
import shutil
from pathlib import Path

from job import InputError, logged, progress, whole

SAVE_EVERY_STEPS = 20  # also the steps between lines of the training log


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
) -> None:
    """Train `lm` and write a folder that `lm.network.load` opens, with the loss in `training.csv`.

    `out` is the folder's config.json. The state of a job is kept beside the folder, with the whole
    specification inside; that of an unfinished job of another specification is refused. Checkpoints at the
    recipe's steps are kept in `checkpoints/step<n>` and are not outputs of the rule.
    """
    import torch
    from lm import network, training
    from lm.stream import TokenStream
    from transformers import PreTrainedTokenizerFast

    device = _device(recipe["device"])
    if device == "cpu":
        torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(device == "cpu")
    folder = Path(out).parent
    stream = TokenStream(tokens, info, recipe["sequence_length"], recipe["order"], seed)
    specification = {
        "architecture": architecture,
        "bias": bias,
        "recipe": {key: value for key, value in recipe.items() if key != "device"},
        "seed": seed,
        "tokens": json.loads(Path(info).read_text()),
    }
    model = network.new(architecture, bias, stream.vocabulary, seed).to(device)
    optimizer = training.optimizer(model, recipe)
    state = folder.with_name(f".{folder.name}.state.pt")
    done, losses = training.resume(state, specification, model, optimizer)
    tokens_per_step = recipe["batch_sequences"] * recipe["sequence_length"]
    shown = progress(recipe["steps"] * tokens_per_step, f"train {lm}", "tokens")
    shown.update(done * tokens_per_step)
    for step in range(done + 1, recipe["steps"] + 1):
        loss = training.step(model, optimizer, stream, step, recipe, device)
        losses.append(loss)
        if step % SAVE_EVERY_STEPS == 0 or step == recipe["steps"]:
            losses = [float(each) for each in losses]
            if not math.isfinite(losses[-1]) or not all(map(math.isfinite, losses)):
                bad = next(n for n, each in enumerate(losses, 1) if not math.isfinite(each))
                kept = f"step {step - SAVE_EVERY_STEPS}" if step > SAVE_EVERY_STEPS else "none"
                raise InputError(
                    f"train {lm}: the loss is {losses[bad - 1]} at step {bad}; last good state: "
                    f"{kept} ({state}). Lower the recipe's `learning_rate` or use `precision: fp32`"
                )
            training.save(state, specification, model, optimizer, step, losses)
            shown.update(step * tokens_per_step, f"loss {losses[-1]:.3f}")
        if step in recipe["checkpoints"]:
            model.save_pretrained(folder / "checkpoints" / f"step{step}")
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_file=str(tokenizer), bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    ).save_pretrained(folder)
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    with whole(folder / "training.csv") as path:
        lines = [f"{n},{n * tokens_per_step},{loss!r}\n" for n, loss in enumerate(losses, 1)]
        path.write_text("step,tokens,loss_nats\n" + "".join(lines))


def _device(wanted: str) -> str:
    """Return the device a job trains on: `auto` is a GPU where there is one."""
    import torch

    if wanted == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "the recipe has `device: cuda` but PyTorch sees no GPU here; run on a machine that has "
            "one, or choose a scale made for a CPU"
        )
    return ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted


if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            tokens=snakemake.input.tokens,
            info=snakemake.input.info,
            tokenizer=snakemake.input.tokenizer,
            out=snakemake.output.config,
            threads=snakemake.threads,
            **snakemake.params,
        )
