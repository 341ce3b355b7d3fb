"""What jobs cost by the size of what they are given: measured on two small sizes, checked on one eight times larger.

python benchmarks/scaling.py [--quick] [--out FILE]

Of each kind of job the processor seconds are a + b n: n and 2 n give a and b, and 8 n says whether
that holds. `seconds_per_million` is b for a million of what n counts; `measured_over_predicted` what
8 n took over what it should. The base of all that docs/scaling.md says. The last line is one JSON object.
"""

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import checkout
import numpy as np
import pandas as pd

checkout.use()

from result import keep, processor

TARGETS = {"measured_over_predicted": {"train": 1.25, "surprisal": 1.25, "tokenize": 1.25,
                                       "n-grams": 1.25, "regression": 1.25}}  # fmt: skip
#: Kind of job → what its size counts, and how many of it the smallest has.
SIZES = {
    "tokenize": ("words", 400_000),
    "n-grams": ("words", 400_000),
    "train": ("tokens", 16_384),
    "surprisal": ("words", 4_000),
    "regression": ("observations", 100_000),
}
ARCHITECTURE = {
    "family": "gpt_neox", "layers": 2, "heads": 4, "width": 128, "feed_forward": 512, "context": 128,
    "rotary_fraction": 0.25,
}  # fmt: skip
RECIPE = {
    "batch_sequences": 16, "sequence_length": 128, "micro_batch": 4, "order": "shuffled", "learning_rate": 1e-3,
    "minimum_learning_rate": 1e-4, "warmup_steps": 1, "schedule": "as_worded", "betas": [0.9, 0.95],
    "epsilon": 1e-8, "weight_decay": 0.1, "clip": 1.0, "precision": "fp32", "checkpoints": [], "device": "cpu",
}  # fmt: skip


def cpu(work: Callable[[], object]) -> float:
    """Return the processor seconds of some work, those of programs that it calls with them."""
    before = _cpu()
    work()
    return _cpu() - before


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def text_of(words: int, folder: Path) -> Path:
    """Make text of about so many words from the project's own grammar."""
    from recency.simulation import text

    path = folder / f"{words}.parquet"
    if not path.exists():
        text.main(path, max(1, words // 250), 1)
    return path


def jobs(folder: Path) -> dict[str, Callable[[int], Callable[[], object]]]:
    """Return kind of job → what prepares one of a size and returns its work."""
    import recency
    from recency.networks import train
    from recency.scoring import estimate_ngrams
    from recency.text import tokenizer as train_tokenizer
    from recency.text import tokens

    vocabulary = folder / "tokenizer.json"
    train_tokenizer.main(text_of(100_000, folder), vocabulary, 1024)

    def tokenize(words: int):
        text = text_of(words, folder)
        out = folder / f"{words}.bin"
        return lambda: tokens.main(text, vocabulary, out, out.with_suffix(".json"), threads=1)

    def ngrams(words: int):
        text = text_of(words, folder)
        return lambda: estimate_ngrams.main(text, folder / "model.arpa", memory="100M", order=3)

    tokenize(100_000)()

    def training(size: int):
        shutil.rmtree(folder / "lms", ignore_errors=True)  # a state would be gone on with
        recipe = RECIPE | {"steps": size // (16 * 128)}
        return lambda: train.main(
            folder / "100000.bin", folder / "100000.json", vocabulary, folder / "lms" / "lm" / "config.json",
            "lm", ARCHITECTURE, {"form": "linear", "slopes": "mix"}, recipe, 1,
        )  # fmt: skip

    training(SIZES["train"][1])()
    opened = recency.load(folder / "lms" / "lm")
    draw = np.random.default_rng(1)

    def score(words: int):
        texts = [
            " ".join(draw.choice(["the", "cat", "saw", "a", "dog"], 500))
            for _ in range(words // 500)
        ]
        return lambda: recency.surprisal(texts, opened)

    def regression(rows: int):
        frame = pd.DataFrame(
            draw.normal(size=(rows, 3)), columns=["surprisal", "length", "frequency"]
        )
        frame["subject"], frame["sentence"] = (
            draw.integers(0, 80, rows),
            draw.integers(0, 300, rows),
        )
        effects = draw.normal(size=80)[frame.subject] + draw.normal(size=300)[frame.sentence]
        frame["rt"] = frame.surprisal + effects + draw.normal(size=rows)
        formula = "rt ~ surprisal + length + frequency + (1 + surprisal | subject) + (1 | sentence)"
        return lambda: recency.lmer(formula, frame, engine="search")

    return {
        "tokenize": tokenize,
        "n-grams": ngrams,
        "train": training,
        "surprisal": score,
        "regression": regression,
    }


def main() -> None:
    """Run, print the figures, end with one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute, the same keys")
    parser.add_argument("--out", type=Path, help="file that also gets the JSON object")
    arguments = parser.parse_args()
    repeats = 1 if arguments.quick else 2
    metrics: dict = {"unit": {}, "seconds_per_million": {}, "measured_over_predicted": {}}
    with tempfile.TemporaryDirectory() as name:
        for kind, prepare in jobs(Path(name)).items():
            unit, size = SIZES[kind]
            size = size // 4 if arguments.quick and kind != "train" else size
            cpu(prepare(size))  # what is loaded or compiled once
            one, two, eight = (
                min(cpu(prepare(size * times)) for _ in range(repeats)) for times in (1, 2, 8)
            )
            slope = (two - one) / size
            metrics["unit"][kind] = unit
            metrics["seconds_per_million"][kind] = round(1e6 * slope, 2)
            metrics["measured_over_predicted"][kind] = round(eight / (one + 7 * size * slope), 2)
    keep("scaling", processor("one thread"), metrics, TARGETS, arguments.out, quick=arguments.quick)


if __name__ == "__main__":
    main()
