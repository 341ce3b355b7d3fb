"""Passages of a training text against tokenizing it: CPU seconds per 10 M words, growth, memory.

python benchmarks/passages.py [--quick] [--text FILE --tokenizer FILE] [--out FILE]

Text and tokenizer are those of the open study if it was run here, else the generator's. Both jobs run
in one process, turn by turn. `cpu_share` is the passages' CPU time over that of tokenizing, `growth`
the CPU time per word on the whole text over that on a quarter of it, and `union_seconds` what one call
of np.union1d costs that earlier releases made every 262,144 words. The last line is one JSON object.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import checkout

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
ROOT = Path(__file__).resolve().parents[1]
checkout.use()

import tokens
from result import keep, processor

TARGETS = {"cpu_share": 0.1, "growth": 1.2, "peak_mib": 400}


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def peak_mib(text: Path, out: Path) -> float:
    """Return the most memory that the job holds, MiB, in a process of its own."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:-2]; from recency import passages;"
        "passages.main(*sys.argv[-2:]);"
        "status = open('/proc/self/status').read();"
        "print(int(status.split('VmHWM:')[1].split()[0]) / 1024)"
    )
    command = [sys.executable, "-c", code, *checkout.PATHS]
    command += [str(text), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def union_seconds() -> float:
    """Return the CPU time of np.union1d of 0.8 M kept hashes with 16 new ones."""
    import numpy as np

    draw = np.random.default_rng(1)
    kept = np.unique(draw.integers(0, 2**50, 800_000, dtype=np.uint64))
    return cpu_seconds(lambda: np.union1d(kept, draw.integers(0, 2**50, 16, dtype=np.uint64)))


def main() -> None:
    """Run, print the figures, end with one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute, the same keys")
    parser.add_argument("--text", type=Path, help="a text.parquet that the workflow made")
    parser.add_argument("--tokenizer", type=Path, help="its tokenizer.json")
    parser.add_argument("--out", type=Path, help="file that also gets the JSON object")
    arguments = parser.parse_args()
    from recency import passages

    metrics: dict = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = arguments.text or tokens.OPEN / "corpora" / "open_english" / "text.parquet"
        tokenizer = arguments.tokenizer or tokens.OPEN / "tokenizers/open-8192/tokenizer.json"
        if not (text.exists() and tokenizer.exists()):
            text, tokenizer = tokens.generated(folder, 200 if arguments.quick else 4000)
        whole, quarter = folder / "whole.parquet", folder / "quarter.parquet"
        words = tokens.part_of(text, whole, 0.1 if arguments.quick else 1.0)
        part = tokens.part_of(whole, quarter, 0.25)
        out = folder / "passages.npz"
        passages.main(quarter, out)  # loads the libraries
        seconds: dict = {"passages": [], "quarter": [], "tokens": []}
        for _ in range(1 if arguments.quick else 3):
            seconds["tokens"].append(
                cpu_seconds(lambda: tokens.ours(whole, tokenizer, folder / "ours.bin", 1))
            )
            seconds["passages"].append(cpu_seconds(lambda: passages.main(whole, out)))
            seconds["quarter"].append(cpu_seconds(lambda: passages.main(quarter, out)))
        per = {name: statistics.median(values) * 1e7 / words for name, values in seconds.items()}
        pairs = zip(seconds["passages"], seconds["tokens"], strict=True)
        metrics |= {
            "words": words,
            "passages_seconds_per_10M_words": round(per["passages"], 3),
            "tokens_seconds_per_10M_words": round(per["tokens"], 3),
            "cpu_share": round(statistics.median(ours / theirs for ours, theirs in pairs), 4),
            "growth": round(per["passages"] / (per["quarter"] * words / part), 2),
            "union_seconds": round(union_seconds(), 3),
        }
        metrics["peak_mib"] = round(peak_mib(whole, out))
    hardware = processor(f"1 of {os.cpu_count()} cores")
    keep("passages", hardware, metrics, TARGETS, arguments.out, quick=arguments.quick)


if __name__ == "__main__":
    main()
