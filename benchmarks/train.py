"""Training steps by this project and by two peers: tokens a second, ratio, peak memory.

python benchmarks/train.py [--quick] [--device cpu|cuda] [--threads N] [--peers FOLDER] [--out FILE]

The paper's network (2 layers, 4 heads, width 256, 50,304 entries) with ALiBi's mixed slopes, the
same weights, tokens and recipe for all, turn by turn in one process. A ratio is a peer's time over
ours, the median over the turns. Peers: `trainer` is transformers' Trainer, `loop` a plain loop as
in nanoGPT (compiled on a GPU); both use the default attention with the bias as an additive mask,
and hold all logits. `lce` is PyTorch's linear_cross_entropy in place of our output layer's loss.
Trainer needs accelerate; `--peers` is a folder that it was installed to (pip install --no-deps
--target FOLDER accelerate). Without it that peer is left out. The last line is one JSON object.
"""

import argparse
import ctypes
import gc
import os
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))

from result import keep, processor

#: On a CPU memory is at most, everything else at least; on a GPU the same.
TARGETS = {
    "cpu": {
        "fp32.ratio_vs_trainer": 1.0,
        "fp32.memory_vs_trainer": 0.5,
        "bf16.ratio_vs_trainer": 1.3,
        "fp32.bias_cost": 0.10,
    },
    "cuda": {
        "bf16.tokens_per_second": 3_000_000,
        "bf16.ratio_vs_trainer": 3.0,
        "bf16.bias_cost": 0.05,
    },
}
PAPER = {
    "family": "gpt_neox",
    "layers": 2,
    "heads": 4,
    "width": 256,
    "feed_forward": 1024,
    "context": 2048,
    "rotary_fraction": 0.25,
}
MIX = {"form": "linear", "slopes": "mix"}
RECIPE = {
    "steps": 1_000_000,
    "learning_rate": 1e-4,
    "minimum_learning_rate": 1e-4,
    "warmup_steps": 1,
    "schedule": "as_run",
    "betas": [0.9, 0.95],
    "epsilon": 1e-8,
    "weight_decay": 0.1,
    "clip": 1.0,
}
#: (sequence length, sequences a step, sequences at once, steps a turn, turns)
SIZES = {
    ("cpu", True): (64, 4, 4, 1, 2),
    ("cpu", False): (512, 8, 8, 2, 5),
    ("cuda", True): (2048, 64, 32, 2, 2),
    ("cuda", False): (2048, 256, 64, 5, 5),
}


class Stream:
    """Random rows, the same for all; what lm.stream.TokenStream is to a training."""

    seed = 1

    def __init__(self, length: int, vocabulary: int):
        self.length, self.vocabulary = length, vocabulary

    def batch(self, first: int, count: int):
        """Return inputs and targets of rows `first` … `first` + count - 1."""
        import torch

        rows = [
            torch.randint(
                self.vocabulary, (self.length + 1,), generator=torch.Generator().manual_seed(n)
            )
            for n in range(first, first + count)
        ]
        rows = torch.stack(rows)
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


class Ours:
    """This project's step."""

    def __init__(self, bias: dict, recipe: dict, device: str):
        from lm import network, training

        model = network.new(PAPER, bias, 50_277, 1)
        stream = Stream(recipe["sequence_length"], 50_277)
        self.run = training.Training(model, stream, recipe, device)
        self.done = 0

    def steps(self, count: int) -> float:
        """Do `count` steps; return the last one's loss in nats."""
        for _ in range(count):
            self.done += 1
            loss = self.run.step(self.done)
        return float(loss)


class WithLibraryLoss(Ours):
    """The same with PyTorch's own linear_cross_entropy."""

    def steps(self, count: int) -> float:
        """Do `count` steps; return the last one's loss in nats."""
        from lm import training
        from torch.nn import LinearCrossEntropyOptions, functional

        def by_library(hidden, weight, targets):
            chunk = 256 if hidden.device.type == "cpu" else None  # the fastest on a CPU
            return functional.linear_cross_entropy(
                hidden.flatten(0, 1),
                weight.to(hidden.dtype),
                targets.flatten(),
                reduction="sum",
                options=LinearCrossEntropyOptions(batch_chunk_size=chunk),
            )

        ours, training.cross_entropy_sum = training.cross_entropy_sum, by_library
        try:
            return super().steps(count)
        finally:
            training.cross_entropy_sum = ours


def plain_network(recipe: dict, device: str):
    """Return plain GPT-NeoX without rotary embedding, our weights, and ALiBi as a mask."""
    import torch
    from lm import network
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    source = network.new(PAPER, MIX, 50_277, 1)
    settings = {k: v for k, v in source.config.to_dict().items() if k not in ("bias", "model_type")}
    config = GPTNeoXConfig(**settings | {"hidden_act": "gelu_pytorch_tanh"})
    model = GPTNeoXForCausalLM(config)
    model.load_state_dict(source.state_dict())
    length = recipe["sequence_length"]
    bias = source.base_model.layers[0].attention.recency_bias
    _, mask = bias.dense(length, length, torch.device("cpu"), torch.float32)
    return model.to(device), mask.to(device)


