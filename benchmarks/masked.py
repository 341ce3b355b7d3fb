"""Training steps of a masked LM by this project and by peers: tokens a second, ratio, peak memory.

python benchmarks/masked.py [--quick] [--threads N] [--cpu-time] [--precision fp32 bf16]
    [--vocabulary 8192 50265] [--peers FOLDER] [--out FILE]

RoBERTa of 4 layers, 4 heads and width 256 with its dropout of 0.1, rows of 256 tokens; the same
weights, rows and masks for all, turn by turn in one process. A ratio is a peer's time over ours, the
median over the turns. Peers: `loop` is RobertaForMaskedLM with its own loss in a plain loop, `sparse`
the same with the head at masked places alone (the fastest that is known), `trainer` transformers'
Trainer, which needs accelerate: `--peers` is a folder that it was installed to (pip install --no-deps
--target FOLDER accelerate); without it that peer is left out. In float32 with 8,192 entries
our step takes three rows at once (`micro_batch`), which costs it a thirtieth of its time, and `trainer_halves`
is the Trainer that takes four. Beside them our own with the other heads and positions: `offset` and
`zero_clap`. Times are those with freed memory kept by the C library, memory is that without. `--cpu-time` counts
the processor's time, for a machine that others use. `share_of_peak` is how much of our time the matrix products
alone would take at the processor's peak, measured beside them, and `ratio_at_peak` the ratio to the Trainer (to `loop` without it) that no
computation of them in this precision can pass. The last line is one JSON object.
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

import checkout
from result import keep, processor
from train import matrix_peak, peak_memory

#: Memory is at most, everything else at least.
TARGETS = {
    "fp32.8192.ratio_vs_trainer": 1.8,
    "fp32.8192.memory_vs_trainer": 0.35,
    "fp32.50265.ratio_vs_trainer": 2.5,
    "bf16.8192.ratio_vs_trainer": 3.0,
}
SHAPE = {"family": "roberta", "layers": 4, "heads": 4, "width": 256, "feed_forward": 1024,
         "dropout": 0.1}  # fmt: skip
#: quick → rows a step, tokens a row, steps a turn, turns
SIZES = {True: (2, 64, 1, 2), False: (8, 256, 1, 5)}
#: precision, vocabulary → rows of a micro-batch of ours; all where there is none.
AT_ONCE = {("fp32", 8192): 3}
RATE = 1e-4
RECIPE = {
    "steps": 1_000_000,
    "learning_rate": RATE,
    "minimum_learning_rate": RATE,
    "warmup_steps": 1,
    "schedule": "linear",
    "betas": [0.9, 0.98],
    "epsilon": 1e-6,
    "weight_decay": 0.01,
    "clip": 1.0,
}


class Rows:
    """Random rows, masked, the same for all; what MaskedRows is to a training."""

    seed = 1

    def __init__(self, length: int, vocabulary: int):
        import numpy as np

        from recency.networks.masked_training import Entries, Masking

        self.length, self.vocabulary = length, vocabulary
        self.masking = Masking({}, Entries(vocabulary, 4, np.arange(5, vocabulary)))

    def count_masked(self, first: int, count: int) -> int:
        """Return how many places of some rows are masked."""
        rows = range(first, first + count)
        draws = (self.masking.generator(self.seed, 0, row) for row in rows)
        return sum(self.masking.count(self.length, draw) for draw in draws)

    def batch(self, first: int, count: int):
        """Return rows `first` … `first` + count - 1 as MaskedRows does."""
        import numpy as np
        import torch

        from recency.networks.masked_training import Batch

        inputs, places, targets = [], [], []
        for row in range(first, first + count):
            tokens = np.random.default_rng(row).integers(5, self.vocabulary, self.length)
            original = tokens.copy()
            here = self.masking.apply(tokens, self.masking.generator(self.seed, 0, row))
            inputs.append(tokens)
            places.append(here + (row - first) * self.length)
            targets.append(original[here])
        parts = (np.stack(inputs), np.concatenate(places), np.concatenate(targets))
        inputs, places, targets = map(torch.from_numpy, parts)
        return Batch(inputs, None, places, targets)


class Ours:
    """The step of this project."""

    def __init__(self, recipe: dict, vocabulary: int, bias: dict | None = None, **own):
        from recency.networks import architectures, masked_training

        shape = SHAPE | {"context": recipe["sequence_length"]} | own
        model = architectures.new(shape, bias or {"form": "none"}, vocabulary, 1)
        rows = Rows(recipe["sequence_length"], vocabulary)
        self.run, self.done = masked_training.MaskedTraining(model, rows, recipe), 0

    def steps(self, count: int) -> float:
        """Do `count` steps; return the last one's loss in nats."""
        for _ in range(count):
            self.done += 1
            loss = self.run.step(self.done)
        return loss.item()


