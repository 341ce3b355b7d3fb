"""Time the paper's study without training, and what of that starts jobs and keeps books.

    python benchmarks/study_cost.py [--quick] [--cores 2] [--out results/…json]

Texts, readers and networks are made up: corpora and observations of the paper's sizes
(regression_paper.py), ten networks of its architecture as they are before training, with a tokenizer
of their own, and readers who follow the surprisal of the first. One run of Snakemake then has 19 LMs
score seven corpora and makes the 507 fits, ΔLogLik with its intervals, permutation tests, tables, figures and the
verdict: `minutes` by the clock, `cpu_minutes` all that the run used. The same study is run again
with each job's work left out: its script imports what the job's process had imported by its end, starts R
where that had, writes empty files and ends (`WORKLESS`). What this takes is start-up and
bookkeeping: `startup_share` of the processor's time, `startup_share_of_wall` by the clock. `--quick` has
a fiftieth of the observations, two responses and two LMs. The last line is one JSON object.
"""

import argparse
import os
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from regression_paper import CORPORA, RESULTS, lay_out, rules_of, sentences, snakemake, write
from result import keep, processor

from recency import surprisal
from recency.networks import architectures
from recency.workflow.config import loading
from regression import plain, say

TARGETS = {"startup_share_of_wall": 0.15}
QUICK = ("ucl_spr.SPR", "ucl_eye_tracking.FP")
ANSWERS = ("figure_bases.svg", "figure_delta_loglik.svg", "table_bases.html")
ANSWERS += ("table_delta_loglik.html", "table_significance.html", "verdict.json")
RULES = ("not_run", "delta_loglik", "permutation", *(name.partition(".")[0] for name in ANSWERS))
LEXICON, TWO_TOKENS = 12_000, 0.25
"""Words to draw from, and how many of a text's words are two of them in one: two tokens."""
VOCABULARY = 50_277
"""Entries of GPT-NeoX's tokenizer, and of the one that is made."""
SPREAD = 4.0
"""Times the weights of the last layer at the start: surprisal then has a trained LM's spread, 3.8 bits."""

SEEN = """
import atexit, os, sys
from pathlib import Path
from urllib.parse import quote

@atexit.register
def note():
    job = getattr(sys.modules["__main__"], "snakemake", None)
    if job is not None:
        seen = Path(os.environ["SEEN"], quote(job.output[0], safe=""))
        seen.write_text("\\n".join(sys.modules))
"""
"""The sitecustomize.py of the whole run: what each job has imported by its end."""

WORKLESS = """
import importlib, os
from pathlib import Path
from urllib.parse import quote

for name in Path(os.environ["SEEN"], quote(snakemake.output[0], safe="")).read_text().split():
    try:
        importlib.import_module(name)
    except Exception:  # made by another module, or the process's own
        continue
    if name == "rpy2.robjects":
        importlib.import_module("crosslmm.lme4").start()
for path in snakemake.output:
    Path(path).touch()
"""
"""Every script of the run without work."""


def texts_of(
    lexicon: np.ndarray, folder: Path, dataset: str, lms: list[str], config: dict, random
) -> pd.DataFrame:
    """Write a dataset's words and unigram surprisal; return the words with what readers follow of them."""
    frame = sentences(CORPORA[dataset], random)
    often = 1 / np.arange(1, LEXICON + 1)
    often /= often.sum()
    drawn, more = random.choice(LEXICON, (2, len(frame)), p=often)
    two = random.random(len(frame)) < TWO_TOKENS
    frame["word"] = np.char.add(lexicon[drawn], np.where(two, lexicon[more], ""))
    write(frame, folder / RESULTS / "datasets" / dataset / "words.parquet")
    bits = -np.log2(often[drawn])
    unigram = pd.DataFrame(
        {"word_id": frame["word_id"], "surprisal_bits": bits, "corrected_bits": bits}
    )
    name = config["scales"][config["scale"]]["unigram"]
    write(unigram, folder / RESULTS / "surprisal" / name / f"{dataset}.parquet")
    return frame.assign(bits=surprisal(frame, folder / RESULTS / "lms" / lms[0])["surprisal_bits"])