class Loop:
    """A plain loop: all logits of a micro-batch, cross_entropy, fused AdamW."""

    def __init__(self, recipe: dict, device: str):
        import torch
        from lm import training

        self.recipe, self.device, self.done = recipe, device, 0
        self.model, self.mask = plain_network(recipe, device)
        self.optimizer = training.optimizer(self.model, recipe)
        self.stream = Stream(recipe["sequence_length"], 50_277)
        self.forward = torch.compile(self.model) if device != "cpu" else self.model
        self.model.train()

    def steps(self, count: int) -> float:
        """Do `count` steps; return the last one's loss in nats."""
        import torch
        from torch.nn import functional

        recipe, bf16 = self.recipe, self.recipe["precision"] == "bf16"
        for _ in range(count):
            for group in self.optimizer.param_groups:
                group["lr"] = recipe["learning_rate"]
            first, total = self.done * recipe["batch_sequences"], 0.0
            parts = recipe["batch_sequences"] // recipe["micro_batch"]
            for part in range(parts):
                at = first + part * recipe["micro_batch"]
                inputs, targets = self.stream.batch(at, recipe["micro_batch"])
                inputs, targets = inputs.to(self.device), targets.to(self.device)
                with torch.autocast(self.device, torch.bfloat16, enabled=bf16):
                    mask = self.mask.to(torch.bfloat16) if bf16 else self.mask
                    logits = self.forward(inputs, attention_mask=mask, use_cache=False).logits
                    loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
                (loss / parts).backward()
                total += loss.detach() / parts
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), recipe["clip"])
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.done += 1
        return float(total)


class ByTrainer:
    """transformers' Trainer with its default attention."""

    def __init__(self, recipe: dict, device: str):
        import torch
        from lm import training
        from transformers import Trainer, TrainerCallback, TrainingArguments, trainer

        trainer.is_datasets_available = lambda: False  # ours is another package of that name
        self.recipe, self.done, self.folder = recipe, 0, tempfile.TemporaryDirectory()
        model, mask = plain_network(recipe, device)
        optimizer = training.optimizer(model, recipe)
        for group in optimizer.param_groups:
            group["lr"] = recipe["learning_rate"]
        constant = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
        bf16 = recipe["precision"] == "bf16"
        mask = mask.to(torch.bfloat16) if bf16 else mask
        losses = self.losses = []

        class Listening(Trainer):
            def training_step(self, *arguments, **settings):
                loss = super().training_step(*arguments, **settings)
                losses.append(loss.detach())
                return loss

        class Clock(TrainerCallback):
            """When the first step of a run began and its last one ended."""

            def on_step_begin(self, arguments, state, control, **settings):
                if state.global_step == 0:
                    self.begun = time.perf_counter()

            def on_step_end(self, arguments, state, control, **settings):
                if device != "cpu":
                    torch.cuda.synchronize()
                self.ended = time.perf_counter()

        def collate(rows):
            inputs = torch.stack(rows)  # Trainer's models shift the labels themselves
            return {
                "input_ids": inputs[:, :-1].contiguous(),
                "shift_labels": inputs[:, 1:].contiguous(),
                "labels": inputs[:, 1:].contiguous(),
                "attention_mask": mask.expand(len(rows), -1, -1, -1),
            }

        self.clock, self.make = (
            Clock(),
            lambda rows, steps: Listening(
                model,
                TrainingArguments(
                    self.folder.name,
                    per_device_train_batch_size=recipe["micro_batch"],
                    gradient_accumulation_steps=recipe["batch_sequences"] // recipe["micro_batch"],
                    max_steps=steps,
                    max_grad_norm=recipe["clip"],
                    bf16=bf16,
                    use_cpu=device == "cpu",
                    logging_strategy="no",
                    save_strategy="no",
                    report_to=[],
                    disable_tqdm=True,
                    remove_unused_columns=False,
                    dataloader_pin_memory=False,
                    train_sampling_strategy="sequential",
                ),
                data_collator=collate,
                train_dataset=rows,
                optimizers=(optimizer, constant),
                callbacks=[self.clock],
            ),
        )

    def steps(self, count: int) -> float:
        """Do `count` steps; `seconds` is what they took without Trainer's own start."""
        import torch

        stream = Stream(self.recipe["sequence_length"], 50_277)
        per_step = self.recipe["batch_sequences"]
        inputs, targets = stream.batch(self.done * per_step, count * per_step)
        rows = list(torch.cat([inputs, targets[:, -1:]], 1))
        self.losses.clear()
        self.make(rows, count).train()
        self.seconds = self.clock.ended - self.clock.begun
        self.done += count
        parts = per_step // self.recipe["micro_batch"]
        # With accumulation Trainer's training_step returns each part's loss already divided.
        return float(torch.stack(self.losses[-parts:]).sum())