class Loop:
    """transformers' RobertaForMaskedLM and its loss in a plain loop."""

    def __init__(self, recipe: dict, vocabulary: int, sparse: bool = False):
        from recency.networks import architectures, training

        self.recipe, self.sparse, self.done = recipe, sparse, 0
        shape = SHAPE | {"context": recipe["sequence_length"]}
        self.model = architectures.new(shape, {"form": "none"}, vocabulary, 1).train()
        self.rows = Rows(recipe["sequence_length"], vocabulary)
        self.optimizer = training.optimizer(self.model, recipe)
        for group in self.optimizer.param_groups:
            group["lr"] = RATE

    def loss(self, inputs, places, targets):
        """Return the mean loss of the masked places."""
        from torch.nn import functional

        if self.sparse:
            states = self.model.roberta(input_ids=inputs).last_hidden_state
            return functional.cross_entropy(
                self.model.lm_head(states.flatten(0, 1)[places]), targets
            )
        return self.model(input_ids=inputs, labels=labels(inputs, places, targets)).loss

    def steps(self, count: int) -> float:
        """Do `count` steps; return the last one's loss in nats."""
        import torch

        for _ in range(count):
            number = self.recipe["batch_sequences"]
            inputs, _, places, targets = self.rows.batch(self.done * number, number)
            with torch.autocast("cpu", torch.bfloat16, enabled=self.recipe["precision"] == "bf16"):
                loss = self.loss(inputs, places, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe["clip"])
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.done += 1
        return loss.item()


def labels(inputs, places, targets):
    """Return the labels that transformers' loss takes: -100 where nothing is asked."""
    import torch

    found = torch.full_like(inputs, -100)
    found.view(-1)[places] = targets
    return found


class ByTrainer:
    """transformers' Trainer; `clock` tells the seconds."""

    clock = staticmethod(time.perf_counter)

    def __init__(self, recipe: dict, vocabulary: int, parts: int = 1):
        import torch
        from transformers import Trainer, TrainerCallback, TrainingArguments, trainer

        trainer.is_datasets_available = lambda: False
        self.recipe, self.folder, self.done = recipe, tempfile.TemporaryDirectory(), 0
        loop = Loop(recipe, vocabulary)
        self.rows, at_once = loop.rows, recipe["batch_sequences"] // parts
        constant = torch.optim.lr_scheduler.LambdaLR(loop.optimizer, lambda step: 1.0)
        losses, contender = [], self
        self.losses = losses

        class Listening(Trainer):
            def training_step(self, *arguments, **settings):
                loss = super().training_step(*arguments, **settings)
                losses.append(loss.detach())
                return loss

        class Watch(TrainerCallback):
            """When the first step of a run began and its last one ended."""

            def on_step_begin(self, arguments, state, control, **settings):
                if state.global_step == 0:
                    self.begun = contender.clock()

            def on_step_end(self, arguments, state, control, **settings):
                self.ended = contender.clock()

        def collate(numbers):
            inputs, _, places, targets = self.rows.batch(numbers[0], len(numbers))
            return {"input_ids": inputs, "labels": labels(inputs, places, targets)}

        self.watch = Watch()
        self.make = lambda numbers, steps: Listening(
            loop.model,
            TrainingArguments(
                self.folder.name,
                per_device_train_batch_size=at_once,
                gradient_accumulation_steps=parts,
                max_steps=steps,
                max_grad_norm=recipe["clip"],
                bf16=recipe["precision"] == "bf16",
                use_cpu=True,
                logging_strategy="no",
                save_strategy="no",
                report_to=[],
                disable_tqdm=True,
                remove_unused_columns=False,
                dataloader_pin_memory=False,
                train_sampling_strategy="sequential",
            ),
            data_collator=collate,
            train_dataset=numbers,
            optimizers=(loop.optimizer, constant),
            callbacks=[self.watch],
        )

    def steps(self, count: int) -> float:
        """Do `count` steps; `seconds` is what they took without Trainer's own start."""
        number = self.recipe["batch_sequences"]
        self.losses.clear()
        self.make(list(range(self.done * number, (self.done + count) * number)), count).train()
        self.seconds = self.watch.ended - self.watch.begun
        self.done += count
        return float(self.losses[-1])


def contenders(recipe: dict, vocabulary: int) -> dict:
    """Return name → function that makes it."""
    offset, clap = {"form": "linear_both"}, {"head": "clap", "embedding_norm": False}
    made = {
        "ours": lambda: Ours(recipe, vocabulary),
        "offset": lambda: Ours(recipe, vocabulary, offset, positions="none"),
        "zero_clap": lambda: Ours(recipe, vocabulary, offset, positions="none", **clap),
        "loop": lambda: Loop(recipe, vocabulary),
        "sparse": lambda: Loop(recipe, vocabulary, sparse=True),
        "trainer": lambda: ByTrainer(recipe, vocabulary),
    }
    if recipe["micro_batch"] < recipe["batch_sequences"]:
        made["trainer_halves"] = lambda: ByTrainer(recipe, vocabulary, parts=2)
    try:
        import accelerate  # noqa: F401
    except ImportError:
        made = {name: make for name, make in made.items() if not name.startswith("trainer")}
    return made


