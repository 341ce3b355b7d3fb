"""Training with content-dependent biases against plain attention, at the open study's size.

python benchmarks/content.py [--quick] [--threads N] [--out FILE]

The open study's network (2 layers, 4 heads, width 128, 8,192 entries, rows of 512 tokens) without a
bias, with ALiBi's slopes, and with each content-dependent form: tokens a second of processor time,
and each form's share of the rate without a bias, turn by turn in one process, the median over the
turns. The last line is one JSON object.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import checkout

ROOT = Path(__file__).resolve().parents[1]
checkout.use()

import yaml
from recurrent import text
from result import keep, processor

from recency.heap import keep_freed
from recency.networks import architectures, training
from recency.networks.stream import TokenStream
from recency.processor import use

FORMS = {
    "none": {"form": "none"},
    "linear": {"form": "linear"},
    "power_law": {"form": "power_law", "buffer": 5},
    "forgetting": {"form": "forgetting"},
    "surprisal_gated": {"form": "surprisal_gated"},
    "cue_based": {"form": "cue_based"},
}
CONTENT = ("forgetting", "surprisal_gated", "cue_based")
#: Shares of plain attention's tokens a second, at least.
TARGETS = {
    f"{precision}.{form}.share_of_plain": 0.5 for precision in ("fp32", "bf16") for form in CONTENT
}
#: quick → (sequences a step, steps a turn, turns)
SIZES = {True: (2, 1, 2), False: (8, 2, 7)}
VOCABULARY = 8192


def runs(folder: Path, precision: str, sequences: int, steps: int) -> dict:
    """Return form → a training of the open study's network with that bias."""
    study = yaml.safe_load((ROOT / "config/open.yaml").read_text())
    shape, recipe = study["architectures"]["gpt-neox-2-4-128"], study["recipes"]["cores"]
    recipe |= {"batch_sequences": sequences, "micro_batch": sequences, "precision": precision}
    length = recipe["sequence_length"]
    files = text(folder, VOCABULARY, (length + 1) * sequences * steps)
    return {
        name: training.Training(
            architectures.new(shape, bias, VOCABULARY, 1),
            TokenStream(*files, length, "sequential", 1),
            recipe,
        )
        for name, bias in FORMS.items()
    }


def compare(folder: Path, precision: str, sizes: tuple, metrics: dict) -> None:
    """Time all forms in one precision; write rates and shares into `metrics`."""
    sequences, steps, turns = sizes
    trainings = runs(folder, precision, sequences, steps * (turns + 1))
    seconds: dict = {name: [] for name in trainings}
    for turn in range(turns + 1):
        for name, run in trainings.items():
            start = time.process_time()
            for step in range(steps):
                run.step(1 + turn * steps + step)
            if turn:  # the first is not counted
                seconds[name].append(time.process_time() - start)
    tokens = sequences * steps * run.recipe["sequence_length"]
    for name, times in seconds.items():
        metrics[f"{precision}.{name}.tokens_per_second"] = round(tokens / statistics.median(times))
        ratios = (plain / own for plain, own in zip(seconds["none"], times, strict=True))
        metrics[f"{precision}.{name}.share_of_plain"] = round(statistics.median(ratios), 2)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    keep_freed(large=True)
    use(arguments.threads)
    metrics: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        for precision in ("fp32", "bf16"):
            compare(Path(folder), precision, SIZES[arguments.quick], metrics)
    used = f"{arguments.threads} thread" + "s" * (arguments.threads > 1)
    keep("content", processor(used), metrics, TARGETS, arguments.out)


if __name__ == "__main__":
    main()