def contenders(precision: str, device: str, sizes: tuple) -> dict:
    """Return name → function that makes it."""
    length, sequences, at_once, _, _ = sizes
    recipe = RECIPE | {
        "precision": precision,
        "sequence_length": length,
        "batch_sequences": sequences,
        "micro_batch": at_once,
    }
    made = {
        "ours": lambda: Ours(MIX, recipe, device),
        "no_bias": lambda: Ours({"form": "none"}, recipe, device),
        "lce": lambda: WithLibraryLoss(MIX, recipe, device),
        "loop": lambda: Loop(recipe, device),
        "trainer": lambda: ByTrainer(recipe, device),
    }
    try:
        import accelerate  # noqa: F401
    except ImportError:
        del made["trainer"]
    return made


def resident(field: str) -> float:
    """Return VmRSS or VmHWM (since it was last reset) of this process, MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise SystemExit("benchmarks/train.py measures memory through /proc, which is not here")


def peak_memory(make, device: str) -> float:
    """Return the most that a contender and two of its steps add to the process, MiB."""
    import torch

    gc.collect()
    if device != "cpu":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        made = make()
        made.steps(2)
        peak = (torch.cuda.max_memory_allocated() - before) / 2**20
    else:
        trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda pad: None)
        trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts again from VmRSS
        before = resident("VmRSS")
        made = make()
        made.steps(2)
        peak = resident("VmHWM") - before
    del made
    gc.collect()
    return peak


def timed(contender, count: int, device: str) -> float:
    """Return the seconds that `count` steps take."""
    import torch

    if device != "cpu":
        torch.cuda.synchronize()
    start = time.perf_counter()
    contender.steps(count)
    if device != "cpu":
        torch.cuda.synchronize()
    return getattr(contender, "seconds", time.perf_counter() - start)


def compare(precision: str, device: str, sizes: tuple, metrics: dict) -> None:
    """Time all at one precision, write times and ratios into `metrics`."""
    length, sequences, _, count, turns = sizes
    makers = contenders(precision, device, sizes)
    peaks = {name: peak_memory(make, device) for name, make in makers.items()}
    made = {name: make() for name, make in makers.items()}
    first = {name: contender.steps(1) for name, contender in made.items()}
    seconds: dict = {name: [] for name in made}
    for _ in range(turns):
        for name, contender in made.items():
            seconds[name].append(timed(contender, count, device))
    tokens = length * sequences * count
    own = statistics.median(seconds["ours"])
    metrics[f"{precision}.tokens_per_second"] = round(tokens / own)
    metrics[f"{precision}.peak_mib"] = round(peaks["ours"])
    for name in ("trainer", "loop", "lce"):
        if name not in made:
            metrics[f"{precision}.{name}.absent"] = "accelerate is not installed"
            continue
        pairs = zip(seconds[name], seconds["ours"], strict=True)
        ratio = statistics.median(theirs / mine for theirs, mine in pairs)
        metrics[f"{precision}.ratio_vs_{name}"] = round(ratio, 2)
        metrics[f"{precision}.memory_vs_{name}"] = round(peaks["ours"] / peaks[name], 2)
        # The first step of all starts from the same weights and tokens.
        metrics[f"{precision}.first_loss_minus_{name}"] = round(first["ours"] - first[name], 5)
    pairs = zip(seconds["no_bias"], seconds["ours"], strict=True)
    cost = statistics.median(mine / without for without, mine in pairs) - 1
    metrics[f"{precision}.bias_cost"] = round(cost, 3)
    if device != "cpu":
        metrics[f"{precision}.share_of_peak"] = round(
            flop_per_token(length) * tokens / own / matrix_peak(), 3
        )


def flop_per_token(length: int) -> float:
    """Return a training step's floating-point operations per token: three times the forward's."""
    width, layers = PAPER["width"], PAPER["layers"]
    weights = layers * (4 * width * width + 2 * width * PAPER["feed_forward"]) + width * 50_304
    return 3 * (2 * weights + layers * 2 * 2 * width * length / 2)


def matrix_peak() -> float:
    """Measure the GPU's bf16 matrix products, operations a second."""
    import torch

    a, b = torch.randn(2, 8192, 8192, device="cuda", dtype=torch.bfloat16)
    for _ in range(3):
        a @ b
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        a @ b
    torch.cuda.synchronize()
    return 20 * 2 * 8192**3 / (time.perf_counter() - start)


def main() -> None:
    """Run, print the figures, end with one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller, the same keys")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="a GPU where there is one")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peers", type=Path, help="folder that accelerate was installed to")
    parser.add_argument("--out", type=Path, help="file that also gets the JSON object")
    arguments = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    warnings.filterwarnings("ignore")
    sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
    if arguments.peers:
        sys.path.append(str(arguments.peers))
    import torch

    device = arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_num_threads(arguments.threads)
    metrics: dict = {}
    for precision in ("fp32", "bf16") if device == "cpu" else ("bf16",):
        compare(precision, device, SIZES[device, arguments.quick], metrics)
    used = f"{arguments.threads} threads of {os.cpu_count()} cores"
    hardware = torch.cuda.get_device_name() if device != "cpu" else processor(used)
    keep("train", hardware, metrics, TARGETS[device], arguments.out, quick=arguments.quick)


if __name__ == "__main__":
    main()