def recipe_of(precision: str, vocabulary: int, sizes: tuple) -> dict:
    """Return how all are trained."""
    rows, length, _, _ = sizes
    at_once = min(rows, AT_ONCE.get((precision, vocabulary), rows))
    sizes = {"sequence_length": length, "batch_sequences": rows, "micro_batch": at_once}
    return RECIPE | {"precision": precision} | sizes


def memory(precision: str, vocabulary: int, sizes: tuple) -> dict[str, float]:
    """Return the most memory that each takes, MiB."""
    makers = contenders(recipe_of(precision, vocabulary, sizes), vocabulary)
    peak_memory(makers["ours"], "cpu")  # what a first one loads stays in the process
    return {name: peak_memory(make, "cpu") for name, make in makers.items()}


def compare(
    precision: str, vocabulary: int, sizes: tuple, peaks: dict, metrics: dict, clock
) -> None:
    """Time all at one precision and vocabulary, write times and ratios into `metrics`."""
    rows, length, count, turns = sizes
    makers = contenders(recipe_of(precision, vocabulary, sizes), vocabulary)
    where = f"{precision}.{vocabulary}"
    made = {name: make() for name, make in makers.items()}
    for contender in made.values():
        contender.steps(1)
    seconds: dict = {name: [] for name in made}
    peak = []
    for _ in range(turns):
        peak.append(matrix_peak("cpu", precision, clock))
        for name, contender in made.items():
            contender.clock = clock
            start = clock()
            contender.steps(count)
            seconds[name].append(getattr(contender, "seconds", clock() - start))
    own = statistics.median(seconds["ours"])
    metrics[f"{where}.tokens_per_second"] = round(rows * length * count / own)
    metrics[f"{where}.peak_mib"] = round(peaks["ours"])
    if "trainer" not in made:
        metrics[f"{where}.trainer.absent"] = "accelerate is not installed"
    for name in [each for each in made if each != "ours"]:
        pairs = zip(seconds[name], seconds["ours"], strict=True)
        ratio = statistics.median(theirs / mine for theirs, mine in pairs)
        metrics[f"{where}.ratio_vs_{name}"] = round(ratio, 2)
        metrics[f"{where}.memory_vs_{name}"] = round(peaks["ours"] / peaks[name], 2)

    slowest = "trainer" if "trainer" in made else "loop"
    share = flop_per_token(length, vocabulary) * rows * length * count / own / max(peak)
    metrics[f"{where}.share_of_peak"] = round(share, 2)
    metrics[f"{where}.ratio_at_peak"] = round(metrics[f"{where}.ratio_vs_{slowest}"] / share, 2)


def flop_per_token(length: int, vocabulary: int) -> float:
    """Return a step's floating-point operations per token, three times the forward's.

    The output layer's are those of masked places alone.
    """
    from recency.networks.masked_training import DEFAULTS

    width, layers = SHAPE["width"], SHAPE["layers"]
    weights = layers * (4 * width * width + 2 * width * SHAPE["feed_forward"])
    weights += DEFAULTS["share"] * (width * width + width * vocabulary)
    return 3 * (2 * weights + layers * 2 * 2 * width * length)


def main() -> None:
    """Run, print the figures, end with one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller, the same keys")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu-time", action="store_true", help="count the processor's time")
    parser.add_argument("--precision", nargs="+", default=["fp32", "bf16"], help="fp32, bf16")
    parser.add_argument("--vocabulary", nargs="+", type=int, default=[8192, 50265])
    parser.add_argument("--peers", type=Path, help="folder that accelerate was installed to")
    parser.add_argument("--out", type=Path, help="file that also gets the JSON object")
    arguments = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    warnings.filterwarnings("ignore")
    checkout.use()
    if arguments.peers:
        sys.path.append(str(arguments.peers))
    from recency.heap import keep_freed
    from recency.processor import use

    use(arguments.threads)
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    metrics: dict = {}
    asked, sizes = (
        itertools.product(arguments.precision, arguments.vocabulary),
        SIZES[arguments.quick],
    )
    peaks = {each: memory(*each, sizes) for each in asked}
    keep_freed(large=True)
    for each, taken in peaks.items():
        compare(*each, sizes, taken, metrics, clock)
        print(metrics, file=sys.stderr)
    hardware = processor(f"{arguments.threads} of {os.cpu_count()} cores")
    clocks = {"quick": arguments.quick, "clock": "processor" if arguments.cpu_time else "wall"}
    keep("masked", hardware, metrics, TARGETS, arguments.out, **clocks)


if __name__ == "__main__":
    main()
