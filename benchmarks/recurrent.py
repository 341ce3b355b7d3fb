"""Recurrent LMs against PyTorch's own modules: words a second, peak memory, and scans against loops.

python benchmarks/recurrent.py [--quick] [--threads N] [--out FILE]

An LSTM of the Penn Treebank's size (embedding 200, width 400) at 10,000 and 50,304 entries: `ours`
is a training step on carried streams, `torch` the same of nn.Embedding, nn.LSTM, nn.Linear and
cross_entropy with the same weights, words, SGD and clipping, `transformer` a step of this project's
GPT-NeoX of the same width. All have freed memory kept by the C library, and numbers below 1e-38 taken for 0. Scans are those of
recency.networks.recurrences with their gradients, the loop the same a step at a time. Ratios are of
processor time, turn by turn in one process, the median over the turns, so that they hold on a busy
machine. `share_of_peak` is how much of our time the matrix products alone would take at the
processor's peak, measured beside them, and `ratio_at_peak` the ratio to `torch` that no computation
of all logits can pass.

`memories` are the open study's twelve, as its recipe trains them (64 streams of 64 words, width 128, 8,192
entries), in fp32 and bf16: words a second of each, of the slowest, and of the output layer's products alone
at the peak (`floor`), which no training of that precision can pass. The last line is one JSON object.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import checkout

ROOT = Path(__file__).resolve().parents[1]
checkout.use()

import numpy as np
import torch
import yaml
from result import keep, processor
from torch import nn
from train import matrix_peak, peak_memory

from recency.heap import keep_freed
from recency.networks import architectures, carried, recurrences, training
from recency.networks.stream import TokenStream
from recency.processor import use

#: Words a second at least, memory at most, of torch's.
TARGETS = {
    "10000.ratio_vs_torch": 1.3,
    "10000.memory_vs_torch": 0.5,
    "50304.ratio_vs_torch": 1.5,
    "50304.memory_vs_torch": 0.3,
    "scan.ratio_vs_loop": 3.0,
    # 4 M words in five minutes
    "memories.fp32.slowest": 13_300,
    "memories.bf16.slowest": 13_300,
}
VOCABULARIES = (10_000, 50_304)
EMBEDDING, WIDTH, MOMENTUM, CLIP, RATE = 200, 400, 0.9, 5.0, 0.1
NONE = {"form": "none"}
#: quick → (streams, words a step, steps a turn, turns); the shape of scans, and their repeats.
SIZES = {True: (20, 35, 1, 3), False: (32, 64, 2, 7)}
SCANS = {True: ((32, 64, 128), 5), False: ((32, 64, 128), 50)}
#: quick → (streams, words a step, entries, steps) of each of the open study's memories
MEMORIES = {True: (16, 64, 8192, 1), False: (64, 64, 8192, 8)}


def recipe(streams: int, length: int, order: str) -> dict:
    """Return how all are trained."""
    return {
        "steps": 10**6, "batch_sequences": streams, "sequence_length": length, "micro_batch": streams,
        "order": order, "optimizer": "sgd", "momentum": MOMENTUM, "learning_rate": RATE,
        "minimum_learning_rate": RATE, "warmup_steps": 0, "schedule": "as_worded",
        "weight_decay": 0.0, "clip": CLIP, "precision": "fp32",
    }  # fmt: skip


def text(folder: Path, vocabulary: int, size: int) -> tuple[Path, Path]:
    """Write random tokens and what they are."""
    tokens = np.random.default_rng(1).integers(1, vocabulary, size)
    tokens.astype("<u2").tofile(folder / f"{vocabulary}.bin")
    facts = {"vocabulary": vocabulary, "dtype": "<u2", "end_of_document": 0}
    (folder / f"{vocabulary}.json").write_text(json.dumps(facts))
    return folder / f"{vocabulary}.bin", folder / f"{vocabulary}.json"


class Ours:
    """A training of this project, whichever kind."""

    def __init__(self, run):
        self.run, self.done = run, 0

    def steps(self, count: int) -> float:
        """Do so many steps; return the last one's mean loss."""
        for _ in range(count):
            self.done += 1
            loss = self.run.step(self.done)
        return loss.item()


