"""Time reading measures from fixations: ten million fixations become words and responses.

    python benchmarks/fixations.py [--quick] [--out results/fixations.<hardware>.json]

Synthetic readers of synthetic texts; the fixations are a CSV file with subject, item, position, word,
onset and duration. One core.

`seconds`: the parser `fixations` reads the words from the areas, and one measure (go-past time, the
dearest) from the file; `cpu_seconds`: of the processor, with the import of libraries. `measures_seconds`: the sums alone, of arrays. `peak_memory_gib`: of a process
that does nothing else. `ratio_vs_pymovements` (where it is installed): seconds of its
`compute_reading_measures`, of all of its measures, over those of the sums, on 200,000 fixations.
The last line is one JSON object.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import checkout
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv
from result import keep, processor

checkout.use()

from readingtimes import fixations
from readingtimes.parsers import fixations as parser

TARGETS = {"seconds": 120.0, "peak_memory_gib": 4.0, "ratio_vs_pymovements": 1.0}
"""Seconds and memory are at most so much, the ratio at least."""
WORDS, TEXTS, PER_TEXT = 150, 50, 200  # of a text; of a reader; fixations of a reading
COLUMNS = {"position": "position", "word": "word", "onset": "onset"}


def scanpaths(readers: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Make fixations in order of time: arrays of subject, item, position, onset, duration."""
    rng = np.random.default_rng(seed)
    readings = readers * TEXTS
    steps = rng.choice([-3, -1, 0, 1, 1, 1, 2, 2, 3], (readings, PER_TEXT))
    place = np.clip(np.cumsum(steps, axis=1), 0, WORDS - 1) + 1
    return {
        "subject": np.repeat(np.arange(readers), TEXTS * PER_TEXT),
        "item": np.tile(np.repeat(np.arange(TEXTS), PER_TEXT), readers),
        "position": place.ravel(),
        "onset": np.tile(np.arange(PER_TEXT) * 250, readings),
        "duration": rng.gamma(6, 35, readings * PER_TEXT).round(),
    }


def write(folder: Path, readers: int) -> tuple[Path, Path]:
    """Write areas and fixations; the words are w1, w2 and so on."""
    areas, file = folder / "areas.csv", folder / "fixations.csv"
    index = pd.MultiIndex.from_product([range(TEXTS), range(1, WORDS + 1)])
    table = pd.DataFrame(index.tolist(), columns=["item", "position"])
    table = table.assign(item="t" + table["item"].astype(str))
    table.assign(word="w" + table.position.astype(str)).to_csv(areas, index=False)
    words = pa.array([f"w{n}" for n in range(WORDS + 1)])
    with csv.CSVWriter(file, pa.schema([("subject", "string"), ("item", "string"), ("position", "int64"), ("word", "string"), ("onset", "int64"), ("duration", "float64")])) as writer:  # fmt: skip
        for first in range(0, readers, 100):
            part = scanpaths(min(100, readers - first), seed=first)
            writer.write_table(
                pa.table(
                    {
                        "subject": pa.array([f"s{n + first}" for n in range(100)]).take(
                            part["subject"]
                        ),
                        "item": pa.array([f"t{n}" for n in range(TEXTS)]).take(part["item"]),
                        "position": part["position"],
                        "word": words.take(part["position"]),
                        "onset": part["onset"],
                        "duration": part["duration"],
                    }
                )
            )
    return areas, file


def parsed(areas: Path, file: Path, queue: multiprocessing.Queue) -> None:
    """Put the parser's seconds, those of the processor, its rows and its peak memory into a queue."""
    start = time.perf_counter()
    words = parser.words({"areas": areas}, areas={"sentences": "item"})
    made = parser.responses({"fixations": file}, words, "GP", columns=COLUMNS)
    seconds = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    queue.put((seconds, usage.ru_utime + usage.ru_stime, len(made), usage.ru_maxrss / 1024**2))


def summed(arrays: dict[str, np.ndarray]) -> float:
    """Return the seconds of all sums of fixations in arrays."""
    start = time.perf_counter()
    breaks = np.zeros(len(arrays["item"]), dtype=bool)
    of = (arrays[name] for name in ("subject", "item", "position", "duration"))
    fixations.measure(*of, breaks)
    return time.perf_counter() - start


def pymovements(arrays: dict[str, np.ndarray]) -> float | None:
    """Return the seconds of pymovements' measures of the same fixations; None without it."""
    try:
        import polars
        from pymovements.measure import reading
    except ImportError:
        return None
    rename = {"subject": "trial", "item": "page", "position": "word_idx"}
    events = polars.DataFrame({rename.get(n, n): values for n, values in arrays.items()})
    events = events.with_columns(polars.lit("fixation").alias("name"))
    index = pd.MultiIndex.from_product([range(TEXTS), range(1, WORDS + 1)])
    pages = polars.DataFrame(np.array(index.tolist()), schema=["page", "word_idx"])
    readers = events.select("trial").unique(maintain_order=True)
    areas = readers.join(pages, how="cross").with_columns(polars.lit("w").alias("word"))
    start = time.perf_counter()
    reading.compute_reading_measures(events, areas, group_columns=["trial", "page"])
    return time.perf_counter() - start


def main() -> None:
    """Run the benchmark as the command line says."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="small data, under a minute")
    arguments.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    given = arguments.parse_args()
    readers = 20 if given.quick else 1000
    with tempfile.TemporaryDirectory() as folder:
        areas, file = write(Path(folder), readers)
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        job = context.Process(target=parsed, args=(areas, file, queue))
        job.start()
        seconds, cpu, rows, peak = queue.get()
        job.join()
        size = file.stat().st_size
    alone = summed(scanpaths(readers))
    few = scanpaths(20)
    metrics = {
        "fixations": readers * TEXTS * PER_TEXT,
        "file_gib": round(size / 1024**3, 3),
        "responses": rows,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "measures_seconds": round(alone, 2),
        "peak_memory_gib": round(peak, 2),
    }
    if (theirs := pymovements(few)) is not None:
        metrics["ratio_vs_pymovements"] = round(theirs / summed(few), 1)
    keep("fixations", processor("1 core"), metrics, TARGETS, given.out)


if __name__ == "__main__":
    main()
