"""Time the explorer: how long a page of a large study takes to write, to open and to change its view.

    python benchmarks/explorer.py [--quick] [--out results/explorer.<hardware>.json]

Synthetic results of 20 LMs, 7 responses and 15,000 words (4 scored observations for each word and
response; with `--quick` a fifth of the words and 3 LMs), endpoint conditional. `write_seconds`: from
the result files to the page; `write_processor_seconds`: of the processor. `mebibytes`: of the page.
In headless Chromium, by its own clock: `open_seconds`, from the page's text to the first view drawn;
`view_milliseconds`, of the slowest change of view, LM or response, each the median of five;
`fastest_milliseconds`, the same of the fastest of five, which a busy machine delays least;
`first_milliseconds`, of the slowest first time, when columns are decoded.
The last line is one JSON object.
"""

import argparse
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import checkout
import numpy as np
import pandas as pd
from result import keep, processor

ROOT = Path(__file__).resolve().parents[1]
checkout.use("tests")

from browsing import BROWSERS
from recency.evaluations.explore import assemble

TARGETS = {"write_seconds": 20.0, "open_seconds": 2.0, "view_milliseconds": 200.0}
"""At most so much."""
VIEWS = ("words", "scatter", "sources", "readers", "lms", "memory", "text")
READERS, SCORED, REPEATS = 40, 4, 5