class Torch:
    """What one writes with PyTorch alone."""

    def __init__(self, stream, vocabulary: int):
        own = lstm(vocabulary)
        self.stream, self.done, self.state = stream, 0, None
        self.embedding = nn.Embedding(vocabulary, EMBEDDING)
        self.lstm = nn.LSTM(EMBEDDING, WIDTH, batch_first=True)
        self.output = nn.Linear(WIDTH, vocabulary, bias=False)
        self.embedding.load_state_dict(own.model.embedding.state_dict())
        self.lstm.load_state_dict(own.model.layers[0].cell.state_dict())
        self.output.load_state_dict(own.lm_head.state_dict())
        self.parameters = [
            p for m in (self.embedding, self.lstm, self.output) for p in m.parameters()
        ]
        self.optimizer = torch.optim.SGD(self.parameters, lr=RATE, momentum=MOMENTUM)

    def steps(self, count: int) -> float:
        """Do so many steps; return the last one's mean loss."""
        for _ in range(count):
            inputs, targets = self.stream.step(
                self.done % self.stream.steps, 0, self.stream.streams
            )
            self.done += 1
            states, state = self.lstm(self.embedding(inputs), self.state)
            self.state = tuple(each.detach() for each in state)
            logits = self.output(states)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.parameters, CLIP)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        return loss.item()


def lstm(vocabulary: int):
    """Return the LSTM, the same weights each time."""
    shape = {"family": "recurrent", "layers": 1, "embedding": EMBEDDING, "width": WIDTH}
    return architectures.new(shape | {"memory": {"form": "lstm"}}, NONE, vocabulary, 1)


def contenders(folder: Path, vocabulary: int, sizes: tuple) -> dict:
    """Return name → what makes a contender."""
    streams, length, count, turns = sizes
    files = text(folder, vocabulary, streams * (length + 1) * (2 + count * (turns + 2)))
    shape = {"family": "gpt_neox", "layers": 2, "heads": 4, "width": WIDTH, "context": length}
    shape |= {"feed_forward": 4 * WIDTH, "rotary_fraction": 0.25}

    def ours():
        stream = carried.Text(*files, streams, length, seed=1)
        settings = recipe(streams, length, "streams")
        return Ours(carried.CarriedTraining(lstm(vocabulary), stream, settings))

    def transformer():
        stream = TokenStream(*files, length, "sequential", 1)
        network = architectures.new(shape, NONE, vocabulary, 1)
        return Ours(training.Training(network, stream, recipe(streams, length, "sequential")))

    def plain():
        return Torch(carried.Text(*files, streams, length, seed=1).training, vocabulary)

    return {"ours": ours, "torch": plain, "transformer": transformer}


def memory(folder: Path, vocabulary: int, sizes: tuple) -> dict[str, float]:
    """Return the most memory that each takes at one vocabulary, MiB."""
    makers = contenders(folder, vocabulary, sizes)
    for make in makers.values():
        peak_memory(make, "cpu")  # what a first one loads stays in the process
    return {name: max(1.0, peak_memory(make, "cpu")) for name, make in makers.items()}


def compare(folder: Path, vocabulary: int, sizes: tuple, peaks: dict, metrics: dict) -> None:
    """Time all at one vocabulary; write times and ratios into `metrics`."""
    streams, length, count, turns = sizes
    makers = contenders(folder, vocabulary, sizes)
    made = {name: make() for name, make in makers.items()}
    first = {name: contender.steps(1) for name, contender in made.items()}
    seconds: dict = {name: [] for name in made}
    peak = []
    for _ in range(turns):
        peak.append(matrix_peak("cpu", "fp32", time.process_time))
        for name, contender in made.items():
            start = time.process_time()
            contender.steps(count)
            seconds[name].append(time.process_time() - start)
    words = streams * length * count
    metrics[f"{vocabulary}.words_per_processor_second"] = round(
        words / statistics.median(seconds["ours"])
    )
    metrics[f"{vocabulary}.peak_mib"] = round(peaks["ours"])
    for name in ("torch", "transformer"):
        pairs = zip(seconds[name], seconds["ours"], strict=True)
        ratio = statistics.median(theirs / mine for theirs, mine in pairs)
        metrics[f"{vocabulary}.ratio_vs_{name}"] = round(ratio, 2)
        metrics[f"{vocabulary}.memory_vs_{name}"] = round(peaks["ours"] / peaks[name], 2)
    flop = 6 * words * (4 * WIDTH * (EMBEDDING + WIDTH) + WIDTH * vocabulary)
    share = flop / statistics.median(seconds["ours"]) / max(peak)
    metrics[f"{vocabulary}.share_of_peak"] = round(share, 2)
    metrics[f"{vocabulary}.ratio_at_peak"] = round(
        metrics[f"{vocabulary}.ratio_vs_torch"] / share, 2
    )
    # The first steps of both LSTMs start from the same weights and words.
    metrics[f"{vocabulary}.first_loss_minus_torch"] = round(first["ours"] - first["torch"], 5)