def made_lexicon(random) -> np.ndarray:
    """Return made words, of as many letters as English ones have."""
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    words: dict[str, None] = {}
    while len(words) < LEXICON:
        words["".join(random.choice(letters, random.poisson(4) + 2))] = None
    return np.array(list(words))


def make_networks(folder: Path, lexicon: np.ndarray, lms: list[str], config: dict) -> None:
    """Write the networks that the LMs have, and their tokenizer, of the lexicon's words."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    tokenizer = ByteLevelBPETokenizer(add_prefix_space=False)
    end = "<|endoftext|>"
    forms = [form for word in lexicon for form in (word, f" {word}")]
    tokenizer.train_from_iterator(forms, VOCABULARY, min_frequency=1, special_tokens=[end])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=end, eos_token=end)
    scale = config["scales"][config["scale"]]
    for lm in dict.fromkeys(config["lms"][lm].get("weights", lm) for lm in lms):
        model = architectures.new(
            config["architectures"][scale["architecture"]],
            config["biases"][config["lms"][lm]["bias"]],
            VOCABULARY,
            scale["seed"],
        )
        model.get_output_embeddings().weight.data.mul_(SPREAD)
        where = folder / RESULTS / "lms" / lm
        model.save_pretrained(where)
        fast.save_pretrained(where)


def lay_out_study(folder: Path, quick: bool, seed: int) -> list[str]:
    """Make the project, its texts, readers and networks in `folder`; return the LMs."""
    config = loading.load(Path(__file__).resolve().parents[1])
    every = config["experiments"]["clark2025"]["lms"]
    lms = every[:2] if quick else every
    lexicon = made_lexicon(np.random.default_rng(seed))
    make_networks(folder, lexicon, lms, config)
    share, kept = (0.02, QUICK) if quick else (1.0, ())
    lay_out(folder, share, kept, lms, seed, partial(texts_of, lexicon))
    return lms


def run(folder: Path, cores: int, **more: str) -> dict[str, float]:
    """Make all that the verdict, the figures and the tables need."""
    where = f"{RESULTS}/experiments/only"
    rules = [*rules_of(folder, "surprisal"), *rules_of(folder, "regression"), *RULES]
    return snakemake(folder, [f"{where}/{name}" for name in ANSWERS], cores, rules, **more)


def count(folder: Path, kind: str, pattern: str) -> int:
    """Return how many files of a kind a run made, without what it keeps for the next one."""
    return sum(".kept" not in path.parts for path in (folder / RESULTS / kind).rglob(pattern))


def main() -> None:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a part of it, under a minute")
    parser.add_argument("--cores", type=int, default=2, help="jobs at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="study-cost-") as name:
        whole, workless, seen = (Path(name) / part for part in ("whole", "workless", "seen"))
        for folder in (whole, workless):
            lms = lay_out_study(folder, arguments.quick, arguments.seed)
        for script in (workless / "workflow" / "scripts").rglob("*.py"):
            script.write_text(WORKLESS)
        seen.mkdir()
        (whole / "src" / "sitecustomize.py").write_text(SEEN)
        say(f"{len(lms)} LMs, {arguments.cores} jobs at a time")
        used = run(whole, arguments.cores, SEEN=str(seen))
        started = run(workless, arguments.cores, SEEN=str(seen))
        jobs, without_work = (count(folder, "benchmarks", "*.tsv") for folder in (whole, workless))
        fits = count(whole, "regression", "*.json")
    if jobs != without_work:
        raise SystemExit(f"{jobs} jobs had work, {without_work} were run without")
    metrics = {
        "minutes": used["wall"] / 60,
        "cpu_minutes": used["cpu"] / 60,
        "peak_memory_gib": used["peak"],
        "jobs": jobs,
        "fits": fits,
        "startup_share": started["cpu"] / used["cpu"],
        "startup_share_of_wall": started["wall"] / used["wall"],
        "cores": arguments.cores,
    }
    metrics = {key: plain(value) for key, value in metrics.items()}
    hardware = processor(f"{arguments.cores} jobs at a time on {os.cpu_count()} cores")
    keep("study_cost", hardware, metrics, TARGETS, arguments.out, quick=arguments.quick)


if __name__ == "__main__":
    main()