def study(folder: Path, lms: int, responses: int, n: int) -> dict:
    """Write the result files of a study; return the arguments of `assemble.main`."""
    rng = np.random.default_rng(0)
    names = [f"lm-{number}" for number in range(lms)]
    asked = [{"design": "x", "dataset": "d", "measure": f"M{r}"} for r in range(responses)]
    words = pd.DataFrame({"word_id": np.arange(n), "sentence": np.arange(n) // 15 + 1})
    words["item"] = [f"text-{number // 600 + 1}" for number in range(n)]
    words["position"] = np.arange(n) % 15 + 1
    words["word"] = ["".join(letters) for letters in rng.choice(list("aeioubdklmnrst"), (n, 6))]
    words.to_parquet(folder / "words.parquet")
    for name in (*names, "unigram"):
        (folder / name).mkdir()
        bits = pd.DataFrame({"word_id": np.arange(n), "surprisal_bits": rng.gamma(2, 4, n)})
        bits.assign(tokens=1).to_parquet(folder / name / "d.parquet")
    subjects = [f"s{number:02}" for number in range(READERS)]
    cells = [{"lm": lm, "label": lm, **r} for r in asked for lm in names]
    files, paths = {}, {"full": [], "base": [], "full_observations": [], "base_observations": []}
    modes = dict(zip(subjects, rng.normal(0, 1, (READERS, 2)).tolist()))
    fit = {"response": "raw", "surprisal": "plain", "converged": True, "engine": "cross_products"}
    fit |= {"scaling": {"surprisal": {"mean": 8, "sd": 5}}, "ranef": {"subject": modes}}
    fit |= {"formula": "time_ms ~ 1 + surprisal + (1 + surprisal | subject)", "sigma": 90}
    fit["fixed"] = [{"term": "(Intercept)", "estimate": 300}, {"term": "surprisal", "estimate": 9}]
    fit["random"] = {"subject": {"terms": ["(Intercept)", "surprisal"]}}
    base = fit | {"scaling": {"length": {"mean": 6, "sd": 1}}}
    base["fixed"] = [fit["fixed"][0], {"term": "length", "estimate": 5}]
    base |= {"formula": "time_ms ~ 1 + length + (1 | subject)"}
    base["random"] = {"subject": {"terms": ["(Intercept)"]}}
    base["ranef"] = {"subject": {name: values[:1] for name, values in modes.items()}}
    for number, r in enumerate(asked):
        scored = pd.DataFrame({"word_id": np.tile(np.arange(n), SCORED)})
        scored["subject"] = pd.Categorical(rng.choice(subjects, len(scored)))
        scored["sentence"] = scored.word_id // 15 + 1
        times = scored[["subject", "word_id"]].astype({"subject": str})
        times["time_ms"] = rng.gamma(9, 35, len(times))
        times["previous_fixated"] = pd.array([None] * len(times), dtype="boolean")
        for partition in ("fit", "exploratory"):
            files[f"{partition}_{number}"] = folder / f"{partition}.{number}.parquet"
            times.to_parquet(files[f"{partition}_{number}"])
        files[f"words_{number}"] = folder / "words.parquet"
        without = rng.normal(-6, 1, len(scored))
        for lm in ("none", *names):
            own = without + (0 if lm == "none" else rng.normal(0.002, 0.05, len(scored)))
            stem = folder / f"{r['measure']}.{lm}"
            scored.assign(loglik=own).to_parquet(f"{stem}.parquet")
            Path(f"{stem}.json").write_text(json.dumps(base if lm == "none" else fit))
            if lm != "none":
                for model, of in (("full", lm), ("base", "none")):
                    stem = folder / f"{r['measure']}.{of}"
                    paths[model].append(f"{stem}.json")
                    paths[f"{model}_observations"].append(f"{stem}.parquet")
    rows = [c | {"kind": "own", "n": n, "delta_loglik": 9.5, "low": 5, "high": 14, "by": "subject"} for c in cells]  # fmt: skip
    pd.DataFrame(rows).to_csv(folder / "intervals.csv", index=False)
    (folder / "not_run.csv").write_text("dataset,measure,reason\n")
    return {
        "fits": assemble.Fits(**paths), "files": files, "words": [folder / "words.parquet"],
        "surprisals": [folder / lm / "d.parquet" for lm in names],
        "unigrams": [folder / "unigram" / "d.parquet"], "frequency": "unigram surprisal (bits)",
        "delta_loglik": folder / "intervals.csv", "intervals": folder / "intervals.csv",
        "not_run": folder / "not_run.csv", "title": "A large study", "command": "./run",
        "lms": [{"lm": lm, "label": lm} for lm in names], "cells": cells, "endpoint": "conditional",
        "datasets": [{"dataset": "d", "label": "d"}],
        "responses": [r | {"label": r["measure"], "others": []} for r in asked],
    }  # fmt: skip


def measured(browser: str, page: Path, folder: Path, steps: list[dict]) -> dict:
    """Return what tests/walk_explorer.js sees of a page, in the browser's own time."""
    seen: list[bytes] = []
    done = threading.Event()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            """Take what the page reports."""
            seen.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()
            done.set()

        def log_message(self, *_):
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    text = page.read_text(encoding="utf-8")
    walk = {"name": "large", "width": 1400, "height": 900, "text": text, "steps": steps}
    data = json.dumps([walk]).replace("<", r"\u003c")
    script = (ROOT / "tests" / "walk_explorer.js").read_text(encoding="utf-8")
    report = f'"http://127.0.0.1:{server.server_port}"'
    opened = folder / "measured.html"
    opened.write_text(
        f"<!DOCTYPE html><meta charset='utf-8'><body><script>const pages = {data}, report = {report};"
        f"{script}</script></body>",
        encoding="utf-8",
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    options += [f"--user-data-dir={folder / 'profile'}", "--window-size=1500,1000"]
    process = subprocess.Popen(
        [browser, *options, opened.as_uri()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        if not done.wait(300):
            raise TimeoutError("the browser did not report in five minutes")
    finally:
        process.terminate()
        process.wait()
        server.shutdown()
    (found,) = json.loads(seen[0])
    if "error" in found:
        raise RuntimeError(found["error"])
    return found


def main() -> None:
    """Run the benchmark as the command line says."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="a fifth of the words, 3 LMs")
    arguments.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    given = arguments.parse_args()
    lms, responses, n = (3, 7, 3000) if given.quick else (20, 7, 15_000)
    metrics: dict = {"lms": lms, "responses": responses, "words": n}
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        about, page = study(folder, lms, responses, n), folder / "page.html"
        start, processor_time = time.perf_counter(), time.process_time()
        assemble.main(out=page, **about)
        metrics["write_seconds"] = time.perf_counter() - start
        metrics["write_processor_seconds"] = time.process_time() - processor_time
        metrics["mebibytes"] = page.stat().st_size / 2**20
        if browser is None:
            print(f"no browser on the path: {', '.join(BROWSERS)}", file=sys.stderr)
        else:
            once = [{"view": view} for view in VIEWS]
            once += [{"a": "lm-2"}, {"response": "x/d.M3"}, {"a": "lm-0"}, {"response": "x/d.M0"}]
            walk = measured(browser, page, folder, once * (1 + REPEATS))
            times = np.array([each["milliseconds"] for each in walk["seen"][1:]])
            times = times.reshape(1 + REPEATS, len(once))
            metrics["open_seconds"] = walk["opened"] / 1000
            metrics["first_milliseconds"] = float(times[0].max())
            metrics["view_milliseconds"] = float(np.median(times[1:], axis=0).max())
            metrics["fastest_milliseconds"] = float(times[1:].min(axis=0).max())
            for step, middle, least in zip(once, np.median(times[1:], 0), times[1:].min(0)):
                print(f"{step}: {middle:.0f} ms, fastest {least:.0f} ms", file=sys.stderr)
    hardware = processor(f"{len(os.sched_getaffinity(0))} cores")
    keep("explorer", hardware, metrics, TARGETS, given.out, quick=given.quick)


if __name__ == "__main__":
    main()