def memories(folder: Path, sizes: tuple, metrics: dict) -> None:
    """Train each of the open study's memories for some steps, and one before; write the rates."""
    streams, length, vocabulary, count = sizes
    study = yaml.safe_load((ROOT / "config/open.yaml").read_text())
    shape, settings = study["architectures"]["recurrent-128"], study["recipes"]["streams"]
    settings |= {"batch_sequences": streams, "sequence_length": length, "micro_batch": streams}
    files = text(folder, vocabulary, streams * (length + 1) * (count + 2))
    words, width = streams * length, shape["feed_forward"]
    for precision in ("fp32", "bf16"):
        rates, where = [], f"memories.{precision}"
        for name, memory in study["memories"].items():
            model = architectures.new(shape | {"memory": memory}, NONE, vocabulary, 1)
            stream = carried.Text(*files, streams, length, seed=1)
            run = carried.CarriedTraining(model, stream, settings | {"precision": precision})
            seconds = []
            for step in range(1, count + 2):
                start = time.process_time()
                run.step(step)
                seconds.append(time.process_time() - start)
            rates.append(round(words / statistics.median(seconds[1:])))
            metrics[f"{where}.{name}"] = rates[-1]
        peak = max(matrix_peak("cpu", precision, time.process_time) for _ in range(3))
        metrics[f"{where}.slowest"] = min(rates)
        metrics[f"{where}.floor"] = round(peak / (6 * width * vocabulary))


def loop(decay: torch.Tensor, inputs: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """Return what `recurrences.scan` does, a step at a time."""
    states = []
    for step in range(inputs.shape[1]):
        start = inputs[:, step] + decay[:, 0 if decay.shape[1] == 1 else step] * start
        states.append(start)
    return torch.stack(states, 1)


def scans(shape: tuple, repeats: int, metrics: dict) -> None:
    """Time scans with their gradients against the loop: one decay for all steps, and one a step."""
    for name, times in (("scan", 1), ("selective_scan", shape[1])):
        decay = torch.rand(1 if times == 1 else shape[0], times, shape[2]).requires_grad_()
        inputs, start = torch.randn(shape).requires_grad_(), torch.zeros(shape[0], shape[2])
        ratios = []
        for _ in range(repeats + 2):
            seconds = []
            for function in (recurrences.scan, loop):
                begin = time.process_time()
                function(decay, inputs, start).sum().backward()
                seconds.append(time.process_time() - begin)
            ratios.append(seconds[1] / seconds[0])
        metrics[f"{name}.ratio_vs_loop"] = round(statistics.median(ratios[2:]), 2)


def main() -> None:
    """Run, print the figures, end with one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller, the same keys")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, help="file that also gets the JSON object")
    arguments = parser.parse_args()
    use(arguments.threads)
    metrics: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        sizes = SIZES[arguments.quick]
        peaks = {each: memory(Path(folder), each, sizes) for each in VOCABULARIES}
        keep_freed(large=True)
        for vocabulary in VOCABULARIES:
            compare(Path(folder), vocabulary, sizes, peaks[vocabulary], metrics)
        memories(Path(folder), MEMORIES[arguments.quick], metrics)
    scans(*SCANS[arguments.quick], metrics)
    hardware = processor(f"{arguments.threads} of {os.cpu_count()} cores")
    keep("recurrent", hardware, metrics, TARGETS, arguments.out, quick=arguments.quick)


if __name__ == "__main__":
    main()
