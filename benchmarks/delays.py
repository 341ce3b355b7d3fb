"""Time models of delayed effects: distributed lags next to mgcv's bam, and deconvolution.

    python benchmarks/delays.py [--quick] [--out results/delays.<hardware>.json]

Simulated self-paced reading whose words affect the responses to later words. `lags(surprisal, 4)` is
timed next to `bam(method = "fREML", discrete = TRUE)` with a smooth of the lag by surprisal (mgcv's
summation convention) and the same random effects, on the same rows in one run, one thread each, in
CPU seconds. Kernels have no peer in R: their times are given, and that of lags relative to a model
without them. The last line is one JSON object.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
sys.path.append(str(ROOT / "benchmarks"))
sys.path.append(str(ROOT / "tests" / "regression"))

import made_readers
from made_delays import LAGGED, TRUE_LAGS, by_lag, kernel_design, made
from result import keep, processor

from recency.regression import fit as regression

TARGETS = {"lags_ratio_vs_bam": 1.0, "largest_difference_ms": 0.5, "lags_over_plain": 3.0}
"""The first is at least, the others at most."""
SCRIPT = """
suppressMessages(library(mgcv))
d <- read.csv("{data}"); d$subject <- factor(d$subject); d$sentence <- factor(d$sentence)
d$S <- as.matrix(d[paste0("lag", 0:4)]); d$L <- matrix(0:4, nrow(d), 5, byrow = TRUE)
started <- proc.time()
m <- bam(time_ms ~ length + s(L, by = S, bs = "ps", k = 5, m = c(1, 1)) + s(subject, bs = "re")
  + s(sentence, bs = "re"), data = d, method = "fREML", discrete = TRUE)
took <- proc.time() - started
at <- d[1:5, ]; at$S <- matrix(1, 5, 5) * diag(5)
effect <- predict(m, at, type = "terms", terms = "s(L):S")
cat(took[[1]] + took[[2]], effect)
"""


def seconds(folder: Path, design: Mapping[str, Any]) -> tuple[float, Path]:
    """Fit a design; return the CPU seconds and the record's file."""
    inputs = replace(made_readers.files(folder), onsets=folder / "onsets.parquet")
    out, started = folder / "fit.json", time.process_time()
    regression.main(inputs, out, lm="lm", design=design, model="full", confirm=False)
    return time.process_time() - started, out


def rows_with_lags(folder: Path) -> pd.DataFrame:
    """Return the fitted rows with the surprisal of the word and of the four before it."""
    words = pd.read_parquet(folder / "words.parquet")
    words["lag0"] = pd.read_parquet(folder / "lm.parquet").surprisal_bits
    words["length"] = words.word.str.len()
    for lag in range(1, 5):
        words[f"lag{lag}"] = words.groupby("item").lag0.shift(lag).fillna(0)
    rows = pd.read_parquet(folder / "fit.parquet")[["subject", "word_id", "time_ms"]]
    return rows.merge(words, on="word_id")


def main() -> None:
    """Run and print the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rows: under a minute")
    parser.add_argument("--out", type=Path, help="keep the result in this file")
    arguments = parser.parse_args()
    subjects, sentences = (12, 60) if arguments.quick else (60, 200)
    metrics: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "data")
        made(folder, by_lag, subjects=subjects, sentences=sentences, pace=(300, 90))
        rows = rows_with_lags(folder)
        metrics["observations"] = len(rows)
        plain = LAGGED | {"formula": LAGGED["formula"].replace("lags(surprisal, 4)", "surprisal")}
        metrics["plain_s"], _ = seconds(folder, plain)
        metrics["lags_s"], record = seconds(folder, LAGGED)
        (effect,) = pd.read_json(record, typ="series")["delays"]
        for kernel in ("exponential", "gamma"):
            metrics[f"{kernel}_s"], _ = seconds(folder, kernel_design(kernel))
        rows.to_csv(folder / "rows.csv", index=False)
        script = SCRIPT.format(data=folder / "rows.csv")
        done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=True)
    took, *theirs = map(float, done.stdout.split())
    metrics["bam_s"] = took
    metrics["lags_ratio_vs_bam"] = took / metrics["lags_s"]
    metrics["lags_over_plain"] = metrics["lags_s"] / metrics["plain_s"]
    ours = np.array(effect["effect"])
    metrics["largest_error_ms"] = float(np.abs(ours - TRUE_LAGS).max())
    metrics["largest_difference_ms"] = float(np.abs(ours - theirs).max())
    keep("delays", processor("1 thread"), metrics, TARGETS, arguments.out)


if __name__ == "__main__":
    main()
