"""Measures of what is inside a network, over plain scoring of the same texts.

python benchmarks/internals.py [--quick] [--threads N] [--cpu-time] [--out FILE]

The networks and texts of benchmarks/surprisal.py, the paper's shape and GPT-2's; times are the medians of
turns in one process. `<shape>.<what>.ratio_vs_plain` is the time with the measures over that of
surprisal alone. `attention` is entropy, normalised entropy and both distances of the last layer,
Oh & Schuler's (2022) predictors; `attention_all_layers` is entropy and both distances of every layer.
The last line is one JSON object.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

from result import keep, processor

PAPERS = ["attention_entropy", "attention_entropy_normalised", "attention_distance_manhattan"]
PAPERS += ["attention_distance_earth_movers"]
TARGETS = {f"{shape}.attention.ratio_vs_plain": 2.0 for shape in ("small", "gpt2")}


def sets_of(layers: int) -> dict[str, list[str]]:
    """Return what is measured → the measures."""
    every = [
        f"{name}_l{layer}" for name in PAPERS[:1] + PAPERS[2:] for layer in range(1, layers + 1)
    ]
    return {
        "attention_entropy": PAPERS[:1],
        "attention": PAPERS,
        "attention_last": ["attention_last_4"],
        "attention_mean_distance": ["attention_mean_distance"],
        "attention_all_layers": every,
        "state_change": ["state_change"],
        "state_change_all_layers": [f"state_change_l{layer}" for layer in range(layers + 1)],
        "layer_surprisal": ["layer_surprisal_l1"],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one text a network: under a minute")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cpu-time", action="store_true", help="count the processor's time")
    parser.add_argument("--out", type=Path, help="where the JSON goes; nowhere unless given")
    arguments = parser.parse_args()
    import torch
    from surprisal import network_of, texts_of, tokenizer_of

    from recency.scoring.surprisal import Model, score_words

    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    turns = 2 if arguments.quick else 3
    metrics: dict[str, float] = {}
    for shape, vocabulary, texts, length in (("small", 50_304, 3, 1000), ("gpt2", 50_257, 2, 700)):
        tokenizer, words = tokenizer_of(vocabulary)
        drawn = texts_of(words, 1 if arguments.quick else texts, length)
        network = network_of(shape)
        model = Model(network, tokenizer)
        named = {"plain": [], **sets_of(network.config.num_hidden_layers)}
        times: dict[str, list[float]] = {name: [] for name in named}
        for turn in range(turns + 1):  # the first lays weights out
            for name, measures in named.items():
                start = clock()
                score_words(drawn, model, measures=measures)
                if turn:
                    times[name].append(clock() - start)
        plain = statistics.median(times["plain"])
        metrics[f"{shape}.plain.seconds"] = round(plain, 3)
        for name in sets_of(network.config.num_hidden_layers):
            ratio = statistics.median(times[name]) / plain
            metrics[f"{shape}.{name}.ratio_vs_plain"] = round(ratio, 2)
            print(f"{shape:6} {name:26} {ratio:5.2f} × plain", file=sys.stderr)
    hardware = processor(f"{arguments.threads} of {os.cpu_count()} cores")
    clocks = {"quick": arguments.quick, "clock": "processor" if arguments.cpu_time else "wall"}
    keep("internals", hardware, metrics, TARGETS, arguments.out, **clocks)


if __name__ == "__main__":
    main()
