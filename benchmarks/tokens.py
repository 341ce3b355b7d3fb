"""Tokenizing a corpus by this project and by the tokenizers library: words a second, memory.

python benchmarks/tokens.py [--quick] [--threads N] [--text FILE --tokenizer FILE] [--out FILE]

Text and tokenizer are those of the open study if it was run here, else the generator's; both write
the same token file, turn by turn. The peer encodes a row group at a time with `encode_batch`, all
threads, as most training scripts do. The ratio is its time over ours. `memory_growth` is our peak
memory on the whole text over that on a quarter of it. The last line is one JSON object.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

import checkout
from result import keep, processor

OPEN = ROOT / "results" / "open" / "cores"
TARGETS = {"words_per_second": 1_000_000, "memory_growth": 1.2}


def generated(folder: Path, stories: int) -> tuple[Path, Path]:
    """Make text from the project's own grammar and a tokenizer of it."""
    from recency.simulation import text as simulate_text
    from recency.text import tokenizer as train_tokenizer

    text, tokenizer = folder / "text.parquet", folder / "tokenizer.json"
    simulate_text.main(text, stories, 1)
    train_tokenizer.main(text, tokenizer, 1024)
    return text, tokenizer


def part_of(text: Path, out: Path, share: float) -> int:
    """Copy the first row groups of a text; return how many words they have."""
    import pyarrow.parquet as pq

    words = 0
    with pq.ParquetFile(text) as file:
        groups = max(1, round(file.num_row_groups * share))
        with pq.ParquetWriter(out, file.schema_arrow) as sink:
            for group in range(groups):
                table = file.read_row_group(group)
                words += sum(len(each.split()) for each in table.column("text").to_pylist())
                sink.write_table(table)
    return words


def by_library(text: Path, tokenizer: Path, out: Path) -> None:
    """Encode with `encode_batch`, a row group at a time."""
    import numpy as np
    import pyarrow.parquet as pq
    from tokenizers import Tokenizer

    from recency.text.tokens import END_OF_DOCUMENT, documents

    made = Tokenizer.from_file(str(tokenizer))
    made.encode_special_tokens = True
    end = made.token_to_id(END_OF_DOCUMENT)
    groups = pq.read_metadata(text).num_row_groups
    with open(out, "wb") as sink:
        for texts in documents(text, range(groups)):
            for each in made.encode_batch(texts, add_special_tokens=False):
                np.array([*each.ids, end], "<u2").tofile(sink)


def ours(text: Path, tokenizer: Path, out: Path, threads: int) -> None:
    """Encode with this project's rule."""
    from recency.text import tokens as tokenize_text

    tokenize_text.main(text, tokenizer, out, out.with_suffix(".json"), threads=threads)


def peak_mib(text: Path, tokenizer: Path, folder: Path) -> float:
    """Return the most memory that one of our processes holds, MiB, in a process of its own."""
    code = (
        "import sys, pathlib; sys.path[:0] = sys.argv[1:-3]; import tokens;"
        "t, k, o = map(pathlib.Path, sys.argv[-3:]); tokens.ours(t, k, o, 1);"
        "status = pathlib.Path('/proc/self/status').read_text();"
        "print(int(status.split('VmHWM:')[1].split()[0]) / 1024)"
    )
    paths = [ROOT / "benchmarks", *checkout.PATHS, text, tokenizer, folder / "m.bin"]
    command = [sys.executable, "-c", code, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    """Run, print the figures, end with one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute, the same keys")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--text", type=Path, help="a text.parquet that the workflow made")
    parser.add_argument("--tokenizer", type=Path, help="its tokenizer.json")
    parser.add_argument("--out", type=Path, help="file that also gets the JSON object")
    arguments = parser.parse_args()
    checkout.use()
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)
    metrics: dict = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = arguments.text or OPEN / "corpora" / "open_english" / "text.parquet"
        tokenizer = arguments.tokenizer or OPEN / "tokenizers" / "open-8192" / "tokenizer.json"
        if not (text.exists() and tokenizer.exists()):
            text, tokenizer = generated(folder, 200 if arguments.quick else 4000)
        metrics["text"] = "generated" if folder in text.parents else text.parent.name
        whole, quarter = folder / "whole.parquet", folder / "quarter.parquet"
        words = part_of(text, whole, 0.1 if arguments.quick else 1.0)
        part_of(whole, quarter, 0.25)
        seconds: dict = {"ours": [], "library": []}
        for _ in range(1 if arguments.quick else 3):
            start = time.perf_counter()
            ours(whole, tokenizer, folder / "ours.bin", arguments.threads)
            seconds["ours"].append(time.perf_counter() - start)
            start = time.perf_counter()
            by_library(whole, tokenizer, folder / "library.bin")
            seconds["library"].append(time.perf_counter() - start)
        metrics["same_tokens"] = (folder / "ours.bin").read_bytes() == (
            folder / "library.bin"
        ).read_bytes()
        metrics["words"] = words
        metrics["words_per_second"] = round(words / statistics.median(seconds["ours"]))
        pairs = zip(seconds["library"], seconds["ours"], strict=True)
        metrics["ratio_vs_tokenizers"] = round(
            statistics.median(theirs / mine for theirs, mine in pairs), 2
        )
        peaks = [peak_mib(each, tokenizer, folder) for each in (whole, quarter)]
        metrics["peak_mib"] = round(peaks[0])
        metrics["memory_growth"] = round(peaks[0] / peaks[1], 2)
    hardware = processor(f"{arguments.threads} of {os.cpu_count()} cores")
    keep("tokens", hardware, metrics, TARGETS, arguments.out, quick=arguments.quick)


if __name__ == "__main__":
    main()
